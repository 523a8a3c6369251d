"""Appends what reviewers say of claims, takes it back by appending, and reads what each of them said.

A row of `reviews` is never changed or removed. A verdict is keyed by the record and the claim's content (`reviewed`),
so no run writes or loses one. What holds where several reviewers spoke is the view `verdicts`. It opens no file: each
function works on an open connection, those that write within the caller's transaction.
"""

import json
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Literal

import duckdb

from store import effective
from store.errors import StoreError
from store.opening import first_row
from store.reading import aware
from store.reviewed import Subject, among, complete, content, contents, digests, own, path_of
from store.sqltext import literal
from store.structure import shape_of
from store.text import clean, clean_json

Verdict = Literal["accepted", "corrected", "rejected", "added", "deferred", "noted", "complete", "undone"]
"""On a claim: `accepted` to `noted`; on a whole abstract (path ''): `complete`, nothing is missing, or `noted`."""

_COLUMNS = """review_id, judged_at, reviewer, schema_name, record_id, path, claim, verdict, value, reason, note,
    settles, undoes"""


@dataclass(frozen=True, slots=True)
class Judgement:
    """What a reviewer says. `claim`: the content judged, JSON text; `value`: the item that holds in its place, JSON.

    `path` is '' and `claim` the digest of all claims for a whole abstract. `settles`: it holds whoever says otherwise.
    """

    reviewer: str
    schema_name: str
    record_id: str
    path: str
    claim: str | None
    verdict: Verdict
    value: str | None = None
    reason: str | None = None
    note: str | None = None
    settles: bool = False


@dataclass(frozen=True, slots=True)
class Review:
    """A row of `reviews`."""

    review_id: str
    judged_at: datetime
    said: Judgement
    undoes: str | None = None


@dataclass(frozen=True, slots=True)
class Item:
    """A claim as it is now: `claim` is its content, `known` all that is known of it; a plain field has no `ordinal`."""

    path: str
    ordinal: int | None
    claim: str
    known: Any


def schema_names(con: duckdb.DuckDBPyConnection) -> list[str]:
    """The names of the schemas that claims were extracted by, that of the latest run first."""
    rows = con.execute(
        """SELECT s.name FROM schemas s JOIN runs u USING (schema_hash)
        GROUP BY s.name ORDER BY max(u.started_at) DESC, s.name"""
    ).fetchall()
    return [name for (name,) in rows]


def subject_of(con: duckdb.DuckDBPyConnection, schema_name: str) -> Subject:
    """The schema of a name whose views have the plain names. Raises `StoreError` for a name that no run used."""
    row = first_row(
        con,
        """SELECT s.name, s.structure, s.schema_hash FROM schemas s
        LEFT JOIN (SELECT schema_hash, max(started_at) AS used_at FROM runs GROUP BY ALL) USING (schema_hash)
        WHERE s.name = ? ORDER BY used_at DESC NULLS LAST, s.schema_hash LIMIT 1""",
        [schema_name],
    )
    if row is None:
        known = ", ".join(schema_names(con)) or "none"
        raise StoreError(f"no claims of schema {schema_name!r} here; there are {known}")
    name, structure, schema_hash = row
    return Subject(name, shape_of(name, structure), structure, schema_hash)


def items_of(con: duckdb.DuckDBPyConnection, subject: Subject, record_id: str) -> list[Item]:
    """The claims of a record, plain fields first, then each list in its order; none if it has no good outcome."""
    rows = con.execute(
        f"{_one(subject, record_id)} SELECT path, ordinal, claim, item FROM ({contents(subject, 'one')})"  # noqa: S608
    ).fetchall()
    order = {path: n for n, path in enumerate(subject.paths)}
    items = [Item(path, ordinal, claim, json.loads(item)) for path, ordinal, claim, item in rows]
    return sorted(items, key=lambda item: (order[item.path], item.ordinal or 0))


def value_of(con: duckdb.DuckDBPyConnection, subject: Subject, record_id: str) -> str:
    """All that a run claims of a record, as JSON text; `{}` if it has no good outcome."""
    row = first_row(
        con,
        f"SELECT to_json(value)::VARCHAR FROM {subject.table} WHERE record_id = ?",  # noqa: S608
        [record_id],
    )
    return "{}" if row is None else str(row[0])


def digest_of(con: duckdb.DuckDBPyConnection, subject: Subject, record_id: str) -> str | None:
    """All claims of a record as one text; None if it has none."""
    row = first_row(con, f"{_one(subject, record_id)} SELECT digest FROM ({digests(subject, 'one')})")  # noqa: S608
    return None if row is None else str(row[0])


def _one(subject: Subject, record_id: str) -> str:
    """The claims of a record as `one`, looked up once however often a query names it."""
    return f"WITH one AS MATERIALIZED (FROM {subject.table} WHERE record_id = {literal(record_id)})"


def content_of(con: duckdb.DuckDBPyConnection, subject: Subject, path: str, known: Any) -> str:
    """The content of an item that a person wrote, as it would be if a run had said it. Raises `StoreError`."""
    said = json.dumps(known, ensure_ascii=False)
    for column in subject.scalars:
        if path_of(column) == path:
            return said
    for field in subject.lists:
        if path_of(field) == path:
            row = first_row(
                con,
                f"SELECT {content('item', field)} FROM (SELECT from_json(?, ?) AS item)",  # noqa: S608
                [said, subject.item_structure(field)],
            )
            assert row is not None
            return str(row[0])
    raise StoreError(f"schema {subject.name!r} has no field {path!r}")


