"""Marks in a folder of parts: which runs are at work there, so that their parts and journals are left to them.

A mark is a file that its driver holds locked: the system frees it when the driver ends, however it ends. By the same
file a worker knows the folder that it sees for the driver's. An object store has no marks.
"""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from extract.distributed.parts import Folder
from store.errors import StoreWriteFailed

_SUFFIX = ".running"


@contextmanager
def marked(folder: Folder, run_id: str) -> Iterator[None]:
    """Have a run's mark in the folder while the block runs. Raises StoreWriteFailed where none can be made."""
    if folder.path is None:
        yield
        return
    path = _mark(folder.path, run_id)
    try:
        file = path.open("w", encoding="utf-8")
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as e:
        raise StoreWriteFailed(path, e.strerror or str(e)) from e
    with file:
        try:
            yield
        finally:
            path.unlink(missing_ok=True)


def is_marked(folder: Folder, run_id: str) -> bool:
    """Is this the folder that the run's driver has marked? Of an object store: yes."""
    return folder.path is None or _mark(folder.path, run_id).exists()


def live(folder: Folder) -> set[str]:
    """Return the runs that are at work in the folder."""
    return {run_id for run_id, lives in _marks(folder) if lives}


def dead(folder: Folder) -> set[str]:
    """Return the runs whose driver died before it could take its mark away."""
    return {run_id for run_id, lives in _marks(folder) if not lives}


def forget(folder: Folder, run_id: str) -> None:
    """Take the mark of a dead run away."""
    if folder.path is not None:
        _mark(folder.path, run_id).unlink(missing_ok=True)


def _mark(path: Path, run_id: str) -> Path:
    return path / f"{run_id}{_SUFFIX}"


def _marks(folder: Folder) -> Iterator[tuple[str, bool]]:
    for path in sorted(folder.path.glob(f"*{_SUFFIX}")) if folder.path is not None else ():
        try:
            with path.open("r+", encoding="utf-8") as file:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                yield path.name.removesuffix(_SUFFIX), False
        except BlockingIOError:
            yield path.name.removesuffix(_SUFFIX), True
        except FileNotFoundError:
            continue  # it has just ended
