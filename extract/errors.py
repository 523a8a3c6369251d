"""What can go wrong, by who can mend it.

    ClaimbaseError
    ├── MistakeError            a person can mend it: one line, exit 2, no traceback
    │   ├── InputError          a file, or a place in it, that can't be read
    │   └── SettingsError       an option, a key, a model or a package that is missing or doesn't fit
    ├── FatalError              an endpoint's answer that every record would meet: stops the run, exit 2
    ├── BudgetReached           the next call could pass --max-cost or --max-tokens: stops the run, exit 3
    ├── RunInterrupted          the run is ending and this record is left for the next one; no row
    └── CallError               one call that gave no usable reply: becomes a row with its `kind`

Errors of schemas, prompts and the store are theirs: `SchemaError`, `PromptError`, `StoreError`, each one line too.
"""

from typing import Literal

Kind = Literal[
    "connection", "timeout", "rate_limit", "server", "reply", "length", "refusal", "content_filter", "too_long",
    "bad_request", "text", "auth", "not_found", "payment", "schema",
]  # fmt: skip
"""What kept a call, or a record, from a good reply; the `error_type` of a row."""

TRANSIENT: frozenset[str] = frozenset({"connection", "timeout", "rate_limit", "server"})
"""Kinds that a later call may not meet: retried in a run, and asked again by the next run without being told."""


class ClaimbaseError(Exception):
    """Base of the engine's errors; its text is one line for a person."""


class MistakeError(ClaimbaseError):
    """Something a person can mend."""


class InputError(MistakeError):
    """A file that can't be read, or a place in it: what was found there against what was expected."""

    def __init__(self, source: str, problem: str, line: int | None = None) -> None:
        self.source, self.problem, self.line = source, problem, line
        super().__init__(f"{source}{f', line {line}' if line else ''}: {problem}")


class SettingsError(MistakeError):
    """An option, a key, a model or a package that is missing or doesn't fit."""


class FatalError(ClaimbaseError):
    """An endpoint's answer that every record would meet, with the provider's own words."""

    def __init__(self, kind: Kind, words: str) -> None:
        self.kind, self.words = kind, words
        super().__init__(words)


class BudgetReached(ClaimbaseError):
    """The next call could pass the budget."""


class RunInterrupted(ClaimbaseError):
    """The run is ending: this record has no outcome and is left for the next run."""


class CallError(ClaimbaseError):
    """One call that gave no usable reply. `retry_after_s`: how long the endpoint asks to be left alone."""

    def __init__(self, kind: Kind, words: str, retry_after_s: float | None = None) -> None:
        self.kind, self.words, self.retry_after_s = kind, words, retry_after_s
        super().__init__(words)

    @property
    def transient(self) -> bool:
        """May the same call fare better a little later?"""
        return self.kind in TRANSIENT
