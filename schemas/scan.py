"""Tells quantities from the other numbers of a text: names, years, citations, indices, math.

`others_than_quantities` gives the kind of thing that each number is when it isn't a quantity. The rules are those of
`gold/GUIDELINES.md` ("Left out") as far as the text shows them; whether a quantity is worth a row (a method's own
parts, background facts) is a reader's judgement and isn't asked here.
"""

import math
import re
from bisect import bisect_right
from typing import Literal

from schemas.folding import SYMBOL as UNKNOWN
from schemas.folding import Folded
from schemas.names import DESIGN_WORD_AFTER, follows_name, label, one_of, part_of_word
from schemas.readings import Reading

Other = Literal[
    "name", "ordinal", "label", "year", "citation", "address", "enumeration", "math", "size", "deviation", "word",
    "unrepresentable",
]  # fmt: skip
"""What a number is if not a quantity. A `label` numbers a thing (Section 3, top-5), a `size` is 256×256, a `deviation`
follows ±, `word` is a number word that counts nothing (the latter one, half-precision)."""

_ADDRESS = re.compile(
    r"(?:https?://|www\.|doi:\s?|DOI:?\s?|ar[xX]iv:\s?|ftp://)\S+|10\.\d{4,9}/\S+"
    r"|(?:github|gitlab|huggingface|bitbucket|zenodo|youtu|bit)\.(?:com|org|co|io|be|ly)/\S*"
)
_CITATION = re.compile(
    r"\[\s?\d{1,3}(?:\s?[,;–-]\s?\d{1,3})*\s?\]|\[[^\[\]]{0,40}\bet\sal[^\[\]]{0,60}\]"
    r"|\[[^\[\]]{0,80}[A-Za-z][^\[\]]{0,30}\b(?:19|20)\d\d\b[^\[\]]{0,60}\]"
)
_ET_AL = re.compile(r"(?:et\sal\.?,?|[A-Z][\w'-]+,|&\s?[A-Z][\w'-]+,?)\s?\(?$")
_YEAR = re.compile(r"(?:19[5-9]|20[0-3])\d")
_DECADE_OR_LETTERED = re.compile(r"(?:1[89]|20)\d(?:0s|\d[a-k])")
_YEAR_BEFORE = re.compile(r"\b(?:in|since|during|until)\s$")
_NO_NOUN = one_of("and or to with by in on for we is was the has as that at of from")
_NOUN_AFTER = re.compile(rf"[\s-](?!{_NO_NOUN}\b)[a-z]{{3,}}")

_BEFORE_PRONOUN = one_of(
    """
    the this that no any every each which another former latter right wrong previous new first last original one
    better best by from to is are was
    """
)
_PRONOUN_BEFORE = re.compile(rf"\b{_BEFORE_PRONOUN}\s$", re.IGNORECASE)
_CLAUSE_START = re.compile(r"(?:^|[,.;:(])\s?$")
_AFTER_PRONOUN = one_of(
    """
    of or and can may must might could should would will is that which who to such does has another by with for in on
    at from key side hand step way time where needs when as the shot sided hot size sentence due because than we it if
    but while into under over without are was were be after before using based through not only also then go
    """
)
_ONE_OF_A_NOUN = re.compile(rf"[\s-](?!{_AFTER_PRONOUN}\b)[A-Za-z]")
_HALF_BEFORE = re.compile(r"\b(?:first|second|other|latter|former|upper|lower|last|better)\s$", re.IGNORECASE)
_HALF_AFTER = re.compile(r"-|\s(?:precision|space|plane|life)")
_DOUBLE_AFTER = re.compile(r"\s(?:the|that|of|its|our|their|those|as|in|when|from|to|every)\b|,|\.|\)|$")
_ADJECTIVES = frozenset(("double", "triple", "quadruple"))
_NOUNS_TOO = frozenset(("doubles", "triples", "quadruples", "halves", "halving"))  # relation triples, two halves
_OBJECT_AFTER = re.compile(r"\s(?:the|that|its|our|their|those|this|every|previous)\b")
_CROSS_VALIDATION_AFTER = re.compile(r"[\s-]?folds?\s(?:cross|CV\b)", re.IGNORECASE)
_NOT_DIFFERENTIABLE = re.compile(r"(?!-|\s(?:continuously\s)?differentiable)")
_FOLD_AFTER = re.compile(
    r"\s?(?:cross|CV\b)|\s?[.:;](?!\d)|,\s(?:first|i)|\s(?:contribution|purpose|strategy|approach|aim|goal)",
    re.IGNORECASE,
)

