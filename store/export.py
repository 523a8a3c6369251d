"""Writes a view, a table or the answer of a query to a file, in one of eight formats.

The file is written under another name beside the target and renamed when it is whole, so a target is either the old
file or the new one; standard output gets a whole file's bytes. What a format holds, and what it doesn't, is said in the
module that writes it: `copying`, `sheets`, `formats` (Markdown), `latex`, `bibtex`.
"""

import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from store.bibtex import bibtex_entries, bibtex_query
from store.copying import COPY_FORMATS, CopyFormat, copy, guarded, spreadsheet_lines
from store.errors import ExportFailed
from store.formats import format_rows
from store.latex import latex_lines
from store.opening import WAIT_S
from store.query import Result, open_readonly, run_query
from store.selecting import Show, as_cell, select
from store.sheets import write_sheet

ExportFormat = Literal[CopyFormat, "xlsx", "markdown", "latex", "bibtex"]
EXPORT_FORMATS: tuple[ExportFormat, ...] = get_args(ExportFormat)

SUFFIXES: dict[str, ExportFormat] = {
    **{f".{format}": format for format in COPY_FORMATS},
    ".ndjson": "jsonl",
    ".xlsx": "xlsx",
    ".md": "markdown",
    ".tex": "latex",
    ".bib": "bibtex",
}

STDOUT = "-"

_SPREADSHEETS: tuple[ExportFormat, ...] = ("csv", "tsv", "xlsx")
_BINARY: tuple[ExportFormat, ...] = ("parquet", "xlsx")


@dataclass(frozen=True, slots=True)
class _Export:
    """What to write, and how: from the database `path` what is asked for, to a file that errors call `to`."""

    path: Path
    what: str
    to: str
    format: ExportFormat
    guarded: bool
    wait_s: float

    def write(self, target: Path) -> int:
        """Write to `target`, over what is there, and return the number of rows."""
        if self.format in COPY_FORMATS and not self.guarded:
            return copy(self.path, self.what, target, self.format, self.wait_s)
        if self.format == "bibtex":
            return self._write_bibtex(target)
        # Fetched whole, and the database let go before the file is written, which may take longer than a run waits.
        result = self._answer(guarded if self.guarded else as_cell)
        if self.format == "xlsx":
            write_sheet(result, target, self.to)
        elif self.format == "markdown":
            _write_lines(target, format_rows(result, "markdown"))
        elif self.format == "latex":
            _write_lines(target, latex_lines(result))
        else:
            _write_lines(target, spreadsheet_lines(result, "\t" if self.format == "tsv" else ","))
        return result.count

    def _answer(self, show: Show) -> Result:
        with open_readonly(self.path, self.wait_s) as con:
            query = select(con, self.what).shown(show)
        return run_query(self.path, query, wait_s=self.wait_s)

    def _write_bibtex(self, target: Path) -> int:
        with open_readonly(self.path, self.wait_s) as con:
            selected = select(con, self.what)
        result = run_query(self.path, bibtex_query(selected, self.to), wait_s=self.wait_s)
        rows = 0
        with target.open("w", encoding="utf-8", newline="") as file:
            for entry, of_rows in bibtex_entries(result, selected.names):
                file.write(entry)
                rows += of_rows
        return rows


def export(
    path: Path,
    what: str,
    to: str,
    force: bool = False,
    format: ExportFormat | None = None,
    for_spreadsheets: bool = False,
    wait_s: float = WAIT_S,
) -> int:
    """Write `what`, the name of a view or table or a SELECT, to the file `to`, and return the number of rows.

    The format is told by the suffix unless it is given; `-` is standard output, as CSV unless told. `for_spreadsheets`
    makes CSV and TSV safe to open in one. Raises `ExportFailed` (the target is there and not `force`, an unknown
    suffix, more than the format holds, a write that failed), `QueryFailed` (no such view, and which there are),
    `QueryRefused`, and what opening a database raises.
    """
    chosen = format or ("csv" if to == STDOUT else _format_of(to))
    if for_spreadsheets and chosen not in _SPREADSHEETS:
        raise ExportFailed(to, f"{chosen} is no format for spreadsheets; {', '.join(_SPREADSHEETS)} are")
    # A sheet's text is never taken for a formula, so it needs no guard.
    work = _Export(path, what, to, chosen, for_spreadsheets and chosen != "xlsx", wait_s)
    if to == STDOUT and chosen in _BINARY and sys.stdout.isatty():
        raise ExportFailed(STDOUT, f"{chosen} is not for a terminal; name a file, or pipe it on")
    return write_whole(path, to, force, work.write)


def write_whole(path: Path, to: str, force: bool, write: Callable[[Path], int]) -> int:
    """Have `write` make the file `to`, which appears whole or not at all, and return the rows that it says it wrote.

    `-` is standard output. Raises `ExportFailed` for a target that is there and not `force`, that is the database at
    `path`, or that can't be written.
    """
    if to == STDOUT:
        return _to_stdout(write)
    target = Path(to)
    _check_target(path, target, to, force)
    temporary = target.absolute().with_name(f".{target.name}.{os.getpid()}.tmp")
    try:
        temporary.touch()  # so that a folder that can't be written says so before the query is run
        rows = write(temporary)
        os.replace(temporary, target)
    except OSError as error:
        raise ExportFailed(to, error.strerror or str(error)) from error
    finally:
        temporary.unlink(missing_ok=True)
    return rows


def _format_of(to: str) -> ExportFormat:
    suffix = Path(to).suffix
    if (found := SUFFIXES.get(suffix.lower())) is None:
        raise ExportFailed(to, f"the suffix {suffix!r} tells no format; use one of {', '.join(SUFFIXES)}, or --format")
    return found


def _check_target(path: Path, target: Path, to: str, force: bool) -> None:
    if target.is_dir():
        raise ExportFailed(to, "it is a folder; name a file in it")
    if not target.absolute().parent.is_dir():
        raise ExportFailed(to, f"there is no folder {target.parent}; make it first")
    if not target.exists():
        return
    if not target.is_file():
        raise ExportFailed(to, "it is no plain file; name one, or '-' for standard output")
    if path.exists() and target.samefile(path):
        raise ExportFailed(to, "it is the database; name another file")
    if not force:
        raise ExportFailed(to, "the file is there already; name another, or replace it with --force")


def _to_stdout(write: Callable[[Path], int]) -> int:
    with tempfile.TemporaryDirectory(prefix="claimbase-") as folder:
        temporary = Path(folder) / "answer"
        rows = write(temporary)
        with temporary.open("rb") as file:
            # Bytes, as text would be written in the encoding and with the line ends of the system.
            shutil.copyfileobj(file, sys.stdout.buffer)
    sys.stdout.buffer.flush()
    return rows


def _write_lines(target: Path, lines: Iterable[str]) -> None:
    with target.open("w", encoding="utf-8", newline="") as file:
        file.writelines(lines)
