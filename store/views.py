"""The surface that users query: typed tables of claims and the views over them, derived from each schema's structure.

For each schema fingerprint there is one table `claims_<hash>`(record_id, run_id, finished_at, value STRUCT) with the
latest good outcome of each record; the views unfold its value. All of it can be dropped and made again from the base
tables. No field of the shipped schema is known here. What a schema named `trial` becomes:

- `trials`: a row a record, its plain fields as columns, those of a nested object as `parent_child`;
- `trial_<list>`: a row an item of that list, `ordinal` from 0, the item's fields as columns; an item that is no object
  is the column `name` (text) or `value` (else); of a list within a list's items `trial_<list>_<inner list>`, with the
  `ordinal` of the outer item as `<singular of the list>_ordinal`;
- `trial_claims`, if a list's items have a DOUBLE `value`: a row an item, with its record's fields beside it; of further
  such lists `trial_claims_<list>`; of one within another with the outer item's fields too, as `<singular>_<field>`;
- beside all these the columns that join and compare across papers: `canonical`, `si_value`, `work`, … (`joinable`);
- `reviewed_trials` and so on: the same once verdicts are laid over it (`reviewed`).

The schema `paper` leaves its name out of all but the first. A column whose name is taken is written
`<singular of the list>_<column>`, or `<schema>_<column>` where it is the record's; a view whose name is taken has the
first 6 characters of the fingerprint behind it. Of several fingerprints of one schema name, the one of the latest run
has the plain names.
"""

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

import duckdb

from store import joinable
from store.canonical import names_in
from store.errors import StoreError
from store.macros import OURS, make_macros
from store.reviewed import Subject, held, reviewed_views
from store.rows import Schema
from store.sqltext import claims_table as claims_table
from store.sqltext import literal as literal
from store.sqltext import member as _member
from store.sqltext import quoted as quoted
from store.sqltext import shown as _shown
from store.structure import Column, ListField, Shape, free, plural, shape_of, singular
from store.typed import make_claims_table as make_claims_table

UNPREFIXED = "paper"
"""The schema whose views of lists have the lists' own names, whatever other schemas there are."""

BASE_TABLES = (
    "records", "sources", "schemas", "prompts", "runs", "attempts", "outcomes", "evidence", "reviews", "review_samples",
    "aliases", "works", "work_keys", "migrations",
)  # fmt: skip

_FOR_ALL = ("latest", "rejected", "failures", "verdicts")  # the views over all schemas

_FAILURES = """
SELECT o.record_id, r.source, r.locator, r.title, o.error_type, o.error, u.model, o.run_id, o.finished_at
FROM outcomes o JOIN runs u USING (run_id) JOIN records r USING (record_id)
WHERE o.status = 'failed' AND NOT EXISTS (
    SELECT 1 FROM outcomes d JOIN runs v USING (run_id)
    WHERE d.status = 'done' AND d.record_id = o.record_id AND v.recipe = u.recipe)
QUALIFY row_number() OVER (PARTITION BY u.recipe, o.record_id ORDER BY o.finished_at DESC, o.run_id DESC) = 1
"""
_WORK = "LEFT JOIN works w USING (record_id)"
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


def _table(schema: Schema) -> str:
    return quoted(claims_table(schema.schema_hash))


def short(schema_hash: str) -> str:
    """The first characters of a fingerprint, without the name of the algorithm before it."""
    return re.sub("[^0-9A-Za-z]", "", schema_hash.rpartition(":")[2])[:6] or "0"


def check_types(con: duckdb.DuckDBPyConnection, structure: str) -> None:
    """Raise DuckDB's error if a type that the structure names doesn't exist."""
    con.execute(f"SELECT from_json('{{}}', {literal(structure)})").fetchall()


