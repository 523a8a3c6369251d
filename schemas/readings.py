"""Numbers read in their place: sign, magnitude and unit from the numeral's surroundings.

`read_numbers` takes a folded text and gives each numeral with what stands around it resolved: `7B`, `1.7-million`,
`100K+`, `$5.2K`, `24 times`, `30 percentage points`, and what the members of a range or list share (`7-9B`, `80.1, 79.2
and 77.3%`, `0.46 to 7.5 billion`). It doesn't judge whether a number is a quantity; `scan` does.
"""

import math
import re
from dataclasses import dataclass, replace

from schemas.folding import Folded
from schemas.numerals import MAGNITUDES, Form, Numeral, numerals
from schemas.units import CURRENCIES, FOLLOWING, KELVIN, SYMBOL, canonical_unit

_LETTERS = {"k": 1e3, "K": 1e3, "M": 1e6, "m": 1e6, "mn": 1e6, "mil": 1e6, "b": 1e9, "B": 1e9, "bn": 1e9, "T": 1e12}
_MAGNITUDE = re.compile(
    rf"[\s-]?(?P<word>(?i:{'|'.join(MAGNITUDES)}))s?\b|(?P<letter>k|K|M|mn|mil|B|bn|b|T)(?![\w^])"
    r"|(?P<millions>m)(?=\s(?:[a-z-]{1,30}\s)?(?:param|sample|image|token|example|sentence|word|document|video|frame|user|instance|pair|tweet|post|step|record|quer|paper|article|interaction|utterance|page)[a-z]*\b)|\s(?P<spaced>[KMB]|bn|mn)(?=\s[a-z]|[-,.;)]|$)"
)
_PLUS = re.compile(r"\+(?![\w(ξ]|\s?\d)")
_CURRENCY = re.compile(r"(?:US)?[$€£¥₹]\s?$")
_CURRENCY_CODE = re.compile(r"\b(?:USD|EUR|GBP|CNY|JPY|INR)\s$")
_JOINT = re.compile(
    r"[%x×kKMB+]?(?P<range>\s?[-–—≈~]\s?|\s?_?\s?±\s?|-\sto\s|\s(?:up\s)?to\s|\sthrough\s)(?:[$+≈~-]|about\s)?"
    r"|(?P<list>,\s?(?:(?:and|or)\s)?|\s(?:and|or|vs\.?|versus|&)\s|\s?/\s?)[$+≈~-]?"
)
_CONFIDENCE = re.compile(r"\s?-?(?:(?:CI|CrI|HDI|UI)s?\b|(?:confidence|credible|uncertainty)\b)")
_FACTOR_SIGN = re.compile(r"(?:^|[a-z]{2}\s|\ba\s|[(~≈])(?P<sign>×\s?)$")
_FACTOR_BEFORE = re.compile(
    r"\b(?:factors?|multiple)\sof"
    r"(?:\s(?:up\sto|about|around|nearly|over|roughly|almost|more\sthan|at\sleast|approximately))?\s?[≈~<>≤≥]?\s?$"
)
_SAME_MAGNITUDE = 20
_NOT_NOUN = frozenset(
    "is was has does this across as less plus versus towards its his us thus always perhaps times points yields "
    "achieves outperforms shows requires uses percents".split()
)
_PHRASE = re.compile(r"[\s-](?P<words>(?:[A-Za-z][\w'-]{0,30}\s){0,3}?[A-Za-z][\w-]{0,30}s)\b(?!')")
_FUNCTION_WORD = re.compile(
    r"\b(?:of|in|on|to|for|with|by|from|at|over|across|under|and|or|than|that|which|while|as|the|a|an|when|using|is|are|"
    r"was|were|we|our|it|compared|via|per|but|after|before|vs)\b"
)


@dataclass(frozen=True, slots=True)
class Reading:
    """A number at `text[start:end]` of the folded text: sign, symbols and magnitude included, unit words not.

    `numeral` is the numeral inside; `value` has sign and magnitude. `magnitude` is what a letter or word after the
    numeral made of it (1e9 for B); `power`: orders of magnitude followed; `lent`: the unit is that of a list's next
    member, which a number in a name may precede by chance ("on JPEG 2000 and 2.3 times").
    """

    numeral: Numeral
    start: int
    end: int
    value: float
    unit: str
    magnitude: float = 1.0
    power: bool = False
    lent: bool = False

    @property
    def scaled(self) -> bool:
        """Whether a magnitude followed the numeral, or the numeral that it shares one with."""
        return self.magnitude != 1.0

    @property
    def bare(self) -> bool:
        """Whether the number has no unit of its own."""
        return self.lent or self.unit in ("", "count")

    @property
    def form(self) -> Form:
        """How the numeral is written."""
        return self.numeral.form


