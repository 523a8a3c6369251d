"""Parts: what workers write, a Parquet file for some thousand outcomes, each a row with all that led to it.

A part is whole or not there: it is written under another name and renamed, or put into an object store, which shows
nothing unfinished. It says in its metadata of which run it is, so that one alone can be taken into a database
(`store.merging`), or read as it is: by DuckDB, Spark, DuckLake, a warehouse. Nothing here reads outcomes or asks.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Protocol, get_args, get_type_hints

from extract.addresses import filesystem_at, is_address
from store.journal import Begun, begun_to_json
from store.merging import METADATA_KEY
from store.rows import Attempt, Evidence, Outcome, Record
from store.saving import json_of, utc
from store.text import clean, clean_json

SUFFIX = ".parquet"
Entry = tuple[Record, Outcome]

_WHOLE_AT_ONCE = frozenset({"s3", "gcs", "abfs"})
"""File systems in which a file can't be seen before it is whole; renaming there is copying."""


class Folder(Protocol):
    """Where parts lie. Errors of the disk or the network come out as OSError."""

    @property
    def path(self) -> Path | None:
        """The folder, if it is one of this machine's file system: a journal can be kept there."""
        ...

    def names(self) -> list[str]:
        """Return the names of the whole parts, sorted."""
        ...

    def write(self, name: str, part: Any) -> None:
        """Write an Arrow table as a part; it is there whole, or not at all."""
        ...

    def read(self, name: str, columns: Sequence[str]) -> Any:
        """Return some columns of a part as an Arrow table."""
        ...

    def local(self, names: Sequence[str]) -> Any:
        """Return a context that gives the parts' paths on this machine, in order."""
        ...

    def remove(self, name: str) -> None:
        """Remove a part."""
        ...


@dataclass(frozen=True, slots=True)
class LocalFolder:
    """A folder of a file system that this machine has mounted. Listing and giving paths needs no Arrow."""

    path: Path

    def names(self) -> list[str]:
        """Return the names of the whole parts, sorted."""
        return sorted(path.name for path in self.path.glob(f"*{SUFFIX}") if not path.name.startswith("."))

    def write(self, name: str, part: Any) -> None:
        """Write an Arrow table as a part; it is there whole, or not at all."""
        import pyarrow.parquet as pq

        unfinished = self.path / f".{name}.{os.getpid()}.tmp"
        try:
            pq.write_table(part, unfinished, compression="zstd")
            unfinished.rename(self.path / name)
        finally:
            unfinished.unlink(missing_ok=True)

    def read(self, name: str, columns: Sequence[str]) -> Any:
        """Return some columns of a part as an Arrow table."""
        import pyarrow.parquet as pq

        return pq.read_table(self.path / name, columns=list(columns))

    @contextmanager
    def local(self, names: Sequence[str]) -> Iterator[list[Path]]:
        """Give the parts' paths on this machine, in order."""
        yield [self.path / name for name in names]

    def remove(self, name: str) -> None:
        """Remove a part."""
        (self.path / name).unlink(missing_ok=True)


