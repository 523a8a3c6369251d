"""What asks, on the nodes: an actor with the engine's own client and extractor, any number of records under way.

It takes blocks of records and keeps each outcome by itself; to the driver go only counts. It never opens the database.
What ends a run ends its work: it says so, and begins no further call.
"""

import asyncio
import socket
from collections.abc import Sequence
from functools import partial
from typing import Any

from extract.client import Client
from extract.distributed.keeping import Keeper, bare
from extract.distributed.ledger import Amount, Beat, Grant
from extract.distributed.marking import is_marked
from extract.distributed.parts import Folder, folder_at
from extract.distributed.plan import Answered, Plan, Stopped, recipe_of
from extract.distributed.sharing import LeasedBudget, SharedLimiter, Sharing
from extract.errors import ClaimbaseError, MistakeError, RunInterrupted
from extract.extractor import Extractor
from prompts.loader import PromptError
from schemas.base import SchemaError
from store.errors import StoreError
from store.rows import Outcome, Record

_LOOK_EVERY_S = 0.25
"""How often it looks whether a part is to be ended."""


class Worker:
    """One worker of a run. `ledger` is the handle of the run's ledger, `name` the worker's own there."""

    def __init__(self, plan: Plan, name: str, ledger: Any) -> None:
        self.plan, self.name, self.ledger = plan, name, ledger
        self.stopped: Stopped | None = None

    async def start(self) -> Stopped | None:
        """Make ready; return what keeps it from that. To be awaited before all else."""
        plan = self.plan
        try:
            recipe = recipe_of(plan)
            self.keeper = Keeper(_usable(plan.parts, plan.begun.run.run_id), self.name, plan.begun)
        except (ClaimbaseError, SchemaError, PromptError) as e:
            return Stopped.by(e)
        self.stopping = asyncio.Event()
        self.limiter = SharedLimiter(plan.limits, plan.places, plan.patience, self.stopping)
        self.budget = LeasedBudget(plan.limits, plan.price, plan.asking.model, plan.places, self.stopping)
        self.client = Client(plan.endpoint, recipe, self.limiter, self.budget, plan.patience)
        self.extractor = Extractor(recipe, self.client)
        self.todo: asyncio.Queue[tuple[Record, asyncio.Future[Outcome | None]]] = asyncio.Queue()
        self.askers: list[asyncio.Task[None]] = []
        sharing = Sharing(self.limiter, self.budget, self._beat, self._have_askers)
        await self.ledger.join.remote(self.name)
        await sharing.beat()
        self.tasks = [asyncio.create_task(self._keep_beating(sharing)), asyncio.create_task(self._keep_ending_parts())]
        return None

    async def ask(self, records: Sequence[Record]) -> Answered:
        """Ask for these records. Once the run is stopping, those that were not begun have no outcome.

        Raises only where a fault is in the program itself.
        """
        marks: list[asyncio.Future[Outcome | None]] = [asyncio.get_running_loop().create_future() for _ in records]
        for record, mark in zip(records, marks, strict=True):
            self.todo.put_nowait((record, mark))
        outcomes = await asyncio.gather(*marks)
        return Answered(tuple(outcome for outcome in outcomes if outcome is not None), self.stopped)

    async def finish(self) -> tuple[Amount, Stopped | None]:
        """End well: write what is kept as a part, close the connections. Return what was spent of the budget."""
        for task in (*self.tasks, *self.askers):
            task.cancel()
        try:
            await self.keeper.end_part()
        except StoreError as e:
            self._stop(e)
        await self.client.close()
        return self.budget.spent, self.stopped

    async def _beat(self, beat: Beat) -> Grant:
        grant: Grant = await self.ledger.beat.remote(self.name, beat)
        return grant

    async def _keep_beating(self, sharing: Sharing) -> None:
        try:
            await sharing.keep_beating()
        except Exception as e:  # whatever Ray raises: without the ledger no limit holds
            self._stop(MistakeError(f"the run's limits can't be asked for any more: {type(e).__name__}"))

    def _have_askers(self, places: int) -> None:
        """Have as many records under way as there are places: each has its task. The limiter holds to fewer."""
        while len(self.askers) < max(1, places):
            self.askers.append(asyncio.create_task(self._keep_asking()))

    async def _keep_asking(self) -> None:
        while True:
            record, mark = await self.todo.get()
            try:
                outcome, kept = await self._outcome_of(record)
            except Exception as e:  # a fault of the program itself: the driver raises it
                mark.set_exception(e)
                continue
            if kept is None:
                mark.set_result(outcome)
            else:
                kept.add_done_callback(partial(_mark, mark, outcome))

    async def _outcome_of(self, record: Record) -> tuple[Outcome | None, asyncio.Future[None] | None]:
        """Ask for a record; return its bare outcome, None where the run ends before, and what ends when it is kept."""
        if self.stopping.is_set():
            return None, None
        try:
            outcome = await self.extractor.extract(record)
            return bare(outcome), self.keeper.add(record, outcome)
        except RunInterrupted:
            return None, None
        except (ClaimbaseError, StoreError) as e:
            self._stop(e)
            return None, None

    def _stop(self, error: Exception) -> None:
        self.stopped = self.stopped or Stopped.by(error)
        self.stopping.set()
        self.limiter.wake()

    async def _keep_ending_parts(self) -> None:
        while True:
            await asyncio.sleep(_LOOK_EVERY_S)
            if self.keeper.due:
                try:
                    await self.keeper.end_part()
                except StoreError as e:
                    self._stop(e)


def _mark(mark: asyncio.Future[Outcome | None], outcome: Outcome | None, kept: asyncio.Future[None]) -> None:
    """Give an outcome back now that it is kept; one that couldn't be counts as not asked."""
    mark.set_result(None if kept.exception() else outcome)


def _usable(parts: str, run_id: str) -> Folder:
    """Return the folder of parts. Raises MistakeError if it is another machine's, not the one that the driver sees."""
    folder = folder_at(parts)
    if not is_marked(folder, run_id):
        raise MistakeError(
            f"node {socket.gethostname()} doesn't see the folder of parts {parts!r}; name with --parts a folder that "
            "all nodes have mounted, or an object store's address"
        )
    return folder
