"""Counts what becomes of a run's records, and what that takes."""

import time
from collections import Counter
from dataclasses import dataclass, field

from store.rows import Outcome


@dataclass(slots=True)
class Tally:
    """A run's counts so far. Of the records read, some repeat a text, some were finished before, the rest are asked."""

    read: int = 0
    repeated: int = 0
    finished_before: int = 0
    failed_before: int = 0
    passed_over: int = 0
    recovered: int = 0
    """Outcomes of killed runs, taken in from their journals."""
    done: int = 0
    failed: int = 0
    errors: Counter[str] = field(default_factory=Counter)
    calls: int = 0
    prompt_tokens: int = 0
    cached_tokens: int = 0
    completion_tokens: int = 0
    cost_usd: float | None = 0.0
    started: float = field(default_factory=time.monotonic)

    @property
    def asked(self) -> int:
        """Records that got an outcome in this run."""
        return self.done + self.failed

    @property
    def seconds(self) -> float:
        """Since the run began."""
        return time.monotonic() - self.started

    def count(self, outcome: Outcome) -> None:
        """Take an outcome in."""
        if outcome.status == "done":
            self.done += 1
        else:
            self.failed += 1
            self.errors[outcome.error_type or "unknown"] += 1
        for attempt in outcome.attempts:
            self.calls += 1
            self.prompt_tokens += attempt.prompt_tokens or 0
            self.cached_tokens += attempt.cached_tokens or 0
            self.completion_tokens += attempt.completion_tokens or 0
            if attempt.cost_usd is None:
                self.cost_usd = None
            elif self.cost_usd is not None:
                self.cost_usd += attempt.cost_usd