@dataclass(frozen=True, slots=True)
class RemoteFolder:
    """A folder behind an address such as `s3://bucket/claims`, through pyarrow's file systems."""

    files: Any
    root: str

    @property
    def path(self) -> Path | None:
        """None: there is no journal behind an address."""
        return None

    def names(self) -> list[str]:
        """Return the names of the whole parts, sorted."""
        from pyarrow.fs import FileSelector, FileType

        found = self.files.get_file_info(FileSelector(self.root, allow_not_found=True))
        return sorted(
            one.base_name
            for one in found
            if one.type == FileType.File and one.base_name.endswith(SUFFIX) and not one.base_name.startswith(".")
        )

    def write(self, name: str, part: Any) -> None:
        """Write an Arrow table as a part; it is there whole, or not at all."""
        import pyarrow.parquet as pq

        if self.files.type_name in _WHOLE_AT_ONCE:
            pq.write_table(part, f"{self.root}/{name}", filesystem=self.files, compression="zstd")
            return
        self.files.create_dir(self.root, recursive=True)
        unfinished = f"{self.root}/.{name}.{os.getpid()}.tmp"
        pq.write_table(part, unfinished, filesystem=self.files, compression="zstd")
        self.files.move(unfinished, f"{self.root}/{name}")

    def read(self, name: str, columns: Sequence[str]) -> Any:
        """Return some columns of a part as an Arrow table."""
        import pyarrow.parquet as pq

        return pq.read_table(f"{self.root}/{name}", columns=list(columns), filesystem=self.files)

    @contextmanager
    def local(self, names: Sequence[str]) -> Iterator[list[Path]]:
        """Give the parts' paths on this machine, in order."""
        from pyarrow.fs import LocalFileSystem, copy_files

        with TemporaryDirectory(prefix="claimbase-parts-") as folder:
            for name in names:
                copy_files(
                    f"{self.root}/{name}",
                    f"{folder}/{name}",
                    source_filesystem=self.files,
                    destination_filesystem=LocalFileSystem(),
                )
            yield [Path(folder) / name for name in names]

    def remove(self, name: str) -> None:
        """Remove a part."""
        self.files.delete_file(f"{self.root}/{name}")


def run_of(name: str) -> str:
    """Return the run that a part is of, by its name: `WORKER.RUN.NUMBER.parquet`; nothing for another name."""
    named = name.split(".")
    return named[1] if len(named) == 4 else ""


def folder_at(address: str) -> Folder:
    """Return the folder of parts at a path or an address (`s3://`, `gs://`, `hdfs://`, `file://`…); makes nothing.

    Raises SettingsError for an address that pyarrow doesn't know, or where pyarrow itself is missing.
    """
    if not is_address(address):
        return LocalFolder(Path(address).absolute())
    return RemoteFolder(*filesystem_at(address))


def table_of(begun: Begun, entries: Sequence[Entry]) -> Any:
    """Return outcomes of a run as an Arrow table, with the run's rows in its metadata."""
    import pyarrow as pa

    schema = _schema().with_metadata({METADATA_KEY: begun_to_json(begun).encode()})
    return pa.Table.from_pylist([_row(begun.run.run_id, record, outcome) for record, outcome in entries], schema)


def _schema() -> Any:
    """Return the columns of a part: those of the rows' own fields, so that a new field is in it by itself."""
    import pyarrow as pa

    attempt, evidence = (pa.list_(pa.struct(_columns(kind))) for kind in (Attempt, Evidence))
    rest = [(name, kind) for name, kind in _columns(Outcome) if name not in ("attempts", "evidence")]
    return pa.schema(
        [
            *(("run_id", pa.string()), ("record_id", pa.string())),
            *((name, kind) for name, kind in [*_columns(Record), *rest]),
            *(("attempts", attempt), ("evidence", evidence)),
        ]
    )


def _columns(kind: type) -> list[tuple[str, Any]]:
    """Return the fields of a row's class, the record's id left out, with their Arrow types; a mapping is JSON text."""
    import pyarrow as pa

    arrow = {int: pa.int32(), float: pa.float64(), datetime: pa.timestamp("us")}
    columns = []
    for name, hint in get_type_hints(kind).items():
        if name != "record_id":
            plain = next(one for one in (get_args(hint) or (hint,)) if one is not type(None))
            columns.append((name, arrow.get(plain, pa.string())))
    return columns


def _row(run_id: str, record: Record, outcome: Outcome) -> dict[str, Any]:
    """Return a row of a part, its texts such as Parquet and DuckDB can hold."""
    return {
        "run_id": run_id,
        **_plain(record),
        **_plain(outcome),
        "attempts": [_plain(attempt) for attempt in outcome.attempts],
        "evidence": [_plain(found) for found in outcome.evidence],
    }


def _plain(row: Any) -> dict[str, Any]:
    return {name: _value(name, getattr(row, name)) for name in row.__slots__ if name not in ("attempts", "evidence")}


def _value(name: str, value: object) -> object:
    if isinstance(value, str):
        return clean_json(value) if name == "value" else clean(value)
    if isinstance(value, Mapping):
        return json_of(value)
    return utc(value) if isinstance(value, datetime) else value
