"""A journal beside the database: the outcomes of a run that are done and not yet saved.

Saving opens the database and costs some 40 ms, so a run saves in batches. So that a killed process loses no answer that
it has, each outcome is first appended to a file, for some 0.1 ms, and that file is dropped once its outcomes are saved.
What a killed run leaves is taken in by the next one (`recover`). It is proof against the death of the process, not
against that of the machine: nothing is forced to the disk.

A journal is made of parts, one a batch: `claims.duckdb.RUN.N.journal`, JSON lines, the first with the run's own rows.
Its process holds a lock on each part, which the system frees when the process ends, however it ends.
"""

import contextlib
import fcntl
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass, fields
from datetime import datetime
from pathlib import Path
from typing import IO, Any

from store.errors import StoreWriteFailed
from store.rows import Attempt, Evidence, Outcome, Prompt, Record, Run, Schema

SUFFIX = ".journal"
_NAMES = {
    kind: tuple(f.name for f in fields(kind)) for kind in (Attempt, Evidence, Outcome, Prompt, Record, Run, Schema)
}


@dataclass(frozen=True, slots=True)
class Begun:
    """The rows that describe a run, which its first outcome brings into the database."""

    run: Run
    schema: Schema
    prompt: Prompt


@dataclass(slots=True)
class Part:
    """One file of a journal, open and locked."""

    path: Path
    file: IO[str]

    def drop(self) -> None:
        """Remove the file, and free its lock after that. One that can't be removed is taken in again, to no effect."""
        with contextlib.suppress(OSError):
            self.path.unlink()
        self.file.close()

    def leave(self) -> None:
        """Free the lock and leave the file, for the next run to take in."""
        self.file.close()


class Journal:
    """The journal of one run. A part begins with an outcome; `cut` ends it, and the next outcome begins another."""

    def __init__(self, db: Path, begun: Begun) -> None:
        self.db, self.begun = db, begun
        self._parts = 0
        self._part: Part | None = None

    def add(self, record: Record, outcome: Outcome) -> None:
        """Append an outcome. Raises StoreWriteFailed if the disk is full, or the folder can't be written to."""
        try:
            part = self._part = self._part or self._new_part()
            part.file.write(_json([record, outcome]) + "\n")
            part.file.flush()
        except OSError as error:
            raise StoreWriteFailed(self.db, f"its journal: {error.strerror or error}") from error

    def cut(self) -> Part | None:
        """End the part that is being written and return it: to be dropped when what was added so far is saved."""
        part, self._part = self._part, None
        return part

    def _new_part(self) -> Part:
        self._parts += 1
        path = self.db.with_name(f"{self.db.name}.{self.begun.run.run_id}.{self._parts}{SUFFIX}")
        file = path.open("x", encoding="utf-8")
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        file.write(begun_to_json(self.begun) + "\n")
        return Part(path, file)


def begun_to_json(begun: Begun) -> str:
    """The rows that describe a run, on one line."""
    return _json([begun.run, begun.schema, begun.prompt])


def begun_from_json(text: str) -> Begun:
    """What `begun_to_json` wrote. Raises ValueError, KeyError or TypeError for anything else."""
    run, schema, prompt = json.loads(text)
    return Begun(Run(**_timed(run, "started_at")), Schema(**schema), Prompt(**prompt))


def left_behind(db: Path) -> Iterator[tuple[Part, Begun, list[tuple[Record, Outcome]]]]:
    """Yield the parts that dead runs left beside a database, locked, with what they hold; a live run's are passed over.

    A line that was being written when its process died is left out. The caller drops a part when it has saved it.
    """
    for path in sorted(db.absolute().parent.glob(f"{_escaped(db.name)}.*{SUFFIX}")):
        part = _locked(path)
        if part is None:
            continue
        lines = [line for line in part.file.read().split("\n")[:-1] if line]
        if not lines:
            part.drop()
            continue
        yield part, begun_from_json(lines[0]), [_entry(line) for line in lines[1:]]


def _locked(path: Path) -> Part | None:
    """Open and lock a part that nobody else holds; None if somebody does, or has just dropped it."""
    try:
        file = path.open("r+", encoding="utf-8")  # an NFS server locks exclusively only what is open for writing
    except OSError:
        return None
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.fstat(file.fileno()).st_nlink:
            return Part(path, file)
    except OSError:
        pass
    file.close()
    return None


def _json(rows: list[object]) -> str:
    return json.dumps(rows, default=_plain, separators=(",", ":"))


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat()
    names = _NAMES.get(type(value))
    if names is None:
        raise TypeError(f"{type(value).__name__} is no row")
    return {name: getattr(value, name) for name in names}


def _entry(line: str) -> tuple[Record, Outcome]:
    record, outcome = json.loads(line)
    outcome["attempts"] = tuple(Attempt(**_timed(a, "started_at")) for a in outcome["attempts"])
    outcome["evidence"] = tuple(Evidence(**e) for e in outcome["evidence"])
    return Record(**record), Outcome(**_timed(outcome, "finished_at"))


def _timed(row: dict[str, Any], name: str) -> dict[str, Any]:
    return {**row, name: datetime.fromisoformat(row[name])}


def _escaped(name: str) -> str:
    """A file name as a pattern that fits it alone."""
    return "".join(f"[{c}]" if c in "*?[" else c for c in name)
