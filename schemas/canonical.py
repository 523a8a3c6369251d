r"""Folds a text to the form in which two ways of writing the same thing are equal, with a map back to its offsets.

Folded away: Unicode compatibility forms and ligatures, composed against combining marks, white space and line breaks,
soft hyphens and invisible characters, the kinds of quotes and dashes, hyphens between letters (a line's end may have
put one there or be hiding one: `multi-task`, `multitask` and `multi-` + line break + `task` are the same), LaTeX
mark-up (`\textbf{..}`, `$..$`, `\%`, `{,}`, `~`, `\times`, `--`), citations, the entities and
simple tags of HTML, Markdown's bold, and letter case when told to.

It does not decide whether two places say the same: what may begin or end there, and what a number means, is for the
caller (`folding` is the view in which numbers are read; there what a sign means survives, here only what it is). It
knows no macro of a paper's own; an unknown command is its name.
"""

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache

_DASHES = "-‐‑‒–—―−⁃﹘﹣－"
_SINGLE_QUOTES = "'‘’‚‛′`´＇"
_DOUBLE_QUOTES = '"“”„‟″«»＂'
_GREEK = dict(
    zip(
        "αβγδεζηθικλμνξοπρσςτυφχψω",
        "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi omicron pi rho sigma sigma tau "
        "upsilon phi chi psi omega".split(),
        strict=True,
    )
)  # a letter is its name, as is a command without one of its own: `τ-bench`, `$\\tau$-bench` and `tau-bench` are equal
_CHARACTERS: dict[str, str] = {
    **_GREEK,
    **{letter.upper(): name.capitalize() for letter, name in _GREEK.items()},
    **dict.fromkeys(_DASHES, "-"),
    **dict.fromkeys(_SINGLE_QUOTES, "'"),
    **dict.fromkeys(_DOUBLE_QUOTES, '"'),
    **dict.fromkeys("×✕✖⨯", "x"),
    **dict.fromkeys("⁄∕÷", "/"),
    **dict.fromkeys("∼～〜˜", " "),  # "about", as LaTeX's ~ and \sim; the words beside a number are read from the text
    "⋅": "·",
    "ˆ": "^",
    "∗": "*",
    "µ": "mu",
}
_THIN = "\u2009\u202f"
_FRACTIONS = "¼½¾⅐⅑⅒⅓⅔⅕⅖⅗⅘⅙⅚⅛⅜⅝⅞"
_FORMATTING = frozenset(
    "textbf textit textsc textrm textsf texttt textsl textmd textup textnormal textcolor emph text mbox hbox uline ul "
    "underline mathbf mathrm mathit mathsf mathtt mathcal mathbb mathfrak mathscr mathnormal boldsymbol bm bf it em rm "
    "sc sf tt sl bfseries itshape scshape ttfamily rmfamily sffamily normalfont small large operatorname url href left "
    "right big Big bigl bigr Bigl Bigr displaystyle textstyle limits nolimits ensuremath xspace protect num SI si qty "
    "unit frac dfrac tfrac".split()
)
_COMMANDS: dict[str, str] = {
    "times": "x", "texttimes": "x", "cdot": "·", "textperiodcentered": "·", "pm": "±", "mp": "∓", "approx": "≈",
    "sim": " ", "textasciitilde": " ", "simeq": "≃", "le": "≤", "leq": "≤", "leqslant": "≤", "ge": "≥", "geq": "≥",
    "geqslant": "≥", "ll": "≪", "gg": "≫", "lt": "<", "gt": ">", "textless": "<", "textgreater": ">", "ne": "≠",
    "neq": "≠", "to": "→", "rightarrow": "→", "leftarrow": "←", "uparrow": "↑", "downarrow": "↓", "infty": "∞",
    "in": "∈", "sum": "∑", "prod": "∏", "sqrt": "√", "ldots": "...", "dots": "...", "cdots": "⋯", "textellipsis": "...",
    "quad": " ", "qquad": " ", "space": " ", "newline": " ", "textendash": "-", "textemdash": "-",
    "textquoteright": "'", "textquoteleft": "'", "textquotedblleft": '"', "textquotedblright": '"',
    "textsuperscript": "^", "textsubscript": "_", "percent": "%", "textpercent": "%", "textdollar": "$",
    "textunderscore": "_", "slash": "/", "ast": "*", "prime": "'", "circ": "°", "degree": "°", "textdegree": "°",
    "ell": "l", "ss": "ß", "ae": "æ", "oe": "œ", "o": "ø", "aa": "å",
    "varepsilon": "epsilon", "vartheta": "theta", "varrho": "rho", "varsigma": "sigma", "varphi": "phi",
}  # fmt: skip
_ACCENTS = {
    "'": "\u0301", "`": "\u0300", "^": "\u0302", '"': "\u0308", "~": "\u0303", "=": "\u0304", ".": "\u0307",
    "c": "\u0327", "v": "\u030c", "u": "\u0306", "H": "\u030b", "k": "\u0328", "r": "\u030a",
}  # fmt: skip
_ESCAPED = {
    ",": " ", ";": " ", ":": " ", " ": " ", "\n": " ", "\\": " ",
    "!": "", "/": "", "-": "", "(": "", ")": "", "[": "", "]": "",
}  # fmt: skip
_MARKS = {"{": "", "}": "", "~": " ", "`": "'"}
_HTML = {
    "&lt;": "<", "&gt;": ">", "&amp;": "&", "&quot;": '"', "&nbsp;": " ", "&ndash;": "-", "&mdash;": "-",
    "&minus;": "-", "&times;": "x", "&plusmn;": "±", "&approx;": "≈", "<sup>": "^", "<sub>": "_",
}  # fmt: skip

