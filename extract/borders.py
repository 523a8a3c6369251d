r"""What may be the two ends of a quote in a text: no word, number, letter or piece of mark-up is cut in two.

Pure functions of a text and offsets. It doesn't look for quotes and doesn't know what a number is worth.
"""

import re
import unicodedata
from collections.abc import Iterator

_SPACELESS = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff]"
)
_DELIMITER = re.compile(r"\\[^A-Za-z]|[{}$]")
_MARKUP_BEFORE = re.compile(r"(?:(?:\\[A-Za-z]+\*?\s?)?\{|[}$])+\Z")
_MARKUP_AFTER = re.compile(r"(?:(?:\\(?:(?:text|math)[a-z]+|emph))?\{|[}$])+")
_OPENING = re.compile(r"(?:\\[A-Za-z]+\*?\s?)?\{\Z")
_LONGEST_MARKUP = 40


def is_whole(text: str, start: int, end: int, number: bool = False) -> bool:
    r"""Whether `text[start:end]` is cut out of no longer word, name, number, letter with its marks, or LaTeX command.

    Mark-up doesn't part what it stands in: `Foo` is cut out of `\textbf{Foo}Net`. A plural s may follow a word. In a
    `number`, whose value is compared besides, letters may touch a digit, as in `7x` and `to7%`, and a comma between
    digits may be that of a list.
    """
    return _starts(text, start, number) and _ends(text, start, end, number)


def _starts(text: str, start: int, number: bool) -> bool:
    first, before = text[start], text[max(0, start - 2) : start]
    if before[-1:] in ("{", "}", "$"):
        before = _MARKUP_BEFORE.sub("", text[max(0, start - _LONGEST_MARKUP) : start])[-2:]
    if not before or not first.isalnum():
        return True
    near, far = before[-1], before[:-1]
    if near == "\\":  # inside a command, unless it is a line's end
        return far == "\\"
    if near.isalnum():
        factor = near == "x" and far.isdecimal() and first.isalpha()  # `8xH100`
        return factor or _spaceless(near + first) or (number and near.isalpha() and first.isdecimal())
    if near == "." and first.isdecimal():  # a decimal point, with or without digits before it
        return far.isalpha()
    return not (near == "," and first.isdecimal() and far.isdecimal()) or number


def _ends(text: str, start: int, end: int, number: bool) -> bool:
    word = text[max(start, end - 2) : end]
    last = word[-1]
    if text[end : end + 1] in ("\\", "{", "}", "$") and (markup := _MARKUP_AFTER.match(text, end)):
        end = markup.end()
    near, far = text[end : end + 1], text[end + 1 : end + 2]
    if not near:
        return True
    if unicodedata.category(near)[0] == "M":
        return False
    if last.isdecimal() and far.isdecimal() and (near == "." or (near == "," and not number)):
        return False
    if not last.isalnum() or not near.isalnum() or _spaceless(last + near):
        return True
    if last.isdecimal():
        return number and near.isalpha()
    return near == "s" and not far.isalnum() and len(word) == 2 and word.isalpha()


def _spaceless(two: str) -> bool:
    """Whether a word may end between two characters because one is of a script written without spaces."""
    return not two.isascii() and _SPACELESS.search(two) is not None


def balanced(text: str, start: int, end: int, left: int, right: int) -> tuple[int, int]:
    r"""The span with the other ends of the mark-up that has one end in it, as far as they follow directly.

    `left:right` bounds what may be taken in: the mark-up around the span. `by \textbf{5` grows to `by \textbf{5}`.
    """
    opened, closed = _unpaired(text, start, end)
    for mark in reversed(opened):
        if end < right and text[end] == ("}" if mark == "{" else "$"):
            end += 1
        elif mark == "$" and start > left and text[start - 1] == "$":
            start -= 1
        else:
            break
    for _ in range(closed):
        opening = _OPENING.search(text, max(left, start - _LONGEST_MARKUP), start)
        if opening is None:
            break
        start = opening.start()
    return start, end


def _unpaired(text: str, start: int, end: int) -> tuple[list[str], int]:
    """The opening marks without an end in the span, a `$` among them, and the number of ends without an opening."""
    opened: list[str] = []
    closed = 0
    for mark in _delimiters(text, start, end):
        if mark == "{" or (mark == "$" and opened[-1:] != ["$"]):
            opened.append(mark)
        elif opened and (mark == "$" or opened[-1] == "{"):
            opened.pop()
        else:
            closed += 1
    return opened, closed


def _delimiters(text: str, start: int, end: int) -> Iterator[str]:
    return (match[0] for match in _DELIMITER.finditer(text, start, end) if match[0][0] != "\\")
