"""The surface that users query: typed tables of claims and the views over them, derived from each schema's structure.

For each schema fingerprint there is one table `claims_<hash>`(record_id, run_id, finished_at, value STRUCT) with the
latest good outcome of each record; the views unfold its value. All of it can be dropped and made again from the base
tables. No field of the shipped schema is known here. What a schema named `trial` becomes:

- `trials`: a row a record, its plain fields as columns, those of a nested object as `parent_child`;
- `trial_<list>`: a row an item of that list, `ordinal` from 0, the item's fields as columns; an item that is no object
  is the column `name` (text) or `value` (else);
- `trial_claims`, if a list's items have a DOUBLE `value`: a row an item, with its record's fields beside it; of further
  such lists `trial_claims_<list>`.

The schema `paper` leaves its name out of all but the first. A column whose name is taken is written
`<singular of the list>_<column>`, or `<schema>_<column>` where it is the record's; a view whose name is taken has the
first 6 characters of the fingerprint behind it. Of several fingerprints of one schema name, the one of the latest run
has the plain names.
"""

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

import duckdb

from store.errors import StoreError
from store.rows import Schema
from store.structure import Column, ListField, Shape, free, plural, shape_of, singular

UNPREFIXED = "paper"
"""The schema whose views of lists have the lists' own names, whatever other schemas there are."""

BASE_TABLES = ("records", "sources", "schemas", "prompts", "runs", "attempts", "outcomes", "evidence", "migrations")

_FOR_ALL = ("latest", "rejected", "failures")  # the views over all schemas

_OURS = "claimbase: "  # starts the comment of each view that is made here, so that a user's own view is left alone

_FAILURES = """
SELECT o.record_id, r.source, r.locator, r.title, o.error_type, o.error, u.model, o.run_id, o.finished_at
FROM outcomes o JOIN runs u USING (run_id) JOIN records r USING (record_id)
WHERE o.status = 'failed' AND NOT EXISTS (
    SELECT 1 FROM outcomes d JOIN runs v USING (run_id)
    WHERE d.status = 'done' AND d.record_id = o.record_id AND v.recipe = u.recipe)
QUALIFY row_number() OVER (PARTITION BY u.recipe, o.record_id ORDER BY o.finished_at DESC, o.run_id DESC) = 1
"""
_REJECTED = """
SELECT e.record_id, e.path, e.ordinal, e.quote, e.match, e.reason, u.model, e.run_id
FROM evidence e JOIN latest l USING (record_id, run_id) JOIN runs u USING (run_id)
WHERE e.match = 'absent' OR e.reason IS NOT NULL
"""


@dataclass(frozen=True, slots=True)
class View:
    """A view to make: its name, what it shows in one sentence, the query behind it."""

    name: str
    about: str
    query: str


def quoted(identifier: str) -> str:
    """An SQL identifier that may be any text."""
    return '"' + identifier.replace('"', '""') + '"'


def literal(text: str) -> str:
    """An SQL string."""
    return "'" + text.replace("'", "''") + "'"


def claims_table(schema_hash: str) -> str:
    """The name of the typed table of a schema fingerprint."""
    return "claims_" + re.sub("[^0-9A-Za-z]", "", schema_hash)


def _table(schema: Schema) -> str:
    return quoted(claims_table(schema.schema_hash))


def _short(schema_hash: str) -> str:
    """The first characters of a fingerprint, without the name of the algorithm before it."""
    return re.sub("[^0-9A-Za-z]", "", schema_hash.rpartition(":")[2])[:6] or "0"


def make_claims_table(con: duckdb.DuckDBPyConnection, schema_hash: str, structure: str) -> None:
    """(Re)make the typed table of a schema from all its outcomes: the latest good one of each record."""
    con.execute(
        f"""CREATE OR REPLACE TABLE {quoted(claims_table(schema_hash))} AS
        SELECT record_id, run_id, finished_at, from_json(value, {literal(structure)}) AS value FROM (
            SELECT o.* FROM outcomes o JOIN runs u USING (run_id)
            WHERE u.schema_hash = {literal(schema_hash)} AND o.status = 'done'
            QUALIFY row_number() OVER (PARTITION BY record_id ORDER BY o.finished_at DESC, o.run_id DESC) = 1)"""  # noqa: S608
    )


def check_types(con: duckdb.DuckDBPyConnection, structure: str) -> None:
    """Raise DuckDB's error if a type that the structure names doesn't exist."""
    con.execute(f"SELECT from_json('{{}}', {literal(structure)})").fetchall()


def refresh(con: duckdb.DuckDBPyConnection) -> None:
    """Make all views anew. To be called in a transaction, when a schema came or a run changed which one is latest."""
    old = con.execute(
        "SELECT view_name FROM duckdb_views() WHERE NOT internal AND starts_with(comment, ?)", [_OURS]
    ).fetchall()
    for (name,) in old:
        con.execute(f"DROP VIEW {quoted(name)}")
    others = con.execute(
        "SELECT table_name FROM duckdb_tables() UNION ALL SELECT view_name FROM duckdb_views() WHERE NOT internal"
    ).fetchall()
    names = {str(name).lower() for (name,) in others}
    if needed := names & set(_FOR_ALL):
        raise StoreError(f"the database has its own {min(needed)!r}, a name that claimbase needs; rename or drop it")
    for view in views_of(_kept(con), names):
        con.execute(f"CREATE VIEW {quoted(view.name)} AS {view.query}")
        con.execute(f"COMMENT ON VIEW {quoted(view.name)} IS {literal(_OURS + view.about)}")


