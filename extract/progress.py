"""Shows how a run goes: a live line on a terminal, a plain one now and then elsewhere, both on standard error."""

import contextlib
import threading
import time
from collections.abc import Callable
from types import TracebackType

from rich.console import Console
from rich.live import Live
from rich.text import Text

from extract.errors import MistakeError
from extract.job import Watch
from extract.tally import Tally
from store.rows import Outcome

_PLAIN_EVERY_S = 15.0


class Progress:
    """Is told of a run by its `watch`, and shows it while the block runs."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self.say = say
        self.console = Console(stderr=True)
        self.watch = Watch(self._begun, self._outcome, self._stopping)
        self._tally: Tally | None = None
        self._total: int | None = None
        self._counting: threading.Thread | None = None
        self._count: Callable[[], int | None] = lambda: None
        self._said_at = time.monotonic()
        live = self.console.is_terminal
        self._live = (
            Live(get_renderable=self._line, console=self.console, refresh_per_second=4, transient=True)
            if live
            else None
        )

    def __enter__(self) -> "Progress":
        if self._live:
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live:
            self._live.stop()

    def _begun(self, count: Callable[[], int | None], tally: Tally) -> None:
        self._count, self._tally = count, tally

    def _find_total(self) -> None:
        """Count the records of the inputs beside the run, so that it can say how long is left."""
        with contextlib.suppress(MistakeError):  # the run itself comes upon what is wrong with them, and says it
            self._total = self._count()

    def _outcome(self, outcome: Outcome) -> None:
        if self._counting is None:  # not before: a run that has nothing to ask would wait for it
            self._counting = threading.Thread(target=self._find_total, daemon=True)
            self._counting.start()
        if self._live or time.monotonic() - self._said_at < _PLAIN_EVERY_S:
            return
        self._said_at = time.monotonic()
        self.say(str(self._line()))

    def _stopping(self) -> None:
        line = "stopping: no new calls, those under way are finished and saved; press Ctrl-C again to leave at once"
        if self._live:
            self.console.print(line, highlight=False)
        else:
            self.say(line)

    def _line(self) -> Text:
        if self._tally is None:
            return Text("starting ...")
        return Text(progress_line(self._tally, self._total))


def progress_line(tally: Tally, total: int | None) -> str:
    """Say in one line how far a run is: records, rate, time left, failures, tokens, cost."""
    asked, seconds = tally.asked, tally.seconds
    rate = asked / seconds if seconds > 0 else 0.0
    before = tally.finished_before + tally.failed_before + tally.passed_over + tally.repeated
    to_ask = total - before if total is not None else None
    parts = [f"{asked:,} of {to_ask:,} records" if to_ask is not None else f"{asked:,} records"]
    if rate:
        parts.append(f"{rate:.1f}/s" if rate >= 1 else f"{1 / rate:.1f} s each")
        if to_ask is not None and to_ask > asked:
            parts.append(f"{duration((to_ask - asked) / rate)} left")
    if tally.failed:
        parts.append(f"{tally.failed:,} failed")
    parts.append(f"{tally.prompt_tokens + tally.completion_tokens:,} tokens")
    if tally.cost_usd:
        parts.append(f"${tally.cost_usd:.4f}")
    return ", ".join(parts)


def duration(seconds: float) -> str:
    """Write a time as a person says it: 8 s, 3 min, 2.5 h."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
