"""Chooses one place for each of several numbers, given the places where each could stand and what each would cost.

A small dynamic program over the places: it knows nothing of texts and quotes, and computes no costs but that of order.
Linear in the places of all numbers together.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

OUT_OF_ORDER = 500.0
"""What a place before that of the number listed before costs, in characters of distance: numbers are mostly listed in
order of appearance, so it takes more than one near metric, dataset or baseline to believe another order."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a number could stand, and how far that is from what else is said of it, in characters."""

    start: int
    end: int
    cost: float


def assign(options: Sequence[Sequence[Place]]) -> list[int | None]:
    """The index of each number's place in its own list, which is in order of the text; None where the list is empty.

    The sum of the costs is least, with `OUT_OF_ORDER` for each step back; of equal sums the earlier places win. Places
    are distinct as long as there are enough of them: only then do two numbers share one.
    """
    chosen = _least(options)
    taken: set[int] = set()
    for number, index in enumerate(chosen):
        if index is None:
            continue
        places = options[number]
        if places[index].start in taken:
            free = [i for i, place in enumerate(places) if place.start not in taken]
            index = min(free, key=lambda i: places[i].cost, default=index)
            chosen[number] = index
        taken.add(places[index].start)
    return chosen


def _least(options: Sequence[Sequence[Place]]) -> list[int | None]:
    """The cheapest choice, in which only neighbours of the list are kept apart."""
    chosen: list[int | None] = [None] * len(options)
    present = [number for number, places in enumerate(options) if places]
    if not present:
        return chosen
    came_from: list[list[int]] = []
    sums = [place.cost for place in options[present[0]]]
    for before, number in pairwise(present):
        sums, origins = _step(options[before], sums, options[number])
        came_from.append(origins)
    index = sums.index(min(sums))
    for number, origins in zip(reversed(present), [*reversed(came_from), []], strict=True):
        chosen[number] = index
        if origins:
            index = origins[index]
    return chosen


def _step(before: Sequence[Place], sums: Sequence[float], places: Sequence[Place]) -> tuple[list[float], list[int]]:
    """The least sums up to each place, and which place before gave it."""
    cheapest = sums.index(min(sums))
    best: int | None = None  # the cheapest of the places that end before this one starts
    seen = 0
    totals: list[float] = []
    origins: list[int] = []
    for place in places:
        while seen < len(before) and before[seen].end <= place.start:
            if best is None or sums[seen] < sums[best]:
                best = seen
            seen += 1
        back = sums[cheapest] + OUT_OF_ORDER
        if best is not None and sums[best] <= back:
            totals.append(sums[best] + place.cost)
            origins.append(best)
        else:
            totals.append(back + place.cost)
            origins.append(cheapest)
    return totals, origins
