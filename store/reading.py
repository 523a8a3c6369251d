"""Reads an open database back into rows: what is known of records, what runs did, what a record's claims are.

It neither opens the file (`db` does) nor runs a user's SQL (`query` does).
"""

import json
import os
import socket
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import duckdb

from store.errors import RecordNotFound
from store.opening import first_row
from store.results import Claims, KeptAttempt, Known, Reply, RunSummary
from store.rows import Attempt, Evidence, Record, Run

Row = tuple[Any, ...]

_RUN_COLUMNS = """u.run_id, u.started_at, u.model, u.endpoint, u.schema_hash, u.prompt_hash, u.recipe, u.settings,
    u.code_version, u.host, u.pid"""
_ATTEMPT_COLUMNS = """a.record_id, a.n, a.started_at, a.latency_ms, a.status, a.error_type, a.error, a.request_hash,
    a.reply, a.finish_reason, a.prompt_tokens, a.cached_tokens, a.completion_tokens, a.cost_usd,
    a.logprobs"""


def aware(time: datetime) -> datetime:
    """A time of the tables, which are naive and in UTC, with its zone."""
    return time.replace(tzinfo=UTC)


def saved_records(con: duckdb.DuckDBPyConnection, run_id: str) -> set[str] | None:
    """The records that have an outcome in a run; None if there is no such run."""
    if con.execute("SELECT 1 FROM runs WHERE run_id = ?", [run_id]).fetchone() is None:
        return None
    rows = con.execute("SELECT record_id FROM outcomes WHERE run_id = ?", [run_id]).fetchall()
    return {str(record_id) for (record_id,) in rows}


def known(con: duckdb.DuckDBPyConnection, recipe: str, record_ids: Sequence[str]) -> dict[str, Known]:
    """What the database has of these records, with how they ended under a recipe; absent ones are left out."""
    rows = con.execute(
        """WITH wanted AS (SELECT DISTINCT unnest($ids::VARCHAR[]) AS record_id),
        ended AS (
            SELECT o.record_id, bool_or(o.status = 'done') AS done,
                arg_max(o.error_type, (o.finished_at, o.run_id)) AS error_type
            FROM outcomes o SEMI JOIN wanted USING (record_id)
            SEMI JOIN (SELECT run_id FROM runs WHERE recipe = $recipe) USING (run_id)
            GROUP BY o.record_id)
        SELECT r.rowid, r.record_id, CASE WHEN e.done THEN 'done' WHEN NOT e.done THEN 'failed' END,
            CASE WHEN NOT e.done THEN e.error_type END
        FROM records r SEMI JOIN wanted USING (record_id) LEFT JOIN ended e USING (record_id)""",
        {"ids": list(record_ids), "recipe": recipe},
    ).fetchall()
    texts = _by_row_number(con, "records", "text", [row[0] for row in rows])
    return {record_id: Known(status, error_type, texts[rowid]) for rowid, record_id, status, error_type in rows}


def _by_row_number(con: duckdb.DuckDBPyConnection, table: str, column: str, rowids: Sequence[int]) -> dict[int, str]:
    """Long texts of rows that were found before: DuckDB unpacks their blocks then, in place of all that there are."""
    query = f"SELECT rowid, {column} FROM {table} WHERE rowid IN (SELECT unnest(?::BIGINT[]))"  # noqa: S608
    return dict(con.execute(query, [list(rowids)]).fetchall())


