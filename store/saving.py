"""Writes a batch of outcomes into an open database, fast: the rows in bulk, then the typed claims of those done.

It neither opens the file nor begins or ends the transaction; `db` does. Text from outside passes `text.clean`.
"""

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime

import duckdb

from store import effective, typed, works
from store.rows import Attempt, Evidence, Outcome, Record
from store.sqltext import literal
from store.text import clean, clean_json

Row = tuple[object, ...]


def json_of(value: Mapping[str, object]) -> str:
    """JSON text of a mapping as readers make them: NaN and infinity are null, what JSON lacks is its `str`."""
    return clean_json(json.dumps(_finite(value), ensure_ascii=False, default=str))


def _finite(value: object) -> object:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): _finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(item) for item in value]
    return value


def utc(time: datetime) -> datetime:
    """The time in UTC and naive, as the tables hold it. Raises ValueError for a time without a zone."""
    if time.tzinfo is None:
        raise ValueError(f"a time without a zone: {time!r}")
    return time.astimezone(UTC).replace(tzinfo=None)


def save_records(con: duckdb.DuckDBPyConnection, records: Sequence[Record]) -> None:
    """Add the records that the database lacks; of the same abstract from two places the first stays."""
    by_id = {record.record_id: record for record in reversed(records)}
    have = con.execute(
        "SELECT record_id FROM records WHERE record_id IN (SELECT unnest(?::VARCHAR[]))", [list(by_id)]
    ).fetchall()
    for (record_id,) in have:
        del by_id[record_id]
    _append(con, "records", (_record_row(record) for record in by_id.values()))


def save_sources(con: duckdb.DuckDBPyConnection, records: Sequence[Record]) -> None:
    """Add the places where the records were found, but those that are there and those of records that are not."""
    con.execute("CREATE OR REPLACE TEMP TABLE found AS FROM sources LIMIT 0")
    places = {(record.record_id, record.source, record.locator): record for record in reversed(records)}
    _append(con, "found", (_source_row(record) for record in reversed(places.values())))
    con.execute(
        """DELETE FROM found f USING sources s
        WHERE (s.record_id, s.source, s.locator) = (f.record_id, f.source, f.locator)"""
    )
    con.execute("INSERT INTO sources SELECT * FROM found SEMI JOIN records USING (record_id)")
    works.link(con, "found")


def save_outcomes(
    con: duckdb.DuckDBPyConnection, run_id: str, schema_hash: str, structure: str, outcomes: Sequence[Outcome]
) -> None:
    """Add the outcomes with their attempts and evidence, and make the done ones the latest claims of their records."""
    _append(con, "attempts", (_attempt_row(run_id, attempt) for outcome in outcomes for attempt in outcome.attempts))
    _append(con, "outcomes", (_outcome_row(run_id, outcome) for outcome in outcomes))
    _save_evidence(con, run_id, outcomes)
    _batch(con, outcomes)
    save_claims(con, run_id, schema_hash, structure)


def replace_derived(
    con: duckdb.DuckDBPyConnection, run_id: str, schema_hash: str, structure: str, outcomes: Sequence[Outcome]
) -> None:
    """Rewrite the value and the evidence of outcomes that the run has as done, and the claims that come of them.

    When and how they ended stays as it is kept, whatever the outcomes given say of it.
    """
    _batch(con, outcomes)
    con.execute(
        f"""DELETE FROM batch b WHERE NOT EXISTS (SELECT 1 FROM outcomes o
        WHERE o.run_id = {literal(run_id)} AND o.record_id = b.record_id AND o.status = 'done')"""  # noqa: S608
    )
    con.execute(
        f"""UPDATE batch b SET finished_at = o.finished_at FROM outcomes o
        WHERE o.run_id = {literal(run_id)} AND o.record_id = b.record_id"""  # noqa: S608
    )
    con.execute(
        f"""UPDATE outcomes o SET value = b.value FROM batch b
        WHERE o.run_id = {literal(run_id)} AND o.record_id = b.record_id"""  # noqa: S608
    )
    con.execute(
        f"""DELETE FROM evidence e USING batch b
        WHERE e.run_id = {literal(run_id)} AND e.record_id = b.record_id"""  # noqa: S608
    )
    replaced = {record_id for (record_id,) in con.execute("SELECT record_id FROM batch").fetchall()}
    _save_evidence(con, run_id, [outcome for outcome in outcomes if clean(outcome.record_id) in replaced])
    save_claims(con, run_id, schema_hash, structure)


def _save_evidence(con: duckdb.DuckDBPyConnection, run_id: str, outcomes: Sequence[Outcome]) -> None:
    _append(
        con,
        "evidence",
        (_evidence_row(run_id, clean(one.record_id), found) for one in outcomes for found in one.evidence),
    )


def save_claims(con: duckdb.DuckDBPyConnection, run_id: str, schema_hash: str, structure: str) -> None:
    """Make the values in `batch` the latest claims of their records, but where a later run's are there already."""
    typed.save_claims(con, run_id, schema_hash, structure)
    effective.follow(con, schema_hash)
    con.execute(
        "CREATE OR REPLACE TEMP TABLE unlinked AS SELECT record_id FROM batch ANTI JOIN works USING (record_id)"
    )
    works.link(con, "unlinked")


def _batch(con: duckdb.DuckDBPyConnection, outcomes: Sequence[Outcome]) -> None:
    """Put the values of the done ones into the temporary table `batch`."""
    con.execute("CREATE OR REPLACE TEMP TABLE batch (record_id VARCHAR, finished_at TIMESTAMP, value VARCHAR)")
    _append(
        con,
        "batch",
        (
            (clean(outcome.record_id), utc(outcome.finished_at), clean_json(outcome.value))
            for outcome in outcomes
            if outcome.status == "done" and outcome.value is not None
        ),
    )


def _append(con: duckdb.DuckDBPyConnection, table: str, rows: Iterable[Row]) -> None:
    appender = con.appender(table)
    appender.append_rows(rows)
    appender.flush()


def _text(text: str | None) -> str | None:
    return None if text is None else clean(text)


def _record_row(record: Record) -> Row:
    return (
        clean(record.record_id),
        clean(record.source),
        clean(record.locator),
        _text(record.source_id),
        _text(record.title),
        clean(record.text),
        json_of(record.meta),
    )


def _source_row(record: Record) -> Row:
    return (
        clean(record.record_id),
        clean(record.source),
        clean(record.locator),
        _text(record.source_id),
        _text(record.title),
        json_of(record.meta),
    )


def _attempt_row(run_id: str, attempt: Attempt) -> Row:
    return (
        run_id,
        clean(attempt.record_id),
        attempt.n,
        utc(attempt.started_at),
        attempt.latency_ms,
        attempt.status,
        _text(attempt.error_type),
        _text(attempt.error),
        clean(attempt.request_hash),
        _text(attempt.reply),
        _text(attempt.finish_reason),
        attempt.prompt_tokens,
        attempt.cached_tokens,
        attempt.completion_tokens,
        attempt.cost_usd,
        attempt.logprobs,
    )


def _outcome_row(run_id: str, outcome: Outcome) -> Row:
    return (
        run_id,
        clean(outcome.record_id),
        outcome.status,
        _text(outcome.error_type),
        _text(outcome.error),
        None if outcome.value is None else clean_json(outcome.value),
        utc(outcome.finished_at),
    )


def _evidence_row(run_id: str, record_id: str, found: Evidence) -> Row:
    return (
        run_id,
        record_id,
        clean(found.path),
        found.ordinal,
        clean(found.quote),
        found.start,
        found.end,
        found.match,
        _text(found.reason),
    )
