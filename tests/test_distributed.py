"""A run on Ray: three node processes, the same rows as one process, under faults, kills and limits.

One cluster and one scripted server serve all tests, and a test has no more workers than it is about: each takes a
second of a core to start. Larger shows of the same are in `bench/scale.py`.
"""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from importlib.metadata import requires
from importlib.util import find_spec
from pathlib import Path

import duckdb
import pytest
from packaging.requirements import Requirement

from extract.distributed.cluster import Cluster
from extract.errors import BudgetReached, FatalError
from extract.settings import Limits
from tests.clusters import PATIENT, Nodes, cluster, differences
from tests.conftest import Command
from tests.engine import (
    Run,
    abstract,
    done_with,
    eventually,
    extract,
    marker,
    request_for,
    rows,
    run_arguments,
    script,
    write_abstracts,
    write_texts,
)
from tests.engine import (
    claimbase as started,
)
from tests.scripted import Rule, SpawnedServer, always, faults, once, spawned

pytestmark = [
    pytest.mark.skipif(find_spec("ray") is None, reason="the extra `ray` isn't installed"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning:ray", "ignore::ResourceWarning"),
]

COUNT, IN_FLIGHT = 150, 12
PATIENCE_S = 240
"""For what takes seconds on a machine that has nothing else to do."""
ON_RAY, BY_TWO = Cluster(workers=3), Cluster(workers=2)
RULES: tuple[Rule, ...] = (
    once(faults.Malformed(), marker(3)),
    once(faults.Status(500), marker(5)),
    always(faults.Refusal(), marker(7)),
    once(faults.AbsentQuote(), marker(9)),
    always(faults.AbsentQuote(), marker(11)),
    always(faults.ContextLength(), marker(13)),
    once(faults.Reset(), marker(15)),
    always(faults.Malformed(), marker(17)),
)


@pytest.fixture(scope="module")
def nodes() -> Iterator[Nodes]:
    with cluster() as made:
        yield made


@pytest.fixture(scope="module")
def abstracts(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The file that all runs read: records say where they are from."""
    return write_abstracts(tmp_path_factory.mktemp("inputs"), COUNT)


@pytest.fixture(scope="module")
def alone(one_server: SpawnedServer, abstracts: str, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """The run of one process that the others are compared with."""
    one_server.follow(script(COUNT, *RULES))
    return extract(
        request_for(one_server, tmp_path_factory.mktemp("alone") / "c.duckdb", [abstracts], patience=PATIENT)
    )


@pytest.fixture(scope="module")
def one_server() -> Iterator[SpawnedServer]:
    with spawned() as made:
        yield made


@pytest.fixture
def server(one_server: SpawnedServer) -> SpawnedServer:
    """The server as if it were new, with faults; a test that is about something else has it follow another script."""
    assert eventually(lambda: one_server.stats().in_flight == 0, PATIENCE_S)  # calls of those who were killed
    one_server.follow(script(COUNT, *RULES, latency_ms=(20, 120)))
    one_server.reset()
    return one_server


def on_ray(server: SpawnedServer, db: Path, abstracts: str, **more: object) -> Run:
    """Run over three workers of the cluster, unless told; `more` are fields of Request."""
    usual = {"concurrency": IN_FLIGHT, "cluster": ON_RAY, "patience": PATIENT}
    return extract(request_for(server, db, [abstracts], **(usual | more)))


@contextmanager
def meanwhile(server: SpawnedServer, calls: int, act: Callable[[], object]) -> Iterator[None]:
    """Do something beside the block, once the server has had so many calls."""

    def wait() -> None:
        if eventually(lambda: server.stats().requests >= calls, PATIENCE_S):
            act()

    thread = threading.Thread(target=wait)
    thread.start()
    yield
    thread.join()


def asked_more_often(server: SpawnedServer, alone: Run) -> int:
    """How many abstracts the server was asked about more often than one process has asked."""
    records = "(SELECT record_id, regexp_extract(text, 'Zeta[0-9]+net') AS key FROM records)"
    usual = dict(alone.rows(f"SELECT key, count(*) FROM attempts JOIN {records} USING (record_id) GROUP BY key"))
    return sum(calls > usual[key] for key, calls in server.stats().calls.items())


def test_the_same_rows_as_one_process(
    nodes: Nodes, alone: Run, server: SpawnedServer, abstracts: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = on_ray(server, tmp_path / "c.duckdb", abstracts)
    assert (run.ended.status, run.code, run.ended.tally.done) == ("finished", 3, COUNT - 3)
    assert differences(alone.db, run.db) == {}
    ours, theirs = run.ended.tally, alone.ended.tally
    assert (ours.calls, ours.errors, ours.prompt_tokens) == (theirs.calls, theirs.errors, theirs.prompt_tokens)
    assert ours.cost_usd == pytest.approx(theirs.cost_usd)
    assert 1 < server.stats().most_in_flight <= IN_FLIGHT
    assert run.rows("SELECT status FROM runs") == [("finished",)]
    assert not list(tmp_path.glob("*.parts/*"))
    monkeypatch.delattr("extract.distributed.engine.Crew")  # where all is done, no worker is started
    again = on_ray(server, run.db, abstracts)
    assert (again.ended.tally.calls, again.ended.tally.finished_before) == (0, COUNT - 3)


def test_a_worker_is_killed(nodes: Nodes, alone: Run, server: SpawnedServer, abstracts: str, tmp_path: Path) -> None:
    with meanwhile(server, COUNT // 3, nodes.kill_a_worker):
        run = on_ray(server, tmp_path / "c.duckdb", abstracts)
    assert (run.ended.status, run.ended.tally.done) == ("finished", COUNT - 3)
    assert asked_more_often(server, alone) <= IN_FLIGHT
    assert server.stats().most_in_flight <= IN_FLIGHT
    assert run.rows("SELECT count(*), count(DISTINCT record_id) FROM outcomes") == [(COUNT, COUNT)]
    # A record whose first call died with its worker meets its fault the first time in that call: its calls differ.
    assert set(differences(alone.db, run.db)) <= {"attempts"}


def test_the_driver_is_killed_and_started_again(
    nodes: Nodes, server: SpawnedServer, abstracts: str, tmp_path: Path
) -> None:
    db = tmp_path / "c.duckdb"
    server.follow(script(COUNT, latency_ms=(50, 200)))
    command = [*run_arguments(server, db, abstracts, concurrency=IN_FLIGHT), "--engine", "ray"]
    command += ["--address", nodes.address, "--workers", "2"]
    driver = started(*command)
    assert eventually(lambda: server.stats().requests >= COUNT // 3, PATIENCE_S)
    driver.kill()
    driver.communicate()
    code, _, said = done_with(started(*command), PATIENCE_S)
    assert code == 0 and "of a killed run taken in" in said
    assert server.stats().requests <= COUNT + IN_FLIGHT
    assert server.stats().most_in_flight <= IN_FLIGHT
    assert rows(db, "SELECT count(*), count(DISTINCT record_id) FROM outcomes") == [(COUNT, COUNT)]
    assert rows(db, "SELECT count(*) FROM runs") == [(2,)]


def test_ctrl_c(nodes: Nodes, server: SpawnedServer, abstracts: str, tmp_path: Path) -> None:
    """No faults here: a record that is dropped between a bad reply and the next call leaves no row, on Ray or not.

    Calls are so slow that the signal comes long before the last of them, however late it is heard.
    """
    db = tmp_path / "c.duckdb"
    server.follow(script(COUNT, latency_ms=(300, 600)))
    arguments = [*run_arguments(server, db, abstracts, concurrency=IN_FLIGHT), "--engine", "ray"]
    driver = started(*arguments, "--address", nodes.address, "--workers", "2", "--json")
    assert eventually(lambda: server.stats().requests >= 20, PATIENCE_S)
    driver.send_signal(signal.SIGINT)
    code, out, said = done_with(driver, PATIENCE_S)
    assert code == 130 and "no new calls" in said and out.count("\n") == 1
    calls = sum(count for (count,) in rows(db, "SELECT count(*) FROM attempts"))
    assert calls == server.stats().requests < COUNT
    assert rows(db, "SELECT status FROM runs") == [("interrupted",)]


def test_what_every_record_would_meet_stops_all_workers(
    nodes: Nodes, server: SpawnedServer, abstracts: str, tmp_path: Path
) -> None:
    rule = Rule(faults.InsufficientQuota(), first=40, counted="all")
    server.follow(script(COUNT, rule, latency_ms=(10, 30)))
    run = on_ray(server, tmp_path / "c.duckdb", abstracts)
    assert isinstance(run.ended.error, FatalError) and run.ended.error.kind == "payment"
    assert (run.ended.status, run.code) == ("stopped", 2)
    assert run.ended.tally.done == 39
    assert server.stats().requests <= 40 + 4 * IN_FLIGHT


def test_the_budget_of_a_run_holds_over_its_workers(
    nodes: Nodes, server: SpawnedServer, abstracts: str, tmp_path: Path
) -> None:
    server.follow(script(COUNT, latency_ms=(5, 20)))
    run = on_ray(server, tmp_path / "c.duckdb", abstracts, cluster=BY_TWO, limits=Limits(max_tokens=100_000))
    assert isinstance(run.ended.error, BudgetReached)
    assert "of 100,000 tokens used" in str(run.ended.error) and run.code == 3
    tally = run.ended.tally
    assert 60_000 < tally.prompt_tokens + tally.completion_tokens <= 100_000


def test_the_rate_of_a_run_holds_over_its_workers(
    nodes: Nodes, server: SpawnedServer, abstracts: str, tmp_path: Path
) -> None:
    server.follow(script(COUNT))
    run = on_ray(server, tmp_path / "c.duckdb", abstracts, cluster=BY_TWO, limits=Limits(rpm=1_200), limit=60)
    assert run.ended.tally.done == 60
    [(seconds,)] = run.rows("SELECT epoch(max(started_at) - min(started_at)) FROM attempts")
    assert seconds >= (60 - 20 - 1) / 20  # a second's worth at once, then twenty a second


def test_parts_are_kept_where_they_are_told_to_be(
    nodes: Nodes, alone: Run, server: SpawnedServer, abstracts: str, tmp_path: Path, claimbase: Command
) -> None:
    address = f"file://{tmp_path}/parts"
    run = on_ray(server, tmp_path / "c.duckdb", abstracts, cluster=replace(BY_TWO, parts=address))
    assert differences(alone.db, run.db) == {}
    assert {path.name for path in tmp_path.iterdir()} == {"c.duckdb", "parts"}
    assert {path.suffix for path in (tmp_path / "parts").iterdir()} == {".parquet"}
    with duckdb.connect() as con:
        con.execute("SELECT count(*), count(DISTINCT record_id) FROM read_parquet(?)", [f"{tmp_path}/parts/*.parquet"])
        assert con.fetchall() == [(COUNT, COUNT)]
    assert claimbase("merge", tmp_path / "parts", "--db", tmp_path / "other.duckdb").code == 0
    assert differences(run.db, tmp_path / "other.duckdb") == {}


def test_a_users_own_schema_goes_along(nodes: Nodes, server: SpawnedServer, tmp_path: Path) -> None:
    own = tmp_path / "pebbles.py"
    own.write_text(
        "from typing import Annotated\nfrom pydantic import BaseModel\nfrom schemas.base import Quote\n"
        "class Pebble(BaseModel):\n    method: Annotated[str, Quote()]\n"
    )
    named = write_texts(tmp_path / "a.jsonl", map(abstract, range(8)))
    server.follow(replace(script(8), answers={marker(n): {"method": marker(n)} for n in range(8)}))
    run = on_ray(server, tmp_path / "c.duckdb", named, schema=f"{own}:Pebble", cluster=Cluster(workers=1))
    assert run.rows("SELECT count(DISTINCT method) FROM pebbles") == [(8,)]


def test_a_folder_that_a_node_does_not_see(tmp_path: Path) -> None:
    from extract.distributed.worker import _usable
    from extract.errors import MistakeError

    with pytest.raises(MistakeError, match="doesn't see the folder of parts"):
        _usable(str(tmp_path), "another-run")


def test_mistakes_are_one_line(claimbase: Command, abstracts: str, tmp_path: Path) -> None:
    db = tmp_path / "c.duckdb"
    local = claimbase("run", abstracts, "--engine", "ray", "--db", db)
    assert local.code == 2 and "--model local is on this machine alone" in local.err
    assert "--workers goes with --engine ray" in claimbase("run", abstracts, "--workers", "2", "--db", db).err
    assert "expected process or ray" in claimbase("run", abstracts, "--engine", "spark", "--db", db).err
    assert not db.exists()


def test_ray_comes_with_its_extra_alone() -> None:
    needed = [Requirement(one) for one in requires("claimbase") or ()]
    assert [one.name for one in needed if one.marker is None or one.marker.evaluate({"extra": ""})]
    for one in needed:
        if one.name in ("ray", "pyarrow"):
            assert one.marker is not None and not one.marker.evaluate({"extra": ""})


def test_without_ray_it_says_what_to_install(
    claimbase: Command, abstracts: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from importlib import util

    found = util.find_spec
    monkeypatch.setattr(util, "find_spec", lambda name, *rest: None if name == "ray" else found(name, *rest))
    said = claimbase("run", abstracts, "--engine", "ray", "--model", "m", "--db", tmp_path / "c.duckdb")
    assert said.code == 2 and "pip install 'claimbase[ray]'" in said.err


def test_a_node_is_removed(nodes: Nodes, alone: Run, server: SpawnedServer, abstracts: str, tmp_path: Path) -> None:
    """The last of the tests on the cluster: the node doesn't come back."""
    with meanwhile(server, COUNT // 3, nodes.remove_a_node):
        run = on_ray(server, tmp_path / "c.duckdb", abstracts)
    assert (run.ended.status, run.ended.tally.done) == ("finished", COUNT - 3)
    assert server.stats().most_in_flight <= IN_FLIGHT
    assert run.rows("SELECT count(*), count(DISTINCT record_id) FROM outcomes") == [(COUNT, COUNT)]
    assert set(differences(alone.db, run.db)) <= {"attempts"}
