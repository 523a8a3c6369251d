"""Claims by rules alone, without a model: the plain baseline that `eval --rules` puts beside the measured runs.

Numbers are all that `scan` finds, with the nearest noun as their metric; names are told by their capitals and by the
words beside them; the task is the phrase after "for" or "of" in the sentence that proposes something. It is there for
scale, not to be good: what a model is worth is how far it is above this.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from schemas.qualifiers import qualifier
from schemas.quantity import NumberSpan, scan

_NAME = r"[A-Z][\w+.\-]*(?:[A-Z\d][\w+.\-]*)+"
"""A word with a capital or a digit beyond its first letter: BERT, CIFAR-10, ImageNet."""
_PROPOSED = re.compile(rf"\b(?:propose|introduce|present|develop|call(?:ed)?|named)\b[^.]{{0,60}}?\b({_NAME})")
_DATASET = re.compile(rf"\b({_NAME})(?= (?:data ?sets?|benchmarks?|corpus|corpora|tasks?)\b)|\b(?:on|in) ({_NAME})\b")
_BASELINE = re.compile(rf"\b(?:outperform\w*|surpass\w*|over|than|compared (?:to|with)|versus) (?:the )?({_NAME})\b")
_TASK = re.compile(r"\b(?:for|of) ((?:[a-z][a-z\-]+ ){1,4}[a-z][a-z\-]+)")
_GAIN = re.compile(
    r"\b(?:improv|increas|reduc|decreas|faster|higher|lower|better|gain|speed|fewer|less|more|outperform)"
)
_DOWN = re.compile(r"\b(?:reduc|decreas|lower|fewer|less)")
_NOUN = re.compile(r"\W*(?:(?:of|in|on|the|a|an|up|to)\s+)*([A-Za-z][\w\-]*(?: [a-z][\w\-]*)?)")
_AROUND = 60


def claims_by_rules(text: str) -> dict[str, Any]:
    """Return the claims of an abstract in the form of `outcomes.value` of the schema `paper`."""
    lower, numbers = text.lower(), scan(text)
    task = _TASK.search(text)
    method = _PROPOSED.search(text)
    return {
        "contribution": "benchmark" if "benchmark" in lower else "method",
        "task": task[1] if task else None,
        "method": method[1] if method else None,
        "datasets": [_named(at) for at in _first_places(_DATASET, text)],
        "baselines": [_named(at) for at in _first_places(_BASELINE, text)],
        "headline_numbers": [_number(text, span, numbers) for span in numbers],
    }


def _first_places(pattern: re.Pattern[str], text: str) -> Iterator[tuple[str, int, int]]:
    seen: set[str] = set()
    for match in pattern.finditer(text):
        group = next(n for n, said in enumerate(match.groups(), 1) if said)
        if match[group] not in seen:
            seen.add(match[group])
            yield match[group], match.start(group), match.end(group)


def _named(at: tuple[str, int, int]) -> Mapping[str, Any]:
    name, start, end = at
    return {"name": name, "start": start, "end": end, "match": "exact"}


def _number(text: str, span: NumberSpan, numbers: Sequence[NumberSpan]) -> dict[str, Any]:
    before, after = text[max(0, span.start - _AROUND) : span.start].lower(), text[span.end : span.end + _AROUND]
    near = before + after.lower()
    gains = span.unit in ("%", "pp", "x") and bool(_GAIN.search(near))
    noun = _NOUN.match(after)
    return {
        "quote": text[span.start : span.end],
        "value": span.value,
        "unit": span.unit,
        "role": "scale" if span.unit == "count" else "gain" if gains else "score",
        "direction": ("decrease" if _DOWN.search(near) else "increase") if gains else None,
        "qualifier": qualifier(text, span.start, span.end, numbers),
        "metric": noun[1] if noun else None,
        "dataset": None,
        "baseline": None,
        "start": span.start,
        "end": span.end,
        "match": "exact",
    }
