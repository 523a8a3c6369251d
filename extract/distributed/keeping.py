"""Keeps a worker's outcomes: in a journal at once, in a part soon after; and makes parts of what dead workers left.

The journal is the store's (`store.journal`), one for each worker, beside the parts and under the worker's own name, so
that a killed worker, or a node that is gone, loses no more than its calls in flight. An object store has no journal: an
outcome is kept there once its part is, and what is younger is lost with its worker.
"""

import asyncio
import time
from collections.abc import Iterator
from pathlib import Path

from extract.distributed import marking
from extract.distributed.parts import SUFFIX, Entry, Folder, table_of
from store import journal
from store.errors import StoreWriteFailed
from store.journal import Begun, Journal
from store.rows import Attempt, Outcome, Record

PART_AT = 5_000
"""Outcomes of a part: some 8 MB."""
_PART_EVERY_S, _UNJOURNALED_EVERY_S = 30.0, 2.0
"""A part is ended after so long: what isn't in one can't be merged, and without a journal can be lost."""
_FREE_WITHIN_S, _LOOK_EVERY_S = 30.0, 0.1
"""How long a dead worker's journal may stay locked: the system frees it when it has put the process away."""


class Keeper:
    """Keeps the outcomes of one worker; `worker` is a name that no other has."""

    def __init__(self, folder: Folder, worker: str, begun: Begun) -> None:
        self.folder, self.worker, self.begun = folder, worker, begun
        self._journal = Journal(folder.path / worker, begun) if folder.path else None
        self._entries: list[Entry] = []
        self._parts = 0
        self._due_at = 0.0
        self._kept: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def add(self, record: Record, outcome: Outcome) -> "asyncio.Future[None] | None":
        """Take an outcome; return what ends when it is kept, None where it is. Raises StoreWriteFailed."""
        if self._journal:
            self._journal.add(record, outcome)
        if not self._entries:
            self._due_at = time.monotonic() + (_PART_EVERY_S if self._journal else _UNJOURNALED_EVERY_S)
        self._entries.append((record, outcome))
        return None if self._journal else self._kept

    @property
    def due(self) -> bool:
        """Is there a part to be ended?"""
        return len(self._entries) >= PART_AT or bool(self._entries and time.monotonic() >= self._due_at)

    async def end_part(self) -> None:
        """Write what was taken as a part, and drop its journal. Raises StoreWriteFailed; the journal stays then."""
        if not self._entries:
            return
        entries, self._entries = self._entries, []
        kept, self._kept = self._kept, asyncio.get_running_loop().create_future()
        self._parts += 1
        part = self._journal.cut() if self._journal else None
        name = _name_of(part.path) if part else f"{self.worker}.{self.begun.run.run_id}.{self._parts}{SUFFIX}"
        try:
            await asyncio.to_thread(self._write, name, entries)
        except OSError as e:
            error = StoreWriteFailed(Path(name), str(e.strerror or e))
            kept.set_exception(error)
            kept.exception()  # it may be that nobody waits for it
            raise error from e
        kept.set_result(None)
        if part:
            part.drop()

    def _write(self, name: str, entries: list[Entry]) -> None:
        self.folder.write(name, table_of(self.begun, entries))


def recover(folder: Folder) -> None:
    """Make parts of the journals that dead workers left.

    A part that was written before its journal could be dropped is written again, as the same.
    """
    if folder.path is None:
        return
    for worker in sorted({path.name.split(".")[0] for path in folder.path.glob(f"*{journal.SUFFIX}")}):
        for part, begun, entries in journal.left_behind(folder.path / worker):
            if entries:
                folder.write(_name_of(part.path), table_of(begun, entries))
            part.drop()


def recover_from(folder: Folder, worker: str) -> dict[str, Outcome]:
    """Make parts of what a worker that has just died left; return all that it has kept, by record.

    The outcomes are bare: how they ended and what their calls took, for counting.
    """
    _recover_all(folder, f"{worker}.*{journal.SUFFIX}")
    names = [name for name in folder.names() if name.startswith(f"{worker}.")]
    return {outcome.record_id: outcome for name in names for outcome in _bare_outcomes(folder, name)}


def _recover_all(folder: Folder, pattern: str) -> None:
    """Make parts of the journals that fit a pattern, whose workers are dead or about to be: waits for their locks."""
    end = time.monotonic() + _FREE_WITHIN_S
    while folder.path is not None and any(folder.path.glob(pattern)):
        recover(folder)
        if time.monotonic() > end:
            return
        time.sleep(_LOOK_EVERY_S)


def recover_from_dead_runs(folder: Folder) -> None:
    """Make parts of what runs left whose driver is dead: their workers follow it within a second or two."""
    recover(folder)
    for run_id in marking.dead(folder):
        _recover_all(folder, f"*.{run_id}.*{journal.SUFFIX}")
        marking.forget(folder, run_id)


def bare(outcome: Outcome) -> Outcome:
    """Return an outcome without its texts: what is counted, in a few hundred bytes."""
    attempts = tuple(_bare_attempt(outcome.record_id, _counted(attempt)) for attempt in outcome.attempts)
    return Outcome(outcome.record_id, outcome.status, outcome.error_type, None, None, outcome.finished_at, attempts)


_COUNTED = (
    "n",
    "started_at",
    "latency_ms",
    "status",
    "prompt_tokens",
    "cached_tokens",
    "completion_tokens",
    "cost_usd",
)


def _counted(attempt: Attempt) -> dict[str, object]:
    return {name: getattr(attempt, name) for name in _COUNTED}


def _bare_attempt(record_id: str, counted: dict[str, object]) -> Attempt:
    left_out = dict.fromkeys(("error_type", "error", "reply", "finish_reason"))
    return Attempt(record_id=record_id, request_hash="", **left_out, **{name: counted[name] for name in _COUNTED})  # type: ignore[arg-type]  # of the types that it has them in


def _bare_outcomes(folder: Folder, name: str) -> Iterator[Outcome]:
    table = folder.read(name, ("record_id", "status", "error_type", "finished_at", "attempts"))
    for row in table.to_pylist():
        attempts = tuple(_bare_attempt(row["record_id"], attempt) for attempt in row["attempts"])
        yield Outcome(row["record_id"], row["status"], row["error_type"], None, None, row["finished_at"], attempts)


def _name_of(kept: Path) -> str:
    """The name of the part that a journal's file becomes: a second one of the same journal replaces it."""
    return kept.name.removesuffix(journal.SUFFIX) + SUFFIX
