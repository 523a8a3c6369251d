"""Parts taken into a database: the same rows as a run's own saves, once, whatever comes twice or is no part."""

import json
import os
import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import duckdb
import pytest

from store import merging
from store.db import Store
from store.errors import NotAPart
from store.journal import Begun
from store.rows import Outcome, Record
from tests.clusters import differences
from tests.conftest import Command
from tests.store_samples import PAPER, PROMPT, a_record, a_run, done, made, rows

pytest.importorskip("pyarrow", reason="parts are written by pyarrow, which the extra `ray` brings")

from extract.distributed import keeping, marking
from extract.distributed.merge import Merging, merge_folder
from extract.distributed.parts import LocalFolder, RemoteFolder, folder_at, run_of, table_of

Entries = Sequence[tuple[Record, Outcome]]


def begun(run_id: str = "run1", minutes: float = 0) -> Begun:
    return Begun(a_run(run_id, minutes=minutes), PAPER, PROMPT)


def entries(*numbers: int) -> Entries:
    return [(record, done(record)) for record in map(a_record, numbers)]


def failed(record: Record) -> Outcome:
    gone = replace(done(record), status="failed", error_type="refusal", error="I won't.", value=None, evidence=())
    return replace(gone, attempts=[replace(a, status="error", error_type="refusal", reply=None) for a in gone.attempts])


def write(folder: Path, name: str, some: Entries, of: Begun | None = None) -> Path:
    """Write a part of these outcomes into a folder, which is made."""
    folder.mkdir(exist_ok=True)
    LocalFolder(folder).write(name, table_of(of or begun(), some))
    return folder / name


def saved(folder: Path, some: Entries) -> Path:
    """The database of a run that has saved these outcomes by itself."""
    folder.mkdir()
    store = made(folder, a_run("run1"))
    store.save("run1", [record for record, _ in some], [outcome for _, outcome in some])
    return store.path


def test_parts_come_to_what_a_run_saves(tmp_path: Path) -> None:
    bad = a_record(7)
    hostile = replace(
        a_record(8),
        text=f"{a_record(8).text} Half \ud800 a pair, and a \0.",
        meta={"note": float("nan"), "venue": "x\udfff"},
    )
    some = [*entries(*range(6)), (bad, failed(bad)), (hostile, done(hostile))]
    write(tmp_path / "parts", "w.run1.1.parquet", some[:3])
    write(tmp_path / "parts", "w.run1.2.parquet", some[3:])
    merged = merge_folder(str(tmp_path / "parts"), tmp_path / "merged.duckdb")
    assert (merged.parts, merged.outcomes, merged.new) == (2, 8, 8)
    own = saved(tmp_path / "own", some)
    assert differences(own, tmp_path / "merged.duckdb") == {}
    for view in ("claims", "papers", "datasets", "failures", "works"):
        query = f"SELECT * FROM {view} ORDER BY ALL"
        assert rows(tmp_path / "merged.duckdb", query) == rows(own, query), view


def test_what_comes_twice_is_there_once(tmp_path: Path) -> None:
    parts, db = tmp_path / "parts", tmp_path / "c.duckdb"
    write(parts, "w.run1.1.parquet", entries(*range(5)))
    write(parts, "v.run1.1.parquet", entries(3, 4, 5))  # a worker's that was cut off, and asked again elsewhere
    assert merge_folder(str(parts), db).new == 6
    before = rows(db, "FROM outcomes ORDER BY ALL")
    assert merge_folder(str(parts), db).new == 0
    assert rows(db, "FROM outcomes ORDER BY ALL") == before
    for table, count in {"records": 6, "sources": 6, "attempts": 6, "papers": 6}.items():
        assert rows(db, f"SELECT count(*) FROM {table}") == [(count,)]
    write(parts, "w.run1.2.parquet", entries(6))
    assert merge_folder(str(parts), db).new == 1


