"""A worker's side of the run's limits: the limiter and the budget of its client, fed by the grants of the ledger.

They are those of one process, with what they would decide alone for a whole run taken out of their hands.
"""

import asyncio
import math
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace

from extract.budget import Budget, Hold, Price
from extract.distributed.ledger import NOTHING, Amount, Beat, Grant
from extract.errors import BudgetReached, RunInterrupted
from extract.limiter import Bucket, Limiter, Slot
from extract.settings import Limits, Patience

_LOOK_AGAIN_S = 0.02
"""A call that waits for its turn by the rate looks so often whether a grant has come."""
_BUDGET_CALLS = 4
"""Rounds of a worker's calls in flight that it asks a budget for at once: what is lost of it if the worker dies."""


class Drawn(Bucket):
    """A bucket that is filled by grants alone. It wants what its calls lack, and twice what they used since."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(0.0, 0.0, clock)
        self._needed = 0.0
        self._used = 0.0

    def wait_s(self, amount: float) -> float:
        """Seconds until it is worth looking again; 0 where there is enough."""
        self._needed = amount
        return 0.0 if self._level >= amount else _LOOK_AGAIN_S

    def take(self, amount: float) -> None:
        """Take `amount`, or give back when it is negative; what is owed is taken off later grants."""
        self._level -= amount
        self._used += amount
        self._needed = 0.0

    def wanted(self) -> float:
        """Return what to ask for now."""
        used, self._used = self._used, 0.0
        return max(0.0, self._needed + 2 * max(0.0, used) - self._level)

    def fill(self, amount: float) -> None:
        """Put a grant in."""
        self._level += amount


class SharedLimiter(Limiter):
    """A limiter whose most calls in flight and whose rates are granted. It begins with none."""

    def __init__(self, limits: Limits, places: int, patience: Patience, stopping: asyncio.Event) -> None:
        """Make the limiter of a worker that has about `places` of the run's concurrency."""
        super().__init__(replace(limits, concurrency=places, rpm=None, tpm=None), patience, stopping)
        self.total = limits.concurrency
        self.granted = 0
        self.calls = Drawn() if limits.rpm else None
        self.tokens = Drawn() if limits.tpm else None

    @property
    def full(self) -> bool:
        """Are as many calls in flight as may be? Not once the run is stopping: who waits is told so at once."""
        return not self.stopping.is_set() and self.in_flight >= min(self.granted, max(1, int(self.window)))

    def grant(self, places: int) -> None:
        """Take the worker's share of the concurrency."""
        self.granted, self.most = places, max(1, places)
        self.window = min(self.window, float(self.most))
        self.wake()

    def wake(self) -> None:
        """Let whoever waits for a place look again."""
        self._freed.set()

    def heed(self, headers: Mapping[str, str], slot: Slot) -> None:
        """Obey the x-ratelimit headers: of what remains, the part that is this worker's share."""
        share = self.granted / self.total
        ours = {
            name: str(int(int(value) * share)) if "remaining" in name and value.isdecimal() else value
            for name, value in headers.items()
            if name.lower().startswith("x-ratelimit-")
        }
        super().heed(ours, slot)


