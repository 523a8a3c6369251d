"""Writes an answer as an XLSX workbook of one sheet, row by row, in memory that doesn't grow with the rows.

Text is text, never a formula, a link or a number; NULL is no cell, the empty text a cell that is empty. What XML can't
hold (NUL and most other controls, CR) is written `_x0000_`, and what looks so `_x005F_x0000_`: the escapes of ECMA-376
(22.9.2.19, ST_Xstring), as XlsxWriter makes them, which misses the second of two that share an underscore. A number has
the 16 digits that XlsxWriter writes, of which Excel shows 15; a whole number of more than 15 digits, a NaN and an
infinity are text. Times are dates of a sheet, to a millisecond. What doesn't fit in a sheet is an error, never cut.
"""

import contextlib
import os
import tempfile
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING

from store.errors import ExportFailed
from store.formats import plain
from store.query import Result

if TYPE_CHECKING:
    from xlsxwriter import Workbook
    from xlsxwriter.format import Format
    from xlsxwriter.worksheet import Worksheet

# Microsoft, "Excel specifications and limits"; the header takes one of the rows. Characters are UTF-16 units.
MOST_ROWS = 1_048_576
MOST_COLUMNS = 16_384
MOST_CHARACTERS = 32_767

_INSTEAD = "export less, or to CSV or Parquet"
_DIGITS = 15
_FIRST_YEAR = 1901  # 1900 has a 29 February in Excel
_TIME, _DAY = "yyyy-mm-dd hh:mm:ss.000", "yyyy-mm-dd"
_CUT = -2  # what XlsxWriter answers when it has cut a text


def write_sheet(result: Result, target: Path, named: str) -> None:
    """Write the answer to `target`, over what is there. `named` is the file that errors name.

    Raises `ExportFailed` for what is beyond a sheet's limits, OSError for what the disk refuses.
    """
    # 0.1 s to import, which no other format needs.
    from xlsxwriter import Workbook
    from xlsxwriter.exceptions import FileCreateError

    for limit, found, what in (
        (MOST_ROWS - 1, result.count, "rows below its header"),
        (MOST_COLUMNS, len(result.columns), "columns"),
    ):
        if found > limit:
            raise ExportFailed(named, f"a sheet holds {limit:,} {what}, and these are {found:,}; {_INSTEAD}")
    try:
        # Its own temporary folder, as XlsxWriter leaves its files behind when the disk is full.
        with tempfile.TemporaryDirectory(prefix="claimbase-") as folder:
            # Closed after an error too: a workbook that is dropped open writes its file when it is collected.
            with Workbook(str(target), {"constant_memory": True, "tmpdir": folder}) as book:
                _fill(book, result, named)
    except (OSError, FileCreateError) as error:
        # Its zip file, which it leaves open, is closed when it is collected: in silence if there is room then.
        with contextlib.suppress(OSError):
            os.truncate(target, 0)
        raise OSError(error.strerror if isinstance(error, OSError) else _reason(error)) from error


def _reason(error: Exception) -> str:
    """The words of the system in an error of XlsxWriter, which has the OSError as its argument."""
    inner = error.args[0] if error.args else error
    return inner.strerror or str(inner) if isinstance(inner, OSError) else str(error)


def _fill(book: "Workbook", result: Result, named: str) -> None:
    bold = book.add_format({"bold": True})
    day, time = (book.add_format({"num_format": form}) for form in (_DAY, _TIME))
    cells = _Cells(book.add_worksheet(), day, time)
    cells.sheet.freeze_panes(1, 0)
    for column, name in enumerate(result.columns):
        if not cells.write(0, column, name, bold):
            raise ExportFailed(named, f"the name of column {column + 1} is longer than a cell; {_INSTEAD}")
    for number, row in enumerate(result.rows, start=1):
        for column, value in enumerate(row):
            if not cells.write(number, column, value):
                raise ExportFailed(named, _too_long(result.columns[column], number))


def _too_long(column: str, number: int) -> str:
    return (
        f"the text in column {column!r} of row {number:,} has more than the {MOST_CHARACTERS:,} characters "
        f"that a cell holds; {_INSTEAD}"
    )


@dataclass(frozen=True, slots=True)
class _Cells:
    """A sheet that takes values cell by cell, row after row, and its formats of days and times."""

    sheet: "Worksheet"
    day: "Format"
    time: "Format"

    def write(self, row: int, column: int, value: object, style: "Format | None" = None) -> bool:
        """Write one value; False if it is a text too long for a cell."""
        if value is None:
            return True
        if isinstance(value, bool):
            self.sheet.write_boolean(row, column, value)
        elif isinstance(value, (int, float, Decimal)) and _is_exact(value):
            self.sheet.write_number(row, column, float(value))
        elif isinstance(value, date) and value.year >= _FIRST_YEAR:
            has_time = isinstance(value, datetime)
            self.sheet.write_datetime(row, column, value, self.time if has_time else self.day)
        else:
            return bool(self.sheet.write_string(row, column, plain(value), style) != _CUT)
        return True


def _is_exact(number: int | float | Decimal) -> bool:
    """Can a sheet hold the number as one? A float always can, but for NaN and infinity."""
    if isinstance(number, Decimal):
        return number.is_finite() and len(number.as_tuple().digits) <= _DIGITS
    return isfinite(number) if isinstance(number, float) else abs(number) <= 10**_DIGITS
