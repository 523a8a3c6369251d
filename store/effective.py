"""Keeps the claims of reviewed records as their reviews leave them, in a table beside each typed table of claims.

`claims_<hash>_reviewed` has a row for each record that anyone has said something of: `value` as it is after review,
with `canonical` forms as in the typed table, `marks` in the value's shape (where each plain field and each item comes
from and what holds of it), and `done`, who is done with the abstract as its claims are now. A list keeps its order:
items that were rejected stay, marked so, and added ones follow. The views (`reviewed`) ask this table in place of
the typed one for these records, so they cost what those of the model's claims do.

All of it is derived from `reviews` and the typed tables, and is made anew for a record whenever either changes.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import duckdb

from store.aliases import aliases_of
from store.canonical import Aliases, canonical_of
from store.joinable import CANONICAL
from store.opening import first_row
from store.reviewed import DONE, Subject, complete, contents, digest, held, own, path_of
from store.sqltext import literal
from store.structure import Node, shape_of
from store.text import clean_json
from store.typed import names_of

_AT_ONCE = 2_000
"""Records that are laid out together."""

Claims = dict[tuple[str, int | None], str]
"""Of one record, the content of each claim by its path and ordinal."""


def make(con: duckdb.DuckDBPyConnection, schema_hash: str) -> None:
    """(Re)make the table of a schema, for all records that were reviewed. Within a transaction."""
    row = first_row(con, "SELECT name, structure FROM schemas WHERE schema_hash = ?", [schema_hash])
    assert row is not None
    subject = Subject(str(row[0]), shape_of(*row), str(row[1]), schema_hash)
    names = f"{CANONICAL}, " if names_of(con, schema_hash) else ""
    marks, done = (f"from_json('null', {literal(json.dumps(node))})" for node in (subject.marks, DONE))
    con.execute(
        f"""CREATE OR REPLACE TABLE {subject.reviewed_table} AS
        SELECT record_id, run_id, value, {names}{marks} AS marks, {done} AS done FROM {subject.table} LIMIT 0"""  # noqa: S608
    )
    _fill(con, subject, _reviewed(con, subject.name))


def renew(con: duckdb.DuckDBPyConnection, schema_name: str, record_ids: Sequence[str] | None = None) -> None:
    """Make the rows of these records anew under all fingerprints of a schema; of all reviewed ones without ids."""
    ids = _reviewed(con, schema_name) if record_ids is None else record_ids
    rows = con.execute("SELECT name, structure, schema_hash FROM schemas WHERE name = ?", [schema_name]).fetchall()
    for name, structure, schema_hash in rows:
        _fill(con, Subject(name, shape_of(name, structure), structure, schema_hash), ids)


def follow(con: duckdb.DuckDBPyConnection, schema_hash: str) -> None:
    """Make the rows of those records anew whose claims in the temporary table `batch` have just been saved."""
    ids = con.execute(
        """SELECT DISTINCT record_id FROM reviews r JOIN schemas s ON s.name = r.schema_name AND s.schema_hash = ?
        SEMI JOIN batch USING (record_id)""",
        [schema_hash],
    ).fetchall()
    if ids:
        row = first_row(con, "SELECT name FROM schemas WHERE schema_hash = ?", [schema_hash])
        assert row is not None
        renew(con, str(row[0]), [record_id for (record_id,) in ids])


def _reviewed(con: duckdb.DuckDBPyConnection, schema_name: str) -> list[str]:
    rows = con.execute("SELECT DISTINCT record_id FROM reviews WHERE schema_name = ?", [schema_name]).fetchall()
    return [record_id for (record_id,) in rows]


def _fill(con: duckdb.DuckDBPyConnection, subject: Subject, ids: Sequence[str]) -> None:
    """Make the rows of these records anew, those that the typed table has and someone has reviewed."""
    names, aliases = names_of(con, subject.schema_hash), aliases_of(con) if ids else {}
    for first in range(0, len(ids), _AT_ONCE):
        here = f"record_id IN ({', '.join(map(literal, ids[first : first + _AT_ONCE]))})"
        con.execute(f"DELETE FROM {subject.reviewed_table} WHERE {here}")  # noqa: S608
        con.execute(
            f"""CREATE OR REPLACE TEMP TABLE judged AS SELECT c.record_id, c.run_id, c.value, r.text
            FROM {subject.table} c LEFT JOIN records r USING (record_id) WHERE {here}"""  # noqa: S608
        )
        con.execute(
            f"""CREATE OR REPLACE TEMP TABLE said AS SELECT * FROM reviews
            WHERE schema_name = {literal(subject.name)} AND {here}"""  # noqa: S608
        )
        if rows := _laid(con, subject, names, aliases):
            _insert(con, subject, names, rows)


def _insert(
    con: duckdb.DuckDBPyConnection, subject: Subject, names: Mapping[str, Node], rows: Iterable[tuple[str, ...]]
) -> None:
    nodes: dict[str, Any] = {"value": json.loads(subject.structure), CANONICAL: dict(names)}
    nodes |= {"marks": subject.marks, "done": DONE}
    columns = [f"from_json(l.{name}, {literal(json.dumps(node))}) AS {name}" for name, node in nodes.items() if node]
    laid = ", ".join(f"unnest(?::VARCHAR[]) AS {name}" for name in ("record_id", *nodes))
    con.execute(
        f"""INSERT INTO {subject.reviewed_table} BY NAME
        SELECT l.record_id, j.run_id, {", ".join(columns)} FROM (SELECT {laid}) l JOIN judged j USING (record_id)""",  # noqa: S608
        [list(column) for column in zip(*rows, strict=True)],
    )


def _laid(
    con: duckdb.DuckDBPyConnection, subject: Subject, names: Mapping[str, Node], aliases: Aliases
) -> list[tuple[str, ...]]:
    """The rows of the records in the temporary table `judged`, reviewed by the rows of `said`, as JSON text."""
    claims = _by_record(
        con.execute(f"SELECT record_id, path, ordinal, claim FROM ({contents(subject, 'judged')})").fetchall()  # noqa: S608
    )
    verdicts = _by_record(
        con.execute(
            f"""SELECT record_id, path, claim, verdict, value, reviewers FROM ({held("said")})
            ORDER BY judged_at, path, claim::VARCHAR"""  # noqa: S608
        ).fetchall()
    )
    done = _by_record(
        con.execute(
            f"""SELECT record_id, reviewer, judged_at::VARCHAR, claim FROM ({complete("said")}) ANTI JOIN
            (SELECT record_id, reviewer FROM ({own("said")}) WHERE verdict = 'deferred') USING (record_id, reviewer)
            ORDER BY reviewer"""  # noqa: S608
        ).fetchall()
    )
    laid = []
    for record_id, value_json, text in con.execute("SELECT record_id, to_json(value), text FROM judged").fetchall():
        value: dict[str, Any] = json.loads(value_json)
        known = claims.get(record_id, [])
        now = digest((path, claim) for path, _, claim in known) if record_id in done else None
        people = [{"reviewer": who, "judged_at": at} for who, at, of in done.get(record_id, ()) if of == now]
        marks = _lay(subject, value, {(p, at): claim for p, at, claim in known}, verdicts.get(record_id, []))
        canonical = canonical_of(value, names, text or "", aliases)
        laid.append((str(record_id), *map(_json, (value, canonical, marks, people))))
    return laid


def _by_record(rows: Iterable[tuple[Any, ...]]) -> dict[str, list[tuple[Any, ...]]]:
    found: dict[str, list[tuple[Any, ...]]] = {}
    for record_id, *rest in rows:
        found.setdefault(record_id, []).append(tuple(rest))
    return found


def _json(known: Any) -> str:
    return clean_json(json.dumps(known, ensure_ascii=False))


def _lay(
    subject: Subject, value: dict[str, Any], claims: Claims, verdicts: Iterable[tuple[Any, ...]]
) -> dict[str, Any]:
    """Lay verdicts over a record's value, which is changed; return the marks."""
    said = {(path, claim): (verdict, new, who) for path, claim, verdict, new, who in verdicts}
    marks: dict[str, Any] = {}
    for column in subject.scalars:
        path = path_of(column)
        before = _get(value, column.path)
        verdict, new, who = said.get((path, claims[path, None]), (None, None, None))
        origin = "model"
        if verdict == "corrected":
            origin = "added" if before is None else "corrected"
            _put(value, column.path, json.loads(new))
        elif verdict == "rejected":
            _put(value, column.path, None)
        _put(marks, column.path, _mark(origin, verdict, who))
    for field in subject.lists:
        path, items, of_items = path_of(field), list(_get(value, field.path) or ()), []
        known = {claims[path, ordinal] for ordinal in range(len(items))}
        for ordinal in range(len(items)):
            verdict, new, who = said.get((path, claims[path, ordinal]), (None, None, None))
            if verdict == "corrected":
                items[ordinal] = json.loads(new)
            of_items.append(_mark("corrected" if verdict == "corrected" else "model", verdict, who))
        for (of, claim), (verdict, new, who) in said.items():
            if of == path and verdict == "added" and claim not in known:
                items.append(json.loads(new))
                of_items.append(_mark("added", verdict, who))
        _put(value, field.path, items)
        _put(marks, field.path, of_items)
    return marks


def _mark(origin: str, verdict: str | None, reviewers: str | None) -> dict[str, str | None]:
    return {"origin": origin, "verdict": verdict, "reviewers": reviewers}


def _get(value: Any, path: tuple[str, ...]) -> Any:
    for key in path:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def _put(value: dict[str, Any], path: tuple[str, ...], new: Any) -> None:
    *above, last = path
    for key in above:
        inner = value.get(key)
        if not isinstance(inner, dict):
            inner = value[key] = {}
        value = inner
    value[last] = new
