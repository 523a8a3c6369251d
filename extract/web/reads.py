"""The web app's way to the database: opened for each request, and kept open a moment for the next one.

Opening takes some 15 ms, and what was read is forgotten when the file is closed. So after a request one more
connection stays for `IDLE_S`, and the next request finds the file open and its blocks in memory. A writer in another
process has to wait meanwhile (it does, for up to 30 s), therefore the file is never kept while a run is going on, and
never longer than `LONGEST_S` at a stretch, after which it is free for `PAUSE_S` but for the requests themselves.
`docs/decisions/009-web-reads.md` has the figures.
"""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TypeVar

import duckdb

from store import session
from store.opening import WAIT_S, opened
from store.reading import process_lives

IDLE_S, LONGEST_S, PAUSE_S = 1.0, 5.0, 0.5
"""How long the file is kept for another request, and at most in all; how long it is then left alone."""

_REMEMBERED = 512

T = TypeVar("T")
Version = tuple[tuple[int, int], ...]
"""Of the file and of its log: the time of the last change in ns, and the size."""


class Reads:
    """The one database of the app. Safe to be used by many threads."""

    def __init__(self, path: Path, wait_s: float = WAIT_S) -> None:
        self.path = path
        self.wait_s = wait_s
        self._lock = threading.Lock()
        self._kept: ExitStack | None = None
        self._kept_since = 0.0
        self._used_at = 0.0
        self._not_before = 0.0
        self._alone = 0
        self._answers: OrderedDict[Hashable, tuple[Version, float, object]] = OrderedDict()

    @contextmanager
    def open(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """The database, read-only, until the block ends. Raises what `session.reading` does."""
        with session.reading(self.path, self.wait_s) as con:
            self._keep(con)
            yield con

    @contextmanager
    def writing(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """The database in one transaction, until the block ends; requests that read wait. As `session.writing`."""
        with self.alone(), session.writing(self.path, self.wait_s) as con:
            yield con

    @contextmanager
    def alone(self) -> Iterator[None]:
        """A block in which nothing is kept open here, for what opens the file in a way of its own."""
        with self._lock:
            self._alone += 1
            self._let_go()
        try:
            yield
        finally:
            with self._lock:
                self._alone -= 1

    def version(self) -> Version:
        """What changes whenever the database does; without opening it."""
        found = []
        for path in (self.path, self.path.with_name(f"{self.path.name}.wal")):
            try:
                state = path.stat()
            except FileNotFoundError:
                continue
            found.append((state.st_mtime_ns, state.st_size))
        return tuple(found)

    def remembered(self, key: Hashable, make: Callable[[], T], stale_s: float = 0.0) -> T:
        """What `make` answers, from memory if the database is as it was, or was asked less than `stale_s` ago."""
        known = self._answers.get(key)
        before, now = self.version(), time.monotonic()
        if known is not None and (known[0] == before or now - known[1] < stale_s):
            return known[2]  # type: ignore[return-value]  # of this key
        made = make()
        with self._lock:
            self._answers[key] = (before, now, made)
            self._answers.move_to_end(key)
            if len(self._answers) > _REMEMBERED:
                self._answers.popitem(last=False)
        return made

    def is_remembered(self, key: Hashable) -> bool:
        """Whether the answer of this key is in memory and true still."""
        known = self._answers.get(key)
        return known is not None and known[0] == self.version()

    def close(self) -> None:
        """Let go of the file."""
        with self._lock:
            self._let_go()

    def _keep(self, con: duckdb.DuckDBPyConnection) -> None:
        with self._lock:
            now = time.monotonic()
            self._used_at = now
            if self._kept is not None or self._alone or now < self._not_before or _run_is_going_on(con):
                return
            # A second connection, as a cursor would be closed with the first. It shares the open file.
            self._kept = ExitStack()
            self._kept.enter_context(opened(self.path, 0.0))
            self._kept_since = now
            self._watch(IDLE_S)

    def _watch(self, seconds: float) -> None:
        timer = threading.Timer(seconds, self._look)
        timer.daemon = True
        timer.start()

    def _look(self) -> None:
        """Let go if it is time, else look again later."""
        with self._lock:
            if self._kept is None:
                return
            now = time.monotonic()
            ends = self._kept_since + LONGEST_S
            left = min(self._used_at + IDLE_S, ends) - now
            if left > 0:
                self._watch(left)
                return
            self._let_go()
            if now >= ends:
                self._not_before = now + PAUSE_S

    def _let_go(self) -> None:
        if self._kept is not None:
            self._kept.close()
            self._kept = None


def _run_is_going_on(con: duckdb.DuckDBPyConnection) -> bool:
    rows = con.execute("SELECT host, pid FROM runs WHERE status = 'running'").fetchall()
    return any(process_lives(host, pid) for host, pid in rows)
