"""Opens the database file for one piece of work, and says in our own errors why it can't.

DuckDB lets one process write a file or many read it, never both, so nothing here keeps a file open: a caller opens,
works, closes (about 20 ms), and whoever finds it locked waits with a jittered back-off. It never touches the file but
through DuckDB: closing any other handle of ours on it would drop DuckDB's POSIX lock. It knows no table.
"""

import random
import re
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb

from store.errors import DatabaseBusy, MissingDatabase, NotADatabase, StoreOpenFailed, StoreWriteFailed

WAIT_S = 30.0
"""How long a caller waits for the file unless told."""

_FIRST_PAUSE_S = 0.005
_LONGEST_PAUSE_S = 0.25

Config = dict[str, str | bool | int | float | list[str]]

# In UTC, as the tables' times are; and a file that looks like SQLite makes DuckDB download an extension: never.
_COMMON: Config = {"TimeZone": "UTC", "autoinstall_known_extensions": False}
# Every reader has the same fences, so that readers in one process can share the file: a stranger's SQL gets no file,
# no network, and no way to switch that back on.
_FENCED: Config = {**_COMMON, "enable_external_access": False, "lock_configuration": True}

_PID = re.compile(r"\(PID (\d+)\)")
_LOCKED = ("Could not set lock on file", "different configuration than existing connections")
_UNWRITABLE = ("Permission denied", "Read-only file system", "No space left", "Could not write", "Disk quota")


def one_line(error: BaseException) -> str:
    """DuckDB's message without its class prefix, its caret picture and its links, on one line."""
    text = str(error).split("\n\nLINE ")[0].strip()
    first, *rest = [line.strip() for line in text.splitlines() if line.strip()] or [type(error).__name__]
    hints = [line for line in rest if line.startswith(("Did you mean", "Candidate"))]
    return " ".join([re.sub(r"^[A-Z]\w*( \w+)? Error: ", "", first), *hints]).removesuffix(".")


@contextmanager
def opened(
    path: Path, wait_s: float = WAIT_S, *, write: bool = False, may_write: Path | None = None
) -> Iterator[duckdb.DuckDBPyConnection]:
    """The file, open until the block ends; read-only and fenced in unless `write`.

    With `write`, an absent file is made. `may_write` is the one other file that a read-only connection may COPY to.
    Raises `MissingDatabase`, `NotADatabase`, `DatabaseBusy`, `StoreOpenFailed`, and with `write` `StoreWriteFailed`,
    also for a DuckDB error of the disk or the data within the block or at closing.
    """
    if not write and not path.exists():
        raise MissingDatabase(path)
    if path.is_dir():
        raise NotADatabase(path, "it is a folder")
    con = _connect(path, wait_s, write, own=write or may_write is not None)
    if may_write is not None:
        con.execute("SET allowed_paths = ?", [[str(may_write)]])
        con.execute("SET enable_external_access = false")
        con.execute("SET lock_configuration = true")
    try:
        yield con
    except BaseException as error:
        _close_quietly(con)
        if write and isinstance(error, duckdb.Error) and not isinstance(error, duckdb.ProgrammingError):
            raise StoreWriteFailed(path, one_line(error)) from error
        raise
    try:
        con.close()
    except duckdb.Error as error:
        raise StoreWriteFailed(path, one_line(error)) from error


def _connect(path: Path, wait_s: float, write: bool, own: bool) -> duckdb.DuckDBPyConnection:
    config = dict(_COMMON if own else _FENCED)
    if own:
        # Within one process connections of one configuration share the file; a name of its own makes one wait there
        # too, as it would for another process.
        config["custom_user_agent"] = f"claimbase-{uuid.uuid4()}"
    began = time.monotonic()
    pause_s = _FIRST_PAUSE_S
    while True:
        try:
            return duckdb.connect(path, read_only=not write, config=config)
        except duckdb.Error as error:
            waited_s = time.monotonic() - began
            if not any(sign in str(error) for sign in _LOCKED):
                raise _refusal(path, error, write) from error
            if waited_s >= wait_s:
                found = _PID.search(str(error))
                raise DatabaseBusy(path, waited_s, int(found[1]) if found else None) from error
        # Jitter keeps two waiting processes from meeting again; never sleep past the end of the wait.
        time.sleep(min(pause_s * random.uniform(0.5, 1.5), max(wait_s - waited_s, 0.0)))  # noqa: S311
        pause_s = min(pause_s * 1.5, _LONGEST_PAUSE_S)


def first_row(
    con: duckdb.DuckDBPyConnection, query: str, parameters: Sequence[object] | Mapping[str, object] = ()
) -> tuple[Any, ...] | None:
    """The first row of a query whose answer is small; `fetchone` would leave the connection busy with the rest."""
    rows = con.execute(query, dict(parameters) if isinstance(parameters, Mapping) else list(parameters)).fetchall()
    return rows[0] if rows else None


def _refusal(path: Path, error: duckdb.Error, write: bool) -> Exception:
    said = one_line(error)
    if "not a valid DuckDB database file" in said or "extension" in said:
        return NotADatabase(path, "it is not a DuckDB file")
    if write and any(sign in said for sign in _UNWRITABLE):
        return StoreWriteFailed(path, said)
    return StoreOpenFailed(path, said)


def _close_quietly(con: duckdb.DuckDBPyConnection) -> None:
    # The error that ended the work is the one to report, not that of a close on the same full disk.
    try:
        con.close()
    except duckdb.Error:
        pass
