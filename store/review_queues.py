"""Which abstracts are to be reviewed next, how far reviewers are, and where they differ.

`weakest` puts first what is likeliest wrong: abstracts whose claims changed since they were reviewed, then those with
the least confident claim (where the views have a column `confidence`), then those on which two runs differ, then by
quotes that the text doesn't hold, values that code overruled, quotes found only once folded. A sample is drawn once, by
a seed, of whole abstracts, and kept apart from that: it alone says how good the claims are.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import duckdb

from store.errors import StoreError
from store.opening import first_row
from store.reading import aware
from store.reviewed import Subject, among, complete, completed, contents, own
from store.sqltext import literal, member, quoted
from store.text import clean

_BY_SEVERAL = among(
    "record_id IN (SELECT record_id FROM reviews GROUP BY record_id HAVING count(DISTINCT reviewer) > 1)"
)

_PUT_OFF = among("record_id IN (SELECT record_id FROM reviews WHERE verdict = 'deferred')")


@dataclass(frozen=True, slots=True)
class Progress:
    """Abstracts with claims; of these reviewed by anyone, and by one reviewer; claims on which reviewers differ."""

    abstracts: int
    reviewed: int
    by_reviewer: int
    disputed: int


@dataclass(frozen=True, slots=True)
class Sample:
    """A drawn sample: its seed, how many abstracts of how many, by whom and when; and how many are reviewed."""

    seed: str
    drawn: int
    of: int
    drawn_by: str
    drawn_at: datetime
    reviewed: int


@dataclass(frozen=True, slots=True)
class Voice:
    """What one reviewer says of a claim; `value` is the JSON of what holds in its place. `verdict` may be `absent`:

    they were done with the abstract and didn't add it.
    """

    reviewer: str
    verdict: str
    value: str | None
    reason: str | None


@dataclass(frozen=True, slots=True)
class Dispute:
    """A claim on which reviewers differ, and nobody has settled it."""

    record_id: str
    path: str
    claim: str
    voices: tuple[Voice, ...]


def progress(con: duckdb.DuckDBPyConnection, subject: Subject, reviewer: str) -> Progress:
    """How far the review of a schema's claims is."""
    row = first_row(
        con,
        f"""WITH d AS ({completed(subject)})
        SELECT (SELECT count(*) FROM {subject.table}), (SELECT count(DISTINCT record_id) FROM d),
            (SELECT count(*) FROM d WHERE reviewer = ?)""",  # noqa: S608
        [reviewer],
    )
    assert row is not None
    return Progress(int(row[0]), int(row[1]), int(row[2]), len(disputes(con, subject)))


def finished(con: duckdb.DuckDBPyConnection, subject: Subject, reviewer: str | None = None) -> set[str]:
    """The abstracts that a reviewer is done with, or anyone."""
    by = "true" if reviewer is None else f"reviewer = {literal(reviewer)}"
    rows = con.execute(f"SELECT record_id FROM ({completed(subject)}) WHERE {by}").fetchall()  # noqa: S608
    return {record_id for (record_id,) in rows}


def times_done(con: duckdb.DuckDBPyConnection, schema_name: str) -> int:
    """How often anyone was done with an abstract, counted fast: also what was undone or has changed since."""
    row = first_row(con, "SELECT count(*) FROM reviews WHERE verdict = 'complete' AND schema_name = ?", [schema_name])
    return 0 if row is None else int(row[0])


def weakest(con: duckdb.DuckDBPyConnection, subject: Subject, limit: int) -> list[str]:
    """The abstracts outside of the samples that nobody is done with, the likeliest wrong first."""
    confidence = _confidence(con, subject)
    rows = con.execute(
        f"""WITH done AS ({completed(subject)}),
        again AS (SELECT DISTINCT record_id FROM ({complete()}) WHERE schema_name = {literal(subject.name)}),
        sampled AS (SELECT record_id FROM review_samples WHERE schema_name = {literal(subject.name)}),
        differing AS ({_differing(con, subject)}),
        refused AS (SELECT record_id, count(*) AS refused FROM evidence e
            JOIN {subject.table} c USING (record_id, run_id) WHERE e.match = 'absent'
            OR e.reason IS NOT NULL GROUP BY record_id)
        SELECT c.record_id FROM {subject.table} c ANTI JOIN done USING (record_id) ANTI JOIN sampled USING (record_id)
        LEFT JOIN again USING (record_id) LEFT JOIN differing USING (record_id) LEFT JOIN refused USING (record_id)
        LEFT JOIN ({confidence}) f USING (record_id)
        ORDER BY again.record_id IS NULL, f.confidence NULLS LAST, coalesce(differing.claims, 0) DESC,
            coalesce(refused.refused, 0) + {_overruled(subject)} DESC, {_folded(subject)} DESC, c.record_id
        LIMIT {limit}"""  # noqa: S608
    ).fetchall()
    return [record_id for (record_id,) in rows]


