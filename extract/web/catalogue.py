"""What a database has to ask: its views and tables, with what each shows and which columns it has."""

from collections.abc import Sequence
from dataclasses import dataclass

import duckdb

from store.views import BASE_TABLES

_COMMENT = "claimbase: "


@dataclass(frozen=True, slots=True)
class Relation:
    """A view or a table. `kind`: `view` (of a schema or over all), `table` (a base table), `other` (a user's own)."""

    name: str
    kind: str
    about: str
    columns: Sequence[tuple[str, str]]


def relations(con: duckdb.DuckDBPyConnection) -> list[Relation]:
    """All that can be asked, views first; the tables under the views (`claims_…`) are left out."""
    columns: dict[str, list[tuple[str, str]]] = {}
    for table, name, kind in con.execute(
        """SELECT table_name, column_name, data_type FROM duckdb_columns() WHERE NOT internal
        ORDER BY table_name, column_index"""
    ).fetchall():
        columns.setdefault(table, []).append((name, _short(kind)))
    found = con.execute(
        """SELECT view_name, true, coalesce(comment, '') FROM duckdb_views() WHERE NOT internal
        UNION ALL SELECT table_name, false, coalesce(comment, '') FROM duckdb_tables() WHERE NOT internal"""
    ).fetchall()
    made = [
        Relation(name, _kind(name, is_view, comment), comment.removeprefix(_COMMENT), columns.get(name, ()))
        for name, is_view, comment in found
        if is_view or not name.startswith("claims_")
    ]
    order = ("view", "other", "table")
    return sorted(made, key=lambda one: (order.index(one.kind), one.name))


def _kind(name: str, is_view: bool, comment: str) -> str:
    if name in BASE_TABLES and not is_view:
        return "table"
    return "view" if is_view and comment.startswith(_COMMENT) else "other"


def _short(kind: str) -> str:
    """A type in a word: what a nested one holds is for DESCRIBE."""
    return f"{kind.partition('(')[0].strip()}{'[]' if kind.endswith('[]') else ''}"
