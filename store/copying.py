"""Writes an answer with DuckDB's own COPY: CSV, TSV, JSON lines, Parquet; and as CSV that is safe in a spreadsheet.

COPY runs in the sandbox of `query`, which may touch one file, the one given. CSV is RFC 4180 but for its line ends,
which are LF: UTF-8, `"` doubled, NULL an empty field, the empty text `""`, nested values as JSON. TSV is the same with
tabs. Parquet has DuckDB's own types.
"""

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Literal, get_args

import duckdb

from store.formats import csv_lines, is_number
from store.opening import one_line
from store.query import Result, open_readonly
from store.selecting import Show, as_cell, select
from store.views import literal

CopyFormat = Literal["csv", "tsv", "jsonl", "parquet"]
COPY_FORMATS: tuple[CopyFormat, ...] = get_args(CopyFormat)

BYTE_ORDER_MARK = "\ufeff"
"""Without it Excel reads UTF-8 in the encoding of the system."""

_OPTIONS: dict[CopyFormat, str] = {
    "csv": "FORMAT csv, HEADER, DELIMITER ','",
    "tsv": "FORMAT csv, HEADER, DELIMITER '\t'",
    "jsonl": "FORMAT json",
    "parquet": "FORMAT parquet, COMPRESSION zstd",
}
_FLOATS = ("DOUBLE", "FLOAT")
# OWASP's list of what may begin a formula ("CSV injection"), full-width forms included; a plain number is none.
_BEGIN_FORMULAS = "=+-@\t\r\n＝＋－＠"
_IS_NUMBER = r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?%?"


def copy(path: Path, what: str, target: Path, format: CopyFormat, wait_s: float) -> int:
    """Write what is asked for to `target`, over what is there, and return the number of rows.

    Raises OSError with DuckDB's words for what the disk refuses, and what `selecting.select` and `open_readonly` raise.
    """
    with open_readonly(path, wait_s, may_write=target) as con:
        query = select(con, what).shown(_show(format))
        try:
            # Without DuckDB's own temporary file, as it may touch one file only.
            options = f"{_OPTIONS[format]}, USE_TMP_FILE false"
            rows = con.execute(f"COPY ({query}) TO {literal(str(target))} ({options})").fetchall()
        except duckdb.IOException as error:
            # DuckDB's own words may be a JSON object with the words within.
            number = re.search(r'"errno":"(\d+)"', str(error))
            raise OSError(os.strerror(int(number[1])) if number else one_line(error)) from error
    return int(rows[0][0])


def _show(format: CopyFormat) -> Show:
    if format in ("csv", "tsv"):
        return as_cell
    return _in_json if format == "jsonl" else lambda column, kind: column


def _in_json(column: str, kind: str) -> str:
    # JSON has no NaN, and DuckDB writes it.
    return f"CASE WHEN isfinite({column}) THEN {column} END" if kind in _FLOATS else column


def guarded(column: str, kind: str) -> str:
    """A column as a cell of CSV in which no text can be taken for a formula: such a one gets an apostrophe before it.

    Numbers stay numbers, also those in text (`-1.5`, `+3%`).
    """
    cell = as_cell(column, kind)
    if kind in ("BOOLEAN", "DATE", "TIMESTAMP") or is_number(kind):
        return cell
    may_be = f"{cell} <> '' AND contains({literal(_BEGIN_FORMULAS)}, left({cell}, 1))"
    reads_as_number = f"regexp_full_match({cell}, {literal(_IS_NUMBER)})"
    return f"CASE WHEN {may_be} AND NOT {reads_as_number} THEN {literal(chr(39))} || {cell} ELSE {cell} END"


def spreadsheet_lines(result: Result, separator: str) -> Iterator[str]:
    """An answer whose columns are `guarded` as CSV for a spreadsheet: a byte order mark, and names guarded as cells."""
    names = tuple(f"'{name}" if name.startswith(tuple(_BEGIN_FORMULAS)) else name for name in result.columns)
    yield BYTE_ORDER_MARK
    yield from csv_lines(Result(names, result.types, result.rows, result.count), separator)