# `re` finds one of a class of characters fast and one of many forms slowly: each pass goes from hit to hit of a class.
_MARKED = re.compile(r"[\\{}$~`'*<&\x80-\U0010ffff]")
_COMMAND = re.compile(
    r"\\[dt]?frac\{(?P<over>[^{}\\$]{1,40})\}\{(?P<under>[^{}\\$]{1,40})\}"
    r"|\\(?:[Cc]ite[A-Za-z]*|ref|eqref|label|textcolor|color|href)\*?"
    r"(?P<dropped>(?:\[[^][{}]{0,200}\])?\{[^{}]{0,400}\})"
    r"|\\(?:(?P<accent>['`^\"~=.])|(?P<letter_accent>[cvuHkr])(?=\{))"
    r"(?:\{\\?(?P<braced>[A-Za-z])\}|\\?(?P<bare>[A-Za-z]))"
    r"|\\(?P<command>[A-Za-z]+)\*?\s*"
    r"|\\(?P<escaped>[\s\S])"
)
_RUN = re.compile(
    r"(?P<powers>[⁰¹²³⁴-⁹⁺⁻⁽⁾ⁿⁱ]+)|(?P<indices>[₀-₎]+)|\u00ad\s*|\}\s?(?P<arguments>\{)|``|''|\*\*|&[a-z]{2,6};"
    r"|</?(?:su[bp]|[ibu]|em|strong|tt|code)>"
)
_SPACED = re.compile(r"[-\s](?:(?<=-)-*\s*|(?<=[^\S ])\s*|(?<= )(?:\s+|(?=[x%0-9])))")
_FACTOR = re.compile(r"x(?![A-Za-z])")
_GROUP = re.compile(r"[0-9]{3}(?![0-9])")
_WIDE = re.compile(r"[^\x00-\x7f]")
_ASCII_LOWER = {upper: upper + 32 for upper in range(ord("A"), ord("Z") + 1)}

_Edit = tuple[int, int, str]
"""What a pass replaces: start and end in its source, and the piece that stands there instead."""


