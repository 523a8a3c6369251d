"""The rows that claimbase keeps: frozen dataclasses, one for each base table, as they travel into the store.

They hold plain values only (JSON is text, times are UTC); what makes them stands in `extract`, what saves them in `db`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

AttemptStatus = Literal["ok", "invalid", "error"]
"""How a call ended: a reply that was accepted, a reply that was not, no reply."""

OutcomeStatus = Literal["done", "failed"]

RunStatus = Literal["running", "finished", "interrupted", "stopped"]
"""`stopped`: ended by an error that every record would have met; `running` without a live process: it was killed."""


@dataclass(frozen=True, slots=True)
class Record:
    """One abstract, with where it came from. `record_id` is a hash of its normalized text."""

    record_id: str
    source: str
    locator: str
    source_id: str | None
    title: str | None
    text: str
    meta: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Schema:
    """What was extracted: the JSON schema of the model, and the DuckDB structure of the claims derived from it.

    `structure` is JSON in the notation of DuckDB's `from_json`: a type name, a list of one, or an object of these.
    """

    schema_hash: str
    name: str
    json_schema: str
    structure: str


@dataclass(frozen=True, slots=True)
class Prompt:
    """A versioned prompt, whole: `text` is all of it but the abstract."""

    prompt_hash: str
    name: str
    version: int
    text: str


@dataclass(frozen=True, slots=True)
class Run:
    """One command over many records. `recipe` hashes schema, prompt, model and parameters: what makes an answer."""

    run_id: str
    started_at: datetime
    model: str
    endpoint: str
    schema_hash: str
    prompt_hash: str
    recipe: str
    settings: str
    code_version: str
    host: str
    pid: int


@dataclass(frozen=True, slots=True)
class Attempt:
    """One call to a model, good or bad. Tokens and cost are this call's own, None where the endpoint didn't say."""

    record_id: str
    n: int
    started_at: datetime
    latency_ms: float
    status: AttemptStatus
    error_type: str | None
    error: str | None
    request_hash: str
    reply: str | None
    finish_reason: str | None
    prompt_tokens: int | None
    cached_tokens: int | None
    completion_tokens: int | None
    cost_usd: float | None
    logprobs: str | None = None
    """How likely each token of the reply was: `bytes:logarithm` a token, in turn; None where nobody said."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """Where a quote stands in its record's text: `text[start:end]`, in code points from 0, the end excluded.

    `path` names the field (`headline_numbers.metric`), `ordinal` the item of its list, from 0. `match` is `exact`,
    `folded` or `absent`; an absent one has no offsets. `reason` says why a quote, or what was said of it, was rejected.
    """

    path: str
    ordinal: int
    quote: str
    start: int | None
    end: int | None
    match: str
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a record ended in a run, with all that led to it: saved whole or not at all.

    `value` is the JSON of the derived claims (None when failed), in the shape of `Schema.structure`.
    """

    record_id: str
    status: OutcomeStatus
    error_type: str | None
    error: str | None
    value: str | None
    finished_at: datetime
    attempts: Sequence[Attempt] = ()
    evidence: Sequence[Evidence] = ()
