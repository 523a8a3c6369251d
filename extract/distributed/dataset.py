"""The inputs of a run as a Ray dataset of records: read all over the cluster by our own readers, in order.

A file is a task; JSON lines are cut into pieces of some 64 MB, each of which is one. Our readers read them, not Ray's:
theirs know no abstract, stop at the first row that is out of form, and don't say on which line a record stood. Where a
file lies, in a folder that all nodes have mounted or in an object store, is the same to all this. What is small, or
comes from a pipe, is read by the driver, which takes less time than a task's start.
"""

import io
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import accumulate, chain, islice, pairwise
from typing import Any, BinaryIO

import pyarrow as pa
import ray
from ray.data import DataContext, read_datasource
from ray.data.block import BlockMetadata
from ray.data.datasource import Datasource, ReadTask

from extract.errors import InputError
from extract.readers import jsonl
from extract.readers.encodings import is_utf16
from extract.readers.fields import Columns
from extract.readers.inputs import Source
from extract.readers.notices import SHOWN, FileNotices, Notices
from extract.readers.opening import HEAD_BYTES, Opened, opened
from extract.readers.read import records_in
from extract.readers.sniff import format_of
from extract.readers.text import name_of, record_of
from store.rows import Record

PIECE = 64 << 20
"""Bytes of a piece of JSON lines, and of inputs from which on they are read by the cluster."""
_ROWS = 1_000
"""Records of a block, of some 2 MB."""
_TASKS = 4
"""Files that are read at once: a core reads 10,000 records a second, which is more than models answer."""

_LINE = re.compile(r"\Aline (\d+)")
_OFFSET = re.compile(r"(?<= at offset )\d+")


@dataclass(frozen=True, slots=True)
class Piece:
    """A file, or the bytes of it from `start` to `end`, before which there are `lines`."""

    source: Source
    start: int = 0
    end: int | None = None
    lines: int = 0


def records_of(
    sources: Sequence[Source], columns: Columns, notices: Notices, alone: Iterator[Record], piece: int = PIECE
) -> Iterator[Record]:
    """Return the records of the inputs, in their order: `alone` where they are small, else those of a dataset.

    Iterating raises InputError for a file without a record that a person named; notices are added as files end.
    """
    sizes = [source.size for source in sources]
    if any(size is None for size in sizes) or sum(size or 0 for size in sizes) < piece:
        return alone
    return _from(dataset_of(sources, columns, piece, strict=notices.strict), notices)


def dataset_of(sources: Sequence[Source], columns: Columns, piece: int = PIECE, *, strict: bool = False) -> Any:
    """Return the dataset: the column `record` is a record as JSON, NULL in the row that ends a piece with `notices`."""
    pieces = list(chain.from_iterable(_pieces(source, columns, piece) for source in sources))
    DataContext.get_current().execution_options.preserve_order = True  # of two places of a text the first counts
    at_once = min(_TASKS, len(pieces))
    return read_datasource(
        Records(pieces, columns, strict=strict), num_cpus=0, concurrency=at_once, override_num_blocks=len(pieces)
    )


class Records(Datasource):
    """The records of pieces, a task each. `strict`: a piece ends at its first broken record, with a fault."""

    def __init__(self, pieces: Sequence[Piece], columns: Columns, *, strict: bool) -> None:
        self.pieces, self.columns, self.strict = pieces, columns, strict

    def estimate_inmemory_data_size(self) -> int | None:
        """Return nothing: what files unpack to isn't known before."""
        return None

    def get_read_tasks(self, parallelism: int, *_: Any, **__: Any) -> list[ReadTask]:
        """Return the tasks, in the order of the inputs, however many Ray would like."""
        unknown = BlockMetadata(num_rows=None, size_bytes=None, exec_stats=None)
        return [ReadTask(partial(_tables, piece, self.columns, strict=self.strict), unknown) for piece in self.pieces]


def _from(dataset: Any, notices: Notices) -> Iterator[Record]:
    """Yield a dataset's records; take its notices in. Raises InputError."""
    for table in dataset.iter_batches(batch_size=None, batch_format="pyarrow"):
        for record, said in zip(table["record"].to_pylist(), table["notices"].to_pylist(), strict=True):
            if record is not None:
                yield Record(**json.loads(record))
            elif said is not None:
                _take_in(json.loads(said), notices)


def _take_in(said: dict[str, Any], notices: Notices) -> None:
    if fault := said["fault"]:
        raise InputError(*fault)
    notices.counts.update(said["counts"])
    for kind, lines in said["shown"].items():
        shown = notices.shown.setdefault(kind, [])
        shown += lines[: max(0, SHOWN - len(shown))]