@dataclass(frozen=True, slots=True)
class _Pass:
    """A rewritten text and its edits: the k-th put `text[starts[k]:ends[k]]` where the source had `sources[k]`."""

    text: str
    starts: list[int]
    ends: list[int]
    sources: list[tuple[int, int]]

    def origin(self, at: int) -> tuple[int, int]:
        """The source's characters that the character `at` comes from."""
        edit = bisect_right(self.starts, at) - 1
        if edit < 0:
            return at, at + 1
        if at < self.ends[edit]:
            return self.sources[edit]
        source = self.sources[edit][1] + at - self.ends[edit]
        return source, source + 1

    def position(self, source: int) -> int:
        """The first character that comes from `source` or later, with all of it."""
        edit = bisect_right(self.sources, (source, source)) - 1
        if edit >= 0 and self.sources[edit][0] < source:
            return self.ends[edit] + max(0, source - self.sources[edit][1])
        return self.starts[edit] if edit >= 0 else source


@dataclass(frozen=True, slots=True)
class Folded:
    """A folded text and the way back to the original's offsets."""

    text: str
    passes: tuple[_Pass, ...]

    def origin(self, at: int) -> tuple[int, int]:
        """The start and end of what the character `at` comes from, in the original."""
        start, end = at, at + 1
        for made in reversed(self.passes):
            start, end = made.origin(start)[0], made.origin(end - 1)[1]
        return start, end

    def span(self, start: int, end: int) -> tuple[int, int] | None:
        r"""The original's offsets of `text[start:end]`; None where an end is inside what is one piece in the original.

        Half a ligature, of a composed letter or of `\times` has no offsets. Mark-up around the span is not in it.
        """
        first, last = self.origin(start), self.origin(end - 1)
        if start and self.origin(start - 1)[1] > first[0]:
            return None
        if end < len(self.text) and self.origin(end)[0] < last[1]:
            return None
        return first[0], last[1]

    def position(self, offset: int) -> int:
        """The first folded character that comes from `offset` of the original or later."""
        for made in self.passes:
            offset = made.position(offset)
        return offset


def fold(text: str, case: bool = False) -> Folded:
    """Folds a text, its letter case too if `case`; takes any string, in linear time."""
    plain = _rewrite(text, _marked(text))
    spaced = _rewrite(plain.text, _spaced(plain.text))
    if not case:
        return Folded(spaced.text, (plain, spaced))
    lower = _rewrite(spaced.text, ((*m.span(), m[0].casefold()) for m in _WIDE.finditer(spaced.text)))
    return Folded(lower.text.translate(_ASCII_LOWER), (plain, spaced, lower))


def fold_text(text: str, case: bool = False) -> str:
    """The folded text alone, without white space around it: two quotes are equal if theirs are."""
    return fold(text, case).text.strip()


def _rewrite(source: str, edits: Iterable[_Edit]) -> _Pass:
    pieces: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    sources: list[tuple[int, int]] = []
    done = length = 0
    for start, end, piece in edits:
        if start > done:
            pieces.append(source[done:start])
            length += start - done
        pieces.append(piece)
        starts.append(length)
        length += len(piece)
        ends.append(length)
        sources.append((start, end))
        done = end
    pieces.append(source[done:])
    return _Pass("".join(pieces), starts, ends, sources)


def _marked(text: str) -> Iterator[_Edit]:
    """Mark-up and characters outside ASCII, each with what it stands for."""
    math = _math_delimiters(text) if "$" in text else frozenset()
    done = 0
    for hit in _MARKED.finditer(text):
        start = hit.start()
        if start < done:
            continue
        if hit[0] == "\\":
            piece, done = _command(text, start)
        elif run := _RUN.match(text, start):
            piece, done = _run(run), run.end()
        elif hit[0] == "$":  # a currency's sign stays: it is the number's unit
            done = start + 1
            piece = "$" if start not in math and text[done : done + 1].isdecimal() else ""
        else:
            piece, done = _single(text, start), start + 1
        if piece != text[start:done]:
            yield start, done, piece


