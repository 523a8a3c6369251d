"""Finds the files that a person's inputs name: files, folders, patterns, `-`, addresses such as `s3://bucket/folder`.

It looks at names and at what kind of thing stands there; it opens nothing. A path that stands inside a file is never
followed, nor a link from within a folder to another folder.
"""

import glob
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from extract.addresses import Remote, first_line, is_address, remote_files, shown
from extract.errors import InputError

STDIN = "-"
SUFFIXES = frozenset(
    ".txt .jsonl .ndjson .json .csv .tsv .tab .parquet .xlsx .bib .bibtex .ris .nbib .medline .xml .atom".split()
)
"""What is read of a folder, each also with `.gz` after it. A file that is named itself may have any name."""

_PATTERN = frozenset("*?[")


@dataclass(frozen=True, slots=True)
class Source:
    """A file to read: at a `path`, behind an address (`remote`), or standard input (neither).

    `found`: a folder or a pattern named it, not the person.
    """

    name: str
    path: Path | None
    found: bool = False
    remote: Remote | None = None

    @property
    def suffix(self) -> str:
        """The suffix that tells the format, in lower case, `.gz` left off: `.csv` for `a.CSV.gz`."""
        name = self.name.lower().removesuffix(".gz")
        return os.path.splitext(name)[1]

    @property
    def size(self) -> int | None:
        """Bytes of the file as it stands there, None where that isn't known (standard input, a pipe)."""
        if self.remote is not None:
            return self.remote.size
        return self.path.stat().st_size if self.path is not None and self.path.is_file() else None


def find(inputs: Iterable[str]) -> list[Source]:
    """Return the files that inputs name, in their order, those of a folder by name. Raises InputError if none is."""
    found: dict[Path | str, Source] = {}
    for name in inputs:
        for source in _named(name):
            found.setdefault(source.path or source.name, source)
    return list(found.values())


def _named(name: str) -> Iterator[Source]:
    if name == STDIN:
        yield Source("standard input", None)
        return
    if not name:
        raise InputError(repr(name), "is no file's name")
    if is_address(name):
        yield from _behind(name)
        return
    path = Path(name)
    try:
        if path.is_dir():
            yield from _of_folder(path)
        elif path.exists():
            yield Source(name, path)
        elif _PATTERN & set(name):
            yield from _matching(name)
        else:
            raise InputError(name, "no such file")
    except (OSError, ValueError) as e:  # a name too long, or with a NUL
        raise InputError(name, f"can't be read: {getattr(e, 'strerror', None) or e}") from e


def _behind(address: str) -> Iterator[Source]:
    """Yield the file behind an address, or what the folder there holds in a format that is read."""
    name = shown(address)
    try:
        files = remote_files(address)
    except OSError as e:
        raise InputError(name, f"can't be read: {first_line(e, address)}") from e
    if files is None:
        raise InputError(name, "nothing is there; expected the address of a file or a folder")
    if [own for own, _ in files] == [name]:
        yield Source(name, None, remote=files[0][1])
        return
    hidden = len(name.rstrip("/"))
    sources = [Source(own, None, True, remote) for own, remote in files if "/." not in own[hidden:]]
    readable = [source for source in sources if source.suffix in SUFFIXES]
    if not readable:
        raise InputError(name, f"is a folder without a file to read; expected {', '.join(sorted(SUFFIXES))}")
    yield from readable


def _of_folder(folder: Path) -> Iterator[Source]:
    """Yield what a folder and the folders in it hold in a format that is read; hidden files are left alone."""
    files = list[Path]()
    for place, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".")]  # what the walk goes on into
        shown = (name for name in names if not name.startswith("."))
        files += [Path(place, name) for name in shown if Source(name, None).suffix in SUFFIXES]
    if not files:
        raise InputError(str(folder), f"is a folder without a file to read; expected {', '.join(sorted(SUFFIXES))}")
    yield from (Source(str(file), file, found=True) for file in sorted(files))


def _matching(pattern: str) -> Iterator[Source]:
    files = sorted(Path(name) for name in glob.glob(pattern, recursive=True) if Path(name).is_file())
    if not files:
        raise InputError(pattern, "no file matches; expected a file, a folder or a pattern such as 'exports/*.bib'")
    yield from (Source(str(file), file, found=True) for file in files)
