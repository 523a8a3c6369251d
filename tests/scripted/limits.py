"""Token buckets, and what OpenAI's `x-ratelimit-*` headers say of them."""

import math
from collections.abc import Callable


class Bucket:
    """Holds up to `capacity` units, starts full, gains `rate` units a second; `clock` gives seconds."""

    def __init__(self, rate: float, capacity: float, clock: Callable[[], float]) -> None:
        self.rate = rate
        self.capacity = capacity
        self._clock = clock
        self._level = capacity
        self._at = clock()

    @property
    def level(self) -> float:
        """The units that could be taken now."""
        now = self._clock()
        self._level = min(self.capacity, self._level + (now - self._at) * self.rate)
        self._at = now
        return self._level

    def wait(self, units: float) -> float:
        """Seconds until this many units are there, 0 if they are; more than a full bucket counts as a full one."""
        return max(0.0, (min(units, self.capacity) - self.level) / self.rate)

    def take(self, units: float) -> None:
        """Remove units, all of those there if they are fewer."""
        self._level = max(0.0, self.level - units)


def headers(name: str, bucket: Bucket) -> tuple[tuple[str, str], ...]:
    """Limit for a minute, whole units remaining, and time until full, as OpenAI sends them for `name`."""
    full = (bucket.capacity - bucket.level) / bucket.rate
    return (
        (f"x-ratelimit-limit-{name}", f"{bucket.rate * 60:.0f}"),
        (f"x-ratelimit-remaining-{name}", str(math.floor(bucket.level))),
        (f"x-ratelimit-reset-{name}", duration(full)),
    )


def duration(seconds: float) -> str:
    """A span as those headers write it: `120ms`, `1.5s`, `6m0s`."""
    if seconds < 1:
        return f"{math.ceil(seconds * 1000)}ms"
    minutes, rest = divmod(seconds, 60)
    return f"{minutes:.0f}m{rest:.0f}s" if minutes else f"{rest:.3g}s"
