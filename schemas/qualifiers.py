r"""Reads from the words around a number how it is meant: about, up to, at least, over, or just so.

A pure function of the text and its numbers' places. It knows English as abstracts write it, and LaTeX's signs
(`$\sim$`, `\approx`, `\geq`); what two numbers share (the ends of a range, "up to 93\% and 50\%") is read from what
stands between them. It reads no value and no unit.
"""

import re
from bisect import bisect_left
from collections.abc import Sequence
from typing import Literal

from schemas.quantity import NumberSpan

Qualifier = Literal["exact", "approx", "up_to", "at_least", "more_than"]

_BEFORE_CHARS, _AFTER_CHARS, _BETWEEN_CHARS = 56, 24, 60
_LIST = 8
"""So far back in a list a word may stand that holds for all of it."""
_SHARED = ("up_to", "more_than", "approx")
_SMALL = 12
"""A count up to this after "over" or "within" is mostly just that count: "over three datasets"."""

_FILLER = (
    r"(?:[\s$\\{}~(*_]|\\text\w*|\\math\w*|\b(?:a|an|the|by|to|of|as|with|in|factor|average|total|additional|absolute|"
    r"relative|another|only|about|around|approximately|nearly|roughly)\b|\\approx|\\sim|≈|∼)*"
)
_BEFORE: Sequence[tuple[Qualifier, str, str]] = (
    (
        "at_least",
        r"at\s+(?:the\s+)?least|no\s+(?:less|fewer|lower)\s+than|(?:a\s+)?minimum|as\s+(?:little|few|low|small)\s+as|"
        r"never\s+(?:falls?|drops?)\s+below",
        r"\\geq?|\\geqslant|≥|>=",
    ),
    (
        "up_to",
        r"up\s*-?to|upto|as\s+(?:much|many|high|large|far|long|big)\s+as|at\s+(?:the\s+)?most|(?:no|not)\s+(?:more|greater|"
        r"higher|larger)\s+than|(?:a\s+)?(?:maximum|maximal|max)(?:\s+\w+)?|peak(?:\s+\w+){0,2}|(?:less|fewer|lower|smaller|"
        r"shorter)\s+than",
        r"\\leq?|\\leqslant|≤|<=|<|\\lt",
    ),
    (
        "more_than",
        r"(?:more|greater|larger|higher|better|longer)\s+than|exceed(?:s|ing|ed)?|upwards\s+of|surpass(?:es|ing|ed)?",
        r">|\\gt",
    ),
    (
        "approx",
        r"about|around|approximate(?:ly)?|approx\.?|near(?:ly)?|almost|roughly|circa|close\s+to|some|typically|estimated|"
        r"on\s+the\s+order",
        r"\\approx|\\sim(?:eq)?|≈|∼|~|～|\\textasciitilde",
    ),
)
_LOOSE: Sequence[tuple[Qualifier, str, str]] = (
    ("up_to", r"under|below|within", ""),
    ("more_than", r"over|above|beyond", ""),
)
"""Words that are also said of a place or a range ("within two years", "over three datasets")."""


def _patterns(words: Sequence[tuple[Qualifier, str, str]]) -> list[tuple[Qualifier, re.Pattern[str]]]:
    return [
        (name, re.compile(rf"(?:(?<![\w-])(?:{said}){f'|{signs}' if signs else ''}){_FILLER}\Z", re.IGNORECASE))
        for name, said, signs in words
    ]