def test_in_any_order_and_batch_the_latest_claims_win(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "parts", "w.run1.1.parquet", entries(*range(6)))
    later = [(r, replace(o, finished_at=o.finished_at.replace(hour=20))) for r, o in entries(2, 3)]
    write(tmp_path / "parts", "w.run2.1.parquet", later, begun("run2", minutes=5))
    answers = set()
    for at_once in (1, 4, 50_000):
        monkeypatch.setattr(merging, "_ROWS_AT_ONCE", at_once)
        paths = sorted((tmp_path / "parts").glob("*.parquet"))
        random.Random(at_once).shuffle(paths)
        store = Store(tmp_path / f"{at_once}.duckdb")
        merging.merge(store, paths)
        answers.add(str(rows(store.path, "SELECT run_id, count(*) FROM latest GROUP BY 1 ORDER BY 1")))
        assert rows(store.path, "SELECT count(*) FROM outcomes") == [(8,)]
    assert answers == {str([("run1", 4), ("run2", 2)])}


def test_parts_and_a_runs_own_saves_meet_in_one_database(tmp_path: Path) -> None:
    db = saved(tmp_path / "own", entries(0, 1, 2))
    write(tmp_path / "parts", "w.run1.1.parquet", entries(1, 2, 3))
    assert merge_folder(str(tmp_path / "parts"), db).new == 1
    assert rows(db, "SELECT count(*), count(DISTINCT record_id) FROM papers") == [(4, 4)]


def test_a_file_that_is_no_part_is_named_and_the_others_are_taken_in(tmp_path: Path, claimbase: Command) -> None:
    parts, db = tmp_path / "parts", tmp_path / "c.duckdb"
    write(parts, "a.run1.1.parquet", entries(0, 1))
    duckdb.sql(f"COPY (SELECT 1 AS n) TO '{parts / 'b.parquet'}' (FORMAT parquet)")
    said = claimbase("merge", parts, "--db", db)
    assert said.code == 2 and "b.parquet is no part of a run (a Parquet file of something else)" in said.err
    assert rows(db, "SELECT count(*) FROM outcomes") == [(2,)]
    whole = write(parts, "b.parquet", entries(2)).read_bytes()
    (parts / "b.parquet").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(NotAPart, match=r"b\.parquet"):
        merge_folder(str(parts), db)


def test_the_command(tmp_path: Path, claimbase: Command) -> None:
    parts, db = tmp_path / "parts", tmp_path / "c.duckdb"
    assert "no folder of parts" in claimbase("merge", parts, "--db", db).err
    parts.mkdir()
    assert "holds no parts" in claimbase("merge", parts, "--db", db).err
    assert not db.exists()
    write(parts, "w.run1.1.parquet", entries(0, 1))
    write(parts, ".w.run1.2.parquet.77.tmp", entries(2))  # what a worker died over
    said = claimbase("merge", parts, "--db", db)
    assert (said.code, said.out) == (0, "")
    assert f"2 outcomes in 1 parts of {parts}: 2 taken in, 0 were there" in said.err
    assert claimbase("merge", "nowhere://x/y", "--db", db).code == 2


def test_dead_workers_journals_are_parts_too(tmp_path: Path) -> None:
    parts = tmp_path / "parts"
    write(parts, "v.run1.1.parquet", entries(0))
    kept = journal_of(parts, "w", 1, 2)
    assert merge_folder(str(parts), tmp_path / "c.duckdb").new == 3
    assert not kept.exists() and sorted(path.name for path in parts.iterdir()) == [
        "v.run1.1.parquet",
        "w.run1.1.parquet",
    ]


def journal_of(parts: Path, worker: str, *numbers: int) -> Path:
    """What a worker leaves that is killed: a journal that nobody holds."""
    from store.journal import Journal

    parts.mkdir(exist_ok=True)
    kept = Journal(parts / worker, begun())
    for record, outcome in entries(*numbers):
        kept.add(record, outcome)
    part = kept.cut()
    assert part is not None
    part.leave()
    return part.path


