"""Explains a schema to a person: what a model is told and sent, what becomes of it, what a change of it means.

It asks no model and changes no database; what it says of views is read off a database of its own, made for the moment.
"""

import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from extract.errors import MistakeError
from extract.recipe import Recipe
from prompts.loader import ABSTRACT
from schemas.changes import Change, Changes, Form, compare, form_of
from schemas.registry import LoadedSchema, load_schema
from schemas.shape import FieldShape
from schemas.strict import left_out, refusals
from store import views
from store.db import Store
from store.query import run_query
from store.rows import Schema
from store.views import literal, short

_KINDS = {"added": "+", "removed": "-", "changed": "~"}
_READ = {"value": "the value of", "unit": "the unit of", "qualifier": "how to take"}
_IN_EVERY_VIEW = frozenset({"end"})
"""Reserved words that claimbase's own columns have: no news to anyone."""


@dataclass(frozen=True, slots=True)
class ViewShown:
    """A view that a schema gets: its columns with their types."""

    name: str
    about: str
    columns: Mapping[str, str]


def views_of(schema: LoadedSchema) -> list[ViewShown]:
    """Return the views of a schema's claims in a database where it is the only one. Raises SchemaRefused."""
    kept = Schema(schema.hash, schema.name, schema.json_schema, json.dumps(schema.structure))
    with tempfile.TemporaryDirectory() as folder:
        store = Store(Path(folder) / "views.duckdb")
        store.create()
        store.use_schema(kept)
        query = "SELECT table_name, column_name, data_type FROM duckdb_columns() ORDER BY table_name, column_index"
        columns: dict[str, dict[str, str]] = {}
        for view, column, kind in run_query(store.path, query).rows:
            columns.setdefault(str(view), {})[str(column)] = str(kind)
    said = f"schema {schema.name}: "
    return [
        ViewShown(view.name, view.about.removeprefix(said), columns[view.name])
        for view in views.views_of([kept])
        if view.about.startswith(said)
    ]


def shown(recipe: Recipe) -> Iterator[str]:
    """Yield the lines that show what a model gets for each abstract, and the views of what comes back."""
    schema, prompt = recipe.schema, recipe.prompt
    yield f"schema {schema.name}, {schema.hash}"
    yield from ("", f"What a model reads (prompt {prompt.name}, version {prompt.version}):")
    for message in prompt.messages(ABSTRACT):
        yield f"  [{message['role']}]"
        yield from (f"  {line}".rstrip() for line in message["content"].splitlines())
    yield from ("", f"The JSON schema that is sent{'' if recipe.strict else ', as advice (see `schema check`)'}:")
    yield from (f"  {line}" for line in json.dumps(recipe.sent, ensure_ascii=False, indent=2).splitlines())
    yield from ("", "The views of what comes back:")
    for view in views_of(schema):
        yield f"  {view.name}, {view.about}"
        yield from (f"    {name} {kind}" for name, kind in view.columns.items())


def as_row(recipe: Recipe) -> dict[str, Any]:
    """Return the same as plain values for JSON."""
    return {
        "name": recipe.schema.name,
        "hash": recipe.schema.hash,
        "prompt": recipe.prompt.messages(ABSTRACT),
        "sent": recipe.sent,
        "strict": recipe.strict,
        "views": {view.name: dict(view.columns) for view in views_of(recipe.schema)},
    }


def checked(recipe: Recipe) -> Iterator[str]:
    """Yield the lines that say what of a schema is sent, checked here, tied to the text, filled in by code."""
    schema = recipe.schema
    columns = {column for view in views_of(schema) for column in view.columns}
    yield f"schema {schema.name}, {schema.hash}: can be used"
    yield from _part(
        "An endpoint can't be held to these; the schema is sent as advice, and the reply is checked here",
        refusals(recipe.sent),
    )
    yield from _part("Not sent, but stated in the prompt and checked here", left_out(json.loads(schema.json_schema)))
    yield from _part("Looked up in the text", [path for path, f in _walk(schema.fields) if f.verbatim])
    filled = [f"{path}: {_READ[f.kind]} {f.of}" for path, f in _walk(schema.fields) if f.of and not f.asked]
    computed = [f"{path}: by the model's own code" for path, f in _walk(schema.fields) if f.computed]
    yield from _part("Filled in by code, never asked for", filled + computed)
    yield from _part("Words of SQL: write them in double quotes", sorted(columns & _reserved() - _IN_EVERY_VIEW))
    yield from _part("Advice", _advice(schema.fields))


