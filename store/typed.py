"""Fills the typed table of a schema's claims: its values, and beside them the canonical forms of their names.

`claims_<hash>`(record_id, run_id, finished_at, value STRUCT, canonical STRUCT) holds the latest good outcome of each
record. Values come as JSON from `outcomes`; the names in them are folded here, as they are saved, by the record's text
and the person's aliases. All of it can be made again.
"""

import functools
import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

import duckdb

from store.aliases import aliases_of
from store.canonical import Aliases, canonical_of, names_in
from store.joinable import CANONICAL
from store.opening import first_row
from store.rows import Schema
from store.sqltext import claims_table, literal, quoted, reviewed_table
from store.structure import Node
from store.text import clean_json

_AT_ONCE = 2_000
"""Records whose names are folded together."""

_LETTERS_ONLY = "regexp_replace(lower(strip_accents({})), '[^\\p{{L}}\\p{{N}}+*#]', '', 'g')"
_SQUASHED = _LETTERS_ONLY.format("to_json(value)::VARCHAR")
"""A value with its letters in a row: a key that one of its names folds to stands in it, but for its signs."""

_SQUASHED_TEXT = _LETTERS_ONLY.format("regexp_replace(text, '\\\\[A-Za-z]+', '', 'g')")
"""An abstract likewise: a long form may stand in it whose acronym alone is in the value."""

_LONG = 8
"""Letters of a key that may be a long form's."""

_SIGNS = re.compile(r"[^\w+*#]|_")


@functools.lru_cache(maxsize=64)
def _names(json_schema: str, structure: str) -> Mapping[str, Node]:
    return names_in(Schema("", "", json_schema, structure))


def names_of(con: duckdb.DuckDBPyConnection, schema_hash: str) -> Mapping[str, Node]:
    """Which fields of a kept schema are names, as a structure of them; empty if none is."""
    row = first_row(con, "SELECT json_schema, structure FROM schemas WHERE schema_hash = ?", [schema_hash])
    return _names(str(row[0]), str(row[1])) if row else {}


def make_claims_table(con: duckdb.DuckDBPyConnection, schema_hash: str, structure: str) -> None:
    """(Re)make the typed table of a schema from all its outcomes: the latest good one of each record."""
    con.execute(
        f"""CREATE OR REPLACE TEMP TABLE batch AS SELECT record_id, run_id, finished_at, value FROM (
            SELECT o.* FROM outcomes o JOIN runs u USING (run_id)
            WHERE u.schema_hash = {literal(schema_hash)} AND o.status = 'done'
            QUALIFY row_number() OVER (PARTITION BY record_id ORDER BY o.finished_at DESC, o.run_id DESC) = 1)"""  # noqa: S608
    )
    names = names_of(con, schema_hash)
    _name(con, names)
    con.execute(
        f"""CREATE OR REPLACE TABLE {quoted(claims_table(schema_hash))} AS
        SELECT b.record_id, b.run_id, b.finished_at, {_columns(structure, names)} FROM batch b {_NAMED}"""  # noqa: S608
    )


def save_claims(con: duckdb.DuckDBPyConnection, run_id: str, schema_hash: str, structure: str) -> None:
    """Make the values in `batch` the latest claims of their records, but where a later run's are there already."""
    table = quoted(claims_table(schema_hash))
    names = names_of(con, schema_hash)
    _name(con, names)
    # The order is (finished_at, run_id), as in `make_claims_table`: saving and rebuilding agree.
    con.execute(
        f"""DELETE FROM {table} c USING batch b WHERE c.record_id = b.record_id
        AND (c.finished_at, c.run_id) <= (b.finished_at, {literal(run_id)})"""  # noqa: S608
    )
    con.execute(
        f"""INSERT INTO {table} SELECT b.record_id, {literal(run_id)}, b.finished_at, {_columns(structure, names)}
        FROM batch b {_NAMED} ANTI JOIN {table} c ON c.record_id = b.record_id"""  # noqa: S608
    )


def rename(con: duckdb.DuckDBPyConnection, keys: Collection[str]) -> int:
    """Fold again the names of the records that may have one of these keys; return how many records these are."""
    renamed: set[tuple[str, str]] = set()
    for (schema_hash,) in con.execute("SELECT schema_hash FROM schemas").fetchall():
        if names := names_of(con, schema_hash):
            for table in (claims_table(schema_hash), reviewed_table(schema_hash)):
                renamed |= {(schema_hash, record_id) for record_id in _rename(con, quoted(table), names, keys)}
    return len(renamed)


def _rename(con: duckdb.DuckDBPyConnection, table: str, names: Mapping[str, Node], keys: Collection[str]) -> list[str]:
    """Fold again the names of one table's rows that may have one of these keys; return their records."""
    letters = [_SIGNS.sub("", key).removesuffix("y") for key in keys]
    con.execute(
        f"""CREATE OR REPLACE TEMP TABLE batch AS SELECT record_id, to_json(value)::VARCHAR AS value
        FROM {table} LEFT JOIN records USING (record_id)
        WHERE len(list_filter($forms, lambda form: contains(to_json({CANONICAL})::VARCHAR, form))) > 0
            OR len(list_filter($letters, lambda key: contains({_SQUASHED}, key))) > 0
            OR len(list_filter($long, lambda key: contains({_SQUASHED_TEXT}, key))) > 0""",  # noqa: S608
        {
            "forms": [json.dumps(key, ensure_ascii=False)[1:-1] for key in keys],
            "letters": letters,
            "long": [key for key in letters if len(key) >= _LONG],
        },
    )
    _name(con, names)
    con.execute(
        f"""UPDATE {table} c SET {CANONICAL} = from_json(n.canonical, {literal(json.dumps(names))})
        FROM named n WHERE n.record_id = c.record_id"""  # noqa: S608
    )
    return [record_id for (record_id,) in con.execute("SELECT record_id FROM named").fetchall()]


_NAMED = "LEFT JOIN named n ON n.record_id = b.record_id"


def _columns(structure: str, names: Mapping[str, Node]) -> str:
    value = f"from_json(b.value, {literal(structure)}) AS value"
    return f"{value}, from_json(n.canonical, {literal(json.dumps(names))}) AS {CANONICAL}" if names else value


def _name(con: duckdb.DuckDBPyConnection, names: Mapping[str, Node]) -> None:
    """Fold the names of the values in the temporary table `batch` into `named`(record_id, canonical)."""
    con.execute("CREATE OR REPLACE TEMP TABLE named (record_id VARCHAR, canonical VARCHAR)")
    if not names:
        return
    aliases = aliases_of(con)
    rows = con.execute(
        "SELECT b.record_id, b.value, r.text FROM batch b LEFT JOIN records r USING (record_id)"
    ).fetchall()
    appender = con.appender("named")
    for chunk in _chunks(_folded(rows, names, aliases)):
        appender.append_rows(chunk)
    appender.flush()


def _folded(rows: Iterable[tuple[Any, ...]], names: Mapping[str, Node], aliases: Aliases) -> Iterator[tuple[str, str]]:
    for record_id, value, text in rows:
        forms = canonical_of(json.loads(value), names, text or "", aliases)
        yield record_id, clean_json(json.dumps(forms, ensure_ascii=False))


def _chunks(rows: Iterator[tuple[str, str]]) -> Iterator[list[tuple[str, str]]]:
    chunk: list[tuple[str, str]] = []
    for row in rows:
        chunk.append(row)
        if len(chunk) == _AT_ONCE:
            yield chunk
            chunk = []
    yield chunk
