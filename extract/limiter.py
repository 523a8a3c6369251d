"""Decides when a call may start: how many at once, how many a second, and how a run slows down when it is refused.

One limiter serves a whole run. Three things hold calls back, the strictest at a time:

- the window: calls in flight. A 429 halves it, answers open it again (additive increase, multiplicative decrease, as
  TCP does it: Chiu and Jain 1989), fast up to where it was refused, then slowly.
- the pace: calls a second, unknown until the first 429. An endpoint's bucket is empty at each refusal, so what it let
  through between two of them, over the time between, is its rate; the pace is set a little below that and grows.
- what is stated: `--rpm` and `--tpm` as token buckets, and the endpoint's `x-ratelimit-*` headers, by which what
  remains is spread over the time until it is reset.

When nothing answers at the endpoint's address, one call at a time tries, with growing waits, for all. Nothing here
knows what a call is for.
"""

import asyncio
import re
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass

from extract.errors import FatalError
from extract.retry import interruptible_sleep
from extract.settings import Limits, Patience

Clock = Callable[[], float]
_FIRST_WINDOW = 16
"""Calls that a run starts with at once, if it may have more: it opens with each answer."""
_WIDENING = 4.0
"""How much the window opens with a window's worth of answers, once it is near to where it was refused."""
_LONGEST_SLEEP_S = 1.0
"""What holds calls back may change while one waits, so that it looks again."""


class Bucket:
    """A token bucket: `rate` tokens a second flow in, at most `burst` are kept. Debts are allowed, and paid first."""

    def __init__(self, rate: float, burst: float, clock: Clock) -> None:
        self.rate, self.burst, self.clock = rate, burst, clock
        self._level, self._at = burst, clock()

    def wait_s(self, amount: float) -> float:
        """Seconds until `amount` can be taken; an amount above the burst waits for a full bucket."""
        self._flow()
        return max(0.0, (min(amount, self.burst) - self._level) / self.rate)

    def take(self, amount: float) -> None:
        """Take `amount`, or give back when it is negative."""
        self._flow()
        self._level = min(self.burst, self._level - amount)

    def _flow(self) -> None:
        now = self.clock()
        self._level = min(self.burst, self._level + (now - self._at) * self.rate)
        self._at = now


class Pace:
    """A rate of calls a second that an endpoint was found to let through; none until the first refusal."""

    _MARGIN = 0.97
    """The pace after a refusal, as a part of the rate that was let through."""
    _GROWTH = 0.02
    """How much it grows in a second, as a part of itself: an endpoint's rate may rise, and the margin is given back."""
    _QUICKENS_S = 10.0
    """After so long without a refusal it has grown twice as much, and so on: a pace far too low doesn't last."""
    _TOO_SHORT_S, _TOO_FEW = 1.0, 5
    """From less time, or fewer calls, between refusals a rate can't be told; the pace is cut by a part, each time."""
    _CUT, _FLOOR = 0.7, 1.0
    """That part, and the calls a second under which nothing is cut: a refusal may have other reasons than the rate."""
    _LATE_S = 0.1
    """So late may a call be without losing its turn."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self._base: float | None = None
        self._set_at = self._since = self._next = clock()
        self._let_through = 0

    @property
    def rate(self) -> float | None:
        """Calls a second as of now."""
        calm_s = self.clock() - self._set_at
        return self._base and self._base * (1 + self._GROWTH) ** min(calm_s + calm_s**2 / self._QUICKENS_S, 500)

    def wait_s(self) -> float:
        """Seconds until a call is in step."""
        return max(0.0, self._next - self.clock()) if self._base else 0.0

    def take(self) -> None:
        """A call starts. It counts as let through until it is refused."""
        self._let_through += 1
        if rate := self.rate:
            self._next = max(self._next, self.clock() - self._LATE_S) + 1 / rate

    def forget(self, started: float) -> None:
        """A call that started then has been refused."""
        if started >= self._since:
            self._let_through -= 1

    def slow(self) -> bool:
        """Slow down, and say whether that is enough: not if the rate wasn't known, or nothing was let through since."""
        now, rate = self.clock(), self.rate
        if self._let_through <= 0:
            return False
        passed = max(now - self._since, 1e-3)
        found = self._let_through / passed
        if rate is not None and (passed < self._TOO_SHORT_S or self._let_through < self._TOO_FEW):
            self._set(now, max(self._CUT * rate, min(rate, self._FLOOR)))
            return True
        # The first time the endpoint's bucket was full at the start: what passed says little of its rate.
        self._set(now, found / 2 if rate is None else self._MARGIN * min(found, rate))
        self._since, self._let_through = now, 0
        return rate is not None

    def measure_from(self, then: float) -> None:
        """Measure what is let through from then on: no call starts before."""
        self._since, self._let_through = then, 0

    def _set(self, now: float, rate: float) -> None:
        self._base, self._set_at = rate, now
        self._next = max(self._next, now + 1 / rate)


