"""The driver of a run on Ray: hands records to workers, counts what comes of them, merges the parts that they write.

It is to a cluster what `extract.runner` is to a process: the same selection of what is missing, the same tally, the
same end. It alone opens the database. A worker that dies is replaced where there is room; what it had kept is kept, and
only the rest of its records is asked again. The machinery of actors stands in `crew`.
"""

import asyncio
import threading
from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from contextlib import aclosing, suppress
from datetime import UTC, datetime

from extract.distributed.crew import Crew
from extract.distributed.keeping import recover_from_dead_runs
from extract.distributed.marking import marked
from extract.distributed.merge import Merging
from extract.distributed.parts import Folder, LocalFolder, folder_at
from extract.distributed.plan import Plan
from extract.errors import ClaimbaseError, RunInterrupted
from extract.runner import Ended, Job, status_of
from extract.selection import FOUND_AGAIN_AT, Selection
from extract.tally import Tally
from store.db import Store
from store.errors import DatabaseBusy, StoreError, StoreWriteFailed
from store.rows import Outcome, Record

_MERGE_EVERY_S = 60.0
"""A merge of a minute's parts keeps others out of the database for some seconds."""


class Driver:
    """One run over a crew of workers. `stopping` ends it well: calls in flight are waited for, all is merged."""

    def __init__(
        self,
        job: Job,
        plan: Plan,
        store: Store,
        stopping: asyncio.Event,
        watch: Callable[[Outcome], None],
        *,
        keep_parts: bool = True,
    ) -> None:
        self.job, self.plan, self.store, self.stopping, self.watch = job, plan, store, stopping, watch
        self.tally = Tally()
        self.selection = Selection(store, job.run.recipe, job.ask, job.limit, self.tally)
        self.folder: Folder = folder_at(plan.parts)
        self.merging = Merging(self.folder, store, mine=job.run.run_id, keep=keep_parts)
        self._one_at_a_time = threading.Lock()
        self._error: Exception | None = None

    async def run(self, records: Iterable[Record]) -> Ended:
        """Ask for the records and merge what comes of it; returns how it ended, as `Runner.run` does."""
        try:
            self.tally.recovered = await asyncio.to_thread(self._take_in_what_was_left)
            with marked(self.folder, self.job.run.run_id):
                await self._with_a_crew(records)
        except asyncio.CancelledError:
            self._stop(RunInterrupted("interrupted"))
        except (ClaimbaseError, StoreError) as e:
            self._stop(e)
        await self._finish()
        return Ended(self.job.run.run_id, status_of(self._error, self.stopping), self.tally, self._error)

    def _take_in_what_was_left(self) -> int:
        """Take into the database what killed runs left: in its own journals, and in parts. Returns how many outcomes.

        From here on, what is done is known by the database alone.
        """
        recovered = self.store.recover()
        if isinstance(self.folder, LocalFolder):
            try:
                self.folder.path.mkdir(parents=True, exist_ok=True)
            except OSError as e:
                raise StoreWriteFailed(self.folder.path, e.strerror or str(e)) from e
        recover_from_dead_runs(self.folder)
        return recovered + self.merging.merge().new

    async def _with_a_crew(self, records: Iterable[Record]) -> None:
        """Put a crew to work and see it through to the end of the records, or of the run; none where all is done."""
        async with aclosing(self._chunks(records)) as chunks:
            if (first := await anext(chunks, None)) is None:
                return
            crew = Crew(self.plan, self.folder, self.stopping, self._count)
            merging = asyncio.create_task(self._keep_merging())
            try:
                async with crew:
                    await self._hand(first, crew)
                    async for chunk in chunks:
                        await self._hand(chunk, crew)
                    await crew.all_answered()
            finally:
                merging.cancel()
                await asyncio.gather(merging, return_exceptions=True)
                if crew.stopped is not None:
                    self._stop(crew.stopped)

    async def _chunks(self, records: Iterable[Record]) -> AsyncGenerator[list[Record]]:
        """Yield the records that are to be asked, some at a time, until the run is stopping."""
        chunks = self.selection.chunks(records)
        while not self.stopping.is_set() and (chunk := await asyncio.to_thread(next, chunks, None)) is not None:
            if chunk:
                yield chunk
            await asyncio.to_thread(self.selection.keep_places, FOUND_AGAIN_AT)

    async def _hand(self, chunk: Sequence[Record], crew: Crew) -> None:
        """Hand records to the crew, block by block."""
        for start in range(0, len(chunk), crew.block):
            if self.stopping.is_set():
                break
            await crew.put(chunk[start : start + crew.block])

    def _count(self, outcomes: Sequence[Outcome]) -> None:
        for outcome in outcomes:
            self.tally.count(outcome)
            self.watch(outcome)

    async def _keep_merging(self) -> None:
        """Merge now and then, so that the database shows how far the run is. One that is busy is left for the next."""
        while True:
            await asyncio.sleep(_MERGE_EVERY_S)
            try:
                await asyncio.shield(asyncio.to_thread(self._merge))
            except DatabaseBusy:
                continue
            except StoreError as e:
                self._stop(e)
                return

    def _merge(self) -> None:
        with self._one_at_a_time:  # a cancelled task leaves its thread at work
            self.merging.merge()

    def _stop(self, error: Exception) -> None:
        """End the run for this reason, unless another came first."""
        self._error = self._error or error
        self.stopping.set()

    async def _finish(self) -> None:
        """Merge what there is, and write down how the run ended, if it has a row at all."""
        try:
            await asyncio.to_thread(self._merge)
            if self.folder.path and not self.merging.keep:
                with suppress(OSError):  # another run's parts are in it
                    self.folder.path.rmdir()
            await asyncio.to_thread(self.selection.keep_places, 0)
            if self.tally.asked:
                await asyncio.to_thread(
                    self.store.end_run,
                    self.job.run.run_id,
                    status_of(self._error, self.stopping),
                    datetime.now(UTC),
                )
        except StoreError as e:
            self._error = self._error or e
