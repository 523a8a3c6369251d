"""The file under the store: made, waited for, shared by processes, killed, full, not ours."""

import os
import signal
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from store.db import Store
from store.errors import (
    DatabaseBusy,
    MissingDatabase,
    NotADatabase,
    StoreError,
    StoreOpenFailed,
)
from tests.store_samples import a_record, a_run, done, made, rows

ROOT = Path(__file__).parents[1]


def started(code: str, *arguments: str) -> subprocess.Popen[str]:
    """A second process that runs this code with `arguments` as its own; to be used in a `with`."""
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code), *arguments],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def said_by(code: str, *arguments: str, returns: int = 0) -> str:
    """What a second process prints that runs this code to its end."""
    with started(code, *arguments) as process:
        said, _ = process.communicate()
    assert process.returncode == returns
    return said


def line_of(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


@contextmanager
def held(path: Path, *, read_only: bool = False) -> Iterator[subprocess.Popen[str]]:
    """Another process that has the file open until the block ends, or until a line is written to it."""
    code = """
        import duckdb, sys
        con = duckdb.connect(sys.argv[1], read_only=sys.argv[2] == "True")
        print("open", flush=True)
        sys.stdin.readline()
        con.close()
    """
    with started(code, str(path), str(read_only)) as process:
        assert line_of(process) == "open"
        yield process
        process.kill()


def test_creating_twice_is_creating_once(tmp_path: Path) -> None:
    store = made(tmp_path, a_run())
    store.save("run1", [a_record(1)], [done(a_record(1))])
    store.create()
    store.check()
    assert rows(store.path, "SELECT count(*) FROM papers") == [(1,)]
    assert os.listdir(tmp_path) == ["claims.duckdb"]


def test_what_is_no_database_is_said_and_left_alone(tmp_path: Path) -> None:
    text = tmp_path / "notes.txt"
    text.write_text("An abstract, and no database.\n" * 500)
    empty = tmp_path / "empty.duckdb"
    empty.touch()
    foreign = tmp_path / "foreign.duckdb"
    code = "import duckdb, sys; c = duckdb.connect(sys.argv[1]); c.execute('CREATE TABLE fruit (i INTEGER)'); c.close()"
    said_by(code, str(foreign))
    for path, why in ((text, "no"), (empty, "no"), (foreign, "fruit"), (tmp_path, "folder")):
        for act in (Store(path).check, Store(path).create, Store(path).runs):
            with pytest.raises(NotADatabase, match="not a claimbase database") as caught:
                act()
            assert why in str(caught.value)
            assert "\n" not in str(caught.value)
    assert text.read_text().startswith("An abstract")
    assert rows(foreign, "SELECT table_name FROM duckdb_tables()") == [("fruit",)]


def test_a_file_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    store = Store(tmp_path / "none.duckdb")
    for act in (store.check, store.runs, store.rebuild, lambda: store.save("run1", [], [])):
        with pytest.raises(MissingDatabase, match="claimbase run"):
            act()
    assert os.listdir(tmp_path) == []
    with pytest.raises(StoreError, match="No such file"):
        Store(tmp_path / "no" / "folder.duckdb").create()


def test_a_damaged_file_is_told_in_one_line(tmp_path: Path) -> None:
    store = made(tmp_path)
    damaged = bytearray(store.path.read_bytes())
    damaged[12] ^= 0xFF
    store.path.write_bytes(damaged)
    with pytest.raises(StoreOpenFailed, match="checksum") as caught:
        store.check()
    assert "\n" not in str(caught.value)


def test_a_held_file_is_waited_for(tmp_path: Path) -> None:
    store = made(tmp_path, a_run())
    with held(store.path) as process:
        timer = threading.Timer(0.3, process.kill)
        timer.start()
        began = time.monotonic()
        store.save("run1", [a_record(1)], [done(a_record(1))])
        assert time.monotonic() - began > 0.2
        timer.join()
    assert rows(store.path, "SELECT count(*) FROM papers") == [(1,)]


@pytest.mark.parametrize("read_only", [False, True])
def test_a_file_held_for_too_long_names_the_process_that_holds_it(tmp_path: Path, read_only: bool) -> None:
    path = made(tmp_path, a_run()).path
    store = Store(path, wait_s=0.2)
    with held(path, read_only=read_only) as process:
        with pytest.raises(DatabaseBusy, match=f"held by process {process.pid}") as caught:
            store.save("run1", [], [])
        assert caught.value.pid == process.pid
        assert 0.2 <= caught.value.waited_s < 2
        if read_only:
            assert len(store.runs()) == 1  # readers don't keep each other out


def test_threads_of_one_process_take_turns(tmp_path: Path) -> None:
    store = made(tmp_path, a_run("run1"), a_run("run2", recipe="other"))
    errors: list[BaseException] = []

    def write(run_id: str) -> None:
        try:
            for i in range(5):
                Store(store.path).save(run_id, [a_record(i)], [done(a_record(i), minutes=i)])
        except BaseException as error:
            errors.append(error)

    def read() -> None:
        try:
            for _ in range(5):
                Store(store.path).runs()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=write, args=[run_id]) for run_id in ("run1", "run2")]
    threads += [threading.Thread(target=read) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert rows(store.path, "SELECT count(*) FROM outcomes") == [(10,)]
    assert rows(store.path, "SELECT count(*), count(DISTINCT record_id), min(run_id) FROM papers") == [(5, 5, "run2")]


WRITER = """
    import sys
    from pathlib import Path
    from store.db import Store
    from tests.store_samples import a_record, done
    store = Store(Path(sys.argv[1]))
    for batch in range(int(sys.argv[3])):
        records = [a_record(i) for i in range(batch * 20, batch * 20 + 20)]
        store.save(sys.argv[2], records, [done(record) for record in records])
        print(batch, flush=True)
"""


def test_two_processes_write_and_a_third_reads(tmp_path: Path) -> None:
    store = made(tmp_path, a_run("run1"), a_run("run2", recipe="other"))
    seen = 0
    with started(WRITER, str(store.path), "run1", "6") as one, started(WRITER, str(store.path), "run2", "6") as two:
        while one.poll() is None or two.poll() is None:
            seen = max(seen, sum(summary.done for summary in store.runs()))
    assert (one.returncode, two.returncode) == (0, 0)
    assert seen > 0
    assert [summary.done for summary in store.runs()] == [120, 120]
    assert rows(store.path, "SELECT count(*) FROM records") == [(120,)]


def test_a_killed_writer_leaves_whole_batches_that_a_reader_sees(tmp_path: Path) -> None:
    store = made(tmp_path, a_run())
    begun = 0
    for kill_after_s in (0.0, 0.004, 0.011, 0.017, 0.029):
        code = WRITER.replace(
            "range(batch * 20, batch * 20 + 20)", f"range({begun} + batch * 20, {begun} + batch * 20 + 20)"
        )
        with started(code, str(store.path), "run1", "1000") as writer:
            line_of(writer)
            time.sleep(kill_after_s)
            writer.kill()
            said = 1 + len(writer.communicate()[0].splitlines())
        # Read-only and at once: DuckDB replays what the writer left in its log.
        [(outcomes, attempts, evidence, papers, records)] = rows(
            store.path,
            """SELECT (SELECT count(*) FROM outcomes), (SELECT count(*) FROM attempts),
            (SELECT count(*) FROM evidence), (SELECT count(*) FROM papers), (SELECT count(*) FROM records)""",
        )
        assert outcomes == attempts == papers == records
        assert evidence == 5 * int(str(outcomes))
        assert int(str(outcomes)) % 20 == 0
        assert int(str(outcomes)) >= begun + 20 * said
        begun = int(str(outcomes))
        assert len(store.known("recipe", [a_record(i).record_id for i in range(begun + 20)])) == begun


def test_a_log_left_by_a_killed_process_is_read_and_then_taken_in(tmp_path: Path) -> None:
    store = made(tmp_path, a_run())
    code = """
        import duckdb, os, signal, sys
        con = duckdb.connect(sys.argv[1])
        con.execute("UPDATE runs SET status = 'finished'")
        os.kill(os.getpid(), signal.SIGKILL)
    """
    said_by(code, str(store.path), returns=-signal.SIGKILL)
    log = store.path.with_name("claims.duckdb.wal")
    assert log.exists()
    assert store.runs()[0].status == "finished"
    store.save("run1", [a_record(1)], [])
    assert not log.exists()
    assert store.runs()[0].status == "finished"


def test_a_full_disk_stops_with_duckdbs_words_and_keeps_what_was_saved(tmp_path: Path) -> None:
    store = made(tmp_path, a_run())
    store.save("run1", [a_record(1)], [done(a_record(1))])
    # A limit on the size of a file is the full disk that a test can have.
    code = """
        import resource, sys
        from pathlib import Path
        from store.db import Store
        from store.errors import StoreWriteFailed
        from tests.store_samples import a_record, done
        size = Path(sys.argv[1]).stat().st_size
        resource.setrlimit(resource.RLIMIT_FSIZE, (size + 4096, size + 4096))
        records = [a_record(i) for i in range(2, 3000)]
        try:
            Store(Path(sys.argv[1])).save("run1", records, [done(record) for record in records])
        except StoreWriteFailed as error:
            print(error)
    """
    said = said_by(code, str(store.path))
    assert said.startswith("can't write to ")
    assert "what was saved before is kept" in said
    assert said.count("\n") == 1
    assert rows(store.path, "SELECT count(*) FROM outcomes") == [(1,)]
    store.save("run1", [a_record(2)], [done(a_record(2))])
    assert rows(store.path, "SELECT count(*) FROM papers") == [(2,)]


@pytest.mark.skipif(os.geteuid() != 0, reason="takes another user's rights, which only root can")
def test_a_file_that_may_not_be_written_can_still_be_read() -> None:
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        store = made(Path(folder), a_run())
        os.chmod(store.path, 0o444)
        code = """
            import os, sys
            from pathlib import Path
            from store.db import Store
            from store.errors import StoreError
            from store.query import run_query
            store = Store(Path(sys.argv[1]))
            os.setuid(65534)
            print(len(store.runs()))
            for act in (lambda: store.save("run1", [], []), lambda: Store(Path(sys.argv[1] + ".new")).create()):
                try:
                    act()
                except StoreError as error:
                    print(type(error).__name__, "Permission denied" in str(error))
        """
        said = said_by(code, str(store.path)).splitlines()
        assert said == ["1", "StoreWriteFailed True", "StoreWriteFailed True"]
        assert os.listdir(folder) == ["claims.duckdb"]


def test_importing_the_rows_imports_no_duckdb() -> None:
    code = "import store, store.rows, store.results, store.errors, sys; print('duckdb' in sys.modules)"
    assert said_by(code) == "False\n"


def test_the_store_imports_no_sibling_and_nothing_heavy() -> None:
    code = """
        import sys
        import store.db, store.export, store.formats
        siblings = {"extract", "schemas", "prompts", "rich", "pydantic", "openai"}
        print(sorted(siblings & {name.partition(".")[0] for name in sys.modules}))
    """
    assert said_by(code) == "[]\n"


def test_each_error_is_in_the_tree_of_the_docstring() -> None:
    import store.errors as errors

    named = [line.split()[1] for line in (errors.__doc__ or "").splitlines() if "── " in line]
    classes = [c for c in vars(errors).values() if isinstance(c, type) and issubclass(c, StoreError)]
    assert sorted(named) == sorted(c.__name__ for c in classes if c is not StoreError)
