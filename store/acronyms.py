"""Tells whether a short form stands for a long one, and finds the pairs that a text gives: "Penn Treebank (PTB)".

Two rules. `letters_of`, that of Schwartz and Hearst (2003), needs a text that sets the two beside each other: the
letters of the short form stand in the long one in order, the first at the beginning of a word. `spells` needs no text:
the short form is made of the beginnings of all words of the long one, or of its capitals. Both know how papers coin
names: `I3C` says a letter three times, `S2UT` has "to" in it, `xRR` "cross". Of names and their keys nothing is known
here (`naming` does that); texts come without LaTeX's marks of style.
"""

import functools
import re
from collections.abc import Iterator, Sequence

Letters = Sequence[tuple[str, ...]]
"""The letters of a short form, in lower case, each with all that may stand for it in the long one."""

_MOST_LETTERS = 14
_REACH = 200
"""How far before a parenthesis a long form may begin."""

_IN_PARENTHESES = re.compile(r"\(([^()]{2,120})\)")
_ASIDE = re.compile(r"[,;:]\s")
_SENTENCE_END = re.compile(r"[.;:?!]\s|[()]")
_WORD = re.compile(r"\S+")
_LONG_WORD = re.compile(r"[^\W_]+")
_HYPHENED = re.compile(r"[^\W_][\w-]*")
_LETTER = re.compile(r"[^\W_]")
_SPOKEN = {"2": ("2", "to", "two", "second"), "4": ("4", "for", "four"), "x": ("x", "cross", "ex")}
_REPEATS = "23456"
_SMALL = frozenset("a an and as at by for from in into of on or the to via with".split())
_QUOTES = "\"'“”‘’` "


@functools.lru_cache(maxsize=65_536)
def looks_short(name: str) -> bool:
    """Could it be an acronym: one word or two of few letters, written as no common word is?"""
    letters = _LETTER.findall(name)
    if not 2 <= len(letters) <= _MOST_LETTERS or len(name.split()) > 2 or not name[0].isalnum():
        return False
    return not all(c.islower() for c in letters[1:])


def letters_of(short: str, long: str) -> bool:
    """Do the letters of `short` stand in `long` in this order, the first one at its beginning?"""
    low = long.lower()
    first = _LETTER.search(low)
    return first is not None and len(low) > len(short) and any(_fit(low[first.start() :], r) for r in _readings(short))


def spells(short: str, long: str) -> bool:
    """Is `short` made of the beginnings of all words of `long`, small ones left out at will, or of its capitals?"""
    words = _LONG_WORD.findall(long)
    if len(words) < 2 or len(long) <= len(short):
        return False
    said = "".join(_LETTER.findall(_without_plural(short))).lower()
    capitals = "".join(c for c in long if c.isupper()).lower()
    if len(capitals) > 2 and capitals == said:
        return True
    if len(said) < 2:
        return False
    ways = ["".join(way[0] for way in reading) for reading in _readings(short)]
    if said[-1] == "s" and long[-1] == "s":
        ways.append(said[:-1])
    hyphened = _HYPHENED.findall(long)
    return any(_beginnings(way, words) or (len(hyphened) > 1 and _beginnings(way, hyphened)) for way in ways)


def shuffled(short: str, long: str) -> bool:
    """Are the letters of `short`, four or more, the beginnings of the words of `long` in any order?"""
    letters = sorted("".join(_LETTER.findall(short)).lower())
    begins = [word[0].lower() for word in _HYPHENED.findall(long) if word.lower() not in _SMALL]
    return len(letters) > 3 and letters == sorted(begins)


def expands(form: str, long: str) -> bool:
    """Is `long` the other with an acronym in it spelled out: "parallel SGD", "parallel stochastic gradient descent"?"""
    return _expands(form.split(), long.split())


