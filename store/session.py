"""One piece of work on a claimbase database: the file opened, its version checked, the work done, the file closed.

`reading` and `writing` are what all else opens the database through. A file of an older version is brought up to
date first, whoever comes with it.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb

from store import effective, migrations, typed, views, works
from store.errors import MissingDatabase, NotADatabase, StoreWriteFailed
from store.opening import WAIT_S, opened


@contextmanager
def reading(path: Path, wait_s: float = WAIT_S, may_write: Path | None = None) -> Iterator[duckdb.DuckDBPyConnection]:
    """The database, read-only, until the block ends; `may_write` is the one other file that COPY may make.

    Raises `MissingDatabase`, `NotADatabase`, `NewerDatabase`, `DatabaseBusy`, `StoreOpenFailed`.
    """
    with opened(path, wait_s, may_write=may_write) as con:
        version = migrations.version_of(con, path)
        if version == len(migrations.MIGRATIONS):
            yield con
            return
    if version == 0:
        raise NotADatabase(path, "it is empty")
    upgrade(path, wait_s)
    with opened(path, wait_s, may_write=may_write) as con:
        yield con


@contextmanager
def writing(path: Path, wait_s: float = WAIT_S) -> Iterator[duckdb.DuckDBPyConnection]:
    """The database in a transaction that ends with the block: committed, or undone if the block raises.

    Raises what `reading` does, and `StoreWriteFailed`.
    """
    if not path.exists():
        raise MissingDatabase(path)
    with opened(path, wait_s, write=True) as con:
        if migrations.version_of(con, path) < len(migrations.MIGRATIONS):
            _migrate(con, path)
        con.begin()
        yield con
        con.commit()


def create(path: Path, wait_s: float = WAIT_S) -> None:
    """Make the database, or bring an older one up to date. Its folder must exist.

    A new file is made under another name and appears whole. Raises as `writing` does.
    """
    if path.exists():
        with writing(path, wait_s):
            return
    unfinished = path.absolute().with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        upgrade(unfinished, wait_s)
        _appear(unfinished, path)
    except OSError as error:
        raise StoreWriteFailed(path, error.strerror or str(error)) from error
    finally:
        unfinished.unlink(missing_ok=True)


def upgrade(path: Path, wait_s: float = WAIT_S) -> None:
    """Apply the migrations that a file lacks, and make all that is derived anew."""
    with opened(path, wait_s, write=True) as con:
        _migrate(con, path)


def _migrate(con: duckdb.DuckDBPyConnection, path: Path) -> None:
    migrations.migrate(con, path)
    con.begin()
    rebuild(con)
    con.commit()


def rebuild(con: duckdb.DuckDBPyConnection) -> None:
    """Make all that is derived anew: the typed tables of claims, the works, the views. Within a transaction."""
    for schema_hash, structure in con.execute("SELECT schema_hash, structure FROM schemas").fetchall():
        typed.make_claims_table(con, schema_hash, structure)
        effective.make(con, schema_hash)
    works.relink(con)
    views.refresh(con)


def _appear(unfinished: Path, path: Path) -> None:
    """Give a file its name, unless another process was first: a link fails then, where a rename would replace."""
    try:
        os.link(unfinished, path)
    except FileExistsError:
        pass
    except OSError:  # a file system without links
        if not path.exists():
            os.rename(unfinished, path)
