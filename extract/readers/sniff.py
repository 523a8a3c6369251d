"""Tells a file's format by its first bytes, and by its suffix only where these fit several.

It reads nothing but the head of a file, and knows of each format how it begins.
"""

import json
import re
from typing import Literal

from extract.errors import InputError
from extract.readers.bibtex import START as BIBTEX
from extract.readers.encodings import is_utf16
from extract.readers.fields import Columns, knows_abstract
from extract.readers.opening import GZIP, Opened
from extract.readers.tables import delimiter_of, split_line

Format = Literal[
    "paragraphs", "json lines", "json", "table", "parquet", "xlsx", "bibtex", "ris", "medline", "pubmed", "atom",
    "anthology",
]  # fmt: skip

_OF_SUFFIX: dict[str, Format] = {
    ".jsonl": "json lines", ".ndjson": "json lines", ".json": "json", ".csv": "table", ".tsv": "table", ".tab": "table",
    ".bib": "bibtex", ".bibtex": "bibtex", ".ris": "ris", ".nbib": "medline", ".medline": "medline",
}  # fmt: skip
_EXPECTED: dict[str, str] = {
    ".bib": "entries such as @article{key, title = {…}}", ".bibtex": "entries such as @article{key, title = {…}}",
    ".ris": "records from 'TY  - ' to 'ER  - '", ".nbib": "records that begin with 'PMID- '",
    ".medline": "records that begin with 'PMID- '", ".xml": "XML of PubMed, arXiv or the ACL Anthology",
    ".atom": "a feed as arXiv gives it", ".parquet": "Parquet, which begins with 'PAR1'",
    ".xlsx": "a workbook, which begins with 'PK'",
}  # fmt: skip
_PACKED = (
    (b"%PDF", "is a PDF; expected its text, or an export of its record"),
    (b"\x28\xb5\x2f\xfd", "is packed by zstd; unpack it first"),
    (b"BZh", "is packed by bzip2; unpack it first"),
    (b"\xfd7zXZ", "is packed by xz; unpack it first"),
    (b"7z\xbc\xaf", "is a 7z archive; unpack it first"),
    (GZIP, "is packed by gzip twice; unpack it once"),
    (b"SQLite format 3", "is an SQLite database; export a table of it as CSV"),
    (b"\xd0\xcf\x11\xe0", "is an old Office file; save it as .xlsx or CSV"),
)
_ROOTS: dict[str, Format] = {
    "feed": "atom", "entry": "atom", "pubmedarticleset": "pubmed", "pubmedarticle": "pubmed",
    "pubmedbookarticleset": "pubmed", "pubmedbookarticle": "pubmed", "collection": "anthology", "volume": "anthology",
}  # fmt: skip
_ROOT = re.compile(r"<(?:[A-Za-z_][\w.-]*:)?([A-Za-z_][\w.-]*)")
_PROLOGUE = re.compile(r"\s+|<\?.*?\?>|<!--.*?-->|<!DOCTYPE[^\[>]*(?:\[.*?\]\s*)?>", re.DOTALL)
_RIS = re.compile(r"^TY {1,2}- ?[A-Z]", re.MULTILINE)
_MEDLINE = re.compile(r"^PMID ?- ?\d", re.MULTILINE)
_JSON = re.compile(r"\[\s*[\[{\]]|\{\s*[\"}]")
_OBJECTS = re.compile(r"^\{\s*\"", re.MULTILINE)
_EXCEL = re.compile(r"sep=.", re.IGNORECASE)
_DELIMITED = frozenset({".csv", ".tsv", ".tab"})
NAME_WORDS = 4
"""Words of the longest name of a column, in a file that isn't called a table."""


def format_of(file: Opened) -> Format:
    """Return the format of an input. Raises InputError for one that is empty, binary, or in no format of ours."""
    head, suffix, name = file.head, file.source.suffix, file.source.name
    if not head.strip(b"\xef\xbb\xbf \t\r\n"):
        raise InputError(name, "is empty; expected abstracts")
    if head.startswith(b"PAR1"):
        return "parquet"
    if head.startswith(b"PK\x03\x04"):
        return "xlsx"
    for magic, problem in _PACKED:
        if head.startswith(magic):
            raise InputError(name, problem)
    encoding = is_utf16(head)
    if b"\0" in head and encoding is None:
        raise InputError(name, f"is binary (a NUL at byte {head.index(0)}); expected UTF-8 text")
    text = head.decode(encoding or "utf-8-sig", "replace").lstrip("\ufeff").lstrip()
    return _of_text(text, suffix, file)


def _of_text(text: str, suffix: str, file: Opened) -> Format:
    if text.startswith("<"):
        return _of_xml(text, file.source.name)
    if _JSON.match(text):
        return _of_json(text, suffix)
    if _is_table(text, suffix, file.columns):
        return "table"
    if _RIS.search(text):
        return "ris"
    if _MEDLINE.search(text):
        return "medline"
    if any(BIBTEX.match(line) for line in text.split("\n")):
        return "bibtex"
    if suffix in _EXPECTED:
        start = text.partition("\n")[0].rstrip()[:40]
        raise InputError(file.source.name, f"isn't what {suffix!r} says: {start!r}; expected {_EXPECTED[suffix]}")
    return _OF_SUFFIX.get(suffix, "paragraphs")


def _is_table(text: str, suffix: str, columns: Columns) -> bool:
    """Does a text begin with a table's header? Prose that lists `images, text, and audio` doesn't."""
    header, _, rest = text.partition("\n")
    header, row = header.rstrip("\r"), rest.partition("\n")[0]
    if _EXCEL.fullmatch(header):
        return True
    delimiter = delimiter_of(header, columns)
    names = split_line(header, delimiter)
    if not knows_abstract(names, columns) or suffix in _EXPECTED:
        return False
    return suffix in _DELIMITED or (
        len(names) > 1
        and all(len(name.split()) <= NAME_WORDS for name in names)
        and header[-1] not in ".!?"
        and ('"' in row or len(row.split(delimiter)) == len(names))
    )


def _of_json(text: str, suffix: str) -> Format:
    """Return whether JSON is a document or an object a line: then its first line is one, or a broken one of several."""
    if not text.startswith("{"):
        return "json"
    first, ended, rest = text.partition("\n")
    if _is_json(first):
        return "json" if suffix == ".json" and not rest.strip() else "json lines"
    several = ended and len(_OBJECTS.findall(text)) > 1
    return "json lines" if several or _OF_SUFFIX.get(suffix) == "json lines" else "json"


def _is_json(line: str) -> bool:
    try:
        json.loads(line, strict=False)
    except (ValueError, RecursionError):
        return False
    return True


def _of_xml(text: str, name: str) -> Format:
    place = 0
    while found := _PROLOGUE.match(text, place):
        place = found.end()
    root = _ROOT.match(text, place)
    if root and (known := _ROOTS.get(root[1].lower())):
        return known
    if text.startswith("<!DOCTYPE") and "<!ENTITY" in text:
        raise InputError(name, "declares entities, which aren't read; save it as plain XML")
    shown = f"<{root[1]}>" if root else repr(text[place : place + 30])
    raise InputError(name, f"is XML or HTML that begins with {shown}; expected PubMed's, arXiv's Atom, ACL Anthology's")
