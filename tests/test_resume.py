"""Runs that end early, by force or by a person, and runs that share a file: what is kept, what the next one asks."""

import os
import random
import resource
import signal
import stat
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from extract.errors import SettingsError
from store.db import Store
from tests.engine import (
    abstract,
    claimbase,
    done_with,
    eventually,
    extract,
    request_for,
    rows,
    run_arguments,
    script,
    state_of,
    write_abstracts,
    write_texts,
)
from tests.scripted import SpawnedServer, running, spawned

IN_FLIGHT = 16
KILLS = 6
NOT_WHOLE = """
    SELECT 'no record' FROM outcomes ANTI JOIN records USING (record_id) UNION ALL
    SELECT 'no attempts' FROM outcomes ANTI JOIN attempts USING (run_id, record_id) UNION ALL
    SELECT 'no run' FROM outcomes ANTI JOIN runs USING (run_id) UNION ALL
    SELECT 'no outcome' FROM attempts ANTI JOIN outcomes USING (run_id, record_id) UNION ALL
    SELECT 'no outcome' FROM evidence ANTI JOIN outcomes USING (run_id, record_id) UNION ALL
    SELECT 'no outcome' FROM records ANTI JOIN outcomes USING (record_id) UNION ALL
    SELECT 'no claims' FROM outcomes ANTI JOIN papers USING (run_id, record_id) UNION ALL
    SELECT 'evidence' FROM evidence GROUP BY record_id HAVING count(*) <> 5
"""


def done_in(db: Path) -> set[str]:
    """The texts that are done, after a look at whether anything is half there."""
    if not db.exists():
        return set()
    assert rows(db, NOT_WHOLE) == []
    return {text for (text,) in rows(db, "SELECT text FROM records JOIN outcomes USING (record_id)")}


def kill_at(process: subprocess.Popen[str], server: SpawnedServer, seconds: float) -> bool:
    """Kill a run so many seconds after its first call; is it killed, not ended?"""
    before = server.stats().requests
    eventually(lambda: server.stats().requests > before or process.poll() is not None)
    time.sleep(seconds)
    process.kill()
    process.communicate()
    return process.returncode == -signal.SIGKILL


def test_killed_at_any_moment(tmp_path: Path) -> None:
    count, chance = 200, random.Random(4)
    inputs, db = write_abstracts(tmp_path, count), tmp_path / "killed.duckdb"
    with running(script(count)) as server:
        undisturbed = extract(request_for(server, tmp_path / "whole.duckdb", [inputs], concurrency=IN_FLIGHT))
    with spawned(script(count, latency_ms=(50, 300)), "--keep", str(20 * count)) as slow:
        arguments = run_arguments(slow, db, inputs, concurrency=IN_FLIGHT)
        for kill in range(1, KILLS + 1):
            if kill % 2:  # every other time the run itself takes in what the last one left
                Store(db).recover()
            done = done_in(db)
            asked_before = len(slow.requests)
            assert kill_at(claimbase(*arguments), slow, chance.uniform(0, 0.6))
            asked = slow.requests[asked_before:]
            assert not [text for text in done if any(text in str(body["messages"]) for body in asked)]
            if kill % 2:
                Store(db).recover()
                assert slow.stats().requests <= len(done_in(db)) + kill * IN_FLIGHT
        slow.follow(script(count))
        assert extract(request_for(slow, db, [inputs], concurrency=IN_FLIGHT)).code == 0
        assert slow.stats().requests <= count + KILLS * IN_FLIGHT
    assert len(done_in(db)) == count
    assert state_of(db) == state_of(undisturbed.db)
    assert {n for (n,) in rows(db, "SELECT count(*) FROM outcomes GROUP BY record_id")} == {1}
    code, said, _ = done_with(claimbase("status", "--db", str(db)))
    assert code == 0 and said.count("died") == len(rows(db, "FROM runs")) - 1 and "finished" in said


def test_ctrl_c_once(tmp_path: Path) -> None:
    inputs, db = write_abstracts(tmp_path, 40), tmp_path / "c.duckdb"
    with spawned(script(40, latency_ms=(1500, 1500))) as server:
        process = claimbase(*run_arguments(server, db, inputs))
        assert eventually(lambda: server.stats().in_flight == 8)
        process.send_signal(signal.SIGINT)
        code, _, said = done_with(process)
        assert (code, server.stats().requests) == (130, 8)
        assert "no new calls" in said and "the same command goes on where this run ended" in said
        assert rows(db, "SELECT status FROM runs") == [("interrupted",)]
        assert len(done_in(db)) == 8
        server.follow(script(40))
        assert extract(request_for(server, db, [inputs])).ended.tally.done == 32
        assert server.stats().requests == 40