def test_an_address_of_a_file_system_is_a_folder_too(tmp_path: Path) -> None:
    """`file://` goes the way of object stores: through pyarrow, without a journal."""
    folder = folder_at(f"file://{tmp_path}/parts")
    assert isinstance(folder, RemoteFolder) and folder.path is None and folder.names() == []
    folder.write("w.run1.1.parquet", table_of(begun(), entries(0, 1)))
    folder.write("w.run1.2.parquet", table_of(begun(), entries(2)))
    assert folder.names() == ["w.run1.1.parquet", "w.run1.2.parquet"]
    assert sorted(os.listdir(tmp_path / "parts")) == folder.names()
    merging = Merging(folder, Store(tmp_path / "c.duckdb"), mine="run1", keep=False)
    assert merging.merge().new == 3
    assert folder.names() == [] and merging.merge().parts == 0


def test_a_run_fetches_no_parts_of_runs_that_have_ended(tmp_path: Path) -> None:
    """Behind an address they would be fetched at each start; `claimbase merge` looks at all, a run at a folder's."""
    address, store = f"file://{tmp_path}/parts", Store(tmp_path / "c.duckdb")
    folder = folder_at(address)
    folder.write("w.run1.1.parquet", table_of(begun(), entries(0)))
    folder.write("w.run2.1.parquet", table_of(begun("run2"), entries(1)))
    assert Merging(folder, store, mine="run3").merge().outcomes == 2
    store.end_run("run1", "finished", begun().run.started_at)
    assert Merging(folder, store, mine="run3").merge() == merging.Merged(1, 1, 0)
    assert Merging(LocalFolder(tmp_path / "parts"), store, mine="run3").merge().outcomes == 2
    assert merge_folder(address, store.path).outcomes == 2


def test_parts_of_a_run_at_work_are_left_to_it(tmp_path: Path) -> None:
    parts = tmp_path / "parts"
    write(parts, "w.run1.1.parquet", entries(0))
    write(parts, "w.run2.1.parquet", entries(1), begun("run2"))
    folder = LocalFolder(parts)
    other = Merging(folder, Store(tmp_path / "c.duckdb"), mine="run2")
    with marking.marked(folder, "run1"):
        assert marking.live(folder) == {"run1"} and marking.is_marked(folder, "run1")
        assert other.merge().new == 1
    assert marking.live(folder) == set() and not marking.is_marked(folder, "run1")
    assert other.merge().new == 1
    assert run_of("w.run1.1.parquet") == "run1" and run_of("another.parquet") == ""


def test_a_dead_runs_mark_and_journals_are_cleared_away(tmp_path: Path) -> None:
    parts = tmp_path / "parts"
    journal_of(parts, "w", 1, 2)
    (parts / "run1.running").touch()
    folder = LocalFolder(parts)
    assert marking.dead(folder) == {"run1"}
    keeping.recover_from_dead_runs(folder)
    assert [path.name for path in parts.iterdir()] == ["w.run1.1.parquet"]
    found = keeping.recover_from(folder, "w")
    assert set(found) == {record.record_id for record, _ in entries(1, 2)}
    kept = found[a_record(1).record_id]
    assert (kept.status, len(kept.attempts)) == ("done", len(done(a_record(1)).attempts))
    assert kept.attempts[0].prompt_tokens == done(a_record(1)).attempts[0].prompt_tokens


def test_a_part_says_of_which_run_it_is(tmp_path: Path) -> None:
    path = write(tmp_path / "parts", "w.run1.1.parquet", entries(0, 1))
    with duckdb.connect() as con:
        head = merging.head_of(con, path)
    assert (head.begun, head.outcomes) == (begun(), 2)
    query = f"SELECT decode(value) FROM parquet_kv_metadata('{path}') WHERE decode(key) = 'claimbase'"
    [(text,)] = duckdb.execute(query).fetchall()
    assert json.loads(text)[0]["run_id"] == "run1"


def test_merging_is_measured(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    from bench import merging, scale

    monkeypatch.setattr(merging, "PER_PART", 40)
    assert scale.main(["merge", "--records", "120"]) == 0
    said = capsys.readouterr().out
    assert "120 outcomes in 3 parts" in said and "nothing new, the same rows" in said