def own_verdicts(con: duckdb.DuckDBPyConnection, schema_name: str, record_id: str, reviewer: str) -> list[Review]:
    """A reviewer's latest verdict on each claim of a record, also on claims that are no more; no settling ones."""
    rows = con.execute(
        f"""SELECT {_COLUMNS} FROM ({own(among(_of(record_id)))}) WHERE schema_name = ? AND reviewer = ? AND NOT settles
        ORDER BY judged_at""",  # noqa: S608
        [schema_name, reviewer],
    ).fetchall()
    return [_review(row) for row in rows]


def notes_on(con: duckdb.DuckDBPyConnection, schema_name: str, record_id: str) -> list[Review]:
    """The notes on a record and its claims, of all reviewers, the oldest first."""
    rows = con.execute(
        f"""SELECT {_COLUMNS} FROM reviews r WHERE schema_name = ? AND record_id = ? AND note IS NOT NULL
        AND verdict <> 'undone' AND NOT EXISTS (SELECT 1 FROM reviews u WHERE u.undoes = r.review_id)
        ORDER BY judged_at""",  # noqa: S608
        [schema_name, record_id],
    ).fetchall()
    return [_review(row) for row in rows]


def last_of(con: duckdb.DuckDBPyConnection, schema_name: str, reviewer: str) -> Review | None:
    """The latest thing that a reviewer did, an undoing too."""
    row = first_row(
        con,
        f"""SELECT {_COLUMNS} FROM reviews WHERE schema_name = ? AND reviewer = ?
        ORDER BY judged_at DESC LIMIT 1""",  # noqa: S608
        [schema_name, reviewer],
    )
    return None if row is None else _review(row)


def is_complete(con: duckdb.DuckDBPyConnection, schema_name: str, record_id: str, reviewer: str, digest: str) -> bool:
    """Whether a reviewer was done with an abstract when its claims were those of this digest."""
    row = first_row(
        con,
        f"""SELECT claim::VARCHAR = ? FROM ({complete(among(_of(record_id)))})
        WHERE schema_name = ? AND reviewer = ?""",  # noqa: S608
        [digest, schema_name, reviewer],
    )
    return row is not None and bool(row[0])


def append(con: duckdb.DuckDBPyConnection, said: Judgement) -> Review:
    """Add what a reviewer says; the same again, with nothing said between, is left as it is."""
    before = first_row(
        con,
        f"""SELECT {_COLUMNS} FROM reviews WHERE (schema_name, record_id, path, reviewer) = (?, ?, ?, ?)
        ORDER BY judged_at DESC LIMIT 1""",  # noqa: S608
        [said.schema_name, said.record_id, said.path, said.reviewer],
    )
    if before is not None and (kept := _review(before)).said == said and kept.undoes is None:
        return kept
    return _add(con, said, None)


def undo(con: duckdb.DuckDBPyConnection, schema_name: str, reviewer: str) -> Review | None:
    """Take back the latest thing that a reviewer said and has not taken back; None if there is nothing left."""
    row = first_row(
        con,
        f"""SELECT {_COLUMNS} FROM reviews r WHERE schema_name = ? AND reviewer = ? AND verdict <> 'undone'
        AND NOT EXISTS (SELECT 1 FROM reviews u WHERE u.undoes = r.review_id) ORDER BY judged_at DESC LIMIT 1""",  # noqa: S608
        [schema_name, reviewer],
    )
    if row is None:
        return None
    undone = _review(row)
    said = undone.said
    back = Judgement(reviewer, schema_name, said.record_id, said.path, said.claim, "undone", settles=said.settles)
    _add(con, back, undone.review_id)
    return undone


def _add(con: duckdb.DuckDBPyConnection, said: Judgement, undoes: str | None) -> Review:
    last = first_row(con, "SELECT max(judged_at) FROM reviews")
    now = datetime.now(UTC)
    if last is not None and last[0] is not None:  # in order, whatever the clock does
        now = max(now, aware(last[0]) + timedelta(microseconds=1))
    review = Review(uuid.uuid4().hex, now, said, undoes)
    con.execute(
        f"INSERT INTO reviews ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",  # noqa: S608
        [
            *(review.review_id, now.replace(tzinfo=None), clean(said.reviewer), said.schema_name, said.record_id),
            *(said.path, _json(said.claim), said.verdict, _json(said.value), _text(said.reason), _text(said.note)),
            *(said.settles, undoes),
        ],
    )
    effective.renew(con, said.schema_name, [said.record_id])
    return review


def _of(record_id: str) -> str:
    return f"record_id = {literal(record_id)}"


def _json(text: str | None) -> str | None:
    return None if text is None else clean_json(text)


def _text(text: str | None) -> str | None:
    return None if text is None else clean(text)


def _review(row: Sequence[Any]) -> Review:
    review_id, judged_at, reviewer, schema_name, record_id, path, claim, verdict, value, *more = row
    reason, note, settles, undoes = more
    said = Judgement(reviewer, schema_name, record_id, path, claim, verdict, value, reason, note, settles)
    return Review(review_id, aware(judged_at), said, undoes)
