"""Finds out what an input is and hands it to its reader.

It knows the formats and the errors they share (no such file, a folder, empty, binary, not UTF-8); what stands in a
format is the format's own module.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path

from extract.errors import InputError
from extract.readers import jsonl, paragraphs
from store.rows import Record

_BLOCK = 1 << 16


def read(inputs: Iterable[str]) -> Iterator[Record]:
    """Yield the records of all inputs, in order, lazily.

    Raises InputError for an input that can't be opened or decoded, for a broken line, and for one without an abstract.
    The checks that need no reading are made by `check_inputs`, before anything else happens.
    """
    for name in inputs:
        path = check_input(name)
        reader = jsonl.read if _is_json_lines(path) else paragraphs.read
        found = False
        for record in reader(path):
            found = True
            yield record
        if not found:
            raise InputError(name, "no abstract in it; expected paragraphs divided by blank lines, or JSON lines")


def check_input(name: str) -> Path:
    """Return the path of an input that exists, is a file, isn't empty and looks like text; else raise InputError."""
    path = Path(name)
    if path.is_dir():
        raise InputError(name, "is a folder; name the files in it")
    if not path.exists():
        raise InputError(name, "no such file")
    try:
        with path.open("rb") as file:
            head = file.read(_BLOCK)
    except OSError as e:
        raise InputError(name, f"can't be read: {e.strerror}") from e
    if not head.strip():
        raise InputError(name, "is empty; expected abstracts")
    if b"\0" in head and not head.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise InputError(name, f"is binary (a NUL at byte {head.index(0)}); expected UTF-8 text")
    return path


def _is_json_lines(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(_BLOCK).lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{")
