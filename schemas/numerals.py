"""The grammar of numerals: digits and number words of a folded text, and what each is worth.

`numerals` lists every numeral of a text in order: `1,010`, `7,02,945`, `1.234,5`, `0,85`, `5×10^-4`, `1e-4`, `2^10`,
`1/5`, `2½`, `twenty-one`, `half a million`, `two thirds`, `twice`, `threefold`, `an order of magnitude`. It knows
neither signs, magnitude letters nor units (`readings` does), and doesn't ask whether a numeral is a quantity (`scan`
does). Values follow English usage: a comma before three digits separates thousands, `1.000` is one.
"""

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

Form = Literal["digits", "power", "fraction", "word", "multiple"]
"""How a numeral is written. A `multiple` is a factor by itself: twice, threefold, an order of magnitude; halving is a
factor of 2 (downwards), as in "reduced by 2x"."""


@dataclass(frozen=True, slots=True)
class Numeral:
    """A numeral at `text[start:end]` of a folded text; `value` is NaN where no float holds it (10^9999)."""

    start: int
    end: int
    value: float
    form: Form


_UNITS = {
    "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9,
}  # fmt: skip
_TEENS = {
    "ten": 10, "eleven": 11, "twelve": 12, "thirteen": 13, "fourteen": 14, "fifteen": 15, "sixteen": 16,
    "seventeen": 17, "eighteen": 18, "nineteen": 19,
}  # fmt: skip
_TENS = {
    "twenty": 20, "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "seventy": 70, "eighty": 80, "ninety": 90,
}  # fmt: skip
MAGNITUDES = {"hundred": 1e2, "thousand": 1e3, "million": 1e6, "billion": 1e9, "trillion": 1e12}
_SCALES = {"dozen": 12.0, **MAGNITUDES}
_PARTS = {
    "half": 2, "third": 3, "quarter": 4, "fourth": 4, "fifth": 5, "sixth": 6, "seventh": 7, "eighth": 8, "ninth": 9,
    "tenth": 10, "hundredth": 100, "thousandth": 1000,
}  # fmt: skip
_MULTIPLES = {
    "twice": 2, "thrice": 3, "double": 2, "doubles": 2, "doubled": 2, "doubling": 2, "triple": 3, "triples": 3,
    "tripled": 3, "tripling": 3, "quadruple": 4, "quadruples": 4, "quadrupled": 4, "quadrupling": 4, "halve": 2,
    "halves": 2, "halved": 2, "halving": 2,
}  # fmt: skip
_VULGAR = {
    "½": 1/2, "⅓": 1/3, "⅔": 2/3, "¼": 1/4, "¾": 3/4, "⅕": 1/5, "⅖": 2/5, "⅗": 3/5, "⅘": 4/5, "⅙": 1/6, "⅚": 5/6,
    "⅛": 1/8, "⅜": 3/8, "⅝": 5/8, "⅞": 7/8, "⅒": 1/10,
}  # fmt: skip


def _any(words: dict[str, int] | dict[str, float]) -> str:
    return "|".join(sorted(words, key=len, reverse=True))


_SMALL = rf"(?:(?:{_any(_TENS)})(?:[ -](?:{_any(_UNITS)}))?|{_any(_TEENS)}|{_any(_UNITS)}|zero)"
_WORD_NUMBER = rf"(?:{_SMALL} hundred(?: and {_SMALL})?|{_SMALL})"
_WORDS = re.compile(
    rf"(?<![\w])(?:"
    rf"(?P<order>an? order of magnitude)"
    rf"|(?P<fold>{_SMALL}|hundred|thousand)[ -]?fold"
    rf"|(?P<multiple>{_any(_MULTIPLES)})"
    rf"|half an? (?P<half_of>{_any(_SCALES)})"
    rf"|(?:(?P<count>{_SMALL}|an?)[ -])(?P<part>{_any(_PARTS)})(?P<plural>s?)"
    rf"|(?P<article>an?)(?= (?:hour|minute)\b)"
    rf"|(?P<half>half)"
    rf"|(?P<number>{_WORD_NUMBER})"
    rf"|(?<=\ba )(?P<scale>{_any(_SCALES)})"
    rf")(?![\w])",
    re.IGNORECASE,
)


