"""When a call is made again: transient faults with tenacity, for one reply of one record.

A 429 isn't counted: it says nothing of the record, and the whole run slows down for it (`limiter`). Re-asking for a
better reply is instructor's, above this.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from tenacity import AsyncRetrying, RetryCallState, retry_if_exception, wait_random_exponential

from extract.errors import CallError, RunInterrupted
from extract.settings import Patience


@dataclass(slots=True)
class Tries:
    """Counts the faults that one reply has met, those of 429 apart."""

    counted: int = 0
    refused: int = 0

    def note(self, error: CallError) -> None:
        """Count a fault."""
        if error.kind == "rate_limit":
            self.refused += 1
        else:
            self.counted += 1


def retrying(patience: Patience, tries: Tries, stopping: asyncio.Event) -> AsyncRetrying:
    """Return a new tenacity loop for one reply: it keeps its state on itself, so that it must never be shared.

    Its waits end at once, with RunInterrupted, when the run is stopping.
    """
    growing = wait_random_exponential(multiplier=patience.first_wait_s, max=patience.longest_wait_s)

    def wait(state: RetryCallState) -> float:
        error = state.outcome.exception() if state.outcome else None
        if isinstance(error, CallError) and error.kind == "rate_limit":
            return 0.0  # the limiter holds this call back, with all others
        asked = error.retry_after_s if isinstance(error, CallError) else None
        return asked if asked is not None else growing(state)

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
