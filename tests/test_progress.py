"""How a run shows itself while it goes on, and how it ends when it is told to."""

import json
import os
import pty
import re
import signal
import time
from pathlib import Path

import pytest

from extract import progress
from extract.progress import duration, progress_line
from extract.tally import Tally
from store.db import Store
from tests.conftest import Command, read_all, run_arguments, seed_script, spawn
from tests.scripted import running

ESCAPE = "\x1b"


def test_without_a_terminal_progress_is_plain_lines(
    claimbase: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "_PLAIN_EVERY_S", 0.0)
    with running(seed_script(latency_ms=(250, 250))) as server:  # several saves, the total known after the first
        said = claimbase(*run_arguments(server, tmp_path / "c.duckdb", "--concurrency", "2"))
    lines = said.err.splitlines()[:-3]
    assert said.out == "" and ESCAPE not in said.err and len(lines) == 19
    assert all(re.match(rf"{n} (of 19 )?records, ", line) for n, line in enumerate(lines, 1))
    assert all(re.search(r"[\d,]+ tokens, \$0\.\d{4}$", line) for line in lines)
    assert any(re.search(r"\d of 19 records, \d+\.\d/s, \d+ s left, ", line) for line in lines)


def test_on_a_terminal_progress_is_a_live_line(tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    with running(seed_script(latency_ms=(400, 400))) as server:
        arguments = run_arguments(server, tmp_path / "c.duckdb", "--concurrency", "2", "--json")
        going = spawn(arguments, stderr=theirs)
        os.close(theirs)
        shown = read_all(ours)
        out, _ = going.communicate(timeout=30)
    os.close(ours)
    assert going.returncode == 0, shown
    assert re.search(r"\d+ of 19 records, \d+\.\d/s, \d+ s left, [\d,]+ tokens", shown)
    assert f"{ESCAPE}[2K" in shown  # the line is wiped
    assert "19 records: 19 done, 0 failed" in shown
    assert out.count("\n") == 1 and json.loads(out)["done"] == 19


def test_the_progress_line_without_a_known_total() -> None:
    tally = Tally(done=3, failed=1, calls=5, prompt_tokens=1_500, cost_usd=None, started=time.monotonic() - 2)
    assert progress_line(tally, None) == "4 records, 2.0/s, 1 failed, 1,500 tokens"
    assert [duration(s) for s in (8, 180, 9_000)] == ["8 s", "3 min", "2.5 h"]


def test_the_progress_line_leaves_out_what_was_done_before() -> None:
    tally = Tally(read=19, finished_before=15, done=1, cost_usd=0.5, started=time.monotonic() - 10)
    assert progress_line(tally, 19) == "1 of 4 records, 10.0 s each, 30 s left, 0 tokens, $0.5000"


# Ctrl-C


def interrupted(tmp_path: Path, *signals: signal.Signals) -> tuple[int, str, Path]:
    """Send a run signals after its first outcomes; return its exit code, its standard error and its database."""
    db = tmp_path / "claims.duckdb"
    with running(seed_script(latency_ms=(1_200, 1_200))) as server:
        going = spawn(run_arguments(server, db, "--concurrency", "4"))
        while server.stats().requests < 5:
            assert going.poll() is None
            time.sleep(0.05)
        for number in signals:
            going.send_signal(number)
            time.sleep(0.3)
        _, err = going.communicate(timeout=30)
    return going.returncode, err, db


def test_ctrl_c_finishes_what_is_under_way(tmp_path: Path) -> None:
    code, err, db = interrupted(tmp_path, signal.SIGINT)
    assert code == 130
    assert "stopping: no new calls, those under way are finished and saved; press Ctrl-C again to leave at once" in err
    assert re.search(r"^19 records: [4-8] done, 0 failed, \d+ not reached$", err, re.MULTILINE)
    assert "the same command goes on where this run ended" in err and "Traceback" not in err
    [summary] = Store(db).runs()
    assert summary.status == "interrupted" and 4 <= summary.done <= 8


def test_a_second_signal_ends_it_at_once(tmp_path: Path) -> None:
    code, err, db = interrupted(tmp_path, signal.SIGTERM, signal.SIGINT)
    assert code == 130 and "Traceback" not in err
    [summary] = Store(db).runs()
    assert summary.status == "interrupted" and summary.done == 4  # of 8 calls: what had ended is kept
