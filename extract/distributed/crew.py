"""The workers of a run as the driver has them: starts them, gives them blocks, replaces those that die.

A block goes to whichever worker has room. When a worker dies, what it had kept is read from the folder of parts, and
the rest of its blocks goes to others. Where there is no room for a new worker (a node is gone), the others take its
share of the limits over and go on, and it starts once there is. It counts nothing and opens no database.
"""

import asyncio
import itertools
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any

import ray
from ray.exceptions import RayActorError
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from extract.distributed.keeping import recover_from
from extract.distributed.ledger import Ledger
from extract.distributed.parts import Folder
from extract.distributed.plan import Answered, Plan
from extract.distributed.worker import Worker
from extract.errors import MistakeError
from store.rows import Outcome, Record

_AHEAD, _AHEAD_UNJOURNALED = 3, 24
"""Times its even share of the calls in flight that a worker is given: what it works on, and what waits there.

Without a journal an outcome is given back only when its part is written, some seconds later.
"""
_BLOCKS = 4
_LARGEST_BLOCK = 64
"""A share is given in so many blocks, if none is larger than that."""
_DEATHS = 3
"""Workers that may die in a place one after another, with nothing answered, before the run is given up."""

Block = Sequence[Record]


@dataclass(slots=True)
class Member:
    """A worker as the driver knows it: its actor, and the blocks that died with it."""

    name: str
    actor: Any
    lost: list[Block] = field(default_factory=list)
    answered: int = 0
    ready: bool = False


