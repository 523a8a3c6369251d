"""Reads JSON lines: an object a line, the abstract under one of its usual names."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

from extract.errors import InputError
from extract.readers.text import make_record, numbered_lines
from store.rows import Record

TEXT_NAMES = ("abstract", "text", "summary")
ID_NAMES = ("id", "paper_id", "forum", "paperId", "doi")
TITLE_NAMES = ("title",)


def read(path: Path) -> Iterator[Record]:
    """Yield a record for each line; a line whose abstract is empty or missing has none and is passed over.

    Raises InputError with the physical line for what isn't a JSON object.
    """
    for number, line in numbered_lines(path):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except ValueError as e:
            raise InputError(str(path), f"not JSON: {e}; expected an object a line", number) from e
        if not isinstance(row, dict):
            raise InputError(str(path), f"found {type(row).__name__}; expected an object a line", number)
        text = _first(row, TEXT_NAMES)
        if text:
            used = {*TEXT_NAMES, *ID_NAMES, *TITLE_NAMES}
            meta = {k: v for k, v in row.items() if k not in used and isinstance(v, str | int | float)}
            yield make_record(text, str(path), f"line {number}", _first(row, ID_NAMES), _first(row, TITLE_NAMES), meta)


def _first(row: Mapping[str, object], names: tuple[str, ...]) -> str | None:
    """Return the first of these fields that holds text, or a number, as text."""
    for name in names:
        value = row.get(name)
        if isinstance(value, str) and value.strip():
            return value.strip()
        if isinstance(value, int) and not isinstance(value, bool):
            return str(value)
    return None
