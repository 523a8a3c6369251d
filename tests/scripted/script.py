"""A script: which answer each record gets, how late, what goes wrong and when, and how the server guards its door.

Plain data, in Python or as JSON; it is carried out by `model` and `endpoint`. Answers that are callables are for Python
only.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Literal, TypeVar

from tests.scripted.faults import Fault, RetryAfterForm, fault_from_json, fault_to_json
from tests.scripted.replies import Answer, Asked, paper

Answering = Answer | Callable[[Asked], Answer]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Rule:
    """When a fault strikes: on calls `first` to `last` (counted from 1; None: for ever), of these every `every`-th.

    Calls are counted for each record by itself, or over all (`counted="all"`). `key` limits the rule to the record
    that it stands in. Of several rules that fit, the first one listed strikes.
    """

    fault: Fault
    key: str | None = None
    first: int = 1
    last: int | None = None
    every: int = 1
    counted: Literal["record", "all"] = "record"

    def strikes(self, keys: Iterable[str], record_call: int, overall_call: int) -> bool:
        """Whether it strikes a call about a record with these keys, the n-th of the record and the n-th of all."""
        call = overall_call if self.counted == "all" else record_call
        within = self.first <= call and (self.last is None or call <= self.last)
        return within and (call - self.first) % self.every == 0 and (self.key is None or self.key.strip() in keys)


def once(fault: Fault, key: str | None = None) -> Rule:
    """The fault on the first call of each record, or of the record named."""
    return Rule(fault, key, last=1)


def first(k: int, fault: Fault, key: str | None = None) -> Rule:
    """The fault on the first k calls of each record, or of the record named."""
    return Rule(fault, key, last=k)


def nth(n: int, fault: Fault, key: str | None = None) -> Rule:
    """The fault on the n-th call only of each record, or of the record named."""
    return Rule(fault, key, first=n, last=n)


def always(fault: Fault, key: str | None = None) -> Rule:
    """The fault on every call of each record, or of the record named."""
    return Rule(fault, key)


@dataclass(frozen=True, slots=True)
class Limits:
    """The server's own rate limit: a token bucket of requests, refilled at `rate` a second, holding `burst` at most
    (None: a second's worth).

    `tokens_per_minute` adds a bucket of prompt tokens that holds a minute's worth. `headers` sends `x-ratelimit-*`
    with each reply, in OpenAI's meaning: limits are for a minute, `reset` is the time until the bucket is full.
    """

    rate: float | None = None
    burst: int | None = None
    tokens_per_minute: float | None = None
    retry_after: RetryAfterForm = "seconds"
    headers: bool = False


@dataclass(frozen=True, slots=True)
class Script:
    """All that the server does.

    `answers` maps a key (a marker word in the text, or the whole text) to an answer, `default` is for the rest.
    Latencies are (low, high) in milliseconds, drawn uniformly with `seed` in order of arrival; `latency_by_key` is
    for single records. Faults of rules wait as long as answers; what is refused at the door (key, model, limits) is
    refused at once. `models`, where given, are the only ones known; others get 404. `cache` counts as cached the
    start of a prompt that it shares with the prompt before it. `examples`: see `replies.read_request`.
    """

    answers: Mapping[str, Answering] = field(default_factory=dict)
    default: Answering = field(default_factory=paper)
    rules: tuple[Rule, ...] = ()
    latency_ms: tuple[float, float] = (0.0, 0.0)
    latency_by_key: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    seed: int = 0
    limits: Limits = Limits()
    api_key: str | None = None
    models: tuple[str, ...] = ()
    cache: bool = False
    examples: int = 0

    def keys(self) -> set[str]:
        """Every key that an answer, a rule or a latency names."""
        return {*self.answers, *self.latency_by_key, *(rule.key for rule in self.rules if rule.key is not None)}


def script_to_json(script: Script) -> dict[str, object]:
    """The script as JSON takes it; raises TypeError where an answer is a callable."""
    for key, answer in {**script.answers, "default": script.default}.items():
        if callable(answer):
            raise TypeError(f"the answer of {key!r} is a callable, which only a server in this process can use")
    rules = [{name: getattr(rule, name) for name in Rule.__slots__} for rule in script.rules]
    for rule, written in zip(script.rules, rules, strict=True):
        written["fault"] = fault_to_json(rule.fault)
    plain = {name: getattr(script, name) for name in Script.__slots__}
    return {**plain, "limits": asdict(script.limits), "rules": rules}


def script_from_json(value: Mapping[str, object]) -> Script:
    """The script that a JSON object describes, its fields named as Script's; raises ValueError on unknown ones."""
    given = dict(value)
    rules = given.pop("rules", [])
    if not isinstance(rules, list | tuple):
        raise ValueError(f"rules: expected a list, found {type(rules).__name__}")
    given["rules"] = tuple(_rule_from_json(rule) for rule in rules)
    given["limits"] = _build(Limits, given.get("limits") or {})
    given["latency_ms"] = _span(given.get("latency_ms", 0.0))
    by_key = given.get("latency_by_key") or {}
    given["latency_by_key"] = {key: _span(span) for key, span in _object(by_key).items()}
    given["models"] = tuple(_strings(given.get("models") or ()))
    return _build(Script, given)


def _rule_from_json(value: object) -> Rule:
    given = dict(_object(value))
    return _build(Rule, {**given, "fault": fault_from_json(_object(given.get("fault")))})


def _build(kind: type[T], value: object) -> T:
    given = dict(_object(value))
    known = [known.name for known in fields(kind)]  # type: ignore[arg-type]  # each kind here is a dataclass
    unknown = sorted(set(given) - set(known))
    if unknown:
        raise ValueError(f"{kind.__name__} has no field {unknown[0]!r}; it has {', '.join(known)}")
    return kind(**given)


def _object(value: object) -> Mapping[str, object]:
    if not isinstance(value, Mapping):
        raise ValueError(f"expected a JSON object, found {value!r}")
    return value


def _strings(value: object) -> list[str]:
    if not isinstance(value, list | tuple):
        raise ValueError(f"expected a list of strings, found {value!r}")
    return [str(entry) for entry in value]


def _span(value: object) -> tuple[float, float]:
    """A latency: one number, or the two ends of a range."""
    ends = value if isinstance(value, list | tuple) else (value, value)
    low, high = ends
    return float(low), float(high)
