"""Files behind addresses such as `s3://bucket/folder` or `gs://`, through pyarrow's file systems.

Keys are looked for where the store's own tools have them (variables, a profile, the machine's role). An address
may carry some as well; what is shown, or kept, of one has neither user nor query in it. Nothing here reads a format.
"""

import io
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from extract.errors import SettingsError

_FETCHED_AT_ONCE = 4 << 20
"""Bytes of one request, while a file is read through."""


@dataclass(frozen=True, slots=True)
class Remote:
    """A file behind an address: `address` leads to its file system, `path` is the file's there; `size` in bytes."""

    address: str = field(repr=False)
    path: str
    size: int

    def opened(self, buffer: int = _FETCHED_AT_ONCE) -> io.BufferedReader:
        """Open it for reading, at any place of it. Errors of the network come out as OSError."""
        files, _ = filesystem_at(self.address)
        file: Any = files.open_input_file(self.path)
        return io.BufferedReader(file, buffer)


def is_address(name: str) -> bool:
    """Is it an address, rather than a path?"""
    return "://" in name


def shown(address: str) -> str:
    """Return an address without the keys and settings that may stand in it. A path stays as it is."""
    if not is_address(address):
        return address
    parts = urlsplit(address)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


def filesystem_at(address: str) -> tuple[Any, str]:
    """Return pyarrow's file system behind an address, and the path there. Raises SettingsError if it knows none."""
    try:
        from pyarrow import ArrowException
        from pyarrow.fs import FileSystem
    except ImportError:
        raise SettingsError(
            f"{shown(address)!r} needs pyarrow, which isn't installed; `pip install 'claimbase[ray]'` brings it"
        ) from None
    try:
        files, path = FileSystem.from_uri(address)
    except (ArrowException, OSError, ValueError) as e:
        raise SettingsError(
            f"{shown(address)!r} is no address that pyarrow can use: {first_line(e, address)}; expected for instance "
            "s3://bucket/folder"
        ) from None
    return files, path.rstrip("/")


def remote_files(address: str) -> list[tuple[str, Remote]] | None:
    """Return the file behind an address with its shown name, or those of the folder there, by name; None if neither.

    Raises OSError where the store can't be asked, and what `filesystem_at` does.
    """
    files, path = filesystem_at(address)
    from pyarrow.fs import FileSelector, FileType

    there = files.get_file_info(path)
    if there.type == FileType.File:
        return [(shown(address), Remote(address, path, there.size))]
    found = [
        one for one in files.get_file_info(FileSelector(path, allow_not_found=True, recursive=True)) if one.is_file
    ]
    if not found and there.type == FileType.NotFound:
        return None
    base = shown(address).rstrip("/")
    return [
        (base + one.path.removeprefix(path), Remote(address, one.path, one.size))
        for one in sorted(found, key=lambda one: one.path)
    ]


def first_line(error: Exception, address: str) -> str:
    """Return the first line of what went wrong, without the address where it is quoted with its keys."""
    words = getattr(error, "strerror", None) or str(error)
    lines = str(words).strip().splitlines() or [type(error).__name__]
    return lines[0].replace(address, shown(address))
