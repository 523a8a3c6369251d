"""The inputs as a Ray dataset: the same records in the same order, and the same notices, as our readers give alone."""

import json
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from extract.errors import InputError
from extract.readers import Columns, Notices, check_inputs, read
from store.rows import Record
from tests.clusters import cluster

pytestmark = [
    pytest.mark.skipif(find_spec("ray") is None, reason="the extra `ray` isn't installed"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning:ray", "ignore::ResourceWarning"),
]
PIECE = 20_000


@pytest.fixture(scope="module", autouse=True)
def _nodes() -> Iterator[None]:
    with cluster(nodes=1):
        yield


def spread(*named: Path | str, strict: bool = False) -> tuple[list[Record], Notices]:
    """What the dataset gives of these files, cut into small pieces."""
    from extract.distributed.dataset import records_of

    notices = Notices(strict)
    sources = check_inputs([str(path) for path in named])
    return list(records_of(sources, Columns(), notices, iter(()), PIECE)), notices


def alone(*named: Path | str) -> tuple[list[Record], Notices]:
    """What our readers give of them."""
    notices = Notices()
    return list(read([str(path) for path in named], Columns(), notices)), notices


def write_lines(path: Path) -> Path:
    """JSON lines with broken ones, empty ones, one in Windows-1252, half a surrogate pair, one without an abstract."""
    with path.open("wb") as file:
        for n in range(1_200):
            row = {"id": n, "title": f"Pebbles {n}", "abstract": f"We sort pebbles, naïvely, in {n} ways."}
            file.write(json.dumps(row, ensure_ascii=False).encode() + b"\n")
            if n % 200 == 5:
                file.write(b"{broken\n\n")
            if n % 300 == 6:
                file.write(b'{"title": "no abstract"}\n')
        file.write('{"abstract": "A café of pebbles."}\n'.encode("cp1252"))
        file.write(b'{"abstract": "Half \\ud800 a pair."}')
    return path


def test_the_same_records_and_notices(tmp_path: Path) -> None:
    lines = write_lines(tmp_path / "a.jsonl")
    table = tmp_path / "b.csv"
    table.write_text("id,abstract\n" + "".join(f'x{n},"Of pebbles,\n{n} kinds."\n' for n in range(100)))
    ours, theirs = spread(lines, table), alone(lines, table)
    assert len(theirs[0]) == 1_302
    assert ours[0] == theirs[0]
    assert list(ours[1].lines()) == list(theirs[1].lines())


def test_files_behind_an_address_are_read_the_same_way(tmp_path: Path) -> None:
    """Of a large one each task fetches its piece alone."""
    write_lines(tmp_path / "a.jsonl")
    (tmp_path / "b.csv").write_text("id,abstract\nx1,Of pebbles.\n")
    ours, theirs = spread(f"file://{tmp_path}"), alone(f"file://{tmp_path}")
    assert len(theirs[0]) == 1_203
    assert ours[0] == theirs[0]
    assert list(ours[1].lines()) == list(theirs[1].lines())


def test_strict_ends_at_the_first_broken_record(tmp_path: Path) -> None:
    lines = write_lines(tmp_path / "a.jsonl")
    for named in (lines, tmp_path):  # a file that a folder names raises too
        with pytest.raises(InputError, match=r"a\.jsonl, line 7: .*JSON"):
            spread(named, strict=True)


def test_a_file_in_which_nothing_stands_is_an_error(tmp_path: Path) -> None:
    lines, empty = write_lines(tmp_path / "a.jsonl"), tmp_path / "b.csv"
    empty.write_text("id,abstract\nx1,\n")
    with pytest.raises(InputError, match=r"b\.csv: no abstract in it"):
        spread(lines, empty)


def test_small_inputs_are_read_by_the_driver(tmp_path: Path) -> None:
    from extract.distributed.dataset import records_of

    path = tmp_path / "a.jsonl"
    path.write_text('{"abstract": "Of pebbles."}\n')
    own = iter(alone(path)[0])
    assert records_of(check_inputs([str(path)]), Columns(), Notices(), own) is own
