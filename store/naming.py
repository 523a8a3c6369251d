r"""Folds a name to its canonical key, so that "CIFAR-10", "CIFAR10" and "the cifar 10 dataset" are one to who counts.

`fold` looks at the name alone: case, accents, white space, hyphens, LaTeX mark-up, a plural, "the", the generic noun
behind a name ("dataset", "benchmark"). `canonical_names` adds what one record's text says of its own names: a long form
gets the key of the acronym that the text gives for it. Both are pure and deterministic: the same name and text, the
same key, whatever else a database holds. Names that are merely alike keep their own keys; `aliases` proposes those.
"""

import functools
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence

from store.acronyms import definitions, letters_of, long_form, looks_short, spells

_STYLE = re.compile(
    r"\\(?:text|math)(?:bf|it|tt|rm|sf|sc|sl|bb|cal|frak|normal|up)?\b|\\(?:emph|underline|operatorname|bm|boldsymbol)\b"
    r"|\\(?:bf|it|tt|rm|em)\b|\*\*|[${}^~]|\\[,;:! ]"
)
_PARENTHESES = re.compile(r"\s*[(\[]([^()\[\]]{1,120})[)\]]")
_WORD = re.compile(r"[^\W_]+|[+*#]")

_DATA_NOUN = "datasets?|data ?sets?|corpus|corpora|benchmarks?|testbeds?"
_METHOD_NOUN = (
    f"models?|methods?|algorithms?|approach|framework|optimi[sz]er|baselines?|architecture|systems?|series|{_DATA_NOUN}"
)
_SEPARATORS = {"re": r"(?:[^\w.+*#]|_)+", "sql": r"[^\p{L}\p{N}.+*#]+"}
"""White space and signs that are no part of a name, as Python and as DuckDB write it."""

_RULES: Sequence[tuple[str, str]] = (
    (r"^\s*(?:(?i:the|an?|our|standard|vanilla|existing|plain)\s+)+(\S)", r"\1"),
    (r"(\S)['’]s(\s|$)", r"\1\2"),
    (r"([0-9])\.([0-9])", r"\1_\2"),  # from here to the end `_` is a decimal point
    (r"([0-9])\.([0-9])", r"\1_\2"),  # of 1.2.3 the second one
    (r"\.+", " "),
    ("SEPARATORS", " "),
    (r"^ | $", ""),
    (rf"^(\S.*?)(?: (?i:{_DATA_NOUN}))+$", r"\1"),
    (rf"^(.*?[A-Z0-9].*?)(?: (?i:{_METHOD_NOUN}))+$", r"\1"),  # "BERT model", but a "diffusion model" is no "diffusion"
    (r"([A-Z0-9])s$", r"\1"),
    (r"([A-Za-z0-9]{2})ies$", r"\1y"),
    (r"(ss|x|ch|sh)es$", r"\1"),
    (r"([A-Za-z0-9]{3}[A-Z0-9b-hj-np-rtv-z])s$", r"\1"),  # not of "corpus", "basis", "atlas", "loss"
    (r"(?:_0)+$", ""),
    (r"([0-9]) ([0-9])", r"\1-\2"),
    (r"([0-9]) ([0-9])", r"\1-\2"),
    (r" +", ""),
    (r"_", "."),
)
"""What is replaced by what, in this order, in a notation that Python and DuckDB (RE2) read alike.

`SEPARATORS` stands for the one pattern that they don't, where `_` is kept.
"""


def _pattern(rule: str, notation: str) -> str:
    if rule != "SEPARATORS":
        return rule
    kept = _SEPARATORS[notation]
    return kept.replace("|_", "") if notation == "re" else kept.replace(".+*#", "_.+*#")


_FOLDING = tuple((re.compile(_pattern(rule, "re")), into) for rule, into in _RULES)


def plain(text: str) -> str:
    r"""The text in compatibility form, without marks of style: `$\textbf{Hu}$manoid` is "Humanoid"."""
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
    return _STYLE.sub("", text).replace("\\", "") if "\\" in text or "$" in text or "**" in text else text


@functools.lru_cache(maxsize=65_536)
def fold(name: str) -> str:
    """The canonical key of a name by itself; not empty unless the name is.

    Letters and digits in lower case, without what stands between them but a hyphen between two digits.
    """
    key = plain(name).replace("_", " ")
    if not key.isascii():
        key = "".join(map(_letter, unicodedata.normalize("NFKD", key)))
    for pattern, into in _FOLDING:
        key = pattern.sub(into, key)
    return key.lower() or "".join(name.split()).lower()


def fold_sql(name: str) -> str:
    """SQL that folds the SQL expression `name` as `fold` does, but for LaTeX mark-up and Greek letters."""
    key = f"replace(strip_accents({name}), '_', ' ')"
    for rule, into in _RULES:
        pattern = _pattern(rule, "sql").replace("'", "''")
        key = f"regexp_replace({key}, '{pattern}', '{into}', 'g')"
    return f"coalesce(nullif(lower({key}), ''), lower(regexp_replace({name}, '\\s+', '', 'g')))"


def _letter(c: str) -> str:
    """A letter without its accent; a Greek one by its name, as LaTeX writes it."""
    if unicodedata.combining(c):
        return ""
    if not "α" <= c.lower() <= "ω":
        return c
    name = unicodedata.name(c).rpartition(" ")[2]
    return name.capitalize() if c.isupper() else name.lower()


