"""What can go wrong with a database, each as one line for a person: what, where, and the way out.

    StoreError
    ├── NotADatabase        the file is no DuckDB file, or no database of claimbase
    ├── NewerDatabase       the file was made by a later claimbase
    ├── MissingDatabase     there is no file
    ├── DatabaseBusy        another process or connection held the file for longer than we wait
    ├── StoreOpenFailed     the file can't be opened for another reason (DuckDB's words)
    ├── StoreWriteFailed    the disk is full, the file is read-only (DuckDB's words); nothing of the batch is in it
    ├── NotAPart            a file that was to be merged is no part of a run
    ├── SchemaRefused       a schema from which no table can be made
    ├── RecordNotFound      no record, or more than one, answers to what was asked
    ├── QueryRefused        SQL that is not one statement that only reads
    ├── QueryFailed         SQL that DuckDB can't answer (its words)
    └── ExportFailed        the target is there already, has an unknown suffix, can't be written

Each keeps its parts as attributes, so that a caller never reads them out of the message.
"""

from collections.abc import Sequence
from pathlib import Path

from store.text import visible


class StoreError(Exception):
    """The base of all: `str` of it is one line, without control characters, whatever name or data it quotes."""

    def __init__(self, message: str) -> None:
        super().__init__(visible(message))


class NotADatabase(StoreError):
    """The file is no DuckDB file, or a DuckDB file of something else."""

    def __init__(self, path: Path, found: str) -> None:
        self.path = path
        self.found = found
        super().__init__(f"{path} is not a claimbase database ({found}); name another file with --db")


class NewerDatabase(StoreError):
    """The file's migrations go further than this code's."""

    def __init__(self, path: Path, version: int, known: int) -> None:
        self.path = path
        self.version = version
        self.known = known
        super().__init__(
            f"{path} was made by a newer claimbase (database version {version}, this one knows {known}); "
            "upgrade claimbase, or name another file with --db"
        )


class MissingDatabase(StoreError):
    """There is no file to read."""

    def __init__(self, path: Path) -> None:
        self.path = path
        super().__init__(f"no database at {path}; make one with `claimbase run INPUT`, or name another with --db")


class DatabaseBusy(StoreError):
    """Another held the file for the whole time that we wait; `pid` is None if it was a connection of this process."""

    def __init__(self, path: Path, waited_s: float, pid: int | None) -> None:
        self.path = path
        self.waited_s = waited_s
        self.pid = pid
        holder = "another connection" if pid is None else f"process {pid}"
        super().__init__(
            f"{path} is held by {holder} (waited {waited_s:.0f} s); close the program that has it open, and try again"
        )


class StoreOpenFailed(StoreError):
    """The file can't be opened, and not because of a lock or its format."""

    def __init__(self, path: Path, reason: str) -> None:
        self.path = path
        self.reason = reason
        super().__init__(f"can't open {path}: {reason}")


class StoreWriteFailed(StoreError):
    """A write failed; the transaction is undone, what was saved before is kept."""

    def __init__(self, path: Path, reason: str) -> None:
        self.path = path
        self.reason = reason
        super().__init__(f"can't write to {path}: {reason}; what was saved before is kept")


class NotAPart(StoreError):
    """A file that is no part of a run, or a part that can't be read."""

    def __init__(self, path: Path, found: str) -> None:
        self.path = path
        self.found = found
        super().__init__(f"{path} is no part of a run ({found}); name the folder that `run --parts` wrote")


class SchemaRefused(StoreError):
    """A schema's structure that no table can be made from."""

    def __init__(self, name: str, reason: str) -> None:
        self.name = name
        self.reason = reason
        super().__init__(f"schema {name!r} can't be stored: {reason}")


class RecordNotFound(StoreError):
    """No record, or several, whose id starts so or whose source id is so. `candidates` is empty or the several."""

    def __init__(self, wanted: str, candidates: Sequence[str] = ()) -> None:
        self.wanted = wanted
        self.candidates = tuple(candidates)
        if candidates:
            said = f"{wanted!r} fits {len(candidates)} records ({', '.join(candidates[:3])}); give more of the id"
        else:
            said = f"no record {wanted!r}; `claimbase sql 'FROM records'` lists them"
        super().__init__(said)


class QueryRefused(StoreError):
    """SQL that would write, set, load or read a file, or that is not one statement."""

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(f"{reason}; only one statement that reads the database is run, such as SELECT or DESCRIBE")


class QueryFailed(StoreError):
    """SQL that DuckDB can't answer, in its words."""

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(reason)


class ExportFailed(StoreError):
    """A table that can't be written where it was asked for."""

    def __init__(self, target: str, reason: str) -> None:
        self.target = target
        self.reason = reason
        super().__init__(f"can't export to {target}: {reason}")
