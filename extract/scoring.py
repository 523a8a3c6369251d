"""Scores the claims of one abstract against its gold, strictly: a thing is right or it is not.

Each rule is stated in `docs/evaluation.md`. There is no credit for a part of a number or of a name. It knows nothing of
runs, files or intervals.
"""

import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from extract.gold import GoldNumber, GoldRow
from schemas.canonical import fold_text
from schemas.quantity import canonical_unit

TASK_F1 = 0.5
"""A task is right if its words and those of one of gold's forms have at least this F1."""

NUMBER_KEYS: Mapping[str, Sequence[str]] = {
    "value": (),
    "value, unit": ("unit",),
    "value, unit, role, metric": ("unit", "role", "metric"),
    "value, unit, direction": ("unit", "direction"),
    "value, unit, qualifier": ("unit", "qualifier"),
    "value, unit, dataset": ("unit", "dataset"),
    "value, unit, baseline": ("unit", "baseline"),
}
"""What must agree, beside the value, for a number to count as found."""

FIELDS = (
    "contribution", "task", "method", "datasets", "baselines", "number: place",
    *(f"number: {key}" for key in NUMBER_KEYS),
)  # fmt: skip
DETAILS = ("unit", "role", "direction", "qualifier", "metric", "dataset", "baseline")
WHOLE = ("task", "method", "datasets", "number: value, unit")
"""An abstract is wholly right if it is in all of these."""


@dataclass(frozen=True, slots=True)
class Count:
    """Of one field of one abstract: answers that are right, answers that are wrong, gold that no answer met."""

    right: int = 0
    wrong: int = 0
    missed: int = 0

    @property
    def perfect(self) -> bool:
        """Is there nothing wrong and nothing missed?"""
        return self.wrong == self.missed == 0

    def __add__(self, other: "Count") -> "Count":
        return Count(self.right + other.right, self.wrong + other.wrong, self.missed + other.missed)


@dataclass(frozen=True, slots=True)
class Miss:
    """One thing that is not as gold has it: `said` but not true, true (`gold`) but not said, or one for the other."""

    name: str
    field: str
    gold: str | None
    said: str | None
    around: str


@dataclass(slots=True)
class Scored:
    """An abstract's counts by field, and each miss. It is wholly right if all `decisive` fields are."""

    name: str
    counts: dict[str, Count] = field(default_factory=dict)
    misses: list[Miss] = field(default_factory=list)
    decisive: Sequence[str] = WHOLE
    record_id: str = ""
    confidences: dict[tuple[str, int], float] = field(default_factory=dict)
    """Of each claim that has one, its confidence."""
    judged: dict[tuple[str, int], bool] = field(default_factory=dict)
    """Of each claim, by the path of its list and its place there, whether it is right; ("", 0): the plain fields."""

    @property
    def whole(self) -> bool:
        """Are all decisive fields right?"""
        return all(self.counts[name].perfect for name in self.decisive)


def score(gold: GoldRow, value: Mapping[str, Any]) -> Scored:
    """Score the claims (`outcomes.value` of the schema `paper`) of an abstract."""
    scored = Scored(gold.name)
    claims = gold.claims
    _one(scored, gold, "contribution", [claims.contribution], value.get("contribution"), same)
    _one(scored, gold, "task", claims.task, value.get("task"), lambda a, b: token_f1(a, b) >= TASK_F1)
    _one(scored, gold, "method", claims.method, value.get("method"), same)
    for name, groups in (("datasets", claims.datasets), ("baselines", claims.baselines)):
        said = [str(item["name"]) for item in value.get(name) or ()]
        fits = [[any(same(form, s) for form in group) for s in said] for group in groups]
        _many(scored, gold, name, [group[0] for group in groups], said, fits)
    _numbers(scored, gold, value.get("headline_numbers") or ())
    scored.judged["", 0] = all(scored.counts[name].perfect for name in ("contribution", "task", "method"))
    return scored


def token_f1(one: str, other: str) -> float:
    """Return the F1 of the words of two phrases, case and order apart (Rajpurkar et al. 2016, for SQuAD)."""
    a, b = (Counter(re.findall(r"\w+", text.casefold())) for text in (one, other))
    shared = sum((a & b).values())
    return 2 * shared / (sum(a.values()) + sum(b.values())) if shared else 0.0


def matched(fits: Sequence[Sequence[bool]]) -> dict[int, int]:
    """Pair rows with columns where `fits`, one to one, as many as can be (Kuhn 1955); returns column by row."""
    row_of: dict[int, int] = {}

    def seek(row: int, tried: set[int]) -> bool:
        for column, fit in enumerate(fits[row]):
            if fit and column not in tried:
                tried.add(column)
                if column not in row_of or seek(row_of[column], tried):
                    row_of[column] = row
                    return True
        return False

    for row in range(len(fits)):
        seek(row, set())
    return {row: column for column, row in row_of.items()}


def _one(
    scored: Scored,
    gold: GoldRow,
    name: str,
    forms: Sequence[str],
    said: str | None,
    fits: Callable[[str, str], bool],
) -> None:
    """Score a field of one value, of which gold may know several forms, or none."""
    right = said is not None and any(fits(form, said) for form in forms)
    scored.counts[name] = Count(int(right), int(said is not None and not right), int(bool(forms) and not right))
    if not right and (forms or said is not None):
        scored.misses.append(Miss(gold.name, name, forms[0] if forms else None, said, around(gold.text, said)))


