"""Runs many records: what is missing is asked, so many at once, and one writer saves what is done about once a second.

A record goes through whole or not at all. The run's row appears with its first saved outcome, so that a command that
fails before any answer leaves nothing behind. It prints nothing: `watch` is told of each outcome.
"""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from extract.errors import ClaimbaseError, RunInterrupted
from extract.extractor import Extractor
from extract.selection import Ask, Selection
from extract.tally import Tally
from store.db import Store
from store.errors import StoreError
from store.rows import Outcome, Prompt, Record, Run, RunStatus, Schema

_SAVE_EVERY_S = 1.0
_SAVE_AT_MOST = 2_000
"""Outcomes of one transaction; beyond it, workers wait for the writer."""


@dataclass(frozen=True, slots=True)
class Ended:
    """How a run ended: `error` is what ended it early, if anything did."""

    run_id: str
    status: RunStatus
    tally: Tally
    error: Exception | None = None


@dataclass(frozen=True, slots=True)
class Job:
    """What is to be run: the rows that describe the run, and which records it asks."""

    run: Run
    schema: Schema
    prompt: Prompt
    ask: Ask = "missing"
    limit: int | None = None
    concurrency: int = 8


class Runner:
    """One run. `stopping` ends it well: calls in flight are waited for, all that is done is saved."""

    def __init__(
        self, job: Job, store: Store, extractor: Extractor, stopping: asyncio.Event, watch: Callable[[Outcome], None]
    ) -> None:
        self.job, self.store, self.extractor, self.stopping, self.watch = job, store, extractor, stopping, watch
        self.tally = Tally()
        self.selection = Selection(store, job.run.recipe, job.ask, job.limit, self.tally)
        self._ready: asyncio.Queue[Record | None] = asyncio.Queue(maxsize=job.concurrency)
        self._unsaved: list[tuple[Record, Outcome]] = []
        self._has_run = False
        self._error: Exception | None = None
        self._idle = asyncio.Event()

    async def run(self, records: Iterable[Record]) -> Ended:
        """Ask for the records and save what comes of it.

        Returns how it ended; an error that ends a run is in there, with all that was done before it saved. Raises only
        where a fault is in the program itself, or the task is cancelled (after saving what is done).
        """
        saver = asyncio.create_task(self._keep_saving())
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._feed(records))
                for _ in range(self.job.concurrency):
                    tasks.create_task(self._work())
        except asyncio.CancelledError:
            self._error = RunInterrupted("interrupted")
            raise
        finally:
            self._idle.set()
            await asyncio.shield(saver)
            await self._finish()
        return Ended(self.job.run.run_id, self._status(), self.tally, self._error)

    async def _feed(self, records: Iterable[Record]) -> None:
        """Hand the records that are to be asked to the workers, then one end mark each."""
        try:
            chunks = self.selection.chunks(records)
            while not self.stopping.is_set() and (chunk := await asyncio.to_thread(next, chunks, None)) is not None:
                for record in chunk:
                    await self._ready.put(record)
        except (ClaimbaseError, StoreError) as e:
            self._stop(e)
        for _ in range(self.job.concurrency):
            await self._ready.put(None)

    async def _work(self) -> None:
        """Ask for one record after another until there are no more."""
        while (record := await self._ready.get()) is not None:
            if self.stopping.is_set():
                continue
            try:
                outcome = await self.extractor.extract(record)
            except RunInterrupted:
                continue
            except ClaimbaseError as e:
                self._stop(e)
                continue
            self.tally.count(outcome)
            self._unsaved.append((record, outcome))
            self.watch(outcome)
            while len(self._unsaved) > _SAVE_AT_MOST and self._error is None:
                await asyncio.sleep(0.01)

    def _stop(self, error: Exception) -> None:
        """End the run for this reason, unless another came first."""
        self._error = self._error or error
        self.stopping.set()

    async def _keep_saving(self) -> None:
        """Save what is done about once a second, until the workers are idle and all is saved."""
        while not (self._idle.is_set() and not self._unsaved):
            await self._pause()
            batch, self._unsaved = self._unsaved[:_SAVE_AT_MOST], self._unsaved[_SAVE_AT_MOST:]
            if not batch:
                continue
            try:
                await asyncio.to_thread(self._save, batch)
            except StoreError as e:
                self._stop(e)
                self._unsaved.clear()

    async def _pause(self) -> None:
        """Wait for the next time to save: a second, or at once when the workers are idle."""
        try:
            await asyncio.wait_for(self._idle.wait(), _SAVE_EVERY_S)
        except TimeoutError:
            return

    def _save(self, batch: Sequence[tuple[Record, Outcome]]) -> None:
        if not self._has_run:
            self.store.create()
            self.store.begin_run(self.job.run, self.job.schema, self.job.prompt)
            self._has_run = True
        self.store.save(self.job.run.run_id, [r for r, _ in batch], [o for _, o in batch])

    def _status(self) -> RunStatus:
        if self._error is None:
            return "interrupted" if self.stopping.is_set() else "finished"
        return "interrupted" if isinstance(self._error, RunInterrupted) else "stopped"

    async def _finish(self) -> None:
        """Write down how the run ended, if it has a row at all."""
        if not self._has_run:
            return
        try:
            await asyncio.to_thread(self.store.end_run, self.job.run.run_id, self._status(), datetime.now(UTC))
        except StoreError as e:
            self._error = self._error or e
