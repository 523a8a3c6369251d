"""How sure a claim is: from the probabilities of the tokens that said it, never from the model's own word.

A claim's tokens are those of its JSON in the reply. From the logarithms of their probabilities, their sum and the least
of them, a logistic function makes a confidence: the share of claims like it that were right, on abstracts that the
model was not trained on (Platt 1999). Its coefficients come with the model's adapter; of a model without any the
confidence is the probability of the claim's tokens as it is, which orders claims, and is no share of right ones.
"""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass

Calibration = Mapping[str, tuple[float, float, float]]
"""For a kind of claim (its list's path, "" for the plain fields, `ANY`): bias, weight of the sum, of the least."""

ANY = "*"
"""Stands, among kinds of claims, for those that have no coefficients of their own."""

_VALUE = re.compile(r'\s*(?:([\[{])|"(?:[^"\\]|\\.)*"|[^\s,\]}:]+)', re.DOTALL)
_KEY = re.compile(r'\s*"((?:[^"\\]|\\.)*)"\s*:', re.DOTALL)
_COMMA = re.compile(r"\s*,")
_END = re.compile(r"\s*[\]}]")


@dataclass(frozen=True, slots=True)
class Certainty:
    """Logarithms of the probabilities of the tokens of a value: their sum, and the least of them."""

    total: float
    least: float


class Certainties:
    """The certainty of each value of a reply, by its path: `task`, `datasets[0]`, `headline_numbers[1].quote`."""

    def __init__(self, values: Mapping[str, Certainty]) -> None:
        self._values = values

    @classmethod
    def of(cls, reply: str, logprobs: str | None) -> "Certainties | None":
        """Read them off a reply; None where the endpoint said nothing, or what it said doesn't fit the reply."""
        tokens = _tokens(logprobs) if logprobs else []
        said = reply.encode()
        if sum(length for length, _ in tokens) != len(said):
            return None
        text = said.decode("latin-1")  # a byte a character: the spans are in bytes, as the tokens are
        begins = text.find("{")
        spans: dict[str, tuple[int, int]] = {}
        if begins < 0 or _read(text, begins, "", spans) is None:
            return None
        return cls({path: _certainty(tokens, span) for path, span in spans.items()})

    def get(self, path: str) -> Certainty | None:
        """Return the certainty of the value at a path."""
        return self._values.get(path)

    def together(self, paths: list[str]) -> Certainty | None:
        """Return that of several values as one; None where one is missing, or there is none."""
        found = [self._values.get(path) for path in paths]
        known = [c for c in found if c is not None]
        if not known or len(known) < len(found):
            return None
        return Certainty(sum(c.total for c in known), min(c.least for c in known))


def confidence(certainty: Certainty | None, kind: str, calibration: Calibration) -> float | None:
    """Return a claim's confidence, 0 to 1, to three places; None where nothing is known."""
    if certainty is None:
        return None
    if (weights := calibration.get(kind, calibration.get(ANY))) is not None:
        bias, total, least = weights
        exponent = bias + total * certainty.total + least * certainty.least
        return round(1 / (1 + math.exp(-max(-50.0, min(50.0, exponent)))), 3)
    return round(math.exp(max(-50.0, min(0.0, certainty.total))), 3)


def _tokens(logprobs: str) -> list[tuple[int, float]]:
    pairs = (token.split(":", 1) for token in logprobs.split())
    return [(int(length), float(logprob)) for length, logprob in pairs]


def _certainty(tokens: list[tuple[int, float]], span: tuple[int, int]) -> Certainty:
    """Sum up the tokens that overlap a span; the first of them is the one that chose to begin it."""
    at, said = 0, []
    for length, logprob in tokens:
        if at < span[1] and at + length > span[0]:
            said.append(logprob)
        at += length
    return Certainty(sum(said), min(said, default=0.0))


def _read(text: str, at: int, path: str, spans: dict[str, tuple[int, int]]) -> int | None:
    """Note the span of the value at `at` and of all in it; return where it ends, None if it is no JSON."""
    match = _VALUE.match(text, at)
    if match is None:
        return None
    end: int | None = match.end()
    if match[1]:
        end = _read_inner(text, match.end(), path, spans, is_object=match[1] == "{")
    if end is not None:
        spans[path] = (match.start(0) + len(match[0]) - len(match[0].lstrip()), end)
    return end


def _read_inner(text: str, at: int, path: str, spans: dict[str, tuple[int, int]], *, is_object: bool) -> int | None:
    """Read the members of an object or a list; return where it ends."""
    number = 0
    while not (end := _END.match(text, at)):
        inner = f"{path}[{number}]"
        if is_object:
            key = _KEY.match(text, at)
            if key is None:
                return None
            at, inner = key.end(), f"{path}.{key[1]}" if path else key[1]
        after = _read(text, at, inner, spans)
        if after is None:
            return None
        number += 1
        comma = _COMMA.match(text, after)
        at = comma.end() if comma else after
        if not comma and not _END.match(text, at):
            return None
    return end.end()