def _many(
    scored: Scored,
    gold: GoldRow,
    name: str,
    expected: Sequence[str],
    said: Sequence[str],
    fits: Sequence[Sequence[bool]],
) -> None:
    """Score a field of several values, paired one to one."""
    pairs = matched(fits)
    scored.counts[name] = Count(len(pairs), len(said) - len(pairs), len(expected) - len(pairs))
    scored.judged |= {(name, column): column in pairs.values() for column in range(len(said))}
    for row, value in enumerate(expected):
        if row not in pairs:
            scored.misses.append(Miss(gold.name, name, value, None, around(gold.text, value)))
    for column, value in enumerate(said):
        if column not in pairs.values():
            scored.misses.append(Miss(gold.name, name, None, value, around(gold.text, value)))


def _numbers(scored: Scored, gold: GoldRow, said: Sequence[Mapping[str, Any]]) -> None:
    """Score numbers by each key; a number is listed once among the misses, with all that is wrong about it."""
    expected = gold.claims.numbers
    places = [[_overlap(place, (n["start"], n["end"])) for n in said] for place in gold.places]
    for name, fits in [("place", places), *_keyed(expected, said)]:
        pairs = matched(fits)
        right = len(pairs)
        scored.counts[f"number: {name}"] = Count(right, len(said) - right, len(expected) - right)
        if name == "value, unit, role, metric":
            scored.judged |= {("headline_numbers", column): column in pairs.values() for column in range(len(said))}
        if name == "value":
            _number_misses(scored, gold, said, _beside(places, fits))


def _beside(places: Sequence[Sequence[bool]], values: Sequence[Sequence[bool]]) -> dict[int, int]:
    """Pair numbers of one value, those at one place first: so each is told what is wrong of itself."""
    both = [[p and v for p, v in zip(row, other, strict=True)] for row, other in zip(places, values, strict=True)]
    pairs = matched(both)
    columns = set(pairs.values())
    rest = [
        [fit and row not in pairs and column not in columns for column, fit in enumerate(fits)]
        for row, fits in enumerate(values)
    ]
    return pairs | matched(rest)


def _number_misses(scored: Scored, gold: GoldRow, said: Sequence[Mapping[str, Any]], pairs: Mapping[int, int]) -> None:
    for row, number in enumerate(gold.claims.numbers):
        if row not in pairs:
            shown = _shown(number.model_dump())
            scored.misses.append(Miss(gold.name, "number", shown, None, around(gold.text, number.quote)))
            continue
        answer = said[pairs[row]]
        wrong = [part for part in DETAILS if not _agree(number, answer, (part,))]
        if wrong:
            true = ", ".join(f"{part} {getattr(number, part)!r}" for part in wrong)
            told = ", ".join(f"{part} {answer[part]!r}" for part in wrong)
            scored.misses.append(Miss(gold.name, f"number {number.quote}", true, told, around(gold.text, number.quote)))
    for column, answer in enumerate(said):
        if column not in pairs.values():
            scored.misses.append(Miss(gold.name, "number", None, _shown(answer), around(gold.text, answer["quote"])))


def _keyed(expected: Sequence[GoldNumber], said: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, list[list[bool]]]]:
    """Yield for each key which of gold's numbers agree with which of the answer's."""
    for name, parts in NUMBER_KEYS.items():
        yield name, [[_agree(g, s, parts) for s in said] for g in expected]


def _agree(gold: GoldNumber, said: Mapping[str, Any], parts: Sequence[str]) -> bool:
    if said["value"] is None or not math.isclose(gold.value, said["value"], rel_tol=1e-9):
        return False
    for part in parts:
        one, other = getattr(gold, part), said[part]
        if part == "unit":
            one, other = canonical_unit(one or ""), canonical_unit(other or "")
        if (one is None) != (other is None) or (one is not None and not same(one, other)):
            return False
    return True


def same(one: str, other: str) -> bool:
    """Are two names the same once case, mark-up, dashes and white space are folded?"""
    return _folded(one) == _folded(other)


def _folded(text: str) -> str:
    return fold_text(text, case=True).strip()


def _overlap(one: tuple[int, int] | None, other: tuple[int, int]) -> bool:
    return one is not None and one[0] < other[1] and other[0] < one[1]


def _shown(number: Mapping[str, Any]) -> str:
    parts = [f"{number['value']:g}" if number["value"] is not None else "?", number["unit"] or "", number["role"]]
    names = ("direction", "qualifier", "metric", "dataset", "baseline")
    parts += [f"{name} {number[name]!r}" for name in names if number[name] not in (None, "exact")]
    return f"{number['quote']} ({', '.join(filter(None, map(str, parts)))})"


def around(text: str, quote: str | None, width: int = 60) -> str:
    """Return the text around the first place of a string, or nothing."""
    at = text.find(quote) if quote else -1
    if quote is None or at < 0:
        return ""
    return " ".join(text[max(0, at - width) : at + len(quote) + width].split())
