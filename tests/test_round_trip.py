"""What is exported and read back is what was there: in CSV, TSV, JSON lines, Parquet and XLSX."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from store.export import export
from tests.store_samples import made

openpyxl = pytest.importorskip("openpyxl")

Rows = list[tuple[str | None, float | None]]
FORMATS = ("csv", "tsv", "jsonl", "parquet", "xlsx")
HARD = (
    *('"', '""', "'", ",", "\t", "\n", "\r", "\r\n", "\n\n", "a\nb", ' "x" ', "#", "\\", "\\N", "NULL", "null", "nan"),
    *("\0", "a\0b", "\x1b[31m", "\x7f", "\x85", "\u2028", "\ufeff", "\ufffe\uffff", "😀", "👩‍🔬", "𝒜", "é", "e\u0301"),
    *(
        "17.06\\%",
        "$\\mathbf{3.01\\times}$",
        "\\alpha_{i}^2",
        "_x000D_",
        "_x005F_ _x0000_",
        "=1+1",
        "-1",
        "1e5",
        "true",
    ),
    *(" ", "  lead", "trail  ", "\u00a0", "2026-01-01", "[1, 2]", '{"a": 1}', "0x1F", "+3.1", "@x", "1,010", "-0"),
)
NUMBERS = (1e-7, 1e15, 0.1, -3.01, 17.06, 1e300, 5e-324, 0.0, float(2**53), 1 / 3, 123456789.125)
TEXTS = st.text(st.characters(exclude_categories=["Cs"])) | st.sampled_from(HARD)
ROWS = st.lists(
    st.tuples(st.none() | TEXTS, st.none() | st.floats(allow_nan=False, allow_infinity=False)), min_size=1, max_size=30
)


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made(tmp_path_factory.mktemp("round")).path


def exported(database: Path, rows: Rows, format: str) -> Path:
    """A file of these rows, which stand in the database in columns `t` and `n`, numbered by `i`."""
    con = duckdb.connect(database)
    try:
        con.execute(
            """CREATE OR REPLACE TABLE mine AS SELECT generate_subscripts($t, 1) AS i, unnest($t::VARCHAR[]) AS t,
            unnest($n::DOUBLE[]) AS n""",
            {"t": [t for t, _ in rows], "n": [n for _, n in rows]},
        )
    finally:
        con.close()
    target = database.with_name(f"mine.{format}")
    assert export(database, "SELECT i, t, n FROM mine ORDER BY i", str(target), force=True) == len(rows)
    return target


def read_back(path: Path) -> Rows:
    """The file as a reader of its format has it."""
    if path.suffix == ".jsonl":
        return [(row["t"], row["n"]) for row in map(json.loads, path.read_bytes().decode().split("\n")[:-1])]
    if path.suffix == ".parquet":
        return asked(f"SELECT t, n FROM read_parquet('{path}')")
    if path.suffix == ".xlsx":
        book = openpyxl.load_workbook(path, read_only=True)
        try:
            return [(unescaped(t), n) for _, t, n, *_ in padded(book.active.values)][1:]
        finally:
            book.close()
    _, *rows = strictly(path.read_bytes().decode(), "\t" if path.suffix == ".tsv" else ",")
    return [(t, None if n is None else float(n)) for _, t, n in rows]


def strictly(text: str, separator: str) -> Iterator[list[str | None]]:
    """The rows of CSV by the grammar of RFC 4180 and nothing else, but for LF; a field of no characters is NULL."""
    field = re.compile(rf'(?:"((?:[^"]|"")*)"|([^"\r\n{separator}]*))([{separator}\n])')
    row: list[str | None] = []
    position = 0
    while position < len(text):
        found = field.match(text, position)
        assert found, f"no field of RFC 4180 at {position}: {text[position : position + 20]!r}"
        quoted, plain, end = found.groups()
        row.append(quoted.replace('""', '"') if quoted is not None else plain or None)
        position = found.end()
        if end == "\n":
            yield row
            row = []
    assert not row, "the last line has no end"


def asked(sql: str) -> Rows:
    con = duckdb.connect()
    try:
        return con.execute(sql).fetchall()
    finally:
        con.close()


def padded(rows: Iterator[tuple[Any, ...]]) -> Iterator[tuple[Any, ...]]:
    """Rows of a sheet, which leaves out cells at their end."""
    for row in rows:
        yield (*row, None, None)


def unescaped(value: object) -> str | None:
    assert value is None or isinstance(value, str)
    return value and re.sub("_x([0-9A-Fa-f]{4})_", lambda found: chr(int(found[1], 16)), value)


def expected(rows: Rows, format: str) -> Rows:
    """A sheet's numbers have 16 digits."""
    if format != "xlsx":
        return rows
    return [(t, None if n is None else float(f"{n:.16G}")) for t, n in rows]


@pytest.mark.parametrize("format", FORMATS)
@settings(deadline=None, max_examples=12)
@example(
    rows=[(text, number) for text in (*HARD, "", None) for number in (NUMBERS[len(text or "") % len(NUMBERS)], None)]
)
@example(rows=[("n", number) for number in (*NUMBERS, *(-number for number in NUMBERS), None)])
@given(rows=ROWS)
def test_what_is_read_back_is_what_was_there(database: Path, format: str, rows: Rows) -> None:
    assert read_back(exported(database, rows, format)) == expected(rows, format)


@pytest.mark.parametrize("format", ["csv", "tsv"])
def test_duckdb_reads_csv_back_with_nulls(database: Path, format: str) -> None:
    rows: Rows = [(text, 1e-7) for text in (*HARD, "", None)]
    path = exported(database, rows, format)
    options = "columns = {i: 'BIGINT', t: 'VARCHAR', n: 'DOUBLE'}, new_line = '\\n', allow_quoted_nulls = false"
    separator = "\t" if format == "tsv" else ","
    assert asked(f"SELECT t, n FROM read_csv('{path}', delim = '{separator}', {options})") == rows


@pytest.mark.parametrize("format", FORMATS)
def test_the_numbers_that_abstracts_have_are_exact(database: Path, format: str) -> None:
    rows: Rows = [("n", number) for number in (1e-7, 1e15, 10.0**15 - 1, 17.06, 3.01, 0.1, 1010.0, 1.2e6, -3.1)]
    assert read_back(exported(database, rows, format)) == rows