def _expands(form: Sequence[str], long: Sequence[str]) -> bool:
    if not form or not long:
        return not form and not long
    if form[0].lower() == long[0].lower():
        return _expands(form[1:], long[1:])
    spelled = (n for n in range(2, len(long) + 1) if spells(form[0], " ".join(long[:n])))
    return any(_expands(form[1:], long[n:]) for n in spelled)


def definitions(text: str) -> Iterator[tuple[str, str]]:
    """The short forms that a text explains in parentheses, each with its long form, as they are written."""
    for found in _IN_PARENTHESES.finditer(text):
        inner = found[1].strip(_QUOTES)
        before = _SENTENCE_END.split(text[max(0, found.start() - _REACH) : found.start()])[-1].rstrip(_QUOTES)
        short = _ASIDE.split(inner, maxsplit=1)[0].strip(_QUOTES)
        if short and looks_short(short) and (at := long_form(short, before)) >= 0:
            yield short, before[at:]
        elif before:
            word = before.rsplit(None, 1)[-1].strip(_QUOTES + ",")
            if word and looks_short(word) and (letters_of(word, inner) or spells(word, inner)):
                yield word, inner


def long_form(short: str, before: str) -> int:
    """Where in `before` the long form begins that ends with it; -1 if there is none."""
    words = list(_WORD.finditer(before))[-min(len(short) + 5, 2 * len(short)) :]
    if not words:
        return -1
    low = before.lower()
    for letters in _readings(short):
        at = _begins(low, letters, words[0].start())
        if at >= 0 and len(before) - at > len(short):
            return at
    return -1


def _without_plural(short: str) -> str:
    return short[:-1] if len(short) > 2 and short[-1] == "s" and not short[-2].islower() else short


def _readings(short: str) -> Iterator[Letters]:
    """The ways to read a short form: as it is written, and with a digit as so many times the letter beside it."""
    letters = [c.lower() for c in _LETTER.findall(_without_plural(short))]
    yield [_SPOKEN.get(c, (c,)) for c in letters]
    for at, c in enumerate(letters):
        if c in _REPEATS and len(letters) > 1:
            times = int(c)
            if at:
                yield [(x,) for x in letters[: at - 1] + [letters[at - 1]] * times + letters[at + 1 :]]
            if at + 1 < len(letters):
                yield [(x,) for x in letters[:at] + [letters[at + 1]] * times + letters[at + 2 :]]


def _fit(low: str, letters: Letters) -> bool:
    """Do the letters stand in `low` in order, the first at its beginning?"""
    if not low.startswith(letters[0]):
        return False
    at = 1
    for ways in letters[1:]:
        places = [place + len(way) for way in ways if (place := low.find(way, at)) >= 0]
        if not places:
            return False
        at = min(places)
    return True


def _begins(low: str, letters: Letters, first: int) -> int:
    """Where a long form begins that ends with `low` and has these letters, not before `first`; -1 if none does.

    From the right, each letter as far right as it can be, and the first one at the beginning of a word.
    """
    end = len(low)
    for ways in reversed(letters[1:]):
        end = low.rfind(ways[0], first, end) if len(ways) == 1 else max(low.rfind(way, first, end) for way in ways)
        if end < 0:
            return -1
    while (end := max(low.rfind(way, first, end) for way in letters[0])) > 0:
        if not low[end - 1].isalnum():
            break
    return end


def _beginnings(letters: str, words: Sequence[str]) -> bool:
    """Are the letters the beginnings of all the words, one after the other? Small words may be left out.

    Of a word with a capital within, itself a coined name, nothing less than the whole.
    """
    if not letters or not words:
        return not letters and all(word in _SMALL for word in words)
    word, rest = words[0].lower(), words[1:]
    if words[0][1:] != word[1:]:
        return letters.startswith(word) and _beginnings(letters[len(word) :], rest)
    if word in _SMALL and _beginnings(letters, rest):
        return True
    most = 0
    while most < min(len(word), len(letters)) and word[most] == letters[most]:
        most += 1
    return any(_beginnings(letters[taken:], rest) for taken in range(most, 0, -1))
