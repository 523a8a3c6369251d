"""When a call is made again: transient faults with tenacity, for one reply of one record.

A 429, or an address at which nothing answers, isn't counted: it says nothing of the record, and the whole run slows
down for it (`limiter`). Re-asking for a better reply is instructor's, above this.
"""

import asyncio
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from tenacity import AsyncRetrying, RetryCallState, retry_if_exception

from extract.errors import CallError, RunInterrupted
from extract.settings import Patience


@dataclass(slots=True)
class Tries:
    """Counts the faults that one reply has met and that may be the record's own; `spared` if the last was none."""

    counted: int = 0
    spared: bool = False
    strange: int = 0
    """Answers that came from no model, connections that broke: of account before any other answer came."""

    def note(self, error: CallError, *, lost: bool) -> None:
        """Count a fault, but for a 429 and for one at which the call was `lost`: it reached nobody."""
        self.spared = lost or error.kind == "rate_limit"
        self.counted += not self.spared


def retrying(patience: Patience, tries: Tries, stopping: asyncio.Event) -> AsyncRetrying:
    """Return a new tenacity loop for one reply: it keeps its state on itself, so that it must never be shared.

    Its waits end at once, with RunInterrupted, when the run is stopping. The endpoint's own Retry-After goes first, up
    to the run's patience; else they double with each fault, half of each by chance, so that calls don't come in step.
    """

    def wait(state: RetryCallState) -> float:
        error = state.outcome.exception() if state.outcome else None
        if isinstance(error, CallError) and error.retry_after_s is not None:
            return min(error.retry_after_s, patience.starved_s)
        if tries.spared:
            return 0.0  # the limiter holds this call back, with all others
        longest = min(patience.longest_wait_s, patience.first_wait_s * 2.0**tries.counted)
        return longest * random.uniform(0.5, 1.0)  # noqa: S311

    async def sleep(seconds: float) -> None:
        await interruptible_sleep(seconds, stopping)

    return AsyncRetrying(
        stop=lambda state: tries.counted >= patience.tries,
        wait=wait,
        retry=retry_if_exception(lambda e: isinstance(e, CallError) and e.transient),
        sleep=sleep,
        reraise=True,
    )


async def interruptible_sleep(seconds: float, stopping: asyncio.Event) -> None:
    """Sleep, but raise RunInterrupted as soon as the run is stopping."""
    if seconds > 0:
        waiting: Callable[[], Awaitable[bool]] = stopping.wait
        try:
            await asyncio.wait_for(waiting(), seconds)
        except TimeoutError:
            return
    if stopping.is_set():
        raise RunInterrupted("the run is stopping")
