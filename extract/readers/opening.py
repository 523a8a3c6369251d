"""Opens an input as a stream of unpacked bytes, and bounds what a packed one may unpack to.

Faults of the file itself (it can't be read, its packing is broken) come out as InputError, whoever reads. What the
bytes mean is for others.
"""

import gzip
import io
import sys
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Protocol, cast

from extract.errors import InputError
from extract.readers.fields import Columns
from extract.readers.inputs import Source
from extract.readers.notices import FileNotices

GZIP = b"\x1f\x8b"
MAX_RATIO = 100
"""How many times its size a `.gz` may unpack to: text reaches 3 to 30, a bomb 1,000."""
FREE_BYTES = 64 << 20
"""Unpacked bytes below which the ratio isn't looked at."""
SPOOL_BYTES = 4 << 30
"""The most that is copied to a temporary file, for a format that must be read at any place of it."""

HEAD_BYTES = 1 << 16
"""What is looked at to tell a format."""


class _Reads(Protocol):
    def read(self, size: int, /) -> bytes: ...


class _Counted:
    """Bytes as they stand in the file, counted as they are read. Standard input is left open."""

    def __init__(self, file: io.BufferedReader) -> None:
        self._file, self.count = file, 0

    def read(self, size: int = -1) -> bytes:
        data = self._file.read(size)
        self.count += len(data)
        return data

    def close(self) -> None:
        if self._file is not getattr(sys.stdin, "buffer", None):
            self._file.close()


class _Unpacking(io.RawIOBase):
    """Bytes of an input, as they are or unpacked; raises InputError in place of what files and zlib raise."""

    def __init__(self, name: str, packed: io.BufferedReader) -> None:
        self._name, self._unpacked = name, 0
        self._given = _Counted(packed)
        self.packed = packed.peek(2)[:2] == GZIP
        self._file: _Reads = gzip.GzipFile(fileobj=cast(BinaryIO, self._given)) if self.packed else self._given

    def readable(self) -> bool:
        return True

    def readinto(self, target: object) -> int:
        view = memoryview(target)  # type: ignore[arg-type]
        try:
            data = self._file.read(len(view))
        except EOFError as e:
            raise InputError(self._name, f"is cut off: its .gz ends after {self._unpacked:,} unpacked bytes") from e
        except (gzip.BadGzipFile, zlib.error) as e:
            raise InputError(self._name, f"is a broken .gz: {e}; fetch it again") from e
        except OSError as e:
            raise InputError(self._name, f"can't be read: {e.strerror or e}") from e
        view[: len(data)] = data
        self._bound(len(data))
        return len(data)

    def _bound(self, read: int) -> None:
        self._unpacked += read
        if self.packed and self._unpacked > FREE_BYTES:
            if self._unpacked > MAX_RATIO * self._given.count:
                problem = f"unpacks to over {MAX_RATIO} times its size, as no text does; unpack it yourself to read it"
                raise InputError(self._name, problem)

    def close(self) -> None:
        if not self.closed:
            self._given.close()
        super().close()


@dataclass(frozen=True, slots=True)
class Opened:
    """An input that is being read: its unpacked bytes, its first ones, and where what is to be said of it goes."""

    source: Source
    stream: BinaryIO
    head: bytes
    packed: bool
    columns: Columns
    notices: FileNotices


@contextmanager
def opened(source: Source, columns: Columns, notices: FileNotices) -> Iterator[Opened]:
    """Open an input. Raises InputError, now or while its stream is read."""
    try:
        raw = _raw(source)
        unpacking = _Unpacking(source.name, raw)
        stream = io.BufferedReader(unpacking, HEAD_BYTES)
    except OSError as e:
        raise InputError(source.name, f"can't be read: {e.strerror or e}") from e
    with stream:
        yield Opened(source, stream, stream.peek(HEAD_BYTES)[:HEAD_BYTES], unpacking.packed, columns, notices)


def _raw(source: Source) -> io.BufferedReader:
    if source.remote is not None:
        return source.remote.opened()
    return _standard_input(source.name) if source.path is None else source.path.open("rb")


def _standard_input(name: str) -> io.BufferedReader:
    stream = getattr(sys.stdin, "buffer", None)
    if not isinstance(stream, io.BufferedReader):
        raise InputError(name, "is closed; name a file")
    return stream


@contextmanager
def as_file(file: Opened, avoid: str = "") -> Iterator[Path]:
    """Give the path of a file with an input's bytes: its own if it has one and isn't packed, else a temporary one.

    A path with a character of `avoid` in it, which its reader would take for a pattern, isn't given.
    """
    source = file.source
    usable = source.path is not None and source.path.is_file() and not set(avoid) & set(str(source.path.absolute()))
    if source.path is not None and usable and not file.packed:
        yield source.path
        return
    with tempfile.TemporaryDirectory(prefix="claimbase-") as folder:
        path = Path(folder) / "input"
        with path.open("wb") as copy:
            while block := file.stream.read(HEAD_BYTES):
                if copy.tell() > SPOOL_BYTES:
                    problem = f"is over {SPOOL_BYTES >> 30} GiB unpacked; unpack it to a file and name that"
                    raise InputError(source.name, problem)
                copy.write(block)
        yield path