class Crew:
    """The workers of one run, there while the `async with` block runs.

    `answered` is told of each outcome that is kept. `stopping` is set by what ends the run, here or elsewhere;
    `stopped` is the error that did, if it came from a worker.
    """

    def __init__(
        self, plan: Plan, folder: Folder, stopping: asyncio.Event, answered: Callable[[Sequence[Outcome]], None]
    ) -> None:
        self.plan, self.folder, self.stopping, self.answered = plan, folder, stopping, answered
        self.block = max(1, min(_LARGEST_BLOCK, plan.places // _BLOCKS))
        self.stopped: Exception | None = None
        self.deaths = 0
        ahead = _AHEAD if folder.path else _AHEAD_UNJOURNALED
        self._lanes = max(2, -(-ahead * plan.places // self.block))
        self._todo: asyncio.Queue[Block] = asyncio.Queue()
        self._room = asyncio.Semaphore(2 * plan.workers)
        self._members: dict[str, Member] = {}
        self._token = secrets.token_hex(3)

    async def __aenter__(self) -> "Crew":
        here = NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=False)
        self._ledger: Any = ray.remote(Ledger).options(num_cpus=0, scheduling_strategy=here).remote(self.plan.limits)
        self._fault: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._tasks = [asyncio.create_task(self._keep_a_worker(place)) for place in range(self.plan.workers)]
        self._tasks.append(asyncio.create_task(self._stop_in_time()))
        for task in self._tasks:
            task.add_done_callback(self._note_fault)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Let the workers end; kill them where the block was left by an error. What they kept is in parts then."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await asyncio.gather(*(self._end(member, well=error is None) for member in [*self._members.values()]))
        ray.kill(self._ledger)
        if self._fault.done():
            self._fault.exception()  # raised already, or too late to matter

    async def put(self, block: Block) -> None:
        """Hand a block in; waits while all workers have enough."""
        await self._or_fault(self._room.acquire())
        self._todo.put_nowait(block)

    async def all_answered(self) -> None:
        """Wait until every block is answered, or dropped as the run is stopping."""
        await self._or_fault(self._todo.join())

    async def _or_fault(self, waited_for: Any) -> None:
        """Wait for something, but no longer than until a fault of the program itself; raises that."""
        task = asyncio.ensure_future(waited_for)
        try:
            await asyncio.wait({task, self._fault}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            if not task.done():
                task.cancel()
        if self._fault.done():
            self._fault.result()

    def _note_fault(self, task: "asyncio.Task[None]") -> None:
        if not task.cancelled() and (error := task.exception()) and not self._fault.done():
            self._fault.set_exception(error)

    async def _keep_a_worker(self, place: int) -> None:
        """Have a worker in this place: start one, give it blocks, and another when it has died."""
        deaths = 0
        for n in itertools.count(1):
            member = self._new(f"w{place}-{self._token}-{n}")
            try:
                stopped = await member.actor.start.remote()
            except RayActorError as e:
                await self._bury(member)
                words = str(e).strip().splitlines()[0]
            else:
                if stopped is not None:
                    self._stop(stopped.error())
                    return
                member.ready = True
                await self._work(member)
                words = "it was killed, or its node is gone"
            self.deaths += 1
            deaths = 0 if member.answered else deaths + 1
            if deaths >= _DEATHS:
                raise MistakeError(f"{deaths} workers died one after another before any answer: {words}")

    def _new(self, name: str) -> Member:
        actors = ray.remote(Worker).options(
            num_cpus=1, max_restarts=0, max_concurrency=self._lanes + 8, scheduling_strategy="SPREAD"
        )
        member = Member(name, actors.remote(self.plan, name, self._ledger))
        self._members[name] = member
        return member

    async def _work(self, member: Member) -> None:
        """Give a worker blocks until it dies."""
        busy: set[asyncio.Task[None]] = set()
        lanes = [asyncio.create_task(self._lane(member, busy)) for _ in range(self._lanes)]
        try:
            await asyncio.wait(lanes, return_when=asyncio.FIRST_COMPLETED)
            for lane in lanes:
                if lane not in busy:
                    lane.cancel()  # it waits for a block, and there may never be another
            for ended in await asyncio.gather(*lanes, return_exceptions=True):
                if isinstance(ended, Exception):
                    raise ended
        finally:
            for lane in lanes:
                lane.cancel()
        await self._bury(member)

    async def _lane(self, member: Member, busy: "set[asyncio.Task[None]]") -> None:
        """Give a worker one block after another; end when it is dead."""
        me = asyncio.current_task()
        assert me is not None
        while True:
            block = await self._todo.get()
            self._room.release()
            busy.add(me)
            try:
                answered: Answered = await member.actor.ask.remote(block)
            except RayActorError:
                member.lost.append(block)
                return
            busy.discard(me)
            member.answered += len(answered.outcomes)
            self.answered(answered.outcomes)
            self._todo.task_done()
            if answered.stopped is not None:
                self._stop(answered.stopped.error())

    async def _bury(self, member: Member) -> None:
        """Free a dead worker's share of the limits, count what it had kept, and hand the rest of its blocks out."""
        self._members.pop(member.name, None)
        ray.kill(member.actor)  # it may live on, cut off
        self._ledger.leave.remote(member.name)
        kept = await asyncio.to_thread(recover_from, self.folder, member.name)
        for block in member.lost:
            found = [kept[record.record_id] for record in block if record.record_id in kept]
            rest = [record for record in block if record.record_id not in kept]
            member.answered += len(found)
            self.answered(found)
            if rest and not self.stopping.is_set():
                self._todo.put_nowait(rest)
            self._todo.task_done()

    async def _end(self, member: Member, *, well: bool) -> None:
        """End a worker: it writes what it has kept. One that doesn't live to do that leaves it in its journal."""
        well = well and member.ready  # else it may still wait for a place to be in
        if well:
            try:
                spent, stopped = await member.actor.finish.remote()
            except RayActorError:
                well = False
            else:
                self._ledger.leave.remote(member.name, spent)
                if stopped is not None:
                    self._stop(stopped.error())
        ray.kill(member.actor)
        if not well:
            await asyncio.to_thread(recover_from, self.folder, member.name)

    def _stop(self, error: Exception) -> None:
        self.stopped = self.stopped or error
        self.stopping.set()

    async def _stop_in_time(self) -> None:
        """Once the run is stopping, tell the workers, and drop what none of them has."""
        await self.stopping.wait()
        self._ledger.stop.remote()
        while True:
            await self._todo.get()
            self._room.release()
            self._todo.task_done()