def explained(old: Form, new: Form, done: int | None) -> Iterator[str]:
    """Yield the lines that say what differs between two forms of a schema, and what that means.

    `done`: how many records of the database at hand have claims by the old form; None without one.
    """
    changes = compare(old, new)
    yield f"{old.name} {old.hash} -> {new.name} {new.hash}"
    yield from _listed("Fields", changes.asked)
    yield from _listed("Computed fields", changes.columns)
    yield ""
    yield from _meaning(old, new, changes, done)


def find_form(spec: str, db: Path) -> Form:
    """Return the form of a schema: by a spec as in `run`, or by a fingerprint, or its start, in a database.

    Raises SchemaError, MistakeError for a fingerprint that isn't there, StoreError.
    """
    if not spec.startswith("s1-"):
        return form_of(load_schema(spec))
    rows = list(
        run_query(
            db,
            "SELECT name, schema_hash, json_schema, structure FROM schemas "  # noqa: S608  # a literal
            f"WHERE starts_with(schema_hash, {literal(spec)}) ORDER BY 2",
        ).rows
    )
    if len(rows) != 1:
        known = ", ".join(str(row[1]) for row in rows) or "none that begins so"
        raise MistakeError(f"{db}: {'several schemas' if rows else 'no schema'} {spec!r}; it has {known}")
    name, schema_hash, json_schema, structure = rows[0]
    return Form(str(name), str(schema_hash), json.loads(json_schema), json.loads(structure))


def records_done(db: Path, schema_hash: str) -> int | None:
    """Return how many records have claims by a form of a schema; None where there is no database."""
    if not db.is_file():
        return None
    [(count,)] = run_query(db, f"SELECT count(*) FROM latest WHERE schema_hash = {literal(schema_hash)}").rows  # noqa: S608
    return int(count)


def _meaning(old: Form, new: Form, changes: Changes, done: int | None) -> Iterator[str]:
    if old.hash == new.hash:
        yield "Nothing is asked again."
        yield (
            "`claimbase rederive` makes the new columns from the stored replies."
            if changes.columns
            else "If a validator changed, `claimbase rederive` puts the stored replies through it."
        )
        return
    if old.name != new.name:
        yield f"These are two schemas: the views of {old.name} and of {new.name} stand side by side."
        return
    if not (changes.asked or changes.columns):
        yield "No field differs, but the name or the docstring of a class does, which the fingerprint is of too."
    records = "every record" if done is None else f"the {done:,} records done" if done != 1 else "the 1 record done"
    yield f"`claimbase run` asks for {records} again. What was done stays: its views get"
    yield f"`_{short(old.hash)}` behind their names once the new form has run."


def _listed(title: str, changes: Sequence[Change]) -> Iterator[str]:
    lines = (f"{_KINDS[c.kind]} {c.path}{': ' if c.details else ''}{'; '.join(c.details)}" for c in changes)
    yield from _part(title, list(lines))


def _part(title: str, lines: Sequence[str]) -> Iterator[str]:
    if lines:
        yield from ("", f"{title}:")
        yield from (f"  {line}" for line in lines)


def _walk(fields: Sequence[FieldShape], path: str = "") -> Iterator[tuple[str, FieldShape]]:
    for field in fields:
        yield f"{path}{field.name}", field
        yield from _walk(field.fields, f"{path}{field.name}.")


def _advice(fields: Sequence[FieldShape]) -> list[str]:
    walked = [(path, f) for path, f in _walk(fields) if f.asked and f.kept]
    said = [f"{path}: no description; the model has only its name to go by" for path, f in walked if not f.description]
    said += [
        f"{path}: its items have no place in the text; give them a required Quote, Name or NumberQuote"
        for path, f in walked
        if f.kind == "model" and f.many and f.anchor is None
    ]
    if not any(f.verbatim for _, f in walked):
        said.append("nothing in it is verbatim: no claim of it can be looked up in its text")
    return said


def _reserved() -> set[str]:
    import duckdb

    with duckdb.connect() as con:
        rows = con.execute("SELECT keyword_name FROM duckdb_keywords() WHERE keyword_category = 'reserved'").fetchall()
    return {str(word) for (word,) in rows}
