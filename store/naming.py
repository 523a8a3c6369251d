r"""Folds a name to its canonical key, so that "CIFAR-10", "CIFAR10" and "the cifar 10 dataset" are one to who counts.

It looks at the name alone: case, accents, white space, hyphens, LaTeX mark-up, a plural, "the", the generic noun behind
a name ("dataset", "benchmark"). What a record's text says of its names is `mentions`'s matter. Pure and deterministic:
the same name, the same key, whatever else a database holds.
"""

import functools
import re
import unicodedata
from collections.abc import Sequence

_STYLE = re.compile(
    r"\\(?:text|math)(?:bf|it|tt|rm|sf|sc|sl|bb|cal|frak|normal|up)?\b|\\(?:emph|underline|operatorname|bm|boldsymbol)\b"
    r"|\\(?:bf|it|tt|rm|em)\b|\*\*|[${}^~]|\\[,;:! ]"
)
_EMPHASIS = re.compile(r"(?<![\w*])\*(?=\w)([^*\n]*\w)\*(?!\w)")

_DATA_NOUN = "datasets?|data ?sets?|corpus|corpora|benchmarks?|testbeds?"
METHOD_NOUN = (
    f"models?|methods?|algorithms?|approach|framework|optimi[sz]er|baselines?|architecture|systems?|series|{_DATA_NOUN}"
)
_SEPARATORS = {"re": r"(?:[^\w.+*#]|_)+", "sql": r"[^\p{L}\p{N}.+*#]+"}
"""White space and signs that are no part of a name, as Python and as DuckDB write it."""

_ARTICLE = r"^\s*(?:(?i:the|an?|our|standard|vanilla|existing|plain)\s+)+(\S)"
_BEFORE = re.compile(_ARTICLE)
_RULES: Sequence[tuple[str, str]] = (
    (_ARTICLE, r"\1"),
    (r"(\S)['’]s(\s|$)", r"\1\2"),
    (r"([0-9])\.([0-9])", r"\1_\2"),  # from here to the end `_` is a decimal point
    (r"([0-9])\.([0-9])", r"\1_\2"),  # of 1.2.3 the second one
    (r"\.+", " "),
    ("SEPARATORS", " "),
    (r"^ | $", ""),
    (rf"^(\S.*?)(?: (?i:{_DATA_NOUN}))+$", r"\1"),
    (rf"^(.*?[A-Z0-9].*?)(?: (?i:{METHOD_NOUN}))+$", r"\1"),  # "BERT model", but a "diffusion model" is no "diffusion"
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
    if "\\" in text or "$" in text or "**" in text:
        text = _STYLE.sub("", text).replace("\\", "")
    return _EMPHASIS.sub(r"\1", text) if "*" in text else text


def without_article(name: str) -> str:
    """A name without "the" and its like before it."""
    return _BEFORE.sub(r"\1", name) if " " in name else name


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
