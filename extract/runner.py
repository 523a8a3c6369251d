"""Runs many records: what is missing is asked, so many at once, and one writer saves what is done about once a second.

A record goes through whole or not at all. Each outcome is in the run's journal at once and in the database soon after,
so that a process that is killed loses no more than its calls in flight. The run's row appears with its first saved
outcome, so that a command that fails before any answer leaves nothing behind. It prints nothing: `watch` is told of
each outcome.
"""

import asyncio
import contextlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from extract.errors import ClaimbaseError, RunInterrupted
from extract.extractor import Extractor
from extract.selection import FOUND_AGAIN_AT, Ask, Selection
from extract.tally import Tally
from store.db import Store
from store.errors import DatabaseBusy, StoreError
from store.journal import Begun, Journal, Part
from store.rows import Outcome, Prompt, Record, Run, RunStatus, Schema

_SAVE_EVERY_S = 1.0
"""A save takes some 40 ms, and keeps others out of the database for so long."""
_SAVE_AT = 1_000
"""So many outcomes are saved before their time."""
_BUSY_TRIES = 10
"""Saves given up in a row because others held the database (each after the store's own wait) before the run stops."""


@dataclass(frozen=True, slots=True)
class Ended:
    """How a run ended: `error` is what ended it early, if anything did."""

    run_id: str
    status: RunStatus
    tally: Tally
    error: Exception | None = None


def status_of(error: Exception | None, stopping: asyncio.Event) -> RunStatus:
    """Return how a run ended, by what ended it early and whether it was told to stop."""
    if error is None:
        return "interrupted" if stopping.is_set() else "finished"
    return "interrupted" if isinstance(error, RunInterrupted) else "stopped"


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
        self._journal = Journal(store.path, Begun(job.run, job.schema, job.prompt))
        self._parts: list[Part] = []
        self._unsaved: list[tuple[Record, Outcome]] = []
        self._save_now = asyncio.Event()
        self._has_run = False
        self._error: Exception | None = None

    async def run(self, records: Iterable[Record]) -> Ended:
        """Ask for the records and save what comes of it.

        Returns how it ended; an error that ends a run is in there, with all that was done before it saved. So is a
        cancelled task's: this is where the work is cancelled, and what is done is saved all the same. Raises only where
        a fault is in the program itself.
        """
        self.tally.recovered = await asyncio.to_thread(self.store.recover)
        workers = asyncio.create_task(self._work_on(records))
        saver = asyncio.create_task(self._keep_saving(workers))
        try:
            await asyncio.wait([workers, saver], return_when=asyncio.FIRST_EXCEPTION)
        except asyncio.CancelledError:
            self._stop(RunInterrupted("interrupted"))
            workers.cancel()
        if saver.done():
            workers.cancel()  # a saver ends before the workers by a fault only; they would wait for it
        ended = await asyncio.gather(workers, saver, return_exceptions=True)
        fault = next((e for e in ended if isinstance(e, Exception)), None)
        if fault:
            self._stop(fault)
        for part in filter(None, [*self._parts, self._journal.cut()]):
            part.leave()  # what could not be saved is taken in by the next run
        await self._finish()
        if fault:
            raise fault
        return Ended(self.job.run.run_id, status_of(self._error, self.stopping), self.tally, self._error)

    async def _work_on(self, records: Iterable[Record]) -> None:
        """Feed the workers until there are no more records, or the run is stopping."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._feed(records))
            for _ in range(self.job.concurrency):
                tasks.create_task(self._work())

    async def _feed(self, records: Iterable[Record]) -> None:
        """Hand the records that are to be asked to the workers, then one end mark each."""
        try:
            chunks = self.selection.chunks(records)
            while not self.stopping.is_set() and (chunk := await asyncio.to_thread(next, chunks, None)) is not None:
                for record in chunk:
                    await self._ready.put(record)
                await asyncio.to_thread(self.selection.keep_places, FOUND_AGAIN_AT)
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
                self._unsaved.append((record, outcome))
                self._journal.add(record, outcome)
            except RunInterrupted:
                continue
            except (ClaimbaseError, StoreError) as e:
                self._stop(e)
            while len(self._unsaved) >= _SAVE_AT and self._error is None:
                self._save_now.set()
                await asyncio.sleep(0.01)

    def _stop(self, error: Exception) -> None:
        """End the run for this reason, unless another came first."""
        self._error = self._error or error
        self.stopping.set()

    async def _keep_saving(self, workers: asyncio.Task[None]) -> None:
        """Save what is done about once a second, until the workers have ended and all is saved."""
        workers.add_done_callback(lambda _: self._save_now.set())
        busy = 0
        while not workers.done() or self._unsaved:
            await self._until_due(workers)
            try:
                await self._save_what_is_done()
            except StoreError as e:
                busy += isinstance(e, DatabaseBusy)
                if 0 < busy < _BUSY_TRIES and not self.stopping.is_set():
                    continue
                self._stop(e)
                return
            busy = 0

    async def _save_what_is_done(self) -> None:
        """Save all outcomes that are not saved yet, in one transaction, and drop the parts of the journal with them."""
        batch = self._unsaved[:]
        self._parts += filter(None, [self._journal.cut()])
        if not batch:
            return
        await asyncio.to_thread(self._save, batch)
        del self._unsaved[: len(batch)]
        for _, outcome in batch:
            self.tally.count(outcome)
            self.watch(outcome)
        while self._parts:
            self._parts.pop().drop()

    async def _until_due(self, workers: asyncio.Task[None]) -> None:
        """Wait for the next time to save: a second, or less where much is unsaved or no more will come."""
        if not workers.done():
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._save_now.wait(), _SAVE_EVERY_S)
            self._save_now.clear()

    def _save(self, batch: Sequence[tuple[Record, Outcome]]) -> None:
        if not self._has_run:
            self.store.create()
            self.store.begin_run(self.job.run, self.job.schema, self.job.prompt)
            self._has_run = True
        self.store.save(self.job.run.run_id, [record for record, _ in batch], [outcome for _, outcome in batch])

    async def _finish(self) -> None:
        """Write down how the run ended, if it has a row at all."""
        try:
            await asyncio.to_thread(self.selection.keep_places, 0)
            if self._has_run:
                await asyncio.to_thread(
                    self.store.end_run,
                    self.job.run.run_id,
                    status_of(self._error, self.stopping),
                    datetime.now(UTC),
                )
        except StoreError as e:
            self._error = self._error or e
