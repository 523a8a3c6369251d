"""How far two reviewers agree: Cohen's kappa over the claims that both judged, with a bootstrap interval. Pure.

Verdicts are `accepted`, `corrected` and `rejected`, each made without sight of the other's. Claims that a reviewer
added are no part: what neither added can't be counted.
"""

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

RESAMPLES = 1_000
_ENOUGH = 0.95
"""The share of resamples in which kappa must be defined for an interval; with few differences it often isn't."""
_CELL = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Agreement:
    """Of two reviewers: claims and abstracts judged by both, the share judged alike, and kappa with its 95% interval.

    Kappa is None where chance alone would make them agree on everything, as when both accept every claim; the interval
    is None where that is so of many resamples, and where one abstract is all there is.
    """

    one: str
    other: str
    claims: int
    abstracts: int
    alike: float
    kappa: float | None
    low: float | None
    high: float | None


def kappa(cells: Counter[_CELL]) -> float | None:
    """Cohen's kappa (1960) of a table of pairs of verdicts; None where it isn't defined."""
    total = cells.total()
    if not total:
        return None
    rows, columns = Counter[str](), Counter[str]()
    for (one, other), count in cells.items():
        rows[one] += count
        columns[other] += count
    alike = sum(count for (one, other), count in cells.items() if one == other) / total
    chance = sum(rows[verdict] * columns[verdict] for verdict in rows) / total**2
    return None if chance >= 1 else (alike - chance) / (1 - chance)


def agreements(judged: Sequence[tuple[str, str, str, str]]) -> list[Agreement]:
    """Measure each two reviewers who judged a claim in common. `judged`: (record, claim, reviewer, verdict) each."""
    said: dict[str, dict[tuple[str, str], str]] = {}
    for record, claim, reviewer, verdict in judged:
        said.setdefault(reviewer, {})[record, claim] = verdict
    found = []
    for one, other in combinations(sorted(said), 2):
        by_record: dict[str, Counter[_CELL]] = {}
        for key in sorted(said[one].keys() & said[other].keys()):
            by_record.setdefault(key[0], Counter())[said[one][key], said[other][key]] += 1
        if by_record:
            found.append(_agreement(one, other, list(by_record.values())))
    return found


def _agreement(one: str, other: str, abstracts: Sequence[Counter[_CELL]]) -> Agreement:
    whole = _sum(abstracts)
    draw = random.Random(0)  # noqa: S311  (nothing secret: the same interval for the same verdicts)
    # Whole abstracts are drawn anew, as the claims of one stand or fall together (Efron 1979; cluster bootstrap).
    drawn = (kappa(_sum(draw.choices(abstracts, k=len(abstracts)))) for _ in range(RESAMPLES))
    values = sorted(value for value in drawn if value is not None)
    middle = kappa(whole)
    known = middle is not None and len(abstracts) > 1 and len(values) >= _ENOUGH * RESAMPLES
    return Agreement(
        one=one,
        other=other,
        claims=whole.total(),
        abstracts=len(abstracts),
        alike=sum(count for (a, b), count in whole.items() if a == b) / whole.total(),
        kappa=middle,
        low=values[round(0.025 * (len(values) - 1))] if known else None,
        high=values[round(0.975 * (len(values) - 1))] if known else None,
    )


def _sum(counters: Sequence[Counter[_CELL]]) -> Counter[_CELL]:
    total: Counter[_CELL] = Counter()
    for counter in counters:
        for cell, count in counter.items():
            total[cell] += count
    return total
