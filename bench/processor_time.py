"""Processor time of a run on Ray, by who takes it: what a record costs a worker and the driver, whatever else runs.

On a machine that others use, rates say little and processor time much: it tells how many workers a core feeds, and from
how many workers on the driver is the limit. Read from /proc a few times a second; knows nothing of what is run.
"""

import os
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

_EVERY_S = 0.2
_TICKS = os.sysconf("SC_CLK_TCK")

Pids = Callable[[], Mapping[str, list[int]]]
"""The processes that there are now, by what they are called in the result."""


class ProcessorTime:
    """Samples of what processes have used: a time, and seconds of a core by name and process."""

    def __init__(self, pids: Pids) -> None:
        self._pids = pids
        self._samples: list[tuple[float, str, int, float]] = []

    def sample(self) -> None:
        """Look once."""
        now = time.time()
        for name, some in self._pids().items():
            for pid in some:
                with suppress(OSError):  # it has just ended
                    self._samples.append((now, name, pid, _used(pid)))

    def between(self, start: float, end: float) -> dict[str, float]:
        """Return the seconds that were used between two times, by name."""
        seen: dict[tuple[str, int], list[float]] = defaultdict(list)
        for at, name, pid, used in self._samples:
            if start <= at <= end:
                seen[name, pid].append(used)
        spent: dict[str, float] = defaultdict(float)
        for (name, _), several in seen.items():
            spent[name] += several[-1] - several[0]
        return dict(spent)


@contextmanager
def watched(pids: Pids) -> Iterator[ProcessorTime]:
    """Sample while the block runs."""
    times, ended = ProcessorTime(pids), threading.Event()

    def keep_sampling() -> None:
        while not ended.wait(_EVERY_S):
            times.sample()

    thread = threading.Thread(target=keep_sampling)
    thread.start()
    try:
        yield times
    finally:
        ended.set()
        thread.join()


def _used(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS
