r"""Finds the place of a quote in a text: true offsets into the original, whatever folding it took to find it.

A quote is `exact` where `text[start:end]` is the quote, `folded` where the two are equal once folded by
`schemas.canonical`, and absent anywhere else: a part of a quote is never taken for the whole. Nor may a quote be cut
out of something longer: a name out of a word (`ISM` of `mechanISM`; with a plural or possessive s it is the same name)
or of another name (`Llama 3` of `Llama 3.1`), a number out of a number.

A number is compared as a number too. Its digits, sign and magnitude are those that stand in the text, and its unit, if
the quote has one, is the one read there: `7.06` and `17.6` are not in `17.06\%`, `5%` is not in `-5%` (but is in
`1--5%` and `pre-5%`, where the dash is no sign), `1.2` is in neither `1.2M` nor `1.2 million`. A quote may leave off
the unit and a plus, never a part of the value. A magnitude that several numbers share (`0.46 to 7.5 billion`) is no
part of the first one's quote; `quantity.parse_at` reads it in its place.

Where a folded quote covers one end of some mark-up, the span takes in the other end if nothing else lies between; apart
from that it is the shortest: `17.06%` stands at the `17.06\%` of `\textbf{17.06\%}`.

Look-ups take time linear in the text. So that texts made to be slow take no longer, a look-up that keeps failing gives
up after more places than any abstract has.
"""

import math
import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property, lru_cache
from typing import Literal, Protocol, TypeVar

from extract.borders import balanced, is_whole
from extract.placing import Place, assign
from schemas import quantity
from schemas.canonical import Folded, fold, fold_text

Match = Literal["exact", "folded", "absent"]
Kind = Literal["text", "number"]

_MINUS = re.compile(r"(?<![\w%}\])-])[-−–‑]\$?\Z")
_DASH = re.compile("[‐‑–−]")
_SENTENCE_END = re.compile(r"[.!?][\"'”’)\]}$]*\s+(?=[^\sa-z])")
_SENTENCE = 200  # what the end of a sentence counts for in a distance, in characters
_FAR = 400  # the distance beyond which a place says nothing more
_MOST_PLACES = 500  # places of one number that are weighed
_MOST_READINGS = 64  # places outside of the scanned numbers that are read for one quote
_SHOWN = 60


@dataclass(frozen=True, slots=True)
class Evidence:
    """Where a quote stands: offsets count code points from 0, the end excluded, into the original text."""

    start: int
    end: int
    match: Match


@dataclass(frozen=True, slots=True)
class NumberClaim:
    """A number's quote, and the other verbatim strings of the same claim: its metric, dataset, baseline."""

    quote: str
    near: tuple[str, ...] = ()


def ground(quote: str, text: str, start: int = 0, case: bool = False) -> Evidence | None:
    """The first place of a name or phrase at or after `start`, any exact one before a folded one; None if none.

    `case` folds letter case too. A quote that is empty or all white space is nowhere.
    """
    return GroundedText(text).find(quote, start, case=case)


def ground_number(quote: str, text: str, start: int = 0) -> Evidence | None:
    """The first place at or after `start` where the quote stands as that number, any exact one before a folded one."""
    return GroundedText(text).find(quote, start, "number")


class GroundedText:
    """A text in which many quotes are looked up: it is folded once, and scanned for numbers once."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._places: dict[tuple[str, Kind, bool], list[Evidence]] = {}

    @cached_property
    def numbers(self) -> list[quantity.NumberSpan]:
        """The numbers of the text, in order."""
        return quantity.scan(self.text)

    @cached_property
    def _folded(self) -> Folded:
        return fold(self.text)

    @cached_property
    def _caseless(self) -> Folded:
        return fold(self.text, case=True)

    @cached_property
    def _sentences(self) -> list[int]:
        return [match.end() for match in _SENTENCE_END.finditer(self.text)]

    def find(self, quote: str, start: int = 0, kind: Kind = "text", case: bool = False) -> Evidence | None:
        """The first place at or after `start`, any exact one before a folded one; see `ground`, `ground_number`."""
        return next(self._exact(quote, start, kind), None) or next(self._alike(quote, start, kind, case), None)

    def find_all(self, quote: str, start: int = 0, kind: Kind = "text", case: bool = False) -> list[Evidence]:
        """The text's places in order, apart from each other, that are at or after `start`.

        Of two that overlap an exact one is kept, else the earlier; so `find` may see one after `start` that this leaves
        out for one that reaches across it.
        """
        key = quote, kind, case
        if key not in self._places:
            exact = list(self._exact(quote, 0, kind))
            alike = self._alike(quote, 0, kind, case)
            apart = [place for place in alike if not _overlapping(exact, place.start, place.end)]
            self._places[key] = sorted(exact + apart, key=lambda place: place.start)
        places = self._places[key]
        return places[bisect_left(places, start, key=lambda place: place.start) :]

    def distance(self, one: Evidence, other: Evidence) -> int:
        """The characters between two places, and more for each sentence that ends there."""
        first, last = (one, other) if one.start <= other.start else (other, one)
        ends = bisect_right(self._sentences, last.start) - bisect_right(self._sentences, first.start)
        return max(0, last.start - first.end) + _SENTENCE * ends

    def _exact(self, quote: str, start: int, kind: Kind) -> Iterator[Evidence]:
        stands = self._test(quote, kind)

        def place(at: int) -> Evidence | None:
            return Evidence(at, at + len(quote), "exact") if stands(at, at + len(quote)) else None

        return _search(quote, self.text, max(0, start), place)

    def _alike(self, quote: str, start: int, kind: Kind, case: bool) -> Iterator[Evidence]:
        """The places that are equal only once folded; case is folded too in a number written in words."""
        case = case or (kind == "number" and not any(map(str.isdecimal, quote)))
        folded = self._caseless if case else self._folded
        wanted = fold_text(quote, case)
        stands = self._test(quote, kind)

        def place(at: int) -> Evidence | None:
            for first, last in _spans(self.text, folded, at, at + len(wanted)):
                said = self.text[first:last]
                if said != quote and first >= start and stands(first, last) and fold_text(said, case) == wanted:
                    return Evidence(first, last, "folded")
            return None

        return _search(wanted, folded.text, folded.position(max(0, start)), place)

    def _test(self, quote: str, kind: Kind) -> Callable[[int, int], bool]:
        """What says whether the quote may stand at a place where its characters do."""
        if kind == "number":
            return _NumberTest(self, quote).stands
        return lambda start, end: is_whole(self.text, start, end)


class _NumberTest:
    """Compares the number of a quote with the one that stands at a place."""

    def __init__(self, grounded: GroundedText, quote: str) -> None:
        self._grounded = grounded
        self._said, self._sign = _read(quote)
        self._readings = _MOST_READINGS

    def stands(self, start: int, end: int) -> bool:
        """Whether `start:end`, where the quote's characters stand, is its number and no part of another."""
        text = self._grounded.text
        if self._said is None:  # whoever wants its value will say so; its place is that of its words
            return is_whole(text, start, end)
        spans = _overlapping(self._grounded.numbers, start, end)
        if len(spans) > 1 or not is_whole(text, start, end, number=bool(spans)):
            return False
        if spans:  # compared without what surrounds either of them, if it is a number without
            span = spans[0]
            read, sign = _read(text[span.start : span.end])
            read = read or quantity.Quantity(span.value, span.unit)
            return (sign == self._sign or (sign == "+" and not self._sign)) and self._equals(read, span.unit)
        if self._sign and text[max(0, start - 1) : start].isalnum():  # a hyphen, or the dash of a range
            return False
        if _MINUS.search(text, max(0, start - 3), start) or not self._readings:
            return False
        self._readings -= 1
        try:
            read = quantity.parse_at(text, start, end)
        except quantity.NotANumber:
            return False
        return self._equals(read, read.unit)

    def _equals(self, read: quantity.Quantity, unit: str) -> bool:
        """Equal in value but for the sign, which is compared as it is written: of a change it isn't in the value."""
        said = self._said
        if said is None or not math.isclose(abs(read.value), abs(said.value), rel_tol=1e-9):
            return False
        return said.unit in ("", "count", unit, read.unit) or (said.unit == "%" and unit == "pp")


def nearest(
    quote: str,
    grounded: GroundedText,
    start: int,
    end: int,
    *,
    kind: Kind = "text",
    case: bool = False,
    taken: Sequence[Evidence] = (),
) -> Evidence | None:
    """The place of a metric, dataset or baseline that is nearest to `start:end`, the place of its claim's number.

    Of a second number of that claim (`kind`) it is one that isn't `taken` by another, if there is one.
    """
    number = Evidence(start, end, "exact")
    places = grounded.find_all(quote, kind=kind, case=case)
    free = [place for place in places if not any(p.start < place.end and place.start < p.end for p in taken)]
    return min(free or places, key=lambda place: grounded.distance(place, number), default=None)


def place_numbers(items: Sequence[NumberClaim], grounded: GroundedText) -> list[Evidence | None]:
    """A place for each number; None for one that is absent, which takes nothing from the others.

    The places are distinct while there are enough, near the other strings of their claim, and in the order of the items
    (`placing.assign` says how these are weighed). Two claims share a place only where the text holds the number less
    often than the items do: "accuracy and F1 rise by 5%" is two claims.
    """
    found = [grounded.find_all(item.quote, kind="number")[:_MOST_PLACES] for item in items]
    options = [
        [Place(place.start, place.end, _cost(place, item, grounded) if len(places) > 1 else 0.0) for place in places]
        for item, places in zip(items, found, strict=True)
    ]
    return [None if index is None else places[index] for index, places in zip(assign(options), found, strict=True)]


def _cost(place: Evidence, item: NumberClaim, grounded: GroundedText) -> float:
    """How far a place is from the other strings of its claim, each at its nearest."""
    total = 0.0
    for quote in item.near:
        near = grounded.find_all(quote)
        after = bisect_left(near, place.start, key=lambda other: other.start)
        distances = (grounded.distance(place, other) for other in near[max(0, after - 1) : after + 1])
        total += min(_FAR, *distances) if near else 0
    return total


def reason(quote: str, grounded: GroundedText, kind: Kind = "text") -> str:
    """Why a quote is absent, in a few words for a person and for the re-ask; call it only for one that is."""
    if not quote.strip():
        return "empty"
    return _no_number(quote, grounded) if kind == "number" else _no_text(quote, grounded)


def _no_number(quote: str, grounded: GroundedText) -> str:
    spans = grounded.numbers[:_MOST_PLACES]
    written = {fold_text(grounded.text[span.start : span.end]): span for span in reversed(spans)}
    for folded in get_close_matches(fold_text(quote[:_SHOWN]), written, n=1, cutoff=0.6):
        span = written[folded]
        return f"the abstract has {_shown(grounded.text[span.start : span.end])}, not {_shown(quote)}"
    return "not in the abstract"


def _no_text(quote: str, grounded: GroundedText) -> str:
    found = grounded.find(quote, case=True)
    if found is not None:
        return f"the abstract writes it {_shown(grounded.text[found.start : found.end])}"
    inside = grounded.text.find(quote.strip())
    if inside >= 0:
        return f"only part of a longer word or number in the abstract: {_shown(_word(grounded.text, inside))}"
    words = quote.split()
    low, high = 0, len(words) - 1
    while low < high:  # a longer beginning is in the text only where a shorter one is
        middle = (low + high + 1) // 2
        found = grounded.find(" ".join(words[:middle]))
        low, high = (middle, high) if found is not None else (low, middle - 1)
    return f"only {_shown(' '.join(words[:low]))} of it is in the abstract" if low > 1 else "not in the abstract"


def _word(text: str, at: int) -> str:
    """What stands between the white space on either side."""
    first = max(text.rfind(" ", max(0, at - _SHOWN), at) + 1, at - _SHOWN, 0)
    return text[first : at + _SHOWN].split()[0]


def _shown(text: str) -> str:
    """A text in quotes, as it is written: its backslashes are LaTeX's, and a reader is to find it in the abstract."""
    return f"'{text}'" if len(text) <= _SHOWN else f"'{text[: _SHOWN - 1]}…'"


@lru_cache(maxsize=4096)
def _read(quote: str) -> tuple[quantity.Quantity | None, str]:
    """A quote's number by itself, whatever its hyphens look like, and the sign that it is written with."""
    sign = fold_text(quote)[:1]
    try:
        return quantity.parse(_DASH.sub("-", quote)), sign if sign in ("+", "-") else ""
    except quantity.NotANumber:
        return None, ""


class _HasSpan(Protocol):
    @property
    def start(self) -> int: ...
    @property
    def end(self) -> int: ...


_Span = TypeVar("_Span", bound=_HasSpan)


def _overlapping(spans: Sequence[_Span], start: int, end: int) -> Sequence[_Span]:
    """Those of some spans, which are in order and apart, that overlap `start:end`."""
    first = bisect_right(spans, start, key=lambda span: span.end)
    return spans[first : bisect_left(spans, end, lo=first, key=lambda span: span.start)]


def _spans(text: str, folded: Folded, start: int, end: int) -> Iterator[tuple[int, int]]:
    """The span in `text` of one in the folded text: first with the mark-up that it covers in part, then without."""
    span = folded.span(start, end)
    if span is None:
        return
    left = folded.origin(start - 1)[1] if start else 0
    right = folded.origin(end)[0] if end < len(folded.text) else len(text)
    whole = balanced(text, *span, left, right)
    yield whole
    if whole != span:
        yield span


def _search(needle: str, text: str, start: int, place: Callable[[int], Evidence | None]) -> Iterator[Evidence]:
    """What `place` makes of each occurrence, the next one sought after the end of a good one."""
    if not needle or needle.isspace():
        return
    tries = 64 + 2 * len(text) // len(needle)  # only one that overlaps itself can stand at so many places
    at = text.find(needle, start)
    while at >= 0 and tries:
        found = place(at)
        if found is None:
            tries -= 1
        else:
            yield found
        at = text.find(needle, at + (1 if found is None else len(needle)))
