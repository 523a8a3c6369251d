"""What reading has to say beside records: what had no abstract, what was broken, what was guessed.

Nothing is dropped without a notice. A notice is counted by its kind and the first few are kept in words; who runs the
readers decides when to say them. This module knows no format.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

from extract.errors import InputError

NoticeKind = Literal["no_abstract", "broken", "encoding", "file"]
"""A record without an abstract; a record (or the rest of a file) that can't be read; an encoding that was guessed; a
file of a folder that gave no record."""

STOPPING: frozenset[NoticeKind] = frozenset({"broken", "encoding", "file"})
"""What stops a strict reading. A record without an abstract doesn't: every bibliography has some."""

SHOWN = 5
"""Notices of a kind that are kept in words."""

_WORDS: dict[NoticeKind, tuple[str, str]] = {
    "no_abstract": ("record without an abstract", "records without an abstract"),
    "broken": ("record broken and left out", "records broken and left out"),
    "encoding": ("line not in UTF-8", "lines not in UTF-8"),
    "file": ("file without a record", "files without a record"),
}


@dataclass(slots=True)
class Notices:
    """The notices of one reading. `strict`: raise at the first one that stops."""

    strict: bool = False
    counts: Counter[NoticeKind] = field(default_factory=Counter)
    shown: dict[NoticeKind, list[str]] = field(default_factory=dict)

    def add(self, kind: NoticeKind, notice: InputError) -> None:
        """Take a notice in; raise it when strict and of a kind that stops."""
        if self.strict and kind in STOPPING:
            raise notice
        self.counts[kind] += 1
        shown = self.shown.setdefault(kind, [])
        if len(shown) < SHOWN:
            shown.append(str(notice))

    def lines(self) -> Iterator[str]:
        """Yield what a person should hear: a line for each kind with its count, and the first few of it."""
        for kind, count in self.counts.items():
            shown = self.shown[kind]
            yield f"{count:,} {_WORDS[kind][count != 1]}{':' if len(shown) == count else f', the first {len(shown)}:'}"
            yield from (f"  {line}" for line in shown)

    def for_file(self, source: str) -> "FileNotices":
        """Return where the notices of one file go."""
        return FileNotices(self, source)


@dataclass(slots=True)
class FileNotices:
    """The notices of one file: they carry its name, and its own counts say why it gave nothing."""

    notices: Notices
    source: str
    counts: Counter[NoticeKind] = field(default_factory=Counter)
    first_broken: InputError | None = None

    def broken(self, problem: str, line: int | None = None) -> None:
        """Say that a record can't be read: what was found against what was expected, at its physical line."""
        self.broke(InputError(self.source, problem, line))

    def broke(self, fault: InputError) -> None:
        """Say that a record can't be read, by the error itself."""
        self.first_broken = self.first_broken or fault
        self._add("broken", fault)

    def no_abstract(self, place: str, name: str | None) -> None:
        """Say that the record at `place` has no abstract; `name` is its title or id."""
        self._add("no_abstract", InputError(self.source, f"{place}: no abstract{f' in {name!r}' if name else ''}"))

    def guessed(self, problem: str, line: int | None = None) -> None:
        """Say that an encoding was guessed."""
        self._add("encoding", InputError(self.source, problem, line))

    def nothing(self, fault: InputError) -> None:
        """Say that this file gave no record, and why."""
        self._add("file", fault)

    def _add(self, kind: NoticeKind, notice: InputError) -> None:
        self.counts[kind] += 1
        self.notices.add(kind, notice)
