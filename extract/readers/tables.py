"""Reads CSV and its like: the delimiter is found by the header, columns by their usual names or those that were given.

A row that is out of form costs itself only: where a quote isn't closed, reading goes on at the next physical line.
It streams; the longest row is bounded.
"""

import csv
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from extract.errors import InputError
from extract.readers.encodings import decoded_lines
from extract.readers.fields import Columns, knows_abstract, normal
from extract.readers.opening import Opened
from extract.readers.text import Entry

DELIMITERS = (",", "\t", ";", "|")
MAX_ROW = 8 << 20
"""Characters of the longest row; also of the longest field."""

_EXCEL_HINT = "sep="


def entries(file: Opened) -> Iterator[Entry]:
    """Yield an entry for each row. Raises InputError if no column holds abstracts."""
    csv.field_size_limit(MAX_ROW)  # of the whole process; the csv module knows no other way
    lines = _Lines(decoded_lines(file.stream, file.notices))
    delimiter, header = _header(file, lines)
    for number, row in _rows(file, lines, delimiter, len(header)):
        if any(row):
            yield Entry(f"line {number}", dict(zip(header, row, strict=False)), extras=True)


def delimiter_of(line: str, columns: Columns) -> str:
    """Return the delimiter that divides a header into the most known names, or else into the most names."""

    def worth(delimiter: str) -> tuple[bool, int]:
        names = split_line(line, delimiter)
        return knows_abstract(names, columns), len(names)

    return max(DELIMITERS, key=worth)


def split_line(line: str, delimiter: str) -> list[str]:
    """Return the fields of a line, without error: where a quote isn't closed, the rest is one field."""
    try:
        return next(csv.reader([line], delimiter=delimiter), [])
    except csv.Error:
        return line.split(delimiter)


def check_columns(name: str, header: Sequence[str], columns: Columns) -> None:
    """Raise InputError if a column that was given isn't there, or none of the usual names of an abstract is."""
    known = {normal(column) for column in header}
    shown = ", ".join(repr(column) for column in header[:20]) + (" …" if len(header) > 20 else "")
    for option, column in (("text", columns.text), ("id", columns.id), ("title", columns.title)):
        if column is not None and normal(column) not in known:
            raise InputError(name, f"no column {column!r}, as --{option}-column says; the columns are {shown}")
    if not knows_abstract(header, columns):
        raise InputError(name, f"no column for the abstract among {shown}; name it with --text-column")


@dataclass(slots=True)
class _Lines:
    """Numbered lines, some of which may be given back to be read again."""

    source: Iterator[tuple[int, str]]
    given_back: deque[tuple[int, str]] = field(default_factory=deque)

    def __iter__(self) -> Iterator[tuple[int, str]]:
        return self

    def __next__(self) -> tuple[int, str]:
        return self.given_back.popleft() if self.given_back else next(self.source)


def _header(file: Opened, lines: _Lines) -> tuple[str, list[str]]:
    """Return the delimiter and the names of the columns."""
    told = None
    for number, line in lines:
        if line.lower().startswith(_EXCEL_HINT) and len(line) == len(_EXCEL_HINT) + 1:
            told = line[-1]
        elif line.strip():
            lines.given_back.append((number, line))
            break
    first = lines.given_back[0][1] if lines.given_back else ""
    delimiter = told or delimiter_of(first, file.columns)
    _, header = next(_rows(file, lines, delimiter, None), (0, list[str]()))
    header = [name.strip() for name in header]
    check_columns(file.source.name, header, file.columns)
    return delimiter, header


def _rows(file: Opened, lines: _Lines, delimiter: str, width: int | None) -> Iterator[tuple[int, list[str]]]:
    """Yield each row with the number of its first line; `width`: how many fields it should have."""
    for number, line in lines:
        used: list[tuple[int, str]] = []
        try:
            row = next(csv.reader(_fed(line, lines, used), delimiter=delimiter, strict=True))
        except csv.Error as e:
            lines.given_back.extendleft(reversed(used))
            row = _by_eye(line, delimiter)
            if width is None or len(row) != width:
                file.notices.broken(f"not a row: {_fault(e)}; expected quotes closed, and doubled inside", number)
                continue
        if width is not None and len(row) != width and not _fits(row, width):
            file.notices.broken(f"found {len(row)} fields; expected {width} as in the header", number)
            continue
        yield number, row


def _by_eye(line: str, delimiter: str) -> list[str]:
    """Return the fields of a line whose inner quotes aren't doubled; none where it isn't plain which quote ends what.

    A quote ends a field only before a delimiter or the line's end, and none may stand in a field that has no such end.
    """
    row, place = list[str](), 0
    while place <= len(line):
        end = -1
        if line.startswith('"', place):
            end = line.find(f'"{delimiter}', place + 1)
            if end < 0 and line.endswith('"') and len(line) - 1 > place:
                end = len(line) - 1
        if end >= 0:
            row.append(line[place + 1 : end].replace('""', '"'))
            place = end + 2
            continue
        end = line.find(delimiter, place)
        end = len(line) if end < 0 else end
        row.append(line[place:end])
        place = end + 1
        if delimiter != "\t" and '"' in row[-1]:
            return []
    return row


def _fits(row: Sequence[str], width: int) -> bool:
    """Does a row of another length fit all the same: blank, or with empty fields too many at its end?"""
    return not any(row) or (len(row) > width and not any(row[width:]))


def _fed(first: str, lines: _Lines, used: list[tuple[int, str]]) -> Iterator[str]:
    """Yield the lines of a row to the csv module, as many as it asks for; `used` takes those after the first."""
    size = len(first)
    yield first + "\n"
    for number, line in lines:
        used.append((number, line))
        size += len(line)
        if size > MAX_ROW:
            return
        yield line + "\n"


def _fault(error: csv.Error) -> str:
    words = str(error)
    return "a quote isn't closed" if "unexpected end of data" in words else words
