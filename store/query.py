"""Runs a stranger's SQL over a database: one statement that only reads, without access to files or the network.

DuckDB's own fences do the guarding (a read-only file, external access off, the configuration locked, no extension
loaded); the check of the statement before is for the message. The answer is fetched whole and the file let go before
the first row is handed out, so that a pager which waits for a key never keeps a run from writing; what doesn't fit in
memory waits in a temporary file. How an answer looks is `formats`' matter.
"""

import pickle
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import duckdb

from store.errors import QueryFailed, QueryRefused
from store.opening import WAIT_S, one_line
from store.session import reading

Row = tuple[Any, ...]

_ROWS_AT_ONCE = 5_000
_BYTES_IN_MEMORY = 32 * 1024 * 1024
# PIVOT is the one statement that DuckDB calls MULTI.
_READING = (duckdb.StatementType.SELECT, duckdb.StatementType.EXPLAIN, duckdb.StatementType.MULTI)
_READS_FILES = ("file system operations are disabled", "Cannot access file", "Cannot access directory")
_NOT_HERE = ("attached in read-only mode", "configuration has been locked", "in read-only mode")


@dataclass(frozen=True, slots=True)
class Result:
    """The answer of a query. `rows`, `count` of them, can be gone through once; `cut`: the limit left some out."""

    columns: Sequence[str]
    types: Sequence[str]
    rows: Iterator[Row]
    count: int
    cut: bool = False


@contextmanager
def open_readonly(
    path: Path, wait_s: float = WAIT_S, may_write: Path | None = None
) -> Iterator[duckdb.DuckDBPyConnection]:
    """The database for a stranger's SQL, until the block ends; `may_write` is the one file that COPY may make.

    Raises `QueryRefused` and `QueryFailed` for what DuckDB says of the SQL, and `MissingDatabase`, `NotADatabase`,
    `NewerDatabase`, `DatabaseBusy`, `StoreOpenFailed`.
    """
    with reading(path, wait_s, may_write) as con:
        try:
            yield con
        except duckdb.Error as error:
            raise refusal(error) from error


def run_query(
    path: Path, sql: str, limit: int | None = None, wait_s: float = WAIT_S, longest_s: float | None = None
) -> Result:
    """The answer to one SQL statement, its first `limit` rows if that is given.

    Raises `QueryRefused` for what isn't one statement that only reads, `QueryFailed` with DuckDB's words for the rest
    and for what takes longer than `longest_s`, and what `open_readonly` raises.
    """
    with open_readonly(path, wait_s) as con, _stopped_after(con, longest_s):
        con.execute(the_statement(con, sql))
        description = con.description or []
        fetched = _Fetched()
        wanted = None if limit is None else limit + 1
        while rows := con.fetchmany(_ROWS_AT_ONCE if wanted is None else min(_ROWS_AT_ONCE, wanted - fetched.count)):
            fetched.add(rows)
            if wanted is not None and fetched.count >= wanted:
                break
    return Result(
        columns=tuple(str(column[0]) for column in description),
        types=tuple(str(column[1]) for column in description),
        rows=fetched.first(limit),
        count=fetched.count if limit is None else min(limit, fetched.count),
        cut=limit is not None and fetched.count > limit,
    )


@contextmanager
def _stopped_after(con: duckdb.DuckDBPyConnection, seconds: float | None) -> Iterator[None]:
    """Stop what the connection does in the block once it has taken so long. Raises `QueryFailed` then."""
    if seconds is None:
        yield
        return
    timer = threading.Timer(seconds, con.interrupt)
    timer.daemon = True
    timer.start()
    try:
        yield
    except duckdb.InterruptException as error:
        raise QueryFailed(f"it took longer than {seconds:g} s and was stopped; ask for less") from error
    finally:
        timer.cancel()


def the_statement(con: duckdb.DuckDBPyConnection, sql: str) -> str:
    """The one statement of `sql`, without its semicolon. Raises `QueryRefused`; `QueryFailed` if it can't be parsed."""
    try:
        statements = con.extract_statements(sql)
    except duckdb.Error as error:
        raise QueryFailed(one_line(error)) from error
    if len(statements) != 1:
        raise QueryRefused("there is no SQL here" if not statements else f"these are {len(statements)} statements")
    if statements[0].type not in _READING:
        raise QueryRefused(f"{_kind(statements[0])} is not allowed")
    return statements[0].query.strip().removesuffix(";")


def refusal(error: duckdb.Error) -> QueryRefused | QueryFailed:
    """What DuckDB said of a statement, as a person should read it."""
    said = str(error)
    if any(sign in said for sign in _READS_FILES):
        return QueryRefused("a query has no access to files or the network")
    if any(sign in said for sign in _NOT_HERE):
        return QueryRefused("a query can't change the database")
    return QueryFailed(one_line(error))


def _kind(statement: duckdb.Statement) -> str:
    first = statement.query.split(None, 1)
    return first[0].upper() if first else "this"


class _Fetched:
    """Rows that were fetched, in memory up to some size and in a temporary file beyond it."""

    def __init__(self) -> None:
        self.count = 0
        self._file: IO[bytes] = tempfile.SpooledTemporaryFile(_BYTES_IN_MEMORY)

    def __del__(self) -> None:
        # Of a query that failed midway, and of an answer that nobody went through.
        self._file.close()

    def add(self, rows: Sequence[Row]) -> None:
        self.count += len(rows)
        pickle.dump(rows, self._file, pickle.HIGHEST_PROTOCOL)

    def first(self, limit: int | None) -> Iterator[Row]:
        """The rows, at most `limit`; once."""
        left = self.count if limit is None else min(limit, self.count)
        with self._file:
            self._file.seek(0)
            while left > 0:
                rows = pickle.load(self._file)[:left]  # noqa: S301  (our own file, without a name)
                left -= len(rows)
                yield from rows
