"""Makes the SELECT behind an export: of a view's name, a table's name or a stranger's SQL, its columns as a form needs.

It makes SQL and runs none but to learn which names and columns there are; `query` has the fences, `export` the forms.
"""

from collections.abc import Callable
from dataclasses import dataclass

import duckdb

from store.errors import QueryFailed
from store.formats import is_number, unique_names
from store.query import the_statement
from store.views import quoted

Show = Callable[[str, str], str]
"""Makes the SQL of what is shown of a column from its SQL name and its DuckDB type."""

_NESTED = ("STRUCT", "MAP", "UNION", "VARIANT")
# What Python and a sheet take as it is. Not TIMESTAMP WITH TIME ZONE, which needs a time zone database to be fetched.
_PLAIN = ("BOOLEAN", "DATE", "TIMESTAMP", "VARCHAR")


@dataclass(frozen=True, slots=True)
class Selected:
    """A query with its columns' names, no two alike, and their DuckDB types."""

    query: str
    names: tuple[str, ...]
    types: tuple[str, ...]

    def columns(self) -> str:
        """The SQL names of the columns in `source`: `c0, c1, …`, as an answer may have one name twice."""
        return ", ".join(f"c{number}" for number in range(len(self.names)))

    def source(self) -> str:
        """The query as the source of another one, its columns named as `columns` says."""
        return f"({self.query}\n) AS answer({self.columns()})"

    def shown(self, show: Show) -> str:
        """The query with each column as `show` has it, under its own name."""
        columns = ", ".join(
            f"{show(f'c{number}', kind)} AS {quoted(name)}"
            for number, (name, kind) in enumerate(zip(self.names, self.types, strict=True))
        )
        return f"SELECT {columns} FROM {self.source()}"  # noqa: S608


def select(con: duckdb.DuckDBPyConnection, what: str) -> Selected:
    """What is asked for: a view, a table or one SELECT.

    Raises `QueryFailed` with the names there are if it is none of them, `QueryRefused` for other SQL, DuckDB's errors.
    """
    query = _query_of(con, what)
    con.execute(f"SELECT * FROM ({query}\n) LIMIT 0")  # noqa: S608
    columns = [(str(column[0]), str(column[1])) for column in con.description or ()]
    con.fetchall()
    return Selected(query, tuple(unique_names([name for name, _ in columns])), tuple(kind for _, kind in columns))


def as_cell(column: str, kind: str) -> str:
    """A column as a cell of CSV, of a sheet or of a table in text: nested values as JSON, else a plain type or text."""
    if kind.startswith(_NESTED) or kind.endswith("]"):
        return f"to_json({column})::VARCHAR"
    if kind in _PLAIN or is_number(kind):
        return column
    return f"{column}::VARCHAR"


def _query_of(con: duckdb.DuckDBPyConnection, what: str) -> str:
    rows = con.execute(
        """SELECT view_name, true FROM duckdb_views() WHERE NOT internal
        UNION ALL SELECT table_name, false FROM duckdb_tables()"""
    ).fetchall()
    for name, _ in rows:
        if name.lower() == what.strip().lower():
            return f"FROM {quoted(name)}"
    if what.split() and len(what.split()) == 1 and "(" not in what:
        views = ", ".join(sorted(name for name, is_view in rows if is_view))
        raise QueryFailed(f"there is no view or table {what!r}; the views are {views}")
    return the_statement(con, what)
