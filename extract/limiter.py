"""Decides when a call may start: how many at once, how many a minute, and how a run slows down when it is refused.

One limiter serves a whole run. Calls in flight are held under a window that a 429 halves and each answer widens again
(additive increase, multiplicative decrease, as TCP does it: Chiu and Jain 1989). Beside it goes a pace, in calls a
second, unknown until the first 429, then just under the rate that was last answered, growing slowly: a window alone
swings between half the endpoint's rate and too much of it. Limits that a person or the endpoint's headers state are
obeyed by token buckets. Nothing here knows what a call is for.
"""

import asyncio
import re
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass

from extract.errors import FatalError
from extract.retry import interruptible_sleep
from extract.settings import Limits, Patience

Clock = Callable[[], float]
_RATE_WINDOW_S = 3.0
"""The answered rate is measured over so many seconds."""
_BACK_OFF = 0.95
"""The pace after a refusal, as a part of the rate that was being answered."""
_GROWTH = 0.01
"""How much the pace grows in a second, as a part of itself, once it is near the rate that was refused."""
_SEARCH = 0.25
"""The same while it is still far below that."""


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


@dataclass(slots=True)
class Slot:
    """One call that has been let through. It says how it ended before it is given back."""

    started: float
    tokens: float
    used: int | None = None
    refused: bool = False
    retry_after_s: float | None = None
    answered: bool = False


class Limiter:
    """Lets calls through, one slot each, until `stopping` is set."""

    def __init__(
        self, limits: Limits, patience: Patience, stopping: asyncio.Event, clock: Clock = time.monotonic
    ) -> None:
        self.stopping = stopping
        self.most = limits.concurrency
        self.window = float(limits.concurrency)
        self.in_flight = 0
        self.clock = clock
        self.starved_s = patience.starved_s
        self.pace: Bucket | None = None
        self.calls = Bucket(limits.rpm / 60, max(1.0, limits.rpm / 60), clock) if limits.rpm else None
        self.tokens = Bucket(limits.tpm / 60, max(1.0, limits.tpm / 6), clock) if limits.tpm else None
        self._ceiling = 0.0
        self._slowed_at = self._answered_at = self._paused_until = clock()
        self._answers: deque[float] = deque()
        self._freed = asyncio.Event()
        self._turn = asyncio.Lock()

    @asynccontextmanager
    async def slot(self, tokens: float) -> AsyncIterator[Slot]:
        """Wait for leave to call with about `tokens` tokens, in the order of asking; give the slot back at the end.

        Raises RunInterrupted once the run is stopping, and FatalError when every call has been refused for longer than
        the run's patience.
        """
        async with self._turn:
            while self.in_flight >= max(1, int(self.window)):
                self._freed.clear()
                await self._freed.wait()
            while (wait := self._wait_s(tokens)) > 0:
                await interruptible_sleep(wait, self.stopping)
            await interruptible_sleep(0, self.stopping)
            self._take(tokens)
        slot = Slot(self.clock(), tokens)
        try:
            yield slot
        finally:
            self._end(slot)

    def heed(self, headers: Mapping[str, str]) -> None:
        """Obey an answer's x-ratelimit headers: where nothing remains, no call goes out before the reset."""
        for of in ("requests", "tokens"):
            remaining, reset = headers.get(f"x-ratelimit-remaining-{of}"), headers.get(f"x-ratelimit-reset-{of}")
            if remaining is not None and reset and re.fullmatch(r"\d+", remaining) and int(remaining) == 0:
                self._pause(duration_s(reset))

    def _wait_s(self, tokens: float) -> float:
        waits = [self._paused_until - self.clock()]
        waits += [bucket.wait_s(1) for bucket in (self.pace, self.calls) if bucket]
        if self.tokens:
            waits.append(self.tokens.wait_s(tokens))
        return max(waits)

    def _take(self, tokens: float) -> None:
        self.in_flight += 1
        for bucket in (self.pace, self.calls):
            if bucket:
                bucket.take(1)
        if self.tokens:
            self.tokens.take(tokens)

    def _end(self, slot: Slot) -> None:
        self.in_flight -= 1
        now = self.clock()
        if self.tokens and slot.used is not None:
            self.tokens.take(slot.used - slot.tokens)
        if slot.refused:
            self._slow(slot, now)
        elif slot.answered:
            self._quicken(now)
        self._freed.set()
        if slot.refused and now - self._answered_at > self.starved_s:
            raise FatalError("rate_limit", f"every call refused with 429 for {self.starved_s:.0f} s; try again later")

    def _slow(self, slot: Slot, now: float) -> None:
        """Halve the window and set the pace; once for all calls that were sent before the last slowing."""
        if slot.retry_after_s:
            self._pause(slot.retry_after_s)
        if slot.started < self._slowed_at:
            return
        self._slowed_at = now
        self.window = max(1.0, self.window / 2)
        answered = self._answered_rate(now)
        self._ceiling = answered
        rate = max(0.1, _BACK_OFF * answered if self.pace is None else min(answered, _BACK_OFF * self.pace.rate))
        self.pace = Bucket(rate, 1.0, self.clock)
        if not slot.retry_after_s:
            self._pause(1 / rate if rate > 1 else 1.0)

    def _quicken(self, now: float) -> None:
        self._answered_at = now
        self._answers.append(now)
        while self._answers and self._answers[0] < now - _RATE_WINDOW_S:
            self._answers.popleft()
        self.window = min(float(self.most), self.window + 1 / self.window)
        if self.pace:  # each answer adds so much that a second's worth of them adds this part
            self.pace.rate += _GROWTH if self.pace.rate > _BACK_OFF * self._ceiling else _SEARCH

    def _answered_rate(self, now: float) -> float:
        recent = [t for t in self._answers if t >= now - _RATE_WINDOW_S]
        return len(recent) / _RATE_WINDOW_S

    def _pause(self, seconds: float) -> None:
        self._paused_until = max(self._paused_until, self.clock() + seconds)


def duration_s(text: str) -> float:
    """Read a reset time as endpoints write it, in seconds: `6m0s`, `1.5s`, `120ms`, `20`. 0 for what it can't read."""
    units = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 0.001}
    if re.fullmatch(r"\d+(\.\d+)?", text):
        return float(text)
    parts = re.findall(r"(\d+(?:\.\d+)?)(ms|h|m|s)", text)
    return sum(float(n) * units[unit] for n, unit in parts)