def _kept(con: duckdb.DuckDBPyConnection) -> list[Schema]:
    """The schemas, the shipped one's fingerprints first, then by their latest run."""
    rows = con.execute(
        """SELECT s.* FROM schemas s
        LEFT JOIN (SELECT schema_hash, max(started_at) AS used_at FROM runs GROUP BY ALL) USING (schema_hash)
        ORDER BY s.name <> ?, used_at DESC NULLS LAST, s.schema_hash""",
        [UNPREFIXED],
    ).fetchall()
    return [Schema(*row) for row in rows]


def views_of(schemas: Sequence[Schema], others: Collection[str] = ()) -> Iterator[View]:
    """The views for these schemas, first come first named; `others` are names that are taken, in lower case."""
    taken = {*BASE_TABLES, *_FOR_ALL, *others}
    yield View("latest", "the run that each record's claims come from, by schema", _latest(schemas))
    yield View("rejected", "what the model said that the text does not, with the reason", _REJECTED)
    yield View("failures", "records that no run of a recipe has done, with the latest error", _FAILURES)
    seen: set[str] = set()
    for schema in schemas:
        superseded = schema.name.lower() in seen
        seen.add(schema.name.lower())
        for view in _views_of_schema(schema):
            name = view.name
            if superseded or name.lower() in taken:
                name = free(f"{name}_{_short(schema.schema_hash)}", taken)
            taken.add(name.lower())
            yield View(name, view.about, view.query)


def _latest(schemas: Sequence[Schema]) -> str:
    parts = [
        f"SELECT record_id, {literal(schema.schema_hash)} AS schema_hash, run_id FROM {_table(schema)}"  # noqa: S608
        for schema in schemas
    ]
    none = "SELECT NULL::VARCHAR AS record_id, NULL::VARCHAR AS schema_hash, NULL::VARCHAR AS run_id WHERE false"
    return " UNION ALL ".join(parts or [none])


def _views_of_schema(schema: Schema) -> Iterator[View]:
    shape = shape_of(schema.name, schema.structure)
    prefix = "" if schema.name == UNPREFIXED else f"{schema.name}_"
    yield View(plural(schema.name), f"schema {schema.name}: one row a record", _model_query(schema, shape))
    for field in shape.lists:
        about = f"schema {schema.name}: one row an item of {'.'.join(field.path)}"
        yield View(prefix + field.name, about, _list_query(schema, field))
    measuring = [field for field in shape.lists if field.measures]
    for field in measuring:
        about = f"schema {schema.name}: one row an item of {'.'.join(field.path)}, with its record's fields"
        name = f"{prefix}claims" if field is measuring[0] else f"{prefix}claims_{field.name}"
        yield View(name, about, _wide_query(schema, shape, field))


def _model_query(schema: Schema, shape: Shape) -> str:
    columns = _shown("c.value", shape.scalars, {"record_id", "source_id", "title", "model", "run_id"}, schema.name)
    return f"""SELECT c.record_id, r.source_id, r.title, {"".join(f"{column}, " for column in columns)}u.model, c.run_id
        FROM {_table(schema)} c JOIN records r USING (record_id) JOIN runs u USING (run_id)"""  # noqa: S608


def _list_query(schema: Schema, field: ListField) -> str:
    columns = _shown("i.item", field.columns, {"record_id", "ordinal"}, singular(field.name))
    return f"SELECT i.record_id, i.ordinal, {', '.join(columns)} FROM ({_items(schema, field)}) i"  # noqa: S608


def _wide_query(schema: Schema, shape: Shape, field: ListField) -> str:
    taken = {"record_id", "source_id", "title", "ordinal", "model", "run_id"}
    scalars = _shown("i.value", shape.scalars, taken, schema.name)
    items = _shown("i.item", field.columns, taken, singular(field.name))
    return f"""SELECT i.record_id, r.source_id, r.title, {"".join(f"{column}, " for column in scalars)}i.ordinal,
        {", ".join(items)}, u.model, i.run_id
        FROM ({_items(schema, field)}) i JOIN records r USING (record_id) JOIN runs u USING (run_id)"""  # noqa: S608


def _items(schema: Schema, field: ListField) -> str:
    items = _member("value", field.path)
    return f"""SELECT record_id, run_id, value, (generate_subscripts({items}, 1) - 1)::INTEGER AS ordinal,
        unnest({items}) AS item FROM {_table(schema)}"""  # noqa: S608


def _shown(source: str, columns: Sequence[Column], taken: set[str], prefix: str) -> list[str]:
    """The columns as SQL; a name that is taken gets the prefix. Adds the names to `taken`."""
    shown = []
    for column in columns:
        name = f"{prefix}_{column.name}" if column.name.lower() in taken else column.name
        shown.append(f"{_member(source, column.path)} AS {quoted(free(name, taken))}")
    return shown


def _member(source: str, path: Sequence[str]) -> str:
    return source + "".join(f"[{literal(key)}]" for key in path)