def deferred(con: duckdb.DuckDBPyConnection, subject: Subject, reviewer: str) -> list[str]:
    """The abstracts in which a reviewer has put claims off, the longest waiting first."""
    rows = con.execute(
        f"""SELECT record_id FROM ({own(_PUT_OFF)}) WHERE schema_name = ? AND reviewer = ? AND verdict = 'deferred'
        GROUP BY record_id ORDER BY min(judged_at)""",  # noqa: S608
        [subject.name, reviewer],
    ).fetchall()
    return [record_id for (record_id,) in rows]


def draw_sample(con: duckdb.DuckDBPyConnection, subject: Subject, seed: str, size: int, drawn_by: str) -> Sample:
    """Draw abstracts at random and keep which they are; the same seed of the same abstracts draws the same.

    They are those with the least hash of seed and record, of all that have claims. Raises `StoreError` for a seed that
    was drawn before.
    """
    if first_row(
        con, "SELECT 1 FROM review_samples WHERE (sample, schema_name) = (?, ?) LIMIT 1", [seed, subject.name]
    ):
        raise StoreError(f"a sample of seed {seed!r} is drawn already; it is never drawn anew")
    ids = [record_id for (record_id,) in con.execute(f"SELECT record_id FROM {subject.table}").fetchall()]  # noqa: S608
    drawn = sorted(ids, key=lambda record_id: hashlib.sha256(f"{seed}\0{record_id}".encode()).digest())[:size]
    if not drawn:
        raise StoreError("there are no abstracts with claims to draw from")
    now = datetime.now(UTC)
    con.executemany(
        "INSERT INTO review_samples VALUES (?, ?, ?, ?, ?, ?, ?)",
        [
            [clean(seed), subject.name, ordinal, record_id, len(ids), clean(drawn_by), now.replace(tzinfo=None)]
            for ordinal, record_id in enumerate(drawn)
        ],
    )
    return Sample(seed, len(drawn), len(ids), drawn_by, now, 0)


def samples(con: duckdb.DuckDBPyConnection, subject: Subject) -> list[Sample]:
    """The samples, the latest first."""
    rows = con.execute(
        f"""SELECT sample, count(*), any_value(of), any_value(drawn_by), any_value(drawn_at),
            count(*) FILTER (record_id IN (SELECT record_id FROM ({completed(subject)})))
        FROM review_samples WHERE schema_name = ? GROUP BY sample ORDER BY 5 DESC, 1""",  # noqa: S608
        [subject.name],
    ).fetchall()
    return [Sample(seed, drawn, of, by, aware(at), reviewed) for seed, drawn, of, by, at, reviewed in rows]


def sampled(con: duckdb.DuckDBPyConnection, subject: Subject, seed: str) -> list[str]:
    """The abstracts of a sample, in the order in which they were drawn."""
    rows = con.execute(
        "SELECT record_id FROM review_samples WHERE (sample, schema_name) = (?, ?) ORDER BY ordinal",
        [seed, subject.name],
    ).fetchall()
    return [record_id for (record_id,) in rows]


def disputes(con: duckdb.DuckDBPyConnection, subject: Subject) -> list[Dispute]:
    """The claims on which reviewers differ, those that one added and another who was done did not among them."""
    rows = con.execute(
        f"""WITH own AS (SELECT * FROM ({own(_BY_SEVERAL)}) WHERE schema_name = $schema AND verdict <> 'deferred'),
        settled AS (SELECT DISTINCT record_id, path, claim FROM own WHERE settles),
        voices AS (SELECT record_id, path, claim, reviewer, verdict, value, reason FROM own WHERE NOT settles
            UNION ALL SELECT a.record_id, a.path, a.claim, d.reviewer, 'absent', NULL, NULL
            FROM own a JOIN ({complete(_BY_SEVERAL)}) d ON d.schema_name = a.schema_name AND d.record_id = a.record_id
                AND d.reviewer <> a.reviewer
            WHERE a.verdict = 'added' AND NOT EXISTS (SELECT 1 FROM own o WHERE o.record_id = a.record_id
                AND o.path = a.path AND o.claim = a.claim AND o.reviewer = d.reviewer))
        SELECT record_id, path, claim, list({{'reviewer': reviewer, 'verdict': verdict, 'value': value::VARCHAR,
            'reason': reason}} ORDER BY reviewer)
        FROM (SELECT DISTINCT * FROM voices) ANTI JOIN settled USING (record_id, path, claim)
        GROUP BY record_id, path, claim HAVING count(DISTINCT (verdict, value::VARCHAR)) > 1
        ORDER BY record_id, path, claim::VARCHAR""",  # noqa: S608
        {"schema": subject.name},
    ).fetchall()
    return [Dispute(record, path, claim, tuple(Voice(**voice) for voice in said)) for record, path, claim, said in rows]


def judged_alike(con: duckdb.DuckDBPyConnection, subject: Subject) -> list[tuple[str, str, str, str]]:
    """Each reviewer's own verdict on each claim that a model made: (record_id, path and claim, reviewer, verdict).

    Verdicts are `accepted`, `corrected`, `rejected`; what settles a difference is none of a reviewer's own.
    """
    rows = con.execute(
        f"""SELECT record_id, path || ' ' || claim::VARCHAR, reviewer, verdict FROM ({own()})
        WHERE schema_name = ? AND NOT settles AND verdict IN ('accepted', 'corrected', 'rejected')
        ORDER BY ALL""",  # noqa: S608
        [subject.name],
    ).fetchall()
    return [(str(record), str(claim), str(reviewer), str(verdict)) for record, claim, reviewer, verdict in rows]


