"""Reads BibTeX through bibtexparser, an entry at a time, so that a broken one costs itself only.

Entries are divided where a line begins with `@type{`; `@string` definitions hold for all entries after them.
"""

import logging
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from extract.readers.encodings import decoded_lines
from extract.readers.opening import Opened
from extract.readers.text import Entry

if TYPE_CHECKING:
    from bibtexparser.library import Library
    from bibtexparser.model import Entry as BibtexEntry

START = re.compile(r"[ \t]*@[ \t]*(?P<type>[A-Za-z]+)[ \t]*(?:\{|\([ \t]*[\w:.-]+[ \t]*[,=])")
MAX_ENTRY = 1 << 20
"""Characters of the longest entry that is read."""
MAX_STRINGS = 1 << 16
"""Characters of all `@string` definitions together."""

_ESCAPED = re.compile(r"\\([_%&#~{}$])")


def entries(file: Opened) -> Iterator[Entry]:
    """Yield an entry for each of BibTeX's. Its id is its key."""
    logging.getLogger("bibtexparser").setLevel(logging.CRITICAL)  # what it has to say we say ourselves
    strings = ""
    for line, kind, text in _blocks(file):
        if kind == "string" and len(strings) + len(text) <= MAX_STRINGS:
            strings += text + "\n"
        if kind in ("string", "comment", "preamble"):
            continue
        if text:
            values = _parsed(text, strings, file, line)
            if values is not None:
                yield Entry(f"line {line}", values, form="bibtex")
        else:
            file.notices.broken(f"an entry of over {MAX_ENTRY >> 20} MiB; is a brace left open?", line)


def _blocks(file: Opened) -> Iterator[tuple[int, str, str]]:
    """Yield each block's first line, its type and its text; the text is empty if it is too long."""
    start, kind, size, lines = 0, "", 0, list[str]()
    for number, line in decoded_lines(file.stream, file.notices):
        if found := START.match(line):
            if kind:
                yield start, kind, "\n".join(lines)
            start, kind, size, lines = number, found["type"].lower(), 0, []
        size += len(line) + 1
        if size > MAX_ENTRY:
            lines = []
        elif kind:
            lines.append(line)
    if kind:
        yield start, kind, "\n".join(lines)


def _parsed(text: str, strings: str, file: Opened, line: int) -> dict[str, object] | None:
    """Return the fields of an entry, None if it is broken, which is said."""
    from bibtexparser.entrypoint import parse_string

    try:
        library = parse_string(strings + text)
    except Exception as e:  # it promises none, and stumbles over some
        file.notices.broken(f"not BibTeX: {' '.join(str(e).split()) or type(e).__name__}", line)
        return None
    found = _entry(library)
    if found is None:
        faults = [_fault(block.error) for block in library.failed_blocks]
        problem = f"not an entry: {faults[0] if faults else 'nothing in it'}; expected @type{{key, name = {{…}}, …}}"
        file.notices.broken(problem, line)
        return None
    values: dict[str, object] = {"id": found.key}
    for field in found.fields:
        name, value = field.key.lower(), field.value
        if not isinstance(value, str):
            continue
        if name == "abstract" and field.enclosing == "no-enclosing" and value[:1] in ("{", '"'):
            file.notices.broken(f"the abstract goes on after its end: {value[-30:]!r}; is a comma missing?", line)
            return None
        values.setdefault(name, _ESCAPED.sub(r"\1", value) if name in ("url", "doi") else value)
    return values


def _entry(library: "Library") -> "BibtexEntry | None":
    """Return the one entry of a block; where a field stands in it twice, the first counts."""
    from bibtexparser.model import DuplicateFieldKeyBlock
    from bibtexparser.model import Entry as BibtexEntry

    if library.entries:
        return library.entries[0]
    for block in library.failed_blocks:
        if isinstance(block, DuplicateFieldKeyBlock) and isinstance(block.ignore_error_block, BibtexEntry):
            return block.ignore_error_block
    return None


def _fault(error: Exception) -> str:
    words = str(getattr(error, "abort_reason", "") or error)
    return " ".join(words.split()).rstrip(".") or type(error).__name__