_DEVIATION = re.compile(r"±\s?$")
_SIZE_AFTER = re.compile(r"(?:\s?×\s?|[xX]|\s[xX]\s)\d")
_SIZE_BEFORE = re.compile(r"\d(?:\s?×\s?|[xX]|\s[xX]\s)$")
_INDEX_BEFORE = re.compile(r"(?:\^|_|\||[(\[{]\s?[A-Za-zξ]\s?[,;]\s?)[-+–]?$")
_SYMBOL_AFTER = re.compile(r"\s?[\^_](?!\s?±)|-[a-z]\b|\s?/\s?[A-Za-zξ](?![A-Za-z])")
_EQUATION = re.compile(
    r"(?<![\w^_'])(?:[A-Za-zξρκτ@](?:[_^]?\w)?(?=\s?[=∈])|(?![aAI]\b)[A-Za-zξρκτ]|[A-Za-zξρκτ]\([^()\s]{1,8}\))"
    r"\s?[=≈≤≥<>∈]{1,2}\s?[-+$(\[{]?$"
)
_STATISTIC = re.compile(
    r"(?:[pPrRκτ]|ρ_?\w?|[rR]\^?2|F_?1|AP|@\w)\s?[=<>≈≤≥]{1,2}\s?[-+$]?|[nN]\s?=\s?"  # not bounds: n ≥ 2
)
_TERM_BEFORE = re.compile(r"[A-Za-zξ)]\s?[+*/·]$")
_ALTERNATIVE_BEFORE = re.compile(r"\b\w{3,}\s?/$")
_ORDER_BEFORE = re.compile(r"\b[OΩΘo]\s?\($")
_STATEMENT = re.compile(r"\s?(?:(?:[pPrRκτρ]|[rR]\^2|F_?1)\s?[=<>≈≤≥]|[nN]\s?=)\s?[-+]?[\d.,×^%-]+\s?")
_PLAIN_IN_MATH = re.compile(
    r"\d\^[-+]?\d+|[\s\d.,%×xXkKMBT+≈<>≤≥=±/:()'\"·*–—-]|_\s?±|(?:ms|GB|MB|KB|s|h|pp|dB|→|↑|↓)(?![A-Za-z])|[A-Za-z]{4,}"
)
_LONGEST_PLAIN_MATH = 80


def others_than_quantities(folded: Folded, readings: list[Reading]) -> list[Other | None]:
    """What each number is if it isn't a quantity, None if it is one."""
    stretches = _addresses_and_citations(folded.text)
    kinds: list[Other | None] = []
    for i, reading in enumerate(readings):
        before = readings[i - 1] if i else None
        kinds.append(
            _unusable(folded.text, reading, stretches)
            or _word_kind(folded.text, reading)
            or _digits_kind(folded, reading, before, bool(kinds) and kinds[-1] == "name")
        )
    return kinds


def _addresses_and_citations(text: str) -> list[tuple[int, int, Other]]:
    """Where URLs, DOIs and bracketed citations stand, in order."""
    addresses: list[tuple[int, int, Other]] = [(*match.span(), "address") for match in _ADDRESS.finditer(text)]
    return sorted(addresses + [(*match.span(), "citation") for match in _CITATION.finditer(text)])


def _unusable(text: str, reading: Reading, stretches: list[tuple[int, int, Other]]) -> Other | None:
    if not math.isfinite(reading.value):
        return "unrepresentable"
    place = bisect_right(stretches, reading.start, key=lambda stretch: stretch[0]) - 1
    if place >= 0 and reading.start < stretches[place][1]:
        return stretches[place][2]
    return "deviation" if _DEVIATION.search(text, max(0, reading.start - 4), reading.start) else None


def _word_kind(text: str, reading: Reading) -> Other | None:
    """Number words that count nothing."""
    numeral = reading.numeral
    word = text[numeral.start : numeral.end].lower()
    before = text[max(0, numeral.start - 24) : numeral.start]
    if numeral.form == "fraction" and word[0].isalpha():
        return "word" if _HALF_BEFORE.search(before) or _HALF_AFTER.match(text, numeral.end) else None
    if numeral.form == "multiple":
        if "fold" in word:
            return "word" if _FOLD_AFTER.match(text, numeral.end) else None
        needed = _DOUBLE_AFTER if word in _ADJECTIVES else _OBJECT_AFTER if word in _NOUNS_TOO else _NOT_DIFFERENTIABLE
        return None if needed.match(text, numeral.end) else "word"
    if numeral.form != "word":
        return None
    if before.endswith("-") or DESIGN_WORD_AFTER.match(text, reading.end):
        return "word"
    nothing = word == "zero" or (word == "one" and _is_pronoun(text, numeral.end, before))
    return "word" if reading.bare and not reading.scaled and nothing else None