def _sign(text: str, start: int) -> tuple[int, float]:
    """Where the number starts with its sign, and the sign as a factor."""
    at = start - 1
    if at >= 0 and text[at] in "+-–±":
        before = text[max(0, at - 2) : at]
        apart = not before or not (before[-1].isalnum() or before[-1] in ")%]+-–_^×'")
        dash_between = before[-1:] == " " and before[:1] and (before[0].isdigit() or before[0] in "%×")
        if text[at] != "±" and apart and not (text[at] in "-–" and dash_between):
            return at, -1.0 if text[at] in "-–" else 1.0
    return start, 1.0


def _currency(text: str, start: int) -> tuple[int, str]:
    """Where the number starts with its currency sign, and the currency."""
    before = text[max(0, start - 5) : start]
    if sign := _CURRENCY.search(before):
        return start - len(sign[0]), CURRENCIES[sign[0].strip()[-1]]
    if code := _CURRENCY_CODE.search(before):
        return start, code[0].strip()
    return start, ""


def _magnitude(text: str, end: int) -> tuple[int, float]:
    match = _MAGNITUDE.match(text, end)
    if match is None or KELVIN.match(text, end):
        return end, 1.0
    if match["word"]:
        return match.end(), MAGNITUDES[match["word"].lower()]
    letter = match["letter"] or match["millions"] or match["spaced"]
    factor = _LETTERS.get(letter)
    return (end, 1.0) if factor is None else (match.end(), factor)


def _symbol(text: str, end: int) -> tuple[int, str]:
    match = SYMBOL.match(text, end)
    if match is None:
        return end, ""
    if match["points"]:
        return match.end("points"), "pp"
    if match["percent"]:
        return match.end(), "%"
    if match["kelvin"]:
        return match.end(), "K"
    if match["symbol"]:
        return match.end(), canonical_unit(match["symbol"])
    return match.end(), "x"


def _counts_things(text: str, end: int) -> bool:
    """Whether a noun of things follows: `8,890 annotated sentences`."""
    phrase = _PHRASE.match(text, end)
    if phrase is None:
        return False
    noun = phrase["words"].rpartition(" ")[2]
    return noun not in _NOT_NOUN and not noun.endswith("ss") and not _FUNCTION_WORD.search(phrase["words"])


def _is_count(text: str, numeral: Numeral, end: int) -> bool:
    """Whether a whole number counts things: half a million, 12 datasets."""
    if numeral.form == "fraction" or not numeral.value.is_integer():
        return False
    return (numeral.form == "word" and numeral.value >= 1000) or _counts_things(text, end)


def _following_unit(text: str, end: int) -> tuple[int, str, bool]:
    """The unit in the words after a number: where they end, the unit, and whether they raise 10 to the number.

    `points` stands for points of no named metric, `score` for points of F1, BLEU and the like.
    """
    match = FOLLOWING.match(text, end)
    if match is None:
        return end, "", False
    if match["points"]:
        return match.end(), "pp", False
    if match["percent"]:
        return match.end(), "%", False
    if match["order"]:
        return match.end(), "x", True
    if match["times"]:
        return match.end(), "x", False
    if match["degrees"]:
        return match.end(), "°C" if "C" in match["degrees"] else "°", False
    if match["word"]:
        return match.end(), canonical_unit(match["word"] + (match["per"] or "")), False
    return match.end(), "score" if match["metric"] or match["of"] else "points", False


def _order(value: float) -> float:
    """10 to the power of `value`, for orders of magnitude."""
    return 10.0**value if value < 300 else math.nan


def _prefix(text: str, numeral: Numeral) -> tuple[int, float, str]:
    """Where the number starts with sign and currency, the sign as a factor, and the unit that stands before it."""
    start, unit = _currency(text, numeral.start)
    if factor_sign := _FACTOR_SIGN.search(text, max(0, start - 5), start):
        return factor_sign.start("sign"), 1.0, "x"
    if numeral.form == "word":
        return start, 1.0, unit
    start, sign = _sign(text, start)
    if not unit:
        start, unit = _currency(text, start)
    return start, sign, unit


