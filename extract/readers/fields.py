"""Knows under which names people keep an abstract, its title, id, DOI, URL, year, venue and keywords.

Names are compared without case, spaces and signs: `Abstract Note`, `abstract_note` and `abstractNote` are one. It
picks values; it cleans none.
"""

import ast
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

ABSTRACT = ("abstract", "abstracttext", "abstractnote", "paperabstract", "ab", "n2", "summary", "text", "abstracts")
TITLE = ("title", "papertitle", "ti", "t1", "articletitle", "documenttitle", "primarytitle", "displayname")
ID = ("id", "paperid", "key", "forum", "pmid", "arxivid", "itemid", "corpusid", "accessionnumber", "uid", "ut", "eid")
DOI = ("doi", "do", "articledoi", "doilink")
URL = ("url", "link", "site", "paperurl", "urlabs", "openurllink", "ur", "forumurl", "htmlurl", "links")
YEAR = ("year", "publicationyear", "pubyear", "py", "y1", "issued", "publicationdate", "published", "date", "coverdate")
VENUE = (
    "venue", "journal", "conference", "booktitle", "publicationtitle", "containertitle", "journaltitle", "sourcetitle",
    "proceeding", "proceedings", "journalname", "journalref", "jf", "t2", "jo", "secondarytitle", "source",
)  # fmt: skip
KEYWORDS = (
    "keywords", "authorkeywords", "keyword", "kw", "manualtags", "automatictags", "de", "tags", "tasks", "categories",
    "fieldsofstudy",
)  # fmt: skip
_PICKED = frozenset(name for names in (ABSTRACT, TITLE, ID, DOI, URL, YEAR, VENUE, KEYWORDS) for name in names)

LONGEST_EXTRA = 300
"""Characters of the longest other value that is kept beside the known ones."""

_YEAR = re.compile(r"(?<!\d)(?:1[5-9]|20|21)\d\d(?!\d)")
_DOI = re.compile(r"10\.\d{4,9}/\S+")
_SIGNS = re.compile(r"[\W_]+")


@dataclass(frozen=True, slots=True)
class Columns:
    """The names that a person gave for a file's columns or fields; None: by their usual names."""

    text: str | None = None
    id: str | None = None
    title: str | None = None


@lru_cache(maxsize=4096)
def normal(name: str) -> str:
    """Return a name in the form that names are compared in: `Abstract Note` -> `abstractnote`."""
    return _SIGNS.sub("", name).lower()


@dataclass(frozen=True, slots=True)
class Fields:
    """The values of one record, to be picked by their usual names or by those that a person gave."""

    values: Mapping[str, object]
    by_name: Mapping[str, object]
    columns: Columns

    @classmethod
    def of(cls, values: Mapping[str, object], columns: Columns) -> "Fields":
        """Return the fields of `values`; of two names that are one, the first with a value counts."""
        by_name: dict[str, object] = {}
        for name, value in values.items():
            if value is not None and value != "":
                by_name.setdefault(normal(name), value)
        return cls(values, by_name, columns)

    def abstract(self) -> str | None:
        """Return the abstract as it stands, None if there is none."""
        return self._chosen(self.columns.text, ABSTRACT)

    def title(self) -> str | None:
        """Return the title."""
        return self._chosen(self.columns.title, TITLE)

    def id(self) -> str | None:
        """Return the record's own id where it comes from; its DOI if it has none."""
        return self._chosen(self.columns.id, ID) or self.doi()

    def doi(self) -> str | None:
        """Return the DOI without the address of a resolver."""
        value = self._first(DOI)
        found = _DOI.search(value) if value else None
        return found[0].rstrip(".,;") if found else None

    def url(self) -> str | None:
        """Return the URL."""
        value = self._first(URL)
        return value if value and value.startswith(("http://", "https://")) else None

    def year(self) -> int | None:
        """Return the year of publication, of a date or of the venue's name where it stands nowhere else."""
        for value in (*self._all(YEAR), *self._all(VENUE)):
            if found := _YEAR.search(value):
                return int(found[0])
        return None

    def venue(self) -> str | None:
        """Return the journal or conference."""
        return self._first(VENUE)

    def keywords(self) -> list[str]:
        """Return the keywords, of the first field that has any."""
        for name in KEYWORDS:
            if name in self.by_name and (words := _words(self.by_name[name], name)):
                return words
        return []

    def extras(self) -> Iterator[tuple[str, object]]:
        """Yield the other values that are plain and short, by their own names: a decision, a track, a rating."""
        chosen = (self.columns.text, self.columns.id, self.columns.title)
        named = {normal(name) for name in chosen if name}
        for name, value in self.values.items():
            if normal(name) in _PICKED or normal(name) in named:
                continue
            if isinstance(value, str):
                if value.strip() and len(value) <= LONGEST_EXTRA:
                    yield name.strip(), value.strip()
            elif isinstance(value, bool | int) or (isinstance(value, float) and math.isfinite(value)):
                yield name.strip(), value

    def _chosen(self, named: str | None, usual: tuple[str, ...]) -> str | None:
        if named is None:
            return self._first(usual)
        value = self.values.get(named)
        return plain(self.by_name.get(normal(named)) if value is None else value)

    def _first(self, names: tuple[str, ...]) -> str | None:
        return next(self._all(names), None)

    def _all(self, names: tuple[str, ...]) -> Iterator[str]:
        for name in names:
            if name in self.by_name and (text := plain(self.by_name[name])):
                yield text


def plain(value: object) -> str | None:
    """Return a value as text: a string, a number, the parts of a list or of a structured abstract; else None."""
    if isinstance(value, str):
        return value.strip() or None
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() else str(value) if math.isfinite(value) else None
    if isinstance(value, Mapping):
        parts = [f"{name}: {text}" for name, part in value.items() if isinstance(part, str) and (text := part.strip())]
        return " ".join(parts) or None
    if isinstance(value, Sequence) and not isinstance(value, bytes):
        listed = (plain(part) for part in value if isinstance(part, str | Mapping))
        return " ".join(filter(None, listed)) or None
    return None


def knows_abstract(names: Sequence[str], columns: Columns) -> bool:
    """Is there an abstract among these names of columns?"""
    known = {normal(columns.text)} if columns.text else set(ABSTRACT)
    return any(normal(name) in known for name in names)


def _words(value: object, name: str) -> list[str]:
    """Return the keywords of a list, or of a string that divides them by `;`, `,` or as a list in Python's writing."""
    if isinstance(value, str):
        text = value.strip()
        if text.startswith("[") and text.endswith("]"):
            value = _literal(text)
        elif name == "categories" and not set(text) & {",", ";"}:  # arXiv: `cs.LG stat.ML`
            value = text.split()
        else:
            value = text.split(";" if ";" in text else ",")
    if not isinstance(value, Sequence) or isinstance(value, bytes | str):
        return []
    return [word.strip() for word in value if isinstance(word, str) and word.strip()]


def _literal(text: str) -> object:
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return text.strip("[]").split(",")