def _start() -> re.Pattern[str]:
    """Where a numeral may start: one set of characters first, which the engine skips to fast, then what must follow."""
    rests: dict[str, list[str]] = {}
    for word in (*_UNITS, *_TEENS, *_TENS, *_MULTIPLES, *_SCALES, "zero", "half"):
        rests.setdefault(word[0], []).append(word[1:])
    words = [rf"(?<=[{first}{first.upper()}])(?i:{'|'.join(rest)})" for first, rest in rests.items()]
    words.append(rf"(?<=[aA])(?i:n?[ -](?:{'|'.join((*_PARTS, 'order', 'hour', 'minute'))}))")
    letters = "aA" + "".join(first + first.upper() for first in rests)
    digits = "0-9" + "".join(_VULGAR)
    return re.compile(
        rf"[{digits}.{letters}](?:(?<!\w.)(?:{'|'.join(words)})|(?<=[{digits}])|(?<![\w.]\.)(?<=\.)(?=\d))"
    )


_START = _start()
_RUN = re.compile(r"\d+(?:[.,'\u2009]\d+)*|\.\d+")
_SPACED = re.compile(r"\d{1,3}(?:(?: \d{3})+|(?:, 000)+)(?![\w]|[.,]\d)")  # "1 600", and "28, 000" out of a PDF
_AFTER_NAME = re.compile(r"[A-Z]\w*[\s-]$")
_GROUPED = re.compile(
    r"(\d{1,3}(?:,\d{3})+|\d{1,2}(?:,\d{2})+,\d{3}|\d{1,3}(?:\u2009\d{3})+|\d{1,3}(?:'\d{3})+)(\.\d+)?"
)
_EUROPEAN = re.compile(r"(\d{1,3}(?:\.\d{3})+),(\d+)|(\d{1,3}(?:\.\d{3}){2,})|(0),(\d+)")
_PLAIN = re.compile(r"\d+(?:\.\d+)?|\.\d+")
_POWER_OF_TEN = re.compile(r"\s?[×·xX*]\s?10\s?\^\s?([-+–]?\d+)|[eE]([-+]?\d+)(?=[xX]?(?!\w|\.\d))")
_EXPONENT = re.compile(r"\s?\^\s?([-+–]?\d+)(?=[xX]?(?!\w|\.\d))")
_DENOMINATOR = re.compile(r"\s?/\s?(\d+)(?:th\b)?(?![\d.,]?\d|\w|\s?/)")
_PART_AFTER = re.compile(
    r"\s?(?:th\s|of|the|as|that|its|their|fewer|less|smaller|lower|cheaper|faster|shorter)\b", re.I
)
_DECIMAL_COMMA = re.compile(r"(\d+),(\d{1,2})(?=\s?(?:%|percent))")
_OF_A_WHOLE = re.compile(r"\s(?:of|the|as|fewer|less|smaller|lower|cheaper|shorter|that|those|its|their)\b", re.I)


def _as_float(digits: str) -> float:
    """The value of plain digits, NaN where it isn't finite or has sunk to zero."""
    value = float(digits)
    if not math.isfinite(value) or (value == 0.0 and re.search("[1-9]", digits.partition("e")[0])):
        return math.nan
    return value


def _word_number(words: str) -> float:
    """The value of `twenty-one`, `one hundred and five`."""
    head, hundred, rest = words.partition(" hundred")
    value = 0.0
    for word in re.split(r"[ -]", head):
        value += {**_UNITS, **_TEENS, **_TENS, "zero": 0}[word]
    if hundred:
        value *= 100
        if rest:
            value += _word_number(rest.removeprefix(" and "))
    return value


def _from_words(match: re.Match[str], text: str) -> Numeral | None:
    start, end = match.span()
    if match["order"]:
        return Numeral(start, end, 10.0, "multiple")
    if match["fold"]:
        word = match["fold"].lower()
        return Numeral(start, end, MAGNITUDES.get(word) or _word_number(word), "multiple")
    if match["multiple"]:
        return Numeral(start, end, float(_MULTIPLES[match["multiple"].lower()]), "multiple")
    if match["half_of"]:
        return Numeral(start, end, 0.5 * _SCALES[match["half_of"].lower()], "word")
    if match["article"]:
        return Numeral(start, end, 1.0, "word")
    if match["half"]:
        return Numeral(start, end, 0.5, "fraction")
    if match["part"]:
        return _fraction_of_words(match, text)
    if match["scale"]:
        return Numeral(start, end, _SCALES[match["scale"].lower()], "word")
    return Numeral(start, end, _word_number(match["number"].lower()), "word")