def _tables(piece: Piece, columns: Columns, *, strict: bool) -> Iterator[Any]:
    """Read a piece into Arrow tables; what goes wrong with it stands in the last one, for the driver to raise."""
    notices = Notices(strict)
    fault: InputError | None = None
    try:
        records = _records(piece, columns, notices)
        while rows := [json.dumps(asdict(record)) for record in islice(records, _ROWS)]:
            yield _table(rows, [None] * len(rows))
    except InputError as e:
        if piece.source.found and not strict:
            notices.for_file(piece.source.name).nothing(e)
        else:
            fault = e
    said = {
        "counts": notices.counts,
        "shown": notices.shown,
        "fault": None if fault is None else (fault.source, fault.problem, fault.line),
    }
    yield _table([None], [json.dumps(said)])


def _table(records: Sequence[str | None], notices: Sequence[str | None]) -> Any:
    return pa.table({"record": pa.array(records, pa.string()), "notices": pa.array(notices, pa.string())})


def _records(piece: Piece, columns: Columns, notices: Notices) -> Iterator[Record]:
    if piece.end is None:
        yield from records_in(piece.source, columns, notices.for_file(piece.source.name))
        return
    own = _Shifted(notices, piece.source.name, lines=piece.lines, bytes=piece.start)
    for entry in jsonl.entries(_opened(piece, columns, own)):
        entry = replace(entry, place=_LINE.sub(lambda n: f"line {int(n[1]) + piece.lines}", entry.place))
        record = record_of(entry, piece.source.name, columns)
        if record is None:
            own.no_abstract(entry.place, name_of(entry, columns))
        else:
            yield record


@dataclass(slots=True)
class _Shifted(FileNotices):
    """The notices of a piece of a file, with their lines and offsets as they are in the whole."""

    lines: int = 0
    bytes: int = 0

    def broken(self, problem: str, line: int | None = None) -> None:
        FileNotices.broken(self, problem, line and line + self.lines)

    def guessed(self, problem: str, line: int | None = None) -> None:
        problem = _OFFSET.sub(lambda offset: str(int(offset[0]) + self.bytes), problem)
        FileNotices.guessed(self, problem, line and line + self.lines)


def _opened(piece: Piece, columns: Columns, notices: FileNotices) -> Opened:
    data = _bytes_of(piece)
    stream = io.BufferedReader(io.BytesIO(data))
    return Opened(piece.source, stream, data[:HEAD_BYTES], False, columns, notices)


def _bytes_of(piece: Piece) -> bytes:
    assert piece.end is not None
    try:
        with _file(piece.source) as file:
            file.seek(piece.start)
            return file.read(piece.end - piece.start)
    except OSError as e:
        raise InputError(piece.source.name, f"can't be read: {e.strerror or e}; do all nodes see it there?") from e


def _pieces(source: Source, columns: Columns, size: int) -> list[Piece]:
    """Return a file's pieces: one, unless it is a large one of JSON lines."""
    whole = source.size
    if whole is None or whole <= size or not _is_plain_lines(source, columns):
        return [Piece(source)]
    cuts = _cuts(source, whole, size)
    pieces = [Piece(source, start, end) for start, end in pairwise(cuts)]
    lines = ray.get([_count_lines.remote(piece) for piece in pieces])
    return [replace(piece, lines=before) for piece, before in zip(pieces, accumulate([0, *lines]), strict=False)]


def _is_plain_lines(source: Source, columns: Columns) -> bool:
    with opened(source, columns, Notices().for_file(source.name)) as file:
        plain = not file.packed and is_utf16(file.head) is None and b"\n" in file.head
        return plain and format_of(file) == "json lines"


def _file(source: Source) -> BinaryIO:
    """Open a source at any place of it: of an object store no more is fetched than is asked for."""
    if source.remote is not None:
        return source.remote.opened(HEAD_BYTES)
    assert source.path is not None
    return source.path.open("rb")


def _cuts(source: Source, whole: int, size: int) -> list[int]:
    """Return where a file's pieces begin, each after the end of a line, and its end."""
    cuts = [0]
    with _file(source) as file:
        while cuts[-1] + size < whole:
            file.seek(cuts[-1] + size)
            file.readline()
            cuts.append(min(file.tell(), whole))
    return cuts if cuts[-1] == whole else [*cuts, whole]


@ray.remote(num_cpus=0)
def _count_lines(piece: Piece) -> int:
    return _bytes_of(piece).count(b"\n")