def _after_plus(text: str, end: int) -> int:
    plus = _PLUS.match(text, end)
    return plus.end() if plus else end


def _bare_unit(text: str, numeral: Numeral, start: int, end: int, scaled: bool) -> str:
    """The unit of a number without one of its own: a factor by the words before it, a count by those after, or none."""
    if _FACTOR_BEFORE.search(text, max(0, start - 40), start):
        return "x"
    if numeral.form == "fraction":
        return "x" if text.startswith(" as ", end) else ""
    return "count" if scaled or _is_count(text, numeral, end) else ""


def _read(text: str, numeral: Numeral) -> Reading:
    """One numeral with what stands next to it."""
    if numeral.form == "multiple":
        return Reading(numeral, numeral.start, numeral.end, numeral.value, "x")
    start, sign, unit = _prefix(text, numeral)
    end, factor = _magnitude(text, numeral.end)
    end = _after_plus(text, end)
    if not unit:
        end, unit = _symbol(text, end)
        end = _after_plus(text, end)
    if unit in ("", "%"):
        tail, words, power = _following_unit(text, end)
        if power:
            return Reading(numeral, start, tail, _order(numeral.value), "x", power=True)
        if unit == "" or words in ("points", "score", "pp"):
            unit = "pp" if unit else words
    unit = unit or _bare_unit(text, numeral, start, end, factor != 1.0)
    return Reading(numeral, start, end, sign * numeral.value * factor, unit, factor)


def _shared(text: str, left: Reading, right: Reading) -> Reading:
    """`left` with what it shares with `right` where the two are a range, or neighbours in a list."""
    joint = _JOINT.fullmatch(text, left.end, right.start)
    if joint is None and right.start < right.numeral.start:
        joint = _JOINT.fullmatch(text, left.end, right.numeral.start)
    if joint is None or (right.numeral.form == "multiple" and joint["range"] is None):
        return left
    if joint["list"] is not None and _CONFIDENCE.match(text, right.end):  # "0.82, 95% CI": the level of its interval
        return left
    value, unit, magnitude = left.value, left.unit, left.magnitude
    if right.power and unit == "":
        return replace(left, value=_order(value), unit="x", power=True)
    if right.scaled and not left.scaled and left.unit in ("", right.unit):
        if left.value < right.numeral.value * _SAME_MAGNITUDE:  # "110 to 66M", but not "100 to 1M"
            magnitude = right.magnitude
            value *= magnitude
    if unit == "" or (unit == "count" and right.unit == "count"):
        unit = right.unit
    lent = unit != left.unit and joint["list"] is not None
    return replace(left, value=value, unit=unit, magnitude=magnitude, lent=lent)


def _is_range(text: str, left: Reading, right: Reading) -> bool:
    joint = _JOINT.fullmatch(text, left.end, right.start)
    return joint is not None and joint["range"] is not None


def _signed(reading: Reading, has_percent: bool) -> Reading:
    """The reading with its sign and unit by the guidelines: a change is unsigned, an absolute score keeps its minus."""
    unit, value = reading.unit, reading.value
    if unit in ("points", "score"):
        return replace(reading, unit="pp" if has_percent and unit == "points" else "", value=abs(value))
    if value < 0 and unit not in ("", "dB", "°", "°C"):
        return replace(reading, value=abs(value))
    return reading


def read_numbers(folded: Folded, percentages: bool | None = None) -> list[Reading]:
    """Every number of the text with value and unit, in order; `percentages`: whether the whole text gives any."""
    text = folded.text
    has_percent = "%" in text or "percent" in text if percentages is None else percentages
    readings = [_read(text, numeral) for numeral in numerals(text)]
    for i in range(len(readings) - 2, -1, -1):
        readings[i] = _shared(text, readings[i], readings[i + 1])
    for i in range(1, len(readings)):
        before = readings[i - 1]
        if (
            before.unit in CURRENCIES.values()
            and readings[i].unit in ("", "count")
            and _is_range(text, before, readings[i])
        ):
            readings[i] = replace(readings[i], unit=before.unit)
    return [_signed(reading, has_percent) for reading in readings]
