"""The journal: what a killed process had is taken in by the next, once, and a live one's is left alone."""

import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from store.db import Store
from store.errors import StoreWriteFailed
from store.journal import Begun, Journal, left_behind
from store.rows import Record
from tests.store_samples import PAPER, PROMPT, a_record, a_run, done, failed, rows

ROOT = Path(__file__).parents[1]
BEGUN = Begun(a_run("run1"), PAPER, PROMPT)
KILLED = """
import os, signal, sys
from pathlib import Path
from store.journal import Begun, Journal
from tests.store_samples import PAPER, PROMPT, a_record, a_run, done
journal = Journal(Path(sys.argv[1]), Begun(a_run(sys.argv[2]), PAPER, PROMPT))
for n in range(int(sys.argv[3])):
    journal.add(a_record(n), done(a_record(n)))
print("added", flush=True)
signal.pause() if sys.argv[4] == "live" else os.kill(os.getpid(), signal.SIGKILL)
"""


def writer(db: Path, run_id: str, count: int, fate: str) -> "subprocess.Popen[str]":
    """Start a process that adds outcomes to a journal and then is killed, or lives on."""
    command = [sys.executable, "-c", KILLED, str(db), run_id, str(count), fate]
    process = subprocess.Popen(command, cwd=ROOT, text=True, stdout=subprocess.PIPE)
    assert process.stdout is not None and process.stdout.readline() == "added\n"
    process.stdout.close()
    return process


def parts(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.glob("*.journal"))


def test_what_a_killed_process_had_is_taken_in_once(tmp_path: Path) -> None:
    db = tmp_path / "claims.duckdb"
    process = writer(db, "run1", 3, "killed")
    assert process.wait() == -signal.SIGKILL
    assert parts(tmp_path) == ["claims.duckdb.run1.1.journal"] and not db.exists()
    store = Store(db)
    assert store.recover() == 3 and parts(tmp_path) == []
    assert rows(db, "SELECT run_id, status, finished_at FROM runs") == [("run1", "running", None)]
    assert rows(db, "SELECT count(*) FROM papers") == [(3,)]
    (outcome,) = store.claims_of(a_record(1).record_id)
    assert set(outcome.evidence) == set(done(a_record(1)).evidence)
    assert [kept.attempt for kept in store.attempts_of(a_record(1).record_id)] == list(done(a_record(1)).attempts)
    assert store.recover() == 0


def test_what_was_saved_before_the_kill_stays(tmp_path: Path) -> None:
    store = Store(tmp_path / "claims.duckdb")
    writer(store.path, "run1", 3, "killed").wait()
    store.create()
    store.begin_run(BEGUN.run, PAPER, PROMPT)
    store.save("run1", [a_record(0)], [done(a_record(0))])
    assert store.recover() == 2
    assert rows(store.path, "SELECT count(*), count(DISTINCT record_id) FROM outcomes") == [(3, 3)]


def test_a_live_runs_journal_is_left_alone(tmp_path: Path) -> None:
    store = Store(tmp_path / "claims.duckdb")
    process = writer(store.path, "run2", 2, "live")
    try:
        assert store.recover() == 0 and parts(tmp_path) == ["claims.duckdb.run2.1.journal"]
    finally:
        process.kill()
        process.wait()
    assert store.recover() == 2


def test_a_part_is_dropped_when_its_outcomes_are_saved(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "claims.duckdb", BEGUN)
    assert journal.cut() is None and parts(tmp_path) == []
    journal.add(a_record(1), done(a_record(1)))
    first = journal.cut()
    journal.add(a_record(2), failed(a_record(2)))
    assert len(parts(tmp_path)) == 2 and first is not None
    first.drop()
    assert parts(tmp_path) == ["claims.duckdb.run1.2.journal"]
    second = journal.cut()
    assert second is not None
    second.drop()
    assert parts(tmp_path) == []


def test_a_line_cut_off_by_the_kill_is_left_out(tmp_path: Path) -> None:
    store = Store(tmp_path / "claims.duckdb")
    writer(store.path, "run1", 2, "killed").wait()
    (part,) = tmp_path.glob("*.journal")
    whole = part.read_bytes()
    for end in (len(whole) - 1, whole.rindex(b"\n", 0, len(whole) - 1) + 20):
        part.write_bytes(whole[:end])
        ((found, begun, entries),) = left_behind(store.path)
        found.file.close()
        assert begun.run.run_id == "run1" and len(entries) == 1
    part.write_bytes(whole[:40])
    assert store.recover() == 0 and parts(tmp_path) == [], "not even the run's own line was whole"


def test_texts_of_all_kinds_come_back(tmp_path: Path) -> None:
    db = tmp_path / "odd [1]*.duckdb"
    journal = Journal(db, Begun(a_run("run9"), PAPER, PROMPT))
    odd = Record("r1-odd", "s", "line 1", None, "t\n\0\u2028\ud800", "\x85 text \U0001f600", {"year": 2025})
    journal.add(odd, done(a_record(5)))
    part = journal.cut()
    assert part is not None
    part.file.close()  # as the kernel does for a dead process
    ((found, _, ((record, outcome),)),) = left_behind(db)
    found.file.close()
    expected = done(a_record(5))
    assert (record, outcome) == (odd, replace(expected, attempts=(*expected.attempts,), evidence=(*expected.evidence,)))


def test_a_folder_that_cannot_be_written_to_is_said_in_one_line(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "gone" / "claims.duckdb", BEGUN)
    with pytest.raises(StoreWriteFailed, match="its journal: No such file"):
        journal.add(a_record(1), done(a_record(1)))


def test_the_journal_of_another_database_is_no_concern(tmp_path: Path) -> None:
    writer(tmp_path / "other.claims.duckdb", "run1", 1, "killed").wait()
    writer(tmp_path / "claims.duckdb2", "run1", 1, "killed").wait()
    assert Store(tmp_path / "claims.duckdb").recover() == 0
    assert len(parts(tmp_path)) == 2 and os.listdir(tmp_path)
