"""What readers share: decoding with the place of a fault, and the making of a record from its text."""

import hashlib
import unicodedata
from collections.abc import Iterator, Mapping
from pathlib import Path

from extract.errors import InputError
from store.rows import Record


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
