r"""A plain view of a text for reading numbers: LaTeX, HTML and Unicode forms folded, every character with its origin.

`fold` turns `$\mathbf{3.01\times}$` into `3.01×` and remembers which characters of the original each folded one came
from, so that whatever is found in the view has true offsets. It knows where math mode was, and tells a dollar that
opens math from one that is money. It doesn't read numbers, and it isn't the folding by which quotes are compared:
here a symbol's meaning must survive (`\times` is ×, `10⁵` is 10^5), there only its looks.
"""

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

Edge = Literal["", "open", "inner", "close"]
"""What a mark does to math mode: nothing, opens it, is part of `$$`, closes it."""

SYMBOL = "ξ"
"""What an unknown LaTeX command becomes: a letter, so that a number next to it is math."""

THIN = "\u2009"
"""A space that may separate thousands: thin, narrow or no-break, or LaTeX's `\\,`."""

_MARK = re.compile(
    r"\^\s?\{?\\circ\b\}?|\\(?:cite\w*|ref|eqref|label|url|footnote)\s?\{[^{}]{0,400}\}|\\(?:[A-Za-z]+\*?|.)|\}\{|[{}$]|\*\*|-{2,3}"
    r"|</?(?:sup|sub|i|b|em|strong|u)>|&(?:lt|gt|amp|times|nbsp|ndash|mdash|minus|plusmn|approx|thinsp|percnt);"
    r"|\s{2,}|~|[^\x20-\x7e]",
    re.DOTALL,
)
_NUMERIC_FRACTION = re.compile(r"\\(?:[tdcs]|nice)?frac(?:\{(\d+)\}\{(\d+)\}|(\d)(\d))")

_DROPPED = frozenset(
    "textbf textit emph text textrm textsf texttt textsc textnormal mathbf mathrm mathit mathsf mathtt mathbb bm "
    "boldsymbol underline uline textcolor mbox hbox bf it rm em sc tt SI num qty si unit left right big Big bigl bigr "
    "displaystyle textstyle ensuremath small href mathopen mathclose mathord xspace".split()
)
_COMMANDS = {
    "times": "×", "texttimes": "×", "cdot": "·", "approx": "≈", "sim": "≈", "simeq": "≈", "thicksim": "≈",
    "thickapprox": "≈", "textasciitilde": "≈", "approxeq": "≈", "pm": "±", "mp": "±", "textpm": "±", "le": "≤",
    "leq": "≤", "leqslant": "≤", "lesssim": "≤", "ge": "≥", "geq": "≥", "geqslant": "≥", "gtrsim": "≥", "lt": "<",
    "gt": ">", "textless": "<", "textgreater": ">", "ll": "<", "gg": ">", "to": " → ", "rightarrow": " → ",
    "percent": "%", "textpercent": "%", "dollar": "$", "textdollar": "$", "rho": "ρ", "kappa": "κ", "tau": "τ",
    "quad": " ", "qquad": " ", "thinspace": THIN, "degree": "°", "textdegree": "°", "circ": "°", "uparrow": "↑",
    "downarrow": "↓", "textsuperscript": "^", "textasciicircum": "^", "textendash": "–", "textemdash": "—",
    # units of siunitx, which join up: \giga\byte is GB
    "nano": "n", "micro": "µ", "milli": "m", "centi": "c", "kilo": "k", "mega": "M", "giga": "G", "tera": "T",
    "second": "s", "minute": "min", "hour": "h", "byte": "B", "bit": "bit", "metre": "m", "meter": "m", "gram": "g",
    "hertz": "Hz", "watt": "W", "joule": "J", "decibel": "dB", "ms": "ms", "us": "µs", "ns": "ns", "s": "s", "h": "h",
    "km": "km", "cm": "cm", "mm": "mm", "kg": "kg", "GHz": "GHz", "MHz": "MHz", "GB": "GB", "MB": "MB", "KB": "KB",
    # escapes and spaces
    "%": "%", "$": "$", "#": "#", "&": "&", "_": "_", "{": "{", "}": "}", ",": THIN, ";": " ", ":": " ", " ": " ",
    "\n": " ", "!": "", "/": "", "-": "", "@": "", "\\": " ",
}  # fmt: skip
_LONGER_MARKS = {
    "--": "–", "---": "—", "}{": " ",
    "&lt;": "<", "&gt;": ">", "&amp;": "&", "&times;": "×", "&nbsp;": THIN, "&ndash;": "–", "&mdash;": "—",
    "&minus;": "-", "&plusmn;": "±", "&approx;": "≈", "&thinsp;": THIN, "&percnt;": "%", "<sup>": "^",
}  # fmt: skip
_CHARACTERS = {
    **dict.fromkeys("\u2010\u2011\u2212\u2796\ufe63\uff0d", "-"),
    **dict.fromkeys("\u2012\u2013", "–"),
    **dict.fromkeys("\u2014\u2015", "—"),
    **dict.fromkeys("✕✖⨯⨉❌╳", "×"),
    **dict.fromkeys("⋅∙•・", "·"),
    **dict.fromkeys("∼～≃≅≊⁓˜", "≈"),
    **dict.fromkeys("⩽≦≲", "≤"),
    **dict.fromkeys("⩾≧≳", "≥"),
    **dict.fromkeys("\u2009\u202f\u00a0\u2006\u2007\u2008\u200a", THIN),
    **dict.fromkeys("’‘ʼ", "'"),
    **dict.fromkeys("“”„", '"'),
    # letters that Python's re takes for ASCII ones when case is ignored, but whose lower case is something else
    "İ": "I", "ı": "i", "ſ": "s", "\u212a": "K",
    "∗": "*", "ˆ": "^", "μ": "µ", "\u066a": "%", "\u066b": ".", "\u066c": ",",
}  # fmt: skip
_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺", "0123456789-+")
_SUPERSCRIPT = frozenset("⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺")
_PROSE = re.compile(r"(?<![\\A-Za-z{])[A-Za-z]{2,}[,.;]?\s+[A-Za-z]{2,}")
LONGEST_MATH = 600
_DELIMITERS: dict[str, Edge] = {"\\(": "open", "\\[": "open", "\\)": "close", "\\]": "close"}