def reviewers(con: duckdb.DuckDBPyConnection, subject: Subject) -> list[dict[str, Any]]:
    """Each reviewer with the numbers of their verdicts, abstracts they are done with, and first and last time."""
    rows = con.execute(
        f"""WITH own AS (SELECT * FROM ({own()}) WHERE schema_name = $schema AND NOT settles),
        done AS (SELECT reviewer, count(*) AS complete FROM ({completed(subject)}) GROUP BY reviewer)
        SELECT reviewer, count(*) FILTER (verdict = 'accepted'), count(*) FILTER (verdict = 'corrected'),
            count(*) FILTER (verdict = 'rejected'), count(*) FILTER (verdict = 'added'),
            count(*) FILTER (verdict = 'deferred'), coalesce(any_value(complete), 0), min(judged_at), max(judged_at)
        FROM own LEFT JOIN done USING (reviewer) GROUP BY reviewer ORDER BY reviewer""",  # noqa: S608
        {"schema": subject.name},
    ).fetchall()
    names = ("reviewer", "accepted", "corrected", "rejected", "added", "deferred", "complete", "first", "last")
    return [dict(zip(names, (*row[:7], aware(row[7]), aware(row[8])), strict=True)) for row in rows]


def _confidence(con: duckdb.DuckDBPyConnection, subject: Subject) -> str:
    """A SELECT of (record_id, confidence), the least of each abstract's claims, over the views that know it."""
    rows = con.execute(
        """SELECT c.table_name FROM duckdb_columns() c JOIN duckdb_views() v ON v.view_name = c.table_name
        WHERE c.column_name = 'confidence' AND starts_with(v.comment, ?) AND NOT v.internal ORDER BY 1""",
        [f"claimbase: schema {subject.name}: "],
    ).fetchall()
    parts = [f"SELECT record_id, confidence FROM {quoted(str(name))}" for (name,) in rows]  # noqa: S608
    known = " UNION ALL ".join(parts or ["SELECT NULL::VARCHAR AS record_id, NULL::DOUBLE AS confidence WHERE false"])
    return f"SELECT record_id, min(confidence) AS confidence FROM ({known}) GROUP BY record_id"  # noqa: S608


def _differing(con: duckdb.DuckDBPyConnection, subject: Subject) -> str:
    """A SELECT of (record_id, claims): how many claims the latest outcome and the one before it don't share."""
    pairs = f"""SELECT o.record_id, o.run_id, o.finished_at FROM outcomes o JOIN runs u USING (run_id)
        JOIN schemas s USING (schema_hash) WHERE s.name = {literal(subject.name)} AND o.status = 'done'
        QUALIFY count(*) OVER (PARTITION BY o.record_id) > 1
            AND row_number() OVER (PARTITION BY o.record_id ORDER BY o.finished_at DESC, o.run_id DESC) = 2"""  # noqa: S608
    before = f"""(SELECT o.record_id, from_json(o.value, {literal(subject.structure)}) AS value
        FROM outcomes o JOIN ({pairs}) p USING (record_id, run_id))"""  # noqa: S608
    now = f"(SELECT record_id, value FROM {subject.table} SEMI JOIN ({pairs}) USING (record_id))"  # noqa: S608
    return f"""SELECT record_id, count(*) AS claims FROM (
        SELECT record_id, path, claim FROM (
            SELECT DISTINCT record_id, path, claim::VARCHAR AS claim FROM ({contents(subject, now)})
            UNION ALL SELECT DISTINCT record_id, path, claim::VARCHAR AS claim FROM ({contents(subject, before)}))
        GROUP BY ALL HAVING count(*) = 1) GROUP BY record_id"""  # noqa: S608


def _overruled(subject: Subject) -> str:
    """The SQL of how many of a record's items code had something to say of."""
    return _counted(subject, "note", "x['note'] IS NOT NULL")


def _folded(subject: Subject) -> str:
    """The SQL of how many of a record's items were found only once folded."""
    return _counted(subject, "match", "x['match'] <> 'exact'")


def _counted(subject: Subject, column: str, condition: str) -> str:
    parts = [
        f"coalesce(len(list_filter({member('c.value', field.path)}, lambda x: {condition})), 0)"
        for field in subject.lists
        if any(each.path == (column,) for each in field.columns)
    ]
    return f"({' + '.join(parts) or 'len([])'})"  # a bare number would be the number of a column


def next_of(ids: Sequence[str], gone: set[str], after: str | None) -> str | None:
    """The first that isn't gone after `after` in the order of the ids, else the first of all that isn't; or None."""
    left = [record_id for record_id in ids if record_id not in gone and record_id != after]
    if after in ids:
        behind = set(ids[: ids.index(after)])
        left = [record_id for record_id in left if record_id not in behind] or left
    return left[0] if left else None
