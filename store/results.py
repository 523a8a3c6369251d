"""What the store answers: frozen dataclasses of what was kept, beside the rows of `rows` that went in."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from store.rows import Attempt, Evidence, OutcomeStatus, Run, RunStatus


@dataclass(frozen=True, slots=True)
class Known:
    """A record that the database has. `status` is None where no run of the recipe has ended it.

    It is `done` if any run of the recipe did it, else the latest failure with its `error_type`. `text` is as kept: a
    lone surrogate of the original is U+FFFD in it.
    """

    status: OutcomeStatus | None
    error_type: str | None
    text: str


@dataclass(frozen=True, slots=True)
class RunSummary:
    """A run, with what it did so far.

    Token counts are sums over the attempts that said them. `cost_usd` is None where the cost of any attempt is
    unknown: a sum of the rest would read as a whole. `errors` counts failed records by kind. `alive` is True while
    a running run's process lives, and for a process of another host, where it can't be told.
    """

    run: Run
    status: RunStatus
    finished_at: datetime | None
    done: int
    failed: int
    attempts: int
    prompt_tokens: int
    cached_tokens: int
    completion_tokens: int
    cost_usd: float | None
    errors: Mapping[str, int]
    alive: bool


@dataclass(frozen=True, slots=True)
class Claims:
    """The latest good outcome of a record under one schema: its value (JSON) and where each quote of it stands."""

    record_id: str
    run_id: str
    schema_hash: str
    schema_name: str
    model: str
    value: str
    finished_at: datetime
    evidence: Sequence[Evidence]


@dataclass(frozen=True, slots=True)
class KeptAttempt:
    """One call to a model, with the run that made it."""

    run_id: str
    model: str
    attempt: Attempt


@dataclass(frozen=True, slots=True)
class Reply:
    """The reply that a done outcome was derived from, with its record's text: what it takes to derive it again."""

    record_id: str
    run_id: str
    text: str
    reply: str
    logprobs: str | None = None