def _is_pronoun(text: str, end: int, before: str) -> bool:
    """Whether "one" stands for a person or thing: `the latter one`, `, one observes`."""
    if _PRONOUN_BEFORE.search(before) or not _ONE_OF_A_NOUN.match(text, end):
        return True
    return _CLAUSE_START.search(before) is not None and text[end + 1 : end + 2].islower()


def _digits_kind(folded: Folded, reading: Reading, before: Reading | None, named_before: bool) -> Other | None:
    text = folded.text
    if text[reading.numeral.start].isalpha():
        return None
    kind: Other | None = part_of_word(text, reading, before, named_before)
    if kind is not None:
        return kind
    if reading.form == "digits" and (
        _SIZE_AFTER.match(text, reading.numeral.end)
        or _SIZE_BEFORE.search(text, max(0, reading.start - 5), reading.start)
    ):
        return "size"
    if _is_math(folded, reading):
        return "math"
    if _CROSS_VALIDATION_AFTER.match(text, reading.end):
        return "label"
    if _is_year(text, reading):
        return "citation" if _ET_AL.search(text, max(0, reading.start - 40), reading.start) else "year"
    if _enumerates(text, reading):
        return "enumeration"
    if before is not None and before.end >= reading.start - 1:
        return None  # a range's second member: the word before it is the first
    return label(text, reading) or follows_name(text, reading)


def _is_year(text: str, reading: Reading) -> bool:
    if _DECADE_OR_LETTERED.fullmatch(text, reading.start, reading.end):  # the 1990s, Jones 2018b
        return True
    bare = reading.bare and not reading.scaled and reading.form == "digits"
    if not bare or not _YEAR.fullmatch(text, reading.start, reading.end):
        return False
    if _NOUN_AFTER.match(text, reading.end):  # 2000 images, but in 2000 images
        return _YEAR_BEFORE.search(text, max(0, reading.start - 8), reading.start) is not None
    return True


def _enumerates(text: str, reading: Reading) -> bool:
    """`(1)`, `2)` or `3. We` as marks of a list's members."""
    bare = reading.bare and reading.start == reading.numeral.start and reading.form == "digits"
    if not bare or reading.value > 20 or not text[reading.start : reading.end].isdigit():
        return False
    before = text[max(0, reading.start - 80) : reading.start]
    after = text[reading.end : reading.end + 3]
    if after.startswith(")"):
        return before.endswith("(") or (before[-1:] in ("", " ") and before.rfind("(") <= before.rfind(")"))
    return re.match(r"\.\s[A-Z]", after) is not None and re.search(r"(?:^|[.:;]\s)$", before) is not None


def _is_math(folded: Folded, reading: Reading) -> bool:
    """Indices, exponents, bounds, and values given to a symbol (`k = 5`), but not a statistic (`p = 0.01`)."""
    text, start, end = folded.text, reading.start, reading.end
    before = text[max(0, start - 24) : start]
    if _INDEX_BEFORE.search(before) or _SYMBOL_AFTER.match(text, end) or _ORDER_BEFORE.search(before):
        return True
    equation = _EQUATION.search(before)
    if equation and not _STATISTIC.fullmatch(equation[0]):
        return True
    if _TERM_BEFORE.search(before) and reading.bare:
        return _ALTERNATIVE_BEFORE.search(before) is None
    stretch = folded.math_around(start, end) or folded.math_around(reading.numeral.start, reading.numeral.end)
    if stretch is None:
        return text[end : end + 1] == UNKNOWN or before[-1:] == UNKNOWN
    if stretch[1] - stretch[0] > _LONGEST_PLAIN_MATH:
        return True
    if _STATEMENT.fullmatch(text, stretch[0], stretch[1]):
        return False
    rest = text[stretch[0] : max(stretch[0], start)] + text[end : stretch[1]]
    return _PLAIN_IN_MATH.sub("", rest) != ""
