"""Gives each of a record's names the key by which it joins, by what the record's own text says of its names.

A long form gets the key of the acronym that the text gives for it, a name the key of its other form in parentheses, a
name that is only ever said as a part of another name that one's key. Links go from one form to another of the same
thing, never between names that are merely alike. Pure and deterministic: the same names and text, the same keys,
whatever else a database holds. What a name is by itself, `naming` says; which letters make an acronym, `acronyms`.
"""

import itertools
import re
from collections.abc import Collection, Iterable, Mapping, Sequence

from store.acronyms import definitions, expands, letters_of, long_form, looks_short, shuffled, spells
from store.naming import METHOD_NOUN, fold, plain, without_article

_PARENTHESES = re.compile(r"\s*[(\[]([^()\[\]]{1,120})[)\]]")
_WORD = re.compile(r"[^\W_]+|[+*#]")
_NOUN = rf"(?i:{METHOD_NOUN}|layers?|networks?|functions?|metrics?|tasks?)"
_NOUNS = re.compile(rf"\s*(?:{_NOUN}\s*)*")
_SEVERAL = re.compile(r"\w[^\w]+\w")
_GENERIC = re.compile(rf"^(\S.*?)(?:[\s-]+(?i:{METHOD_NOUN}))+$")

_VARIANT = frozenset(
    "with without using plus minus no not by from on in to at vs under over per than via base large small tiny mini "
    "nano medium big huge lite pro turbo max ultra fast few zero one full half".split()
)
"""Words that make of a name another one: "BERT large", "GPT-4 with tools", "GPT-4 few-shot"."""

_ADDED = re.compile(r"\b(?:with|without|using|plus|minus|no|not|via|by|from|[+])(?!\w)", re.IGNORECASE)
_TAIL = re.compile(r"\s|[-’'][vV]?[0-9]")
"""Begins what a name's full form has more than its short one; "MHG-VAE" is none of "MHG"."""

_BLOT = "\0"
_SENTENCE_END = re.compile(r"[.;?!]\s")
_SAYS_NOTHING = frozenset("a an the of by for in on to with and based neural model models".split())
"""Words without which a name of several words is the same: "magnitude-based pruning"."""

_MAKER = re.compile(
    r"^(?:(?:OpenAI|Google|DeepMind|Meta|Facebook|Microsoft|Anthropic|NVIDIA|IBM|Amazon|Apple|Alibaba|Baidu)(?:['’]s)?"
    r"|(?:the )?game of)\s+"
)

_CALLED = re.compile(
    r"(?:\s*(?P<dash>—|--)\s*"
    r"|,?\s(?:namely|called|named|dubbed|termed|a\.?k\.?a\.?|also known as|(?P<or>or)|i\.e\.,?)\s)[\"'“‘`]*"
)
"""What stands between a name and what the text calls it."""

_JOINED = r"\b(?:with|without|using|and|or|plus|for|from|in|on)\s+$"
"""What stands before a part of a name that is a thing of its own: "GPT-4 with tools"."""

_BETWEEN = re.compile(
    r"[\s,;:(\"'“”–—-]{1,4}"
    r"(?:(?:an?|the|our|or|called|named|dubbed|termed|namely|short|for|standing|stands|which|abbreviated|as|is|i\.e\.)"
    r"[\s,;:(\"'“”–—-]{1,3}){0,5}"
)
"""What may stand between a name and its other form."""

_INTRODUCED = re.compile(r"\s?[,—–]\s?\(?(?:an?|the|our)\s(?:[\w-]+\s){0,5}\(?(?:the\s)?")
"""Stands between a short form and its long one where that is said in passing: "STAR, a parser for the ..."."""

_BEGINS = 4
"""Letters that a long form begins with, by which it is looked for in the names."""

_REACH = 60
"""Characters between a name and its other form, at most."""


def canonical_names(
    names: Iterable[str], text: str, kinds: Mapping[str, Collection[str]] | None = None
) -> Mapping[str, str]:
    """The canonical key of each of a record's names, by what its text says of them.

    `kinds` says of each name what it was given as ("dataset"): a name is a part of one of its own kind only.
    """
    return Mentions(names, text, kinds).keys()