def _fraction_of_words(match: re.Match[str], text: str) -> Numeral | None:
    """`two thirds`, `a third of`; but not an ordinal: `a third approach`."""
    start, end = match.span()
    count, part = match["count"].lower(), match["part"].lower()
    value = 1.0 if count in ("a", "an") else _word_number(count)
    article = count in ("a", "an")
    if article and part != "half" and not _OF_A_WHOLE.match(text, end):
        return None
    if (value > 1) != bool(match["plural"]):
        return None if article else Numeral(start, match.end("count"), value, "word")
    return Numeral(start, end, value / _PARTS[part], "fraction")


def _split_run(run: str, text: str, start: int) -> list[tuple[int, int, float]]:
    """The numbers in a run of digits, points and commas: start and end in the text, and value."""
    end = start + len(run)
    if _GROUPED.fullmatch(run):
        return [(start, end, _as_float(re.sub(r"[^\d.]", "", run)))]
    if european := _EUROPEAN.fullmatch(run):
        whole, fraction = (european[1] or european[3] or european[4]).replace(".", ""), european[2] or european[5]
        return [(start, end, _as_float(f"{whole}.{fraction}" if fraction else whole))]
    if (decimal := _DECIMAL_COMMA.match(text, start)) and decimal.end() == end:
        return [(start, end, _as_float(f"{decimal[1]}.{decimal[2]}"))]
    return [(start + m.start(), start + m.end(), _as_float(m[0])) for m in _PLAIN.finditer(run)]


def _from_digits(text: str, start: int, end: int, value: float) -> Numeral:
    """The numeral that begins with these digits: with a power of ten, an exponent, a fraction after it."""
    if math.isnan(value):
        return Numeral(start, end, value, "digits")
    if power := _POWER_OF_TEN.match(text, end):
        exponent = (power[1] or power[2]).replace("–", "-")
        return Numeral(start, power.end(), _scaled(value, exponent), "power")
    if exponent_match := _EXPONENT.match(text, end):
        raised = _raised(value, exponent_match[1].replace("–", "-"))
        return Numeral(start, exponent_match.end(), raised, "power")
    vulgar = text[end : end + 1]
    if vulgar in _VULGAR and value.is_integer():
        return Numeral(start, end + 1, value + _VULGAR[vulgar], "digits")
    denominator = _DENOMINATOR.match(text, end)
    if denominator and text[start:end].isdigit() and text[start - 1 : start] != "/" and len(denominator[1]) < 7:
        below = int(denominator[1])
        alone = denominator.end() == len(text) and not text[:start].strip()
        if 0 < value < below and (alone or value == 1 or (below <= 10 and _PART_AFTER.match(text, denominator.end()))):
            return Numeral(start, denominator.end(), value / below, "fraction")
    return Numeral(start, end, value, "digits")


def _scaled(coefficient: float, exponent: str) -> float:
    """`coefficient` times 10 to the `exponent`, rounded once."""
    digits, _, shift = repr(coefficient).partition("e")
    return math.nan if len(exponent) > 6 else _as_float(f"{digits}e{int(shift or 0) + int(exponent)}")


def _raised(base: float, exponent: str) -> float:
    if base == 10.0:
        return _as_float(f"1e{exponent}")
    try:
        value = math.nan if len(exponent) > 6 else base ** int(exponent)
    except (OverflowError, ZeroDivisionError):
        return math.nan
    return value if math.isfinite(value) and value != 0.0 else math.nan


def numerals(text: str) -> Iterator[Numeral]:
    """Every numeral of a folded text, in order and not overlapping."""
    place = 0
    while start_match := _START.search(text, place):
        start = start_match.start()
        if text[start] in _VULGAR:
            place = start + 1
            yield Numeral(start, place, _VULGAR[text[start]], "fraction")
        elif (spaced := _SPACED.match(text, start)) and not _AFTER_NAME.search(text[max(0, start - 30) : start]):
            place = spaced.end()
            yield Numeral(start, place, _as_float(re.sub("[ ,]", "", spaced[0])), "digits")
        elif run := _RUN.match(text, start):
            place = run.end()
            for number_start, number_end, value in _split_run(run[0], text, start):
                number = _from_digits(text, number_start, number_end, value)
                place = max(place, number.end)
                yield number
        elif (words := _WORDS.match(text, start)) and (numeral := _from_words(words, text)):
            place = numeral.end
            yield numeral
        else:
            place = start + 1