_BEFORE_PATTERNS, _LOOSE_PATTERNS = _patterns(_BEFORE), _patterns(_LOOSE)
_UNIT = r"(?:[\s}$*]|\\?%|\\times|×|x\b|\\,)*"
_AFTER_PATTERNS: Sequence[tuple[Qualifier, re.Pattern[str]]] = (
    ("more_than", re.compile(rf"\A{_UNIT}(?:\+|plus\b)", re.IGNORECASE)),
    (
        "at_least",
        re.compile(rf"\A{_UNIT}(?:or\s+(?:more|higher|above|better)|and\s+(?:more|above|over|up))\b", re.IGNORECASE),
    ),
    ("up_to", re.compile(rf"\A{_UNIT}or\s+(?:less|fewer|lower)\b", re.IGNORECASE)),
)
_DASH = re.compile(rf"{_UNIT}(?:-{{1,3}}|[–—~∼～]|\\sim|\\textendash)[\s${{\\]*(?:\\math\w*|\\text\w*|{{)*")
_TO = re.compile(
    rf"(?:{_UNIT}[\w-]*\s){{0,3}}{_UNIT}to\s+(?:[\s${{~]|\\approx|\\sim|nearly|about|around|over|almost|up)*"
)
_AND = re.compile(rf"(?:{_UNIT}[\w-]*\s){{0,3}}{_UNIT}and\s+[\s${{]*")
_CHANGE = re.compile(r"\bfrom\s+[\s${~]*\Z", re.IGNORECASE)
_RANGING = re.compile(r"\b(?:rang|vary|vari|span|scal|sizes?\b|between)[^.;]*\Z", re.IGNORECASE)
_BETWEEN_WORD = re.compile(r"\bbetween\s+[\s${~]*\Z", re.IGNORECASE)
_LISTED = re.compile(r"[^.;:()]*?(?:,|/|\band\b|\bor\b|&)[^.;:()0-9]{0,12}")


def qualifier(text: str, start: int, end: int, numbers: Sequence[NumberSpan]) -> Qualifier:
    """Return how the number at `text[start:end]` is meant; `exact` where nothing says otherwise.

    `numbers` are all those of the text, in order, as `quantity.scan` lists them.
    """
    index = bisect_left(numbers, start, key=lambda span: span.end - 1)
    listed = index < len(numbers) and numbers[index].start < end
    found = _alone(text, start, end, numbers[max(0, index - 1) : index], numbers[index : index + 2][: 1 + listed])
    first = index
    while found == "exact" and listed and first and index - first < _LIST:
        if not _listed_with(text, numbers[first - 1], numbers[first]):
            break
        first -= 1
        span = numbers[first]
        shared = _own(text, span.start, span.end, span)
        found = shared if shared in _SHARED else found
        ends_range = first and _is_range(text, numbers[first - 1].start, numbers[first - 1].end, span.start)
        if shared != "exact" or ends_range:
            break
    return found


def _alone(text: str, start: int, end: int, before: Sequence[NumberSpan], onwards: Sequence[NumberSpan]) -> Qualifier:
    """Read a number by the words beside it and its neighbours: the one before it, and itself with the one after it."""
    here = next((span for span in onwards if span.start < end), None)
    after = next((span for span in onwards if span.start >= end), None)
    if after is not None and _is_range(text, start, end, after.start):
        return "at_least"
    if before and _is_range(text, before[0].start, before[0].end, start):
        return "up_to"
    return _own(text, start, end, here)


def _own(text: str, start: int, end: int, number: NumberSpan | None) -> Qualifier:
    """Read the words right beside a number, and a plus or an order of magnitude in it."""
    before, after, quote = text[max(0, start - _BEFORE_CHARS) : start], text[end : end + _AFTER_CHARS], text[start:end]
    for name, pattern in _AFTER_PATTERNS:
        if pattern.match(after):
            return name
    small = number is not None and number.unit in ("", "count") and number.value <= _SMALL and number.value % 1 == 0
    for name, pattern in [*_BEFORE_PATTERNS, *([] if small else _LOOSE_PATTERNS)]:
        if pattern.search(before):
            return name
    if "+" in quote[1:]:
        return "more_than"
    return "approx" if "magnitude" in quote else "exact"


def _is_range(text: str, start: int, end: int, next_start: int) -> bool:
    """Are a number and the next one the ends of a range? "From 70 to 80" is a change, unless it says that it ranges."""
    between = text[end:next_start]
    if len(between) > _BETWEEN_CHARS:
        return False
    if _DASH.fullmatch(between):
        return True
    before = text[max(0, start - _BEFORE_CHARS) : start]
    if _AND.fullmatch(between):
        return _BETWEEN_WORD.search(before) is not None
    if not _TO.fullmatch(between):
        return False
    return not _CHANGE.search(before) or _RANGING.search(before) is not None


def _listed_with(text: str, one: NumberSpan, other: NumberSpan) -> bool:
    """Are two numbers of one kind in one list, so that what is said before the first holds for both?"""
    if not _LISTED.fullmatch(text[one.end : other.start]) or one.unit != other.unit:
        return False
    return one.unit not in ("", "count") or all(re.search(r"[.+]", text[n.start : n.end]) for n in (one, other))