def summaries(con: duckdb.DuckDBPyConnection, limit: int, run_id: str | None = None) -> list[RunSummary]:
    """The latest runs, the newest first, or the one of an id, each with what it did."""
    rows = con.execute(
        f"""WITH latest AS (SELECT * FROM runs WHERE $run_id IS NULL OR run_id = $run_id
            ORDER BY started_at DESC, run_id DESC LIMIT $limit),
        o AS (SELECT run_id, count(*) FILTER (status = 'done') AS done, count(*) FILTER (status = 'failed') AS failed
            FROM outcomes SEMI JOIN latest USING (run_id) GROUP BY run_id),
        a AS (SELECT run_id, count(*) AS attempts, sum(prompt_tokens)::BIGINT AS prompt_tokens,
                sum(cached_tokens)::BIGINT AS cached_tokens, sum(completion_tokens)::BIGINT AS completion_tokens,
                CASE WHEN count(cost_usd) = count(*) THEN sum(cost_usd) END AS cost_usd
            FROM attempts SEMI JOIN latest USING (run_id) GROUP BY run_id)
        SELECT {_RUN_COLUMNS}, u.status, u.finished_at, coalesce(o.done, 0), coalesce(o.failed, 0),
            coalesce(a.attempts, 0), coalesce(a.prompt_tokens, 0), coalesce(a.cached_tokens, 0),
            coalesce(a.completion_tokens, 0), CASE WHEN a.attempts IS NULL THEN 0.0 ELSE a.cost_usd END
        FROM latest u LEFT JOIN o USING (run_id) LEFT JOIN a USING (run_id)
        ORDER BY u.started_at DESC, u.run_id DESC""",  # noqa: S608
        {"limit": limit, "run_id": run_id},
    ).fetchall()
    errors = _errors(con, [row[0] for row in rows])
    return [_summary(row, errors.get(row[0], {})) for row in rows]


def _errors(con: duckdb.DuckDBPyConnection, run_ids: Sequence[str]) -> dict[str, dict[str, int]]:
    rows = con.execute(
        """SELECT run_id, coalesce(error_type, 'unknown'), count(*) FROM outcomes
        WHERE status = 'failed' AND run_id IN (SELECT unnest(?::VARCHAR[])) GROUP BY ALL ORDER BY 3 DESC, 2""",
        [list(run_ids)],
    ).fetchall()
    errors: dict[str, dict[str, int]] = {}
    for run_id, error_type, count in rows:
        errors.setdefault(run_id, {})[error_type] = count
    return errors


def _summary(row: Row, errors: dict[str, int]) -> RunSummary:
    run = _run(row[:11])
    status, finished_at, done, failed, attempts, prompt_tokens, cached_tokens, completion_tokens, cost_usd = row[11:]
    return RunSummary(
        run=run,
        status=status,
        finished_at=None if finished_at is None else aware(finished_at),
        done=done,
        failed=failed,
        attempts=attempts,
        prompt_tokens=prompt_tokens,
        cached_tokens=cached_tokens,
        completion_tokens=completion_tokens,
        cost_usd=cost_usd,
        errors=errors,
        alive=status == "running" and process_lives(run.host, run.pid),
    )


def _run(row: Row) -> Run:
    run_id, started_at, *rest = row
    return Run(run_id, aware(started_at), *rest)


def process_lives(host: str, pid: int) -> bool:
    """Whether a run's process lives, as far as can be told: one of another host is taken to."""
    if host != socket.gethostname():
        return True
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True  # another user's process
    return True


def find_record(con: duckdb.DuckDBPyConnection, wanted: str) -> Record:
    """The one record whose `source_id` is `wanted`, or whose `record_id` is or starts with it.

    The id may be given without its algorithm prefix (`abc` for `sha256:abcdef`). Raises `RecordNotFound`.
    """
    columns = "record_id, source, locator, source_id, title, text, meta"
    # The whole id goes by the key; only what is less is looked for in all records.
    rows = con.execute(f"SELECT {columns} FROM records WHERE record_id = ?", [wanted]).fetchall()  # noqa: S608
    rows = (
        rows
        or con.execute(
            f"""SELECT {columns} FROM records
        WHERE $wanted <> '' AND (source_id = $wanted OR starts_with(record_id, $wanted)
            OR starts_with(regexp_replace(record_id, '^[^:]*:', ''), $wanted))
        ORDER BY record_id = $wanted DESC, source_id IS NOT DISTINCT FROM $wanted DESC, record_id LIMIT 20""",  # noqa: S608
            {"wanted": wanted},
        ).fetchall()
    )
    exact = [row for row in rows if row[0] == wanted] or [row for row in rows if row[3] == wanted] or rows
    if len(exact) != 1:
        raise RecordNotFound(wanted, [row[0] for row in exact])
    record_id, source, locator, source_id, title, text, meta = exact[0]
    return Record(record_id, source, locator, source_id, title, text, json.loads(meta or "{}"))


