"""Reads XLSX through openpyxl, a row at a time: every sheet whose header has a column for abstracts.

A workbook is a zip of XML: what it unpacks to is bounded before anything is unpacked. Formulas give the values that
they had when the file was saved.
"""

import warnings
import zipfile
from collections.abc import Iterator, Sequence
from datetime import date
from pathlib import Path
from typing import Any, BinaryIO

from extract.errors import InputError
from extract.readers.fields import Columns, knows_abstract
from extract.readers.opening import Opened, as_file
from extract.readers.tables import check_columns
from extract.readers.text import Entry

MAX_UNPACKED = 1 << 30
MAX_STRINGS = 256 << 20
"""Bytes of a workbook's shared strings, which are held in memory."""
MAX_RATIO = 200
FREE_BYTES = 64 << 20
"""Unpacked bytes below which the ratio isn't looked at."""
HEADER_ROWS = 20
"""The header is looked for in so many rows: what stands above it is a caption."""


def entries(file: Opened) -> Iterator[Entry]:
    """Yield an entry for each row under a header. Raises InputError for no workbook, a bomb, no abstract column."""
    with as_file(file) as path:
        _check_size(path, file.source.name)
        try:
            with path.open("rb") as opened:  # openpyxl leaves a file open where it fails
                yield from _of_workbook(opened, file)
        except InputError:
            raise
        except Exception as e:  # openpyxl raises whatever a broken part makes it stumble over
            problem = f"not a workbook that can be read: {' '.join(str(e).split()) or type(e).__name__}; save it again"
            raise InputError(file.source.name, problem) from e


def _check_size(path: Path, name: str) -> None:
    try:
        with zipfile.ZipFile(path) as archive:
            parts = archive.infolist()
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as e:
        raise InputError(name, f"not a workbook: {e}; is the file whole?") from e
    size = sum(part.file_size for part in parts)
    if not any(part.filename.startswith("xl/") for part in parts):
        raise InputError(name, "is a zip archive, not a workbook; unpack it and name the files in it")
    strings = max((part.file_size for part in parts if "sharedStrings" in part.filename), default=0)
    packed = max(sum(part.compress_size for part in parts), 1)
    if size > MAX_UNPACKED or strings > MAX_STRINGS or (size > FREE_BYTES and size > MAX_RATIO * packed):
        raise InputError(name, f"unpacks to {size:,} bytes, over what is read of a workbook; save it as CSV")


def _of_workbook(opened: BinaryIO, file: Opened) -> Iterator[Entry]:
    import openpyxl

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # on styles and extensions that don't matter here
        workbook = openpyxl.load_workbook(opened, read_only=True, data_only=True)
    try:
        known, first = False, list[str]()
        for sheet in workbook.worksheets:
            rows = enumerate(sheet.iter_rows(values_only=True), 1)
            header = _header(rows, file.columns, first)
            if header:
                known = True
                yield from _of_sheet(sheet.title, header, rows)
        if not known:
            check_columns(file.source.name, first, file.columns)
    finally:
        workbook.close()


def _header(rows: Iterator[tuple[int, Sequence[Any]]], columns: Columns, first: list[str]) -> list[str] | None:
    """Return the names in the first row that has one for the abstract; `first` takes the workbook's first row."""
    for number, row in rows:
        names = [str(_value(cell) or "").strip() for cell in row]
        if any(names) and not first:
            first += names
        if knows_abstract(names, columns):
            return names
        if number >= HEADER_ROWS:
            break
    return None


def _of_sheet(title: str, header: Sequence[str], rows: Iterator[tuple[int, Sequence[Any]]]) -> Iterator[Entry]:
    for number, row in rows:
        values = {name: _value(cell) for name, cell in zip(header, row, strict=False) if name}
        if any(value is not None for value in values.values()):
            yield Entry(f"sheet {title!r}, row {number}", values, extras=True)


def _value(cell: object) -> object:
    return cell.isoformat() if isinstance(cell, date) else cell