@dataclass(slots=True)
class Remaining:
    """What an endpoint said remains of a limit until it is reset; less what has been sent since it said so."""

    amount: float
    reset_at: float
    taken_at: float

    def wait_s(self, amount: float, now: float) -> float:
        """Seconds until `amount` is due, if what remains is spread evenly over the time until the reset."""
        left = max(0.0, self.reset_at - self.taken_at)
        return max(0.0, self.taken_at + left * amount / max(self.amount, amount) - now)

    def take(self, amount: float, now: float) -> None:
        """Take `amount`."""
        self.amount, self.taken_at = max(0.0, self.amount - amount), now


@dataclass(slots=True)
class Slot:
    """One call that has been let through. It says how it ended before it is given back.

    `sent`: calls and tokens that the run had sent with and before it. `lost`: nothing answered at the address;
    `strange`: whatever did is no model.
    """

    started: float
    tokens: float
    sent: Mapping[str, float]
    used: int | None = None
    answered: bool = False
    refused: bool = False
    lost: bool = False
    strange: bool = False
    retry_after_s: float | None = None


class Limiter:
    """Lets calls through, one slot each, until `stopping` is set."""

    def __init__(
        self, limits: Limits, patience: Patience, stopping: asyncio.Event, clock: Clock = time.monotonic
    ) -> None:
        self.stopping, self.patience, self.clock = stopping, patience, clock
        self.most = limits.concurrency
        self.window = float(min(limits.concurrency, _FIRST_WINDOW))
        self.in_flight = 0
        self.pace = Pace(clock)
        self.calls = Bucket(limits.rpm / 60, max(1.0, limits.rpm / 60), clock) if limits.rpm else None
        self.tokens = Bucket(limits.tpm / 60, max(1.0, limits.tpm / 6), clock) if limits.tpm else None
        self._stated: dict[str, Remaining] = {}
        self._sent = {"requests": 0.0, "tokens": 0.0}
        self._refused_window = float(limits.concurrency)
        self._in_a_row = 0
        self._slowed_at = self._paused_until = float("-inf")
        self._reached_at = self._taken_at = clock()
        self._freed = asyncio.Event()
        self._turn = asyncio.Lock()

    @asynccontextmanager
    async def slot(self, tokens: float) -> AsyncIterator[Slot]:
        """Wait for leave to call with about `tokens` tokens, in the order of asking; give the slot back at the end.

        Raises RunInterrupted once the run is stopping, and FatalError when every call has been refused, or nothing
        has answered at all, for longer than the run's patience.
        """
        async with self._turn:
            while self.full or (wait := self.wait_s(tokens)) > 0:
                if self.full:
                    self._freed.clear()
                    await self._freed.wait()
                else:
                    await interruptible_sleep(min(wait, _LONGEST_SLEEP_S), self.stopping)
            await interruptible_sleep(0, self.stopping)
            slot = self.take(tokens)
        try:
            yield slot
        finally:
            self.end(slot)

    @property
    def full(self) -> bool:
        """Are as many calls in flight as may be?"""
        return self.in_flight >= max(1, int(self.window))

    def wait_s(self, tokens: float) -> float:
        """Seconds until a call of so many tokens may start, if the window allows it."""
        now = self.clock()
        waits = [self._paused_until - now, self.pace.wait_s()]
        waits += [self.calls.wait_s(1)] if self.calls else []
        waits += [self.tokens.wait_s(tokens)] if self.tokens else []
        weights = {"requests": 1.0, "tokens": tokens}
        waits += [remaining.wait_s(weights[of], now) for of, remaining in self._stated.items()]
        return max(waits)

    def take(self, tokens: float) -> Slot:
        """Count a call that starts now."""
        self._taken_at = now = self.clock()
        self.in_flight += 1
        self.pace.take()
        if self.calls:
            self.calls.take(1)
        if self.tokens:
            self.tokens.take(tokens)
        for of, amount in (("requests", 1.0), ("tokens", tokens)):
            self._sent[of] += amount
            if of in self._stated:
                self._stated[of].take(amount, now)
        return Slot(now, tokens, dict(self._sent))

    def heed(self, headers: Mapping[str, str], slot: Slot) -> None:
        """Obey the x-ratelimit headers of a call's answer: what remained when it was sent, and until when."""
        for of, sent in slot.sent.items():
            remaining, reset = headers.get(f"x-ratelimit-remaining-{of}"), headers.get(f"x-ratelimit-reset-{of}")
            if remaining and reset and re.fullmatch(r"\d+", remaining):
                amount = max(0.0, int(remaining) - (self._sent[of] - sent))
                self._stated[of] = Remaining(amount, slot.started + duration_s(reset), self._taken_at)

    def end(self, slot: Slot) -> None:
        """Give a slot back and learn from how its call ended. Raises FatalError as `slot` says."""
        self.in_flight -= 1
        now = self.clock()
        if self.tokens and slot.used is not None:
            self.tokens.take(slot.used - slot.tokens)
        if slot.refused:
            self.pace.forget(slot.started)
        if (slot.refused or slot.lost) and slot.started > self._slowed_at:
            self._slow(slot, now)
        elif slot.answered:
            near = self.window >= 0.9 * self._refused_window
            self.window = min(float(self.most), self.window + (_WIDENING / self.window if near else 1.0))
        self._freed.set()
        if not (slot.refused or slot.lost):
            self._reached_at, self._in_a_row = now, 0
            return
        patience = self.patience.starved_s
        if (slot.retry_after_s or 0) > patience:
            raise FatalError("rate_limit", f"429: to be tried again in {slot.retry_after_s:,.0f} s only")
        if now - self._reached_at > patience:
            said = "nothing has answered" if slot.lost else "every call was refused with 429"
            raise FatalError("connection" if slot.lost else "rate_limit", f"{said} for {patience:,.0f} s")

    def _slow(self, slot: Slot, now: float) -> None:
        """Slow the run down: once for all calls that were sent before."""
        self._slowed_at = now
        if slot.lost:
            self.window = 1.0  # one call tries for all; `end` opens the window again fast
            self._pause(min(self.patience.longest_wait_s, self.patience.first_wait_s * 2**self._in_a_row))
        else:
            self._refused_window = self.window
            self.window = max(1.0, self._refused_window / 2)
            if not self.pace.slow():
                self._pause(slot.retry_after_s or min(self.patience.longest_wait_s, 2.0**self._in_a_row))
                self.pace.measure_from(self._paused_until)
        self._in_a_row = min(self._in_a_row + 1, 16)

    def _pause(self, seconds: float) -> None:
        self._paused_until = max(self._paused_until, self.clock() + seconds)


def duration_s(text: str) -> float:
    """Read a reset time as endpoints write it, in seconds: `6m0s`, `1.5s`, `120ms`, `20`. 0 for what it can't read."""
    units = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 0.001}
    if re.fullmatch(r"\d+(\.\d+)?", text):
        return float(text)
    parts = re.findall(r"(\d+(?:\.\d+)?)(ms|h|m|s)", text)
    return sum(float(n) * units[unit] for n, unit in parts)