def claims_of(con: duckdb.DuckDBPyConnection, record_id: str) -> list[Claims]:
    """The latest good outcome of a record under each schema, the newest first, with its evidence in order."""
    rows = con.execute(
        """SELECT l.run_id, l.schema_hash, s.name, u.model, o.value, o.finished_at
        FROM latest l JOIN outcomes o USING (run_id, record_id) JOIN runs u USING (run_id)
        JOIN schemas s ON s.schema_hash = l.schema_hash
        WHERE l.record_id = ? ORDER BY o.finished_at DESC, l.run_id""",
        [record_id],
    ).fetchall()
    return [
        Claims(record_id, run_id, of, name, model, value, aware(finished_at), _evidence(con, run_id, record_id))
        for run_id, of, name, model, value, finished_at in rows
    ]


def _evidence(con: duckdb.DuckDBPyConnection, run_id: str, record_id: str) -> list[Evidence]:
    rows = con.execute(
        """SELECT path, ordinal, quote, start, "end", match, reason FROM evidence
        WHERE run_id = ? AND record_id = ? ORDER BY start NULLS LAST, path, ordinal""",
        [run_id, record_id],
    ).fetchall()
    return [Evidence(*row) for row in rows]


def attempts_of(con: duckdb.DuckDBPyConnection, record_id: str) -> list[KeptAttempt]:
    """All calls that were made for a record, the oldest first."""
    rows = con.execute(
        f"""SELECT u.run_id, u.model, {_ATTEMPT_COLUMNS} FROM attempts a JOIN runs u USING (run_id)
        WHERE a.record_id = ? ORDER BY a.started_at, a.n""",  # noqa: S608
        [record_id],
    ).fetchall()
    return [
        KeptAttempt(run_id, model, Attempt(of, n, aware(started_at), *rest))
        for run_id, model, of, n, started_at, *rest in rows
    ]


def replies(con: duckdb.DuckDBPyConnection, schema_hash: str, first: int, count: int) -> list[Reply]:
    """The accepted replies of the done outcomes number `first` to `first + count` of the table, of one schema.

    Outcomes are numbered as they were added (all runs' together), so a chunk can be any size up to `count`.
    """
    rows = con.execute(
        """WITH o AS (
            SELECT rowid AS number, record_id, run_id FROM outcomes
            WHERE rowid >= $first AND rowid < $last AND status = 'done'
                AND run_id IN (SELECT run_id FROM runs WHERE schema_hash = $hash))
        SELECT o.record_id, o.run_id, any_value(r.rowid), arg_max(a.rowid, a.n)
        FROM o JOIN records r USING (record_id) JOIN attempts a USING (run_id, record_id)
        WHERE a.status = 'ok' GROUP BY o.number, o.record_id, o.run_id ORDER BY o.number""",
        {"first": first, "last": first + count, "hash": schema_hash},
    ).fetchall()
    texts = _by_row_number(con, "records", "text", [row[2] for row in rows])
    attempts = [row[3] for row in rows]
    said, sure = (_by_row_number(con, "attempts", column, attempts) for column in ("reply", "logprobs"))
    return [Reply(key, run, texts[record], said[attempt], sure[attempt]) for key, run, record, attempt in rows]


def last_outcome(con: duckdb.DuckDBPyConnection) -> int:
    """The number of the outcome that was added last, -1 if there is none."""
    row = first_row(con, "SELECT coalesce(max(rowid), -1) FROM outcomes")
    assert row is not None
    return int(row[0])