def canonical_names(names: Iterable[str], text: str) -> Mapping[str, str]:
    """The canonical key of each of a record's names, by what its text says of them."""
    return _Naming(names, text).keys()


_VARIANT = frozenset(
    "with without using plus minus no not by from on in to at vs under over per than via base large small tiny mini "
    "nano medium big huge lite pro turbo max ultra fast few zero one full half".split()
)
"""Words that make of a name another one: "BERT large", "GPT-4 with tools", "GPT-4 few-shot"."""


class _Naming:
    """The names of one record, with links from longer forms to the shorter ones that stand for the same."""

    def __init__(self, names: Iterable[str], text: str) -> None:
        self._plain = {name: plain(name).strip() for name in names}
        self._shorter: dict[str, str] = {}
        if not self._plain:
            return
        text = plain(text)
        self._defined = list(definitions(text))
        for short, long in self._defined:
            self._link(long, short)
        forms = list(dict.fromkeys(self._plain.values()))
        for form in forms:
            self._by_parentheses(form, text)
        if len(forms) > 1:
            self._by_spelling(forms)
            self._by_neighbourhood(forms, text)
            self._by_tail(forms)
        for form in forms if self._defined else ():
            self._by_contraction(form)

    def keys(self) -> Mapping[str, str]:
        """The canonical key of each name as it was given."""
        return {name: self._key(fold(form)) for name, form in self._plain.items()}

    def _link(self, longer: str, shorter: str) -> None:
        key, short = fold(longer), fold(shorter)
        if key != short and self._key(short) != key:
            self._shorter.setdefault(key, short)

    def _key(self, key: str) -> str:
        while key in self._shorter:
            key = self._shorter[key]
        return key

    def _by_parentheses(self, form: str, text: str) -> None:
        """A name that has its other form in parentheses: in itself, or right behind it in the text."""
        if found := _PARENTHESES.search(form):
            before, inner, after = form[: found.start()], found[1].strip(), form[found.end() :]
            if looks_short(inner) and (at := long_form(inner, before)) >= 0:
                self._link(form, before[:at] + inner + after)
                self._link(before + after, before[:at] + inner + after)
            elif looks_short(before) and letters_of(before, inner):
                self._link(form, before + after)
                self._link(inner, before)
        elif (at := text.find(f"{form} (")) >= 0:
            inner = text[at + len(form) + 2 :][:40].partition(")")[0].strip()
            if looks_short(inner) and letters_of(inner, form):
                self._link(form, inner)

    def _by_spelling(self, forms: Sequence[str]) -> None:
        """A short form and the one long form that it is made of, of a short form that the text doesn't explain."""
        explained = {fold(short) for short, _ in self._defined}
        for short in filter(looks_short, forms):
            longs = {fold(form): form for form in forms if short not in form and _spelled(short, form)}
            if len(longs) == 1 and fold(short) not in explained:
                self._link(longs.popitem()[1], short)

    def _by_neighbourhood(self, forms: Sequence[str], text: str) -> None:
        """A short form and a long one with its letters that the text sets beside each other: "LIM, short for …"."""
        for short in filter(looks_short, forms):
            for form in forms:
                if " " in form and short[0].lower() == form[0].lower() and short not in form:
                    if letters_of(short, form) and _beside(text, short, form):
                        self._link(form, short)

    def _by_tail(self, forms: Sequence[str]) -> None:
        """A proper name that stands alone and, in one way only, before common nouns: "LSUN" and "LSUN bedrooms"."""
        for short in forms:
            if any(c.isupper() or c.isdigit() for c in short):
                longer = [form for form in forms if form.startswith(f"{short} ") and fold(form) != fold(short)]
                tail = _WORD.findall(longer[0][len(short) :]) if len(longer) == 1 else []
                if tail and all(w.isalpha() and w.islower() and w not in _VARIANT for w in tail):
                    self._link(longer[0], short)

    def _by_contraction(self, form: str) -> None:
        """A name that has a long form within it, for which the text gives the short one."""
        low = form.lower()
        for short, long in self._defined:
            at = low.find(long.lower())
            if at >= 0 and len(long) < len(form):
                self._link(form, form[:at] + short + form[at + len(long) :])


_BETWEEN = re.compile(
    r"[\s,;:(\"'“”–—-]{1,4}"
    r"(?:(?:an?|the|our|or|called|named|dubbed|termed|namely|short|for|standing|stands|which|abbreviated|as|is|i\.e\.)"
    r"[\s,;:(\"'“”–—-]{1,3}){0,5}"
)
"""What may stand between a name and its other form."""


_REACH = 60
"""Characters between a name and its other form, at most."""


def _beside(text: str, short: str, long: str) -> bool:
    """Does the text say one of the names right after the other?"""
    at = text.find(long)
    while at >= 0:
        before, after = text[max(0, at - _REACH) : at], text[at + len(long) :][:_REACH]
        first, last = before.rfind(short), after.find(short)
        if first >= 0 and _BETWEEN.fullmatch(before, first + len(short)):
            return True
        if last >= 0 and _BETWEEN.fullmatch(after, 0, last):
            return True
        at = text.find(long, at + 1)
    return False


_GENERIC = re.compile(rf"^(\S.*?)(?:[\s-]+(?i:{_METHOD_NOUN}))+$")


def _spelled(short: str, form: str) -> bool:
    if short[:1].lower() != form[:1].lower() or len(form) <= len(short):
        return False
    return spells(short, form) or spells(short, _GENERIC.sub(r"\1", form))