def test_ctrl_c_twice(tmp_path: Path) -> None:
    inputs, db = write_abstracts(tmp_path, 40), tmp_path / "c.duckdb"
    with spawned(script(40, latency_ms=(60_000, 60_000), latency_by_key={"Zeta0net": (0, 0)})) as server:
        process = claimbase(*run_arguments(server, db, inputs))
        assert eventually(lambda: db.exists() and server.stats().in_flight == 8)
        process.send_signal(signal.SIGINT)
        assert process.stderr is not None and "no new calls" in process.stderr.readline()
        began = time.monotonic()
        process.send_signal(signal.SIGINT)
        code, _, said = done_with(process)
        assert code == 130 and time.monotonic() - began < 15 and "Traceback" not in said
    assert len(done_in(db)) == 1
    assert rows(db, "SELECT status FROM runs") == [("interrupted",)]


def test_two_runs_at_once(tmp_path: Path) -> None:
    first, db = write_abstracts(tmp_path, 80), tmp_path / "c.duckdb"
    second = write_texts(tmp_path / "second.jsonl", map(abstract, range(70, 150)))
    with spawned(script(150, latency_ms=(50, 250))) as server:
        runs = [claimbase(*run_arguments(server, db, inputs, concurrency=4)) for inputs in (first, second)]
        assert eventually(db.exists)
        command = claimbase("sql", "SELECT count(*) FROM records", "--db", str(db), "--format", "csv")
        seen = list(counts_while(db, runs))
        assert [done_with(run)[0] for run in runs] == [0, 0]
        code, _, said = done_with(command)
        assert (code, said) == (0, "")
    assert seen == sorted(seen) and len(set(seen)) > 2  # it grows before a reader's eyes, and no read failed
    assert rows(db, "SELECT count(*), count(DISTINCT record_id) FROM papers") == [(150, 150)]
    assert rows(db, "SELECT status, count(*) FROM runs GROUP BY ALL") == [("finished", 2)]


def counts_while(db: Path, runs: list[subprocess.Popen[str]]) -> Iterator[int]:
    """Read the database in a loop while these runs go on."""
    while any(run.poll() is None for run in runs):
        ((count,),) = rows(db, "SELECT count(*) FROM records")
        yield count


def test_a_full_disk(tmp_path: Path) -> None:
    db, chance = tmp_path / "c.duckdb", random.Random(1)
    padding = ("".join(chance.choices("abcdefghijklmnopqrstuvwxyz ", k=20_000)) for _ in range(60))
    large = write_texts(tmp_path / "large.jsonl", (f"{abstract(10 + n)} {more}" for n, more in enumerate(padding)))
    with running(script(70)) as server:
        assert extract(request_for(server, db, [write_abstracts(tmp_path, 10)])).code == 0
        most = (400_000, 400_000)  # bytes of a file that can be written to: the log holds some batches, then no more
        full = claimbase(
            *run_arguments(server, db, large), preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, most)
        )
        code, _, said = done_with(full)
        assert code == 2 and "can't write to" in said and "what was saved before is kept" in said
        assert "Traceback" not in said
        saved = len(done_in(db))
        assert 10 <= saved < 70
        again = extract(request_for(server, db, [large]))
        assert (again.code, again.ended.tally.done) == (0, 70 - saved - again.ended.tally.recovered)
    assert len(done_in(db)) == 70


@contextmanager
def powerless() -> Iterator[None]:
    """As another user, where we are root, to whom every file can be written."""
    root = os.geteuid() == 0
    if root:
        os.setresuid(65534, 65534, 0)
    try:
        yield
    finally:
        if root:
            os.setresuid(0, 0, 0)


def test_a_database_that_can_not_be_written() -> None:
    with (
        tempfile.TemporaryDirectory() as name,
        running(script(400, latency_ms=(5, 20))) as server,
        ExitStack() as later,
    ):
        folder, db = Path(name), Path(name) / "c.duckdb"
        inputs = write_abstracts(folder, 400)
        folder.chmod(0o755)

        def lock() -> None:
            if db.stat().st_mode & stat.S_IWUSR:
                db.chmod(stat.S_IRUSR | stat.S_IRGRP | stat.S_IROTH)
                later.enter_context(powerless())

        run = extract(request_for(server, db, [inputs], concurrency=2), lock)  # it is locked in mid-run
        assert run.code == 2 and "can't write to" in str(run.ended.error)
        asked, saved = server.stats().requests, len(done_in(db))
        assert 1 <= saved == run.ended.tally.done < asked < 400
        with pytest.raises(SettingsError, match="can't be written to"):
            extract(request_for(server, db, [inputs]))
        assert server.stats().requests == asked  # found out before anything is paid for
        later.close()
        db.chmod(0o644)
        tally = extract(request_for(server, db, [inputs])).ended.tally
        assert tally.done == 400 - saved - tally.recovered
        assert asked <= saved + tally.recovered + 2 + 2
