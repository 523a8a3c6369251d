"""The faults that a scripted server can show, in one list, and their form in JSON: `{"kind": "Status", "code": 500}`.

A fault turns the right answer to a request into the reply to send in its place. It doesn't know when it strikes:
that is `script.Rule`.
"""

from collections.abc import Mapping
from dataclasses import asdict
from typing import get_args

from tests.scripted.bad_answers import (
    AbsentQuote,
    ContentFilter,
    Empty,
    ExtraFields,
    Fenced,
    Malformed,
    NoChoices,
    NoUsage,
    PlainInTools,
    Prose,
    Refusal,
    Thinking,
    Truncated,
    WrongTypes,
)
from tests.scripted.bad_responses import (
    ContextLength,
    Cut,
    ErrorIn200,
    Hang,
    InsufficientQuota,
    InvalidSchema,
    NotJsonBody,
    RateLimited,
    Reset,
    RetryAfterForm,
    SlowBody,
    Status,
    rate_limited,
)

AnswerFault = (
    AbsentQuote
    | ContentFilter
    | Empty
    | ExtraFields
    | Fenced
    | Malformed
    | NoChoices
    | NoUsage
    | PlainInTools
    | Prose
    | Refusal
    | Thinking
    | Truncated
    | WrongTypes
)
ResponseFault = (
    ContextLength
    | Cut
    | ErrorIn200
    | Hang
    | InsufficientQuota
    | InvalidSchema
    | NotJsonBody
    | RateLimited
    | Reset
    | SlowBody
    | Status
)
Fault = AnswerFault | ResponseFault

__all__ = [
    "AbsentQuote",
    "ContentFilter",
    "ContextLength",
    "Cut",
    "Empty",
    "ErrorIn200",
    "ExtraFields",
    "Fault",
    "Fenced",
    "Hang",
    "InsufficientQuota",
    "InvalidSchema",
    "Malformed",
    "NoChoices",
    "NoUsage",
    "NotJsonBody",
    "PlainInTools",
    "Prose",
    "RateLimited",
    "Refusal",
    "Reset",
    "RetryAfterForm",
    "SlowBody",
    "Status",
    "Thinking",
    "Truncated",
    "WrongTypes",
    "fault_from_json",
    "fault_to_json",
    "rate_limited",
]


def kinds() -> dict[str, type[Fault]]:
    """Every fault's class by its name."""
    return {kind.__name__: kind for kind in get_args(Fault)}


def fault_to_json(fault: Fault) -> dict[str, object]:
    """The fault's name under `kind`, then its fields."""
    return {"kind": type(fault).__name__, **asdict(fault)}


def fault_from_json(value: Mapping[str, object]) -> Fault:
    """The fault that `fault_to_json` wrote; raises ValueError on an unknown kind or field."""
    fields: dict[str, object] = {name: field for name, field in value.items() if name != "kind"}
    kind = kinds().get(str(value.get("kind")))
    if kind is None:
        raise ValueError(f"fault {value.get('kind')!r} is unknown; there are {', '.join(sorted(kinds()))}")
    headers = fields.get("headers")
    if isinstance(headers, list):
        fields["headers"] = tuple((str(name), str(text)) for name, text in headers)
    try:
        return kind(**fields)  # type: ignore[arg-type]  # JSON's values: the dataclass's own signature checks the names
    except TypeError as wrong:
        raise ValueError(f"fault {value!r}: {wrong}") from wrong
