"""Asks the database how runs are going: what each did, how fast, which records failed and why."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import duckdb

from extract.report import state_of
from store import reading
from store.results import RunSummary

LISTED = 50
FAILURES = 200
"""Failed records that the page of a run lists."""

_RECENT = timedelta(seconds=15)


@dataclass(frozen=True, slots=True)
class Going:
    """A run, with how it stands: its state in a word, how long it has taken, records a second over all and lately."""

    summary: RunSummary
    state: str
    seconds: float
    rate: float | None
    recent_rate: float | None

    @property
    def ended(self) -> int:
        """Records that it has asked for and ended, well or not."""
        return self.summary.done + self.summary.failed

    @property
    def is_live(self) -> bool:
        """Whether it goes on."""
        return self.state == "running"


@dataclass(frozen=True, slots=True)
class Failed:
    """A record that a run could not do; `text` is how its abstract begins."""

    record_id: str
    title: str | None
    text: str
    source: str
    error_type: str
    error: str


def runs(con: duckdb.DuckDBPyConnection) -> list[Going]:
    """The latest runs, the newest first."""
    return [_going(con, summary) for summary in reading.summaries(con, LISTED)]


def run(con: duckdb.DuckDBPyConnection, run_id: str) -> Going | None:
    """One run, None if there is none of this id."""
    found = reading.summaries(con, 1, run_id)
    return _going(con, found[0]) if found else None


def failures(con: duckdb.DuckDBPyConnection, run_id: str) -> Sequence[Failed]:
    """The records that a run could not do, the latest first."""
    rows = con.execute(
        """SELECT o.record_id, r.title, left(r.text, 400), r.source || ', ' || r.locator,
            coalesce(o.error_type, 'unknown'), coalesce(o.error, '')
        FROM outcomes o JOIN records r USING (record_id) WHERE o.run_id = ? AND o.status = 'failed'
        ORDER BY o.finished_at DESC, o.record_id LIMIT ?""",
        [run_id, FAILURES],
    ).fetchall()
    return [Failed(*row) for row in rows]


def _going(con: duckdb.DuckDBPyConnection, summary: RunSummary) -> Going:
    state = state_of(summary)
    now = datetime.now(UTC)
    ended = summary.done + summary.failed
    until = summary.finished_at or (now if state == "running" else _last_outcome(con, summary) or now)
    seconds = max((until - summary.run.started_at).total_seconds(), 0.0)
    recent = None
    if state == "running":
        since = now - _RECENT
        rows: list[Any] = con.execute(
            "SELECT count(*) FROM outcomes WHERE run_id = ? AND finished_at > ?",
            [summary.run.run_id, since.replace(tzinfo=None)],
        ).fetchall()
        recent = rows[0][0] / min(_RECENT.total_seconds(), max(seconds, 1.0))
    return Going(summary, state, seconds, ended / seconds if seconds > 0 else None, recent)


def _last_outcome(con: duckdb.DuckDBPyConnection, summary: RunSummary) -> datetime | None:
    rows = con.execute("SELECT max(finished_at) FROM outcomes WHERE run_id = ?", [summary.run.run_id]).fetchall()
    return None if rows[0][0] is None else reading.aware(rows[0][0])
