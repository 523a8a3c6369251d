"""The number in a quote: value and unit, computed by code so that no model has to be trusted with either.

`parse` reads a quote by itself, `parse_at` in its place in the text (units and magnitudes that follow, or that a range
or list shares), `scan` lists every number of a text that could be a quantity. Values and units are written as in
`gold/GUIDELINES.md`. It decides neither role nor direction of a number, nor whether it is worth a row.

The parts: `folding` (a plain view of LaTeX and Unicode), `numerals` (digits and number words), `units`, `readings`
(sign, magnitude and unit from the surroundings), `scan` and `names` (what isn't a quantity). All are linear in the
text's length.
"""

from dataclasses import dataclass

from schemas.folding import LONGEST_MATH, Folded, fold
from schemas.readings import Reading, read_numbers
from schemas.scan import Other, others_than_quantities
from schemas.units import canonical_unit, units_agree

__all__ = ["NotANumber", "NumberSpan", "Quantity", "canonical_unit", "parse", "parse_at", "scan", "units_agree"]

_BEFORE, _AFTER = 100, 160  # characters around a quote that may bear on it: a name before; a unit or list after
_LONGEST_SHOWN = 60
# What no quote can make a quantity of; a year or an enumeration's mark may still be meant as a count.
_NEVER: frozenset[Other] = frozenset(("name", "ordinal", "address", "citation", "math", "unrepresentable"))
_IN_NAMES: frozenset[Other | None] = frozenset(("name", "label", "ordinal"))


class NotANumber(ValueError):
    """The text isn't one number; the message says what was found and what was expected."""


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number's value, magnitude resolved, and its unit: `%`, `pp`, `x`, `count`, `s`, `GB`, `USD`, ... or ""."""

    value: float
    unit: str


@dataclass(frozen=True, slots=True)
class NumberSpan:
    """A number of a text: `text[start:end]` is its quote."""

    start: int
    end: int
    value: float
    unit: str


def _shown(text: str) -> str:
    return repr(text if len(text) <= _LONGEST_SHOWN else text[: _LONGEST_SHOWN - 3] + "...")


def _numbers(folded: Folded, percentages: bool | None = None) -> list[tuple[Reading, Other | None]]:
    readings = read_numbers(folded, percentages)
    return list(zip(readings, others_than_quantities(folded, readings), strict=True))


def parse(text: str) -> Quantity:
    """The number in a quote alone.

    Raises:
        NotANumber: it holds no number, several, or one that is part of a name or of math.

    """
    return parse_at(text, 0, len(text))


def parse_at(text: str, start: int, end: int) -> Quantity:
    """The quote `text[start:end]` read in its place: unit and magnitude may stand in the words after it.

    Points are percentage points where the text gives percentages; a minus stays only on an absolute score.

    Raises:
        NotANumber: the quote holds no number, several, a part of one, or one that is part of a name or of math.

    """
    quote = text[start:end]
    left = max(0, start - _BEFORE)
    if text.count("$", 0, left) % 2:  # don't begin inside math
        opener = text.rfind("$", max(0, left - LONGEST_MATH), left)
        left = opener if opener >= 0 else left
    right = min(len(text), end + _AFTER)
    window = text[left:right]
    folded = fold(window)
    percentages = "%" in text or "percent" in text
    found: list[tuple[Reading, Other | None]] = []
    for reading, other in _numbers(folded, percentages):
        first, last = folded.starts[reading.numeral.start] + left, folded.ends[reading.numeral.end - 1] + left
        if first < end and last > start and other != "deviation":
            if first < start or last > end:
                cut = window[first - left : last - left]
                raise NotANumber(f"{_shown(quote)} is cut from {_shown(cut)}; expected the whole number")
            found.append((reading, other))
    if not found:
        raise NotANumber(f"{_shown(quote)} holds no number; expected one such as '17.06%', '1,010' or 'twice'")
    if len(found) > 1:  # numbers in names don't count beside a real one: "93% top-5 accuracy"
        found = [(reading, other) for reading, other in found if other not in _IN_NAMES] or found
    if len(found) > 1:
        raise NotANumber(f"{_shown(quote)} holds {len(found)} numbers; expected one: quote each by itself")
    reading, other = found[0]
    if other in _NEVER and not (other == "name" and (reading.scaled or not reading.bare)):
        raise NotANumber(f"the number in {_shown(quote)} is part of something else ({other}); expected a quantity")
    return Quantity(reading.value, reading.unit)


def scan(text: str) -> list[NumberSpan]:
    """Every number of the text that could be a quantity, in order, not overlapping.

    Left out: digits in names (CIFAR-10, GPT-4, 3D), math and bounds, years, citations, section numbers, addresses.
    """
    folded = fold(text)
    spans: list[NumberSpan] = []
    previous = 0
    for reading, other in _numbers(folded):
        if other is not None:
            continue
        start, end = folded.quote_span(reading.start, reading.end)
        if start >= previous:
            spans.append(NumberSpan(start, end, reading.value, reading.unit))
            previous = end
    return spans