def _command(text: str, start: int) -> tuple[str, int]:
    """What the command or escape at `start` stands for, and where it ends."""
    match = _COMMAND.match(text, start)
    if match is None:
        return "\\", start + 1
    if match["command"] is not None:
        name = match["command"]
        if name in _FORMATTING:
            return "", match.end()  # with the white space that TeX takes for the end of a command's name
        return _COMMANDS.get(name, name), start + len(match[0].rstrip())
    if match["dropped"] is not None:
        return "", match.end()
    if match["over"] is not None:
        return f"{match['over']}/{match['under']}", match.end()
    if match["escaped"] is None:
        return (match["braced"] or match["bare"]) + _ACCENTS[match["accent"] or match["letter_accent"]], match.end()
    if match["escaped"] == "," and _groups_digits(text, start, match.end()):
        return ",", match.end()
    return _ESCAPED.get(match["escaped"], match["escaped"]), match.end()


def _run(match: re.Match[str]) -> str:
    """What several characters together stand for."""
    piece = match[0]
    if match["powers"] or match["indices"]:
        return ("^" if match["powers"] else "_") + _decomposed(piece)
    if match["arguments"]:
        return " "
    if piece[0] in "&<":
        return _HTML.get(piece, piece if piece[0] == "&" else "")
    return '"' if piece in ("``", "''") else ""


def _single(text: str, start: int) -> str:
    """What one character stands for."""
    character = text[start]
    if character <= "\x7f":
        return _MARKS.get(character, character)
    if character in _THIN and _groups_digits(text, start, start + 1):
        return ","
    if character in _FRACTIONS and text[max(0, start - 1) : start].isdecimal():
        return " " + _character(character)
    return _character(character)


def _groups_digits(text: str, start: int, end: int) -> bool:
    r"""Whether a thin space separates thousands: `10\,000`."""
    return text[max(0, start - 1) : start].isdecimal() and _GROUP.match(text, end) is not None


@lru_cache(maxsize=4096)
def _character(character: str) -> str:
    """A character outside ASCII, folded: decomposed, invisible ones gone, one kind of space, dash and quote."""
    known = _CHARACTERS.get(character)
    if known is not None:
        return known
    if unicodedata.category(character) == "Cf" or "\ufe00" <= character <= "\ufe0f":
        return ""
    return " " if character.isspace() else _decomposed(character)


def _decomposed(piece: str) -> str:
    return "".join(_CHARACTERS.get(c, c) for c in unicodedata.normalize("NFKD", piece))


def _spaced(text: str) -> Iterator[_Edit]:
    """White space and dashes, each in one form; none of it between a number and its `%` or factor's x."""
    factor = -1  # the last x that is a factor's
    for match in _SPACED.finditer(text):
        start, end = match.span()
        before, after = text[max(0, start - 1) : start], text[end : end + 1]
        if match[0][0] == "-":
            piece = _dash(match[0], before, after)
        elif before.isdecimal() and after == "x" and _FACTOR.match(text, end):
            piece, factor = "", end
        elif before == "x" and after.isdecimal() and (factor == start - 1 or text[max(0, start - 2)].isdecimal()):
            piece = ""
        else:
            piece = "" if before.isdecimal() and after == "%" else " "
        if piece != match[0]:
            yield start, end, piece


def _dash(dash: str, before: str, after: str) -> str:
    """A dash and the white space after it: a line's end may have put the hyphen there, or the break after it."""
    if not before or before.isspace():
        return "- " if dash[-1].isspace() else "-"
    return "" if before.isalpha() and after.isalpha() else "-"


def _math_delimiters(text: str) -> frozenset[int]:
    """Where a `$` opens or closes math, by pandoc's rule: no white space inside of it, `$5 and $6` is money."""
    found: list[int] = []
    opened: int | None = None
    for match in re.finditer(r"\\.|\$", text):
        if match[0] != "$":
            continue
        at = match.start()
        before, after = text[max(0, at - 1) : at], text[at + 1 : at + 2]
        if opened is not None and not before.isspace() and not (after.isdecimal() and text[opened + 1].isdecimal()):
            found += (opened, at)
            opened = None
        else:
            opened = at if after and not after.isspace() else None
    return frozenset(found)