@dataclass(frozen=True, slots=True)
class Folded:
    """The folded `text`; character i of it stands for `original[starts[i]:ends[i]]`.

    `math` holds the stretches of math mode, in order: start and end in the folded text, then in the original with the
    delimiters.
    """

    original: str
    text: str
    starts: list[int]
    ends: list[int]
    math: list[tuple[int, int, int, int]]

    def math_around(self, start: int, end: int) -> tuple[int, int, int, int] | None:
        """The stretch of math mode that holds `text[start:end]` whole, or None."""
        place = bisect_right(self.math, start, key=lambda stretch: stretch[0]) - 1
        if place < 0 or end > self.math[place][1]:
            return None
        return self.math[place]

    def quote_span(self, start: int, end: int) -> tuple[int, int]:
        r"""The offsets in the original of `text[start:end]`, with the mark-up that belongs to it.

        All of `$...$` where that holds nothing else; otherwise as little as leaves braces and dollars in pairs. Where
        a unit outside math belongs to a number inside (`$\sim400$ ms`), all of that math.
        """
        math = self.math_around(start, end)
        if math is not None and self.text[math[0] : math[1]].strip() == self.text[start:end]:
            return math[2], math[3]
        first, last = _balanced(self.original, self.starts[start], self.ends[end - 1])
        math = self.math_around(start, start + 1)
        if math is not None and end > math[1] and first > math[2]:
            first = math[2]
        return first, last


def _balanced(text: str, start: int, end: int) -> tuple[int, int]:
    """`start` and `end` moved outwards over mark-up until braces and dollars inside pair up, where that is possible."""
    opened = unopened = 0
    for brace in re.findall(r"\\.|[{}]", text[start:end], re.DOTALL):
        if brace == "{":
            opened += 1
        elif brace == "}" and opened:
            opened -= 1
        elif brace == "}":
            unopened += 1
    while opened and text[end : end + 1] == "}":
        end, opened = end + 1, opened - 1
    while unopened and (before := re.search(r"\\[A-Za-z]{1,20}\{$|\{$", text[max(0, start - 24) : start])):
        start, unopened = start - len(before[0]), unopened - 1
    if len(re.findall(r"(?<!\\)\$", text[start:end])) % 2:
        if text[end : end + 1] == "$":
            end += 1
        elif text[start - 1 : start] == "$":
            start -= 1
    return start, end