class LeasedBudget(Budget):
    """A budget that begins empty and asks for more as its calls need it."""

    def __init__(self, limits: Limits, price: Price | None, model: str, places: int, stopping: asyncio.Event) -> None:
        super().__init__(limits, price, model)
        self.stopping = stopping
        self.max_tokens = None if limits.max_tokens is None else 0
        self.max_cost = None if limits.max_cost is None else 0.0
        self.over: str | None = None
        self._rounds = _BUDGET_CALLS * max(1, places)
        self._short: Hold | None = None
        self._waiting = 0

    @property
    def limited(self) -> bool:
        """Is there a limit at all?"""
        return self.max_tokens is not None or self.max_cost is not None

    @asynccontextmanager
    async def held(self, prompt: int, reply: int) -> AsyncIterator[Hold]:
        """Hold the most that a call can use while it goes on.

        Raises BudgetReached when the run's budget can't hold it any more, and RunInterrupted once the run is stopping.
        """
        await self._leased_for(Hold(self, prompt, reply))
        async with super().held(prompt, reply) as hold:
            yield hold

    async def _leased_for(self, hold: Hold) -> None:
        self._waiting += 1
        try:
            while not self._fits(hold):
                if self.stopping.is_set():
                    raise RunInterrupted("interrupted")
                if self.over is not None and not self._calls:
                    raise BudgetReached(f"the next call could pass the budget: {self.over}")
                self._short = hold
                self._changed.clear()
                await self._changed.wait()
        finally:
            self._waiting -= 1
            if not self._waiting:
                self._short = None

    @property
    def spent(self) -> Amount:
        """What the worker's calls came to."""
        return Amount(self.tokens, self.cost)

    def needed(self) -> Amount:
        """Return what the call that waits lacks; nothing if none waits."""
        if self._short is None:
            return NOTHING
        tokens, dollars = 0, 0.0
        if self.max_tokens is not None:
            tokens = max(0, self.tokens + self._held_tokens + self._short.tokens - self.max_tokens)
        if self.max_cost is not None:
            dollars = max(0.0, self.cost + self._held_cost + self._short.cost - self.max_cost)
        return Amount(tokens, dollars)

    def wanted(self) -> Amount:
        """Return what would do for some rounds of calls such as the one that waits."""
        if self._short is None:
            return NOTHING
        return Amount(self._short.tokens * self._rounds, self._short.cost * self._rounds)

    def give_back(self) -> Amount:
        """Give back what isn't spent, if no call is in flight; from now on it isn't there any more."""
        if not self.limited or self._calls:
            return NOTHING
        back = Amount((self.max_tokens or 0) - self.tokens, (self.max_cost or 0.0) - self.cost)
        return self._less(back)

    def _less(self, back: Amount) -> Amount:
        tokens = dollars = 0.0
        if self.max_tokens is not None:
            self.max_tokens, tokens = self.max_tokens - back.tokens, back.tokens
        if self.max_cost is not None:
            self.max_cost, dollars = self.max_cost - back.dollars, back.dollars
        return Amount(int(tokens), dollars)

    def grant(self, more: Amount, over: str | None) -> None:
        """Take a grant, or the word that there is none."""
        if self.max_tokens is not None:
            self.max_tokens += more.tokens
        if self.max_cost is not None:
            self.max_cost += more.dollars
        self.over = over
        self._changed.set()


class Sharing:
    """Beats for one worker: tells the ledger what it has and lacks, and hands on what is granted."""

    def __init__(
        self,
        limiter: SharedLimiter,
        budget: LeasedBudget,
        ask: Callable[[Beat], Awaitable[Grant]],
        granted: Callable[[int], None],
    ) -> None:
        """`ask` takes a beat to the ledger; `granted` is told of the worker's places."""
        self.limiter, self.budget, self.ask, self.granted = limiter, budget, ask, granted

    async def beat(self) -> float:
        """Beat once; return the seconds until the next."""
        limiter, budget = self.limiter, self.budget
        back = budget.give_back()
        grant = await self.ask(
            Beat(
                occupied=max(limiter.granted, limiter.in_flight),
                calls=math.ceil(limiter.calls.wanted()) if isinstance(limiter.calls, Drawn) else 0.0,
                tokens=limiter.tokens.wanted() if isinstance(limiter.tokens, Drawn) else 0.0,
                needed=budget.needed(),
                wanted=budget.wanted(),
                spent=budget.spent,
                back=back,
            )
        )
        if grant.stopping:
            limiter.stopping.set()
        if isinstance(limiter.calls, Drawn):
            limiter.calls.fill(grant.calls)
        if isinstance(limiter.tokens, Drawn):
            limiter.tokens.fill(grant.tokens)
        budget.grant(grant.budget, grant.over)
        limiter.grant(grant.places)
        self.granted(grant.places)
        return grant.again_s

    async def keep_beating(self) -> None:
        """Beat until cancelled."""
        while True:
            await asyncio.sleep(await self.beat())