def refresh(con: duckdb.DuckDBPyConnection) -> None:
    """Make all views and macros anew, when a schema came or a run changed which is latest. Within a transaction."""
    old = con.execute(
        "SELECT view_name FROM duckdb_views() WHERE NOT internal AND starts_with(comment, ?)", [OURS]
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
        con.execute(f"COMMENT ON VIEW {quoted(view.name)} IS {literal(OURS + view.about)}")
    make_macros(con)


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
    yield View("verdicts", "which verdict holds on each claim that was reviewed", held())
    yield View("failures", "records that no run of a recipe has done, with the latest error", _FAILURES)
    seen: set[str] = set()
    for schema in schemas:
        superseded = schema.name.lower() in seen
        seen.add(schema.name.lower())
        for view in _views_of_schema(schema):
            name = view.name
            if superseded or name.lower() in taken:
                name = free(f"{name}_{short(schema.schema_hash)}", taken)
            taken.add(name.lower())
            yield View(name, view.about, view.query)
    yield from _reviewed(schemas, taken)


def _reviewed(schemas: Sequence[Schema], taken: set[str]) -> Iterator[View]:
    """The views of claims as reviews leave them, of the first fingerprint of each schema name. Adds to `taken`."""
    newest = {schema.name.lower(): schema for schema in reversed(schemas)}
    for schema in (each for each in schemas if newest[each.name.lower()] is each):
        shape = shape_of(schema.name, schema.structure)
        subject = Subject(schema.name, shape, schema.structure, schema.schema_hash)
        prefix = "" if schema.name == UNPREFIXED else f"{schema.name}_"
        for name, about, query in reviewed_views(subject, prefix, names_in(schema)):
            free_name = name if name.lower() not in taken else f"{name}_{short(schema.schema_hash)}"
            yield View(free(free_name, taken), about, query)


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
        about = f"schema {schema.name}: one row an item of {'.'.join(field.full_path)}"
        yield View(prefix + field.name, about, _list_query(schema, field))
    measuring = [field for field in shape.lists if field.measures]
    for field in measuring:
        about = f"schema {schema.name}: one row an item of {'.'.join(field.full_path)}, with its record's fields"
        name = f"{prefix}claims" if field is measuring[0] else f"{prefix}claims_{field.name}"
        yield View(name, about, _wide_query(schema, shape, field))


def _model_query(schema: Schema, shape: Shape) -> str:
    taken = {"record_id", "source_id", "title", "model", "run_id"}
    columns = _shown("c.value", shape.scalars, taken, schema.name)
    beside = joinable.of_model(names_in(schema), shape.scalars, "c", taken)
    work = f"w.work AS {quoted(free('work', taken))}"
    return f"""SELECT c.record_id, r.source_id, r.title, {"".join(f"{column}, " for column in columns)}u.model,
        {", ".join(["c.run_id", *beside, work])} FROM {_table(schema)} c
        JOIN records r USING (record_id) JOIN runs u USING (run_id) {_WORK}"""  # noqa: S608


def _list_query(schema: Schema, field: ListField) -> str:
    taken = {"record_id", "ordinal"}
    above = [f"i.ordinal_{depth} AS {name}" for depth, name in _ordinals(field, taken)]
    columns = _shown("i.item", field.columns, taken, singular(field.name))
    columns += joinable.of_items(names_in(schema), field, "i", taken)
    return f"SELECT {', '.join(['i.record_id', *above, 'i.ordinal', *columns])} FROM ({_items(schema, field)}) i"  # noqa: S608


def _wide_query(schema: Schema, shape: Shape, field: ListField) -> str:
    taken = {"record_id", "source_id", "title", "ordinal", "model", "run_id"}
    columns = _shown("i.value", shape.scalars, taken, schema.name)
    for (depth, name), outer in zip(_ordinals(field, taken), field.within, strict=True):
        prefix = singular(outer.name)
        named = [Column(c.path, f"{prefix}_{c.name}", c.type) for c in outer.columns]
        columns += [f"i.ordinal_{depth} AS {name}", *_shown(f"i.item_{depth}", named, taken, prefix)]
    items = _shown("i.item", field.columns, taken, singular(field.name))
    names = names_in(schema)
    beside = [*joinable.of_model(names, shape.scalars, "i", taken), *joinable.of_items(names, field, "i", taken)]
    work = f"w.work AS {quoted(free('work', taken))}"
    return f"""SELECT i.record_id, r.source_id, r.title, {"".join(f"{column}, " for column in columns)}i.ordinal,
        {"".join(f"{item}, " for item in items)}u.model,
        {", ".join(["i.run_id", *beside, work])}
        FROM ({_items(schema, field)}) i
        JOIN records r USING (record_id) JOIN runs u USING (run_id) {_WORK}"""  # noqa: S608


def _ordinals(field: ListField, taken: set[str]) -> list[tuple[int, str]]:
    """The column for the ordinal of each item that an item stands within, with how deep that is. Adds to `taken`."""
    names = (free(f"{singular(outer.name)}_ordinal", taken) for outer in field.within)
    return [(depth, quoted(name)) for depth, name in enumerate(names)]


def _items(schema: Schema, field: ListField) -> str:
    """The items of a list; of one within others, beside the outer items and their ordinals, numbered from outside."""
    first, *inner = (*field.within, field)
    kept = "record_id, run_id, value" + (f", {joinable.CANONICAL}" if names_in(schema) else "")
    query = _unnested(kept, _member("value", first.path), _table(schema))
    for depth, each in enumerate(inner):
        above = "".join(f", ordinal_{n}, item_{n}" for n in range(depth))
        deeper = f"{kept}{above}, ordinal AS ordinal_{depth}, item AS item_{depth}"
        query = _unnested(deeper, _member("item", each.path), f"({query})")
    return query


def _unnested(kept: str, items: str, source: str) -> str:
    return f"""SELECT {kept}, (generate_subscripts({items}, 1) - 1)::INTEGER AS ordinal, unnest({items}) AS item
        FROM {source}"""  # noqa: S608