def _is_math(text: str, opener: int, closer: int) -> bool:
    """Whether the dollars at these places enclose math: no prose between, and not two prices ("$15-$20")."""
    inside = text[opener + 1 : closer]
    if not inside.strip() or len(inside) > LONGEST_MATH or "\n\n" in inside:
        return False
    plain = re.sub(r"\\(?:text|mathrm|textbf|mbox|mathit|operatorname)\s?\{[^{}]*\}", "", inside)
    if _PROSE.search(plain):
        return False
    if inside[0].isdigit() and "\\" not in inside:
        price = inside[-1].isspace() or text[closer + 1 : closer + 2].isdigit()
        return not price and re.search(r"[A-Za-z]{3}", inside) is None
    return True


def _math_dollars(text: str) -> dict[int, Edge]:
    """What each dollar that belongs to math does, by its place; the rest are money."""
    places = [match.start() for match in re.finditer(r"(?<!\\)\$", text)]
    edges: dict[int, Edge] = {}
    i = 0
    while i + 1 < len(places):
        opener, closer = places[i], places[i + 1]
        if closer == opener + 1 and i + 3 < len(places) and places[i + 3] == places[i + 2] + 1:  # $$...$$
            edges |= {opener: "open", closer: "inner", places[i + 2]: "inner", places[i + 3]: "close"}
            i += 4
        elif _is_math(text, opener, closer):
            edges |= {opener: "open", closer: "close"}
            i += 2
        else:
            i += 1
    return edges


def _folded_character(character: str) -> str:
    if character in _CHARACTERS:
        return _CHARACTERS[character]
    decimal = unicodedata.decimal(character, None)
    if decimal is not None:
        return str(decimal)
    kind = unicodedata.category(character)
    if kind in ("Cf", "Mn", "Me"):  # zero width: joiners, soft hyphens, combining marks
        return ""
    if kind == "No":
        return character  # ½ and its like: the numerals' grammar reads them
    return unicodedata.normalize("NFKC", character)


def _folded_command(command: str) -> str:
    """What a LaTeX command, with its backslash, becomes."""
    if "{" in command[2:]:
        return " "  # a citation, reference or address: none of its digits count
    name = command[1:]
    return "" if name in _DROPPED else _COMMANDS.get(name, SYMBOL)


def _folded_mark(mark: str, text: str, start: int, end: int) -> str:
    """What a mark, anything but plain ASCII, becomes in the view."""
    if mark[0] == "\\":
        return _folded_command(mark)
    if mark == "~":  # LaTeX's no-break space, or "about"
        return THIN if text[start - 1 : start].isalnum() and text[end : end + 1].isalnum() else "≈"
    if mark.isspace():
        return THIN if _CHARACTERS.get(mark) == THIN else " "
    if len(mark) > 1:
        return "°" if mark[0] == "^" else _LONGER_MARKS.get(mark, "")
    if mark in _SUPERSCRIPT:
        following = mark.translate(_SUPERSCRIPTS)
        return following if text[start - 1 : start] in _SUPERSCRIPT else "^" + following
    return "" if mark in "{}" else _folded_character(mark)


def _marks(text: str) -> Iterator[tuple[int, int, str, Edge]]:
    """The marks of a text in order: start, end, what it becomes, and what it does to math mode."""
    dollars = _math_dollars(text)
    place = 0
    for match in _MARK.finditer(text):
        start, end = match.span()
        mark = match[0]
        if start < place:
            continue  # inside a fraction
        if fraction := _NUMERIC_FRACTION.match(text, start):
            place = fraction.end()
            yield start, place, f"{fraction[1] or fraction[3]}/{fraction[2] or fraction[4]}", ""
        elif mark == "$":
            edge = dollars.get(start, "")
            yield start, end, "" if edge else "$", edge
        elif mark in _DELIMITERS:
            yield start, end, "", _DELIMITERS[mark]
        else:
            yield start, end, _folded_mark(mark, text, start, end), ""


def fold(text: str) -> Folded:
    """The plain view of `text`, in time linear in its length."""
    pieces: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    math: list[tuple[int, int, int, int]] = []
    opened: tuple[int, int] | None = None
    place = 0
    for start, end, folded, edge in _marks(text):
        pieces.append(text[place:start])
        starts.extend(range(place, start))
        ends.extend(range(place + 1, start + 1))
        place = end
        if edge == "open":
            opened = (len(starts), start)
        elif edge == "close" and opened is not None:
            math.append((opened[0], len(starts), opened[1], end))
            opened = None
        pieces.append(folded)
        starts.extend([start] * len(folded))
        ends.extend([end] * len(folded))
    pieces.append(text[place:])
    starts.extend(range(place, len(text)))
    ends.extend(range(place + 1, len(text) + 1))
    return Folded(text, "".join(pieces), starts, ends, math)