class Mentions:
    """The names of one record, with links from some forms to others that stand for the same."""

    def __init__(self, names: Iterable[str], text: str, kinds: Mapping[str, Collection[str]] | None = None) -> None:
        self._plain = {name: plain(name).strip() for name in names}
        self._kinds = {self._plain[name]: kinds[name] for name in self._plain} if kinds else {}
        self._kept: dict[str, str] = {}
        if not self._plain:
            return
        text = plain(text)
        forms = list(dict.fromkeys(self._plain.values()))
        low = "\n".join(forms).lower()
        # To fold what has nothing to do with a name would be the larger part of the work.
        self._defined = [
            (short, long)
            for short, long in definitions(text)
            if short[:2].lower() in low or long[:_BEGINS].lower() in low
        ]
        for short, long in self._defined:
            self._link(long, short)
        known = {fold(form) for form in forms}
        for form in forms:
            self._by_parentheses(form, text, known)
        if len(forms) > 1:
            self._by_name(forms, text, known)
            self._by_spelling(forms)
            self._by_neighbourhood(forms, text)
            self._by_tail(forms)
            self._by_words(forms)
            self._by_maker(forms, known)
            self._by_part(forms, text)
        for form in forms if self._defined else ():
            self._by_contraction(form)

    def keys(self) -> Mapping[str, str]:
        """The canonical key of each name as it was given."""
        return {name: self._key(fold(form)) for name, form in self._plain.items()}

    def other_forms(self, key: str) -> Sequence[str]:
        """The keys of the forms that the text gives for the thing with this key, the longest first."""
        return sorted((form for form in self._kept if self._key(form) == key), key=lambda form: (-len(form), form))

    def _link(self, form: str, kept: str) -> None:
        """Let one form have the key of another."""
        key, other = fold(form), fold(kept)
        if key != other and self._key(other) != key:
            self._kept.setdefault(key, other)

    def _key(self, key: str) -> str:
        while key in self._kept:
            key = self._kept[key]
        return key

    def _by_parentheses(self, form: str, text: str, known: Collection[str]) -> None:
        """A name that has its other form in parentheses: in itself, or right behind it in the text."""
        if found := _PARENTHESES.search(form):
            before, inner, after = form[: found.start()], found[1].strip(), form[found.end() :]
            if looks_short(inner) and fold(inner) in known and before and _NOUNS.fullmatch(after):
                self._link(form, inner)
                self._link(before, inner)
            elif looks_short(inner) and (at := long_form(inner, before)) >= 0:
                self._link(form, before[:at] + inner + after)
                self._link(before + after, before[:at] + inner + after)
            elif looks_short(before) and letters_of(before, inner):
                self._link(form, before + after)
                self._link(inner, before)
        elif (at := text.find(f"{form} (")) >= 0:
            inner = text[at + len(form) + 2 :][:40].partition(")")[0].strip()
            if looks_short(inner) and letters_of(inner, form):
                self._link(form, inner)

    def _by_name(self, forms: Sequence[str], text: str, known: Collection[str]) -> None:
        """Two names of which the text says that one is called by the other: "Doom (ViZDoom)", "X, namely Y"."""
        for form in forms:
            longer = [other for other in forms if len(other) > len(form) and other.endswith(form)]
            at = -1
            while (at := text.find(form, at + 1)) >= 0:
                end = at + len(form)
                if text[at - 1 : at].isalnum() or any(text.endswith(other, 0, end) for other in longer):
                    continue
                nouns = _NOUNS.match(text, end)
                found = _PARENTHESES.match(text, nouns.end()) if nouns else None
                if found and fold(found[1]) in known and not self._explains_more(found[1], form):
                    self._link(*_by_length(form, found[1]))
                elif other := _called(form, text, end, forms):
                    self._link(*_by_length(form, other))

    def _explains_more(self, short: str, form: str) -> bool:
        """Is it a longer name that ends with `form` of which the text makes the short one: "Delayed GRID (D-GRID)"?"""
        explained = (long for of, long in self._defined if of == short)
        return form in short and any(long != form and long.endswith(form) for long in explained)

    def _by_spelling(self, forms: Sequence[str]) -> None:
        """A short form and the one long form that it is made of; of one that the text explains, its explanation."""
        explained = {fold(short): long for short, long in self._defined}
        for short in filter(looks_short, forms):
            longs = {fold(form): form for form in forms if short not in form and _spelled(short, form)}
            explanation = explained.get(fold(short))
            if explanation is not None:
                longs = {key: form for key, form in longs.items() if expands(form, explanation)}
            if explanation is not None or len(longs) == 1:
                for long in longs.values():
                    self._link(long, short)

    def _by_neighbourhood(self, forms: Sequence[str], text: str) -> None:
        """A short form and a long one with its letters that the text sets beside each other: "LIM, short for …"."""
        for short in filter(looks_short, forms):
            for form in forms:
                if " " in form and short not in form and _beside(text, short, form):
                    first = short[0].lower() == form[0].lower() and letters_of(short, form)
                    if first or shuffled(short, form):
                        self._link(form, short)

    def _by_tail(self, forms: Sequence[str]) -> None:
        """A proper name that stands alone and, in one way only, before common nouns: "LSUN" and "LSUN bedrooms"."""
        shown = list(dict.fromkeys(without_article(_without_long_form(form)) for form in forms))
        for short in forms:
            if any(c.isupper() or c.isdigit() for c in short):
                longer = [form for form in shown if form.startswith(f"{short} ") and fold(form) != fold(short)]
                tail = _WORD.findall(longer[0][len(short) :]) if len({fold(form) for form in longer}) == 1 else []
                if tail and all(w.isalpha() and w.islower() and w not in _VARIANT for w in tail):
                    self._link(longer[0], short)

    def _by_part(self, forms: Sequence[str], text: str) -> None:
        """A name that the text says as a part of one other only, or for short once it has said that one in full.

        "zsRE", where a text has "zsRE QA" alone; "LLaVA", where it begins with "LLaVA-V1.5".
        """
        for short in forms:
            longer = [form for form in forms if short in form and short != form and self._alike(short, form)]
            if not longer:
                continue
            whole = re.compile(rf"(?<!\w){re.escape(short)}(?![\w/])")
            longer = [form for form in longer if whole.search(form)]
            if len({self._key(fold(form)) for form in longer}) != 1:
                continue
            longer.sort(key=len, reverse=True)
            rest, first = text, min(text.find(form) for form in longer)
            for form in longer:
                rest = rest.replace(form, _BLOT * len(form))
            alone = [found.start() for found in whole.finditer(rest)]
            if rest == text or re.search(_JOINED, longer[0][: longer[0].find(short)]):
                continue
            if not alone or (_for_short(short, longer) and 0 <= first < alone[0] and not _together(rest, alone)):
                self._link(short, longer[0])

    def _by_words(self, forms: Sequence[str]) -> None:
        """Two names of the same words, but for those that say nothing: "split-by-lemma", "lemma split"."""
        by_words: dict[frozenset[str], str] = {}
        for form in forms:
            words = frozenset(_WORD.findall(form.lower())) - _SAYS_NOTHING
            if len(words) > 1:
                self._link(form, by_words.setdefault(words, form))

    def _by_maker(self, forms: Sequence[str], known: Collection[str]) -> None:
        """A name with its maker before it: "OpenAI Codex"."""
        for form in forms:
            rest = _MAKER.sub("", form)
            if rest != form and fold(rest) in known:
                self._link(form, rest)

    def _alike(self, one: str, other: str) -> bool:
        """Were the two given as things of one kind?"""
        return not self._kinds or any(kind in self._kinds[other] for kind in self._kinds[one])

    def _by_contraction(self, form: str) -> None:
        """A name that has a long form within it, for which the text gives the short one."""
        low = form.lower()
        for short, long in self._defined:
            at = low.find(long.lower())
            if at >= 0 and len(long) < len(form):
                self._link(form, form[:at] + short + form[at + len(long) :])


