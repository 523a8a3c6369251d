"""Writes a view, a table or the answer of a query to a file: CSV, TSV, JSON lines, Parquet.

DuckDB's COPY does the writing, in the same sandbox as `query`, which may touch one file: a temporary one beside the
target, renamed to it when it is whole. So a target is either the old file or the new one. Nested columns are JSON in
CSV and TSV, and DuckDB's own types in Parquet. Text is UTF-8; NULL is an empty field and the empty text `""`.
"""

import os
import sys
from pathlib import Path
from typing import Literal, get_args

import duckdb

from store.errors import ExportFailed, QueryFailed
from store.formats import csv_lines, format_rows, unique_names
from store.opening import WAIT_S, one_line
from store.query import open_readonly, run_query, the_statement
from store.views import literal, quoted

ExportFormat = Literal["csv", "tsv", "jsonl", "parquet"]
EXPORT_FORMATS: tuple[ExportFormat, ...] = get_args(ExportFormat)

STDOUT = "-"

_OPTIONS: dict[ExportFormat, str] = {
    "csv": "FORMAT csv, HEADER, DELIMITER ','",
    "tsv": "FORMAT csv, HEADER, DELIMITER '\t'",
    "jsonl": "FORMAT json",
    "parquet": "FORMAT parquet, COMPRESSION zstd",
}
_NESTED = ("STRUCT", "MAP", "UNION", "VARIANT")
_NUMBERS = ("DOUBLE", "FLOAT")


def export(
    path: Path, what: str, to: str, force: bool = False, format: ExportFormat | None = None, wait_s: float = WAIT_S
) -> int:
    """Write `what`, the name of a view or table or a SELECT, to the file `to`, and return the number of rows.

    The format is told by the suffix unless it is given; `-` is standard output, as CSV unless told. Raises
    `ExportFailed` (the target is there and not `force`, an unknown suffix, a write that failed), `QueryFailed` (no such
    view, and which there are), `QueryRefused`, and what opening a database raises.
    """
    if to == STDOUT:
        return _to_stdout(path, what, format or "csv", wait_s)
    target = Path(to)
    chosen = format or _format_of(target)
    if target.is_dir():
        raise ExportFailed(to, "it is a folder; name a file in it")
    if not target.absolute().parent.is_dir():
        raise ExportFailed(to, f"there is no folder {target.parent}; make it first")
    if target.exists() and not force:
        raise ExportFailed(to, "the file is there already; name another, or replace it with --force")
    temporary = target.absolute().with_name(f".{target.name}.{os.getpid()}.tmp")
    try:
        rows = _copy(path, what, temporary, chosen, wait_s)
        os.replace(temporary, target)
    except OSError as error:
        raise ExportFailed(to, error.strerror or str(error)) from error
    finally:
        temporary.unlink(missing_ok=True)
    return rows


def _format_of(target: Path) -> ExportFormat:
    suffix = target.suffix.lower().removeprefix(".")
    for known in EXPORT_FORMATS:
        if suffix == known:
            return known
    named = ", ".join(f".{known}" for known in EXPORT_FORMATS)
    raise ExportFailed(str(target), f"the suffix {target.suffix!r} tells no format; use one of {named}")


def _to_stdout(path: Path, what: str, format: ExportFormat, wait_s: float) -> int:
    if format == "parquet":
        raise ExportFailed(STDOUT, "Parquet is not for standard output; name a file")
    with open_readonly(path, wait_s) as con:
        query = _query_of(con, what)
    result = run_query(path, query, wait_s=wait_s)
    lines = format_rows(result, format) if format == "jsonl" else csv_lines(result, "\t" if format == "tsv" else ",")
    for line in lines:
        # Bytes, as text would be written in the encoding and with the line ends of the system.
        sys.stdout.buffer.write(line.encode())
    sys.stdout.buffer.flush()
    return result.count


def _copy(path: Path, what: str, temporary: Path, format: ExportFormat, wait_s: float) -> int:
    with open_readonly(path, wait_s, may_write=temporary) as con:
        select = _select_for(con, _query_of(con, what), format)
        try:
            rows = con.execute(f"COPY ({select}) TO {literal(str(temporary))} ({_OPTIONS[format]})").fetchall()
        except duckdb.IOException as error:
            raise OSError(one_line(error)) from error
    return int(rows[0][0])


def _query_of(con: duckdb.DuckDBPyConnection, what: str) -> str:
    """The SQL of what is to be exported. Raises `QueryFailed` with the names there are if it is none of them."""
    rows = con.execute(
        """SELECT view_name, true FROM duckdb_views() WHERE NOT internal
        UNION ALL SELECT table_name, false FROM duckdb_tables()"""
    ).fetchall()
    for name, _ in rows:
        if name.lower() == what.strip().lower():
            return f"FROM {quoted(name)}"
    if what.split() and len(what.split()) == 1 and "(" not in what:
        views = ", ".join(sorted(name for name, is_view in rows if is_view))
        raise QueryFailed(f"there is no view or table {what!r}; the views are {views}")
    return the_statement(con, what)


def _select_for(con: duckdb.DuckDBPyConnection, query: str, format: ExportFormat) -> str:
    """The query with each column in a form that the format can hold, and no name twice."""
    con.execute(f"SELECT * FROM ({query}\n) LIMIT 0")  # noqa: S608
    columns = [(str(column[0]), str(column[1])) for column in con.description or ()]
    con.fetchall()
    names = unique_names([name for name, _ in columns])
    shown = ", ".join(
        f"{_shown(f'c{number}', kind, format)} AS {quoted(name)}"
        for number, (name, (_, kind)) in enumerate(zip(names, columns, strict=True))
    )
    inner = ", ".join(f"c{number}" for number in range(len(columns)))
    return f"SELECT {shown} FROM ({query}\n) AS answer({inner})"  # noqa: S608


def _shown(column: str, kind: str, format: ExportFormat) -> str:
    if format in ("csv", "tsv") and (kind.startswith(_NESTED) or kind.endswith("]")):
        return f"to_json({column})"
    if format == "jsonl" and kind in _NUMBERS:
        return f"CASE WHEN isfinite({column}) THEN {column} END"  # JSON has no NaN, and DuckDB writes it
    return column
