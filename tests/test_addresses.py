"""Inputs behind addresses: the same records as from a folder, and mistakes in one line, which show no key."""

import gzip
import json
import sys
from collections.abc import Sequence
from pathlib import Path

import duckdb
import pytest

pytest.importorskip("pyarrow", reason="addresses need pyarrow, which the extra `ray` brings")

from extract.addresses import filesystem_at, shown
from extract.distributed.cluster import Cluster
from extract.errors import InputError, SettingsError
from extract.readers import Columns, Notices, check_inputs, read
from store.rows import Record
from tests.conftest import Command
from tests.engine import extract, request_for
from tests.scripted import Script, spawned


def lines(*numbers: int) -> str:
    return "".join(json.dumps({"id": n, "abstract": f"We sort pebbles in {n} ways."}) + "\n" for n in numbers)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a file of each kind that is read differently, one in a folder below, and what isn't to be read."""
    made = tmp_path / "inputs"
    (made / "more").mkdir(parents=True)
    (made / "a.jsonl").write_text(lines(1, 2))
    with gzip.open(made / "b.csv.gz", "wt") as file:
        file.write("id,abstract\n3,We sort pebbles in 3 ways.\n")
    duckdb.sql(f"COPY (SELECT 4 AS id, 'We sort pebbles in 4 ways.' AS abstract) TO '{made}/c.parquet'")
    (made / "more" / "d.jsonl").write_text(lines(5))
    (made / ".hidden.jsonl").write_text(lines(6))
    (made / "_SUCCESS").write_text("")
    return made


def records(*named: str) -> list[Record]:
    return list(read(named))


def without_places(found: Sequence[Record]) -> list[tuple[str, str | None, str]]:
    return [(record.record_id, record.source_id, record.text) for record in found]


def test_a_folder_behind_an_address_holds_the_same(folder: Path) -> None:
    behind = records(f"file://{folder}")
    assert without_places(behind) == without_places(records(str(folder)))
    assert len(behind) == 5
    assert [record.source for record in behind][:2] == [f"file://{folder}/a.jsonl"] * 2
    assert records(f"file://{folder}/") == behind


def test_a_file_behind_an_address(folder: Path) -> None:
    for name in ("a.jsonl", "b.csv.gz", "c.parquet"):
        address = f"file://{folder}/{name}"
        assert without_places(records(address)) == without_places(records(str(folder / name)))
        (source,) = check_inputs([address])
        assert (source.size, source.found) == ((folder / name).stat().st_size, False)


def test_one_that_comes_twice_is_read_once(folder: Path) -> None:
    assert len(check_inputs([f"file://{folder}", f"file://{folder}/a.jsonl", "-"])) == 5


def test_what_is_not_there(folder: Path, tmp_path: Path, claimbase: Command) -> None:
    said = claimbase("run", f"file://{folder}/absent.jsonl", "--model", "m", "--db", tmp_path / "c.duckdb")
    assert said.code == 2 and "absent.jsonl: nothing is there; expected the address of a file or a folder" in said.err
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="is a folder without a file to read"):
        records(f"file://{tmp_path}/empty")
    with pytest.raises(InputError, match="is empty"):
        records(f"file://{folder}/_SUCCESS")


def test_an_address_that_is_none() -> None:
    with pytest.raises(SettingsError, match="'ftp://host/a' is no address that pyarrow can use"):
        records("ftp://host/a")


def test_without_pyarrow_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("pyarrow", "pyarrow.fs"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(SettingsError, match=r"pip install 'claimbase\[ray\]'"):
        records("s3://bucket/a.jsonl")


def test_no_key_is_shown() -> None:
    secret = "s3://AKIA123:hush@bucket/a/b.jsonl?endpoint_override=127.0.0.1:9"
    assert shown(secret) == "s3://bucket/a/b.jsonl"
    assert shown("/a/b?c@d") == "/a/b?c@d"
    with pytest.raises(SettingsError) as caught:
        filesystem_at("s3://AKIA123:hush@bucket/a?no_such_setting=1")
    assert "hush" not in str(caught.value) and "AKIA123" not in str(caught.value)


def test_no_key_is_kept(folder: Path, tmp_path: Path) -> None:
    """What an address carries beside its path stands in no table and no file that a run leaves."""
    db = tmp_path / "c.duckdb"
    with spawned(Script(default={"method": None})) as server:
        run = extract(request_for(server, db, [f"file://{folder}/a.jsonl?key=hush"], limit=1))
    assert run.rows("SELECT settings->'inputs'->>0 FROM runs") == [(f"file://{folder}/a.jsonl",)]
    assert run.rows("SELECT source FROM records") == [(f"file://{folder}/a.jsonl",)]
    assert b"hush" not in db.read_bytes()
    assert Cluster(parts="s3://AKIA123:hush@bucket/parts").shown == Cluster(parts="s3://bucket/parts")
    assert Cluster(parts="here/parts").shown.parts == "here/parts" and Cluster().shown == Cluster()


def test_strict_stops_at_the_first_broken_record(folder: Path) -> None:
    (folder / "a.jsonl").write_text(lines(1) + "{broken\n" + lines(2))
    with pytest.raises(InputError, match=r"file://.*a\.jsonl, line 2"):
        list(read([f"file://{folder}/a.jsonl"], Columns(), Notices(strict=True)))