def _called(form: str, text: str, end: int, forms: Iterable[str]) -> str | None:
    """By which of these forms the text calls a form that ends there, if by any."""
    found = _CALLED.match(text, end)
    for other in forms if found else ():
        if found and text.startswith(other, found.end()) and other not in form and form not in other:
            if found["dash"]:
                said = looks_short(form) and other.count(" ") > 1
            else:
                said = not found["or"] or text.startswith(" for short", found.end() + len(other))
            if said:
                return other
    return None


def _for_short(short: str, longer: Sequence[str]) -> bool:
    """Is a name the beginning of these, which add no word that makes of it another thing?"""
    tails = [form[len(short) :] for form in longer if form.startswith(short)]
    return len(tails) == len(longer) and all(_TAIL.match(tail) and not _ADDED.search(tail) for tail in tails)


def _together(rest: str, places: Iterable[int]) -> bool:
    """Is there a sentence with one of these places and with a name that was blotted out?"""
    ends = [0, *(found.end() for found in _SENTENCE_END.finditer(rest)), len(rest)]
    return any(any(a <= at < b for at in places) and _BLOT in rest[a:b] for a, b in itertools.pairwise(ends))


def _by_length(one: str, other: str) -> tuple[str, str]:
    """Of two forms of one thing, the one that gets the other's key, and the one of fewer words, else the first."""
    return (one, other) if len(one.split()) > len(other.split()) else (other, one)


def _without_long_form(form: str) -> str:
    """A name that gives its short form in parentheses, without the long one: "GNI function"."""
    found = _PARENTHESES.search(form)
    if found and looks_short(found[1]) and (at := long_form(found[1], form[: found.start()])) >= 0:
        return form[:at] + found[1] + form[found.end() :]
    return form


def _beside(text: str, short: str, long: str) -> bool:
    """Does the text say one of the names right after the other?"""
    at = text.find(long)
    while at >= 0:
        before, after = text[max(0, at - _REACH) : at], text[at + len(long) :][:_REACH]
        first, last = before.rfind(short), after.find(short)
        between = (_BETWEEN, _INTRODUCED) if len(short) > 3 else (_BETWEEN,)
        if first >= 0 and any(pattern.fullmatch(before, first + len(short)) for pattern in between):
            return True
        if last >= 0 and _BETWEEN.fullmatch(after, 0, last):
            return True
        at = text.find(long, at + 1)
    return False


def _spelled(short: str, form: str) -> bool:
    if short[:1].lower() != form[:1].lower() or len(form) <= len(short) or not _SEVERAL.search(form):
        return False
    return spells(short, form) or spells(short, _GENERIC.sub(r"\1", form))
