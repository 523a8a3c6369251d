"""Makes records: the id of a text, and a record from an entry of any format."""

import hashlib
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from extract.errors import InputError
from extract.readers.cleaning import Form, cleaned
from extract.readers.fields import Columns, Fields
from store.rows import Record


@dataclass(frozen=True, slots=True)
class Entry:
    """One record as its format gives it. `place` says where it stood ("line 3"), `form` what stands in its texts.

    `raw` is the abstract as it stood in the file, where the format had to read it to give a text at all. `extras`: are
    the other plain values kept too?
    """

    place: str
    values: Mapping[str, object]
    form: Form = "marked"
    raw: str | None = None
    extras: bool = False


def record_id(text: str) -> str:
    """Return the id of a text: `r1-` and 20 hex digits of the SHA-256 of its NFC form with white space collapsed."""
    normal = " ".join(unicodedata.normalize("NFC", text).split())
    return f"r1-{hashlib.sha256(normal.encode('utf-8', 'surrogatepass')).hexdigest()[:20]}"


def make_record(
    text: str,
    source: str,
    locator: str,
    source_id: str | None = None,
    title: str | None = None,
    meta: Mapping[str, object] | None = None,
) -> Record:
    """Return the record of an abstract found in `source` at `locator` ("line 3")."""
    return Record(record_id(text), source, locator, source_id, title, text, meta or {})


def record_of(entry: Entry, source: str, columns: Columns) -> Record | None:
    """Return the record of an entry, None if it has no abstract; `meta.raw` is the abstract before it was cleaned."""
    fields = Fields.of(entry.values, columns)
    raw = fields.abstract()
    text = cleaned(raw, entry.form) if raw else ""
    if raw is None or not text:
        return None
    title = fields.title()
    meta = _meta(fields, entry)
    before = entry.raw or raw
    if before.strip() != text:
        meta["raw"] = before
    source_id = fields.id()
    return make_record(
        text,
        source,
        entry.place,
        source_id or None,
        cleaned(title, entry.form) if title else None,
        meta,
    )


def name_of(entry: Entry, columns: Columns) -> str | None:
    """Return what a person knows an entry by: its title, else its id."""
    fields = Fields.of(entry.values, columns)
    title = fields.title()
    return cleaned(title, entry.form) if title else fields.id()


def _meta(fields: Fields, entry: Entry) -> dict[str, object]:
    """Return what is kept beside the abstract: first what is known by name, then the rest where the format has any."""
    venue = fields.venue()
    keywords = [cleaned(word, entry.form) for word in fields.keywords()]
    known: dict[str, object] = {
        "doi": fields.doi(),
        "url": fields.url(),
        "year": fields.year(),
        "venue": cleaned(venue, entry.form) if venue else None,
        "keywords": keywords,
    }
    meta = {name: value for name, value in known.items() if value}
    if entry.extras:
        for name, value in fields.extras():
            meta.setdefault(name, value)
    return meta


def numbered_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the lines of a UTF-8 file (with or without BOM) with their numbers from 1, without their ends.

    Raises InputError at the first byte that isn't UTF-8, saying which. Lines end at LF or CR LF only: the other
    separators of Unicode may stand inside an abstract.
    """
    offset = 0
    with path.open("rb") as file:
        for number, raw in enumerate(file, 1):
            try:
                line = raw.decode("utf-8-sig" if number == 1 else "utf-8")
            except UnicodeDecodeError as e:
                problem = f"not UTF-8: byte {raw[e.start]:#04x} at offset {offset + e.start}; save it as UTF-8"
                raise InputError(str(path), problem, number) from e
            offset += len(raw)
            yield number, line.rstrip("\r\n")
