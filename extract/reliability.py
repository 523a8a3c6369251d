"""Is a confidence of 0.9 right nine times in ten? What confidences were worth, on abstracts whose gold is known.

A claim is right or wrong by the rules of `scoring`: a name is one of gold's; a headline number is right in value, unit,
role and metric; of a record's plain fields all must be right.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from extract.scoring import Scored
from schemas.shape import FieldShape, evidence_names, record_confidence_name

EDGES = (0.0, 0.5, 0.7, 0.8, 0.9, 0.95, 1.0)
"""Of the rows of the reliability table."""
SET_ASIDE = (0.0, 0.1, 0.2, 0.5)
"""Shares of the least confident claims that are set aside, to see what the rest are worth."""

Claim = tuple[str, int]
"""The path of a claim's list, "" for a record's plain fields, and its place in the list."""


def confidences(fields: Sequence[FieldShape], value: Mapping[str, Any]) -> dict[Claim, float]:
    """Return the confidence of each claim of an outcome's value; those without one are left out."""
    found: dict[Claim, float | None] = {("", 0): value.get(record_confidence_name(fields))}
    for shape in fields:
        column = "confidence" if shape.verbatim else evidence_names(shape)["confidence"]
        if shape.many and (shape.verbatim or shape.anchor is not None):
            items = value.get(shape.name) or ()
            found |= {(shape.name, ordinal): item.get(column) for ordinal, item in enumerate(items)}
    return {claim: said for claim, said in found.items() if said is not None}


def reliability(scored: Sequence[Scored]) -> Iterator[str]:
    """Yield two Markdown tables: shares of right claims by confidence, and once the least sure are set aside."""
    kinds: dict[str, list[tuple[float, bool]]] = {}
    for one in scored:
        for claim, said in one.confidences.items():
            if claim in one.judged:
                kinds.setdefault(claim[0] or "plain fields", []).append((said, one.judged[claim]))
    if not kinds:
        yield "no claim has a confidence: the endpoint gave no probabilities of its tokens"
        return
    yield "| confidence | claims | mean confidence | right |"
    yield "| --- | --- | --- | --- |"
    every = [claim for claims in kinds.values() for claim in claims]
    for low, high in pairwise(EDGES):
        inside = [c for c in every if low <= c[0] < high or c[0] == high == EDGES[-1]]
        if inside:
            mean = sum(said for said, _ in inside) / len(inside)
            yield f"| {low:g} to {high:g} | {len(inside)} | {mean:.2f} | {_share(inside):.2f} |"
    yield ""
    yield f"| share right once set aside | {' | '.join(f'{share:.0%}' for share in SET_ASIDE)} | claims |"
    yield f"| --- | {'--- | ' * len(SET_ASIDE)}--- |"
    for kind, claims in [*kinds.items(), ("all", every)]:
        order = sorted(claims, key=lambda claim: claim[0])
        kept = [_share(order[round(len(order) * share) :]) for share in SET_ASIDE]
        yield f"| {kind} | {' | '.join(f'{share:.2f}' for share in kept)} | {len(claims)} |"


def _share(claims: Sequence[tuple[float, bool]]) -> float:
    return sum(right for _, right in claims) / len(claims) if claims else 0.0
