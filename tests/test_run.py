"""The main job, on the seeds: 19 abstracts in, their claims out, asked once and never again."""

import json
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from store.query import run_query
from tests.conftest import MODEL, SEEDS, Command, Said, seed_answers, seed_script, spawn
from tests.scripted import Rule, faults, once, running
from tests.scripted.asking import Server

EXACT = (
    """SELECT count(*), count(*) FILTER (text[start + 1:"end"] <> {name}) FROM {view} JOIN records USING (record_id)"""
)


def rows(db: Path, query: str) -> list[tuple[object, ...]]:
    return list(run_query(db, query).rows)


def run(claimbase: Command, server: Server, db: Path, *options: str, model: str = MODEL) -> Said:
    return claimbase("run", SEEDS, "--db", db, "--model", model, "--base-url", server.base_url, *options)


@pytest.mark.parametrize("mode", ["tools", "json_schema"])
def test_19_abstracts_are_19_requests_and_19_good_outcomes(claimbase: Command, tmp_path: Path, mode: str) -> None:
    db = tmp_path / "claims.duckdb"
    with running(seed_script()) as server:
        said = run(claimbase, server, db, "--mode", mode)
        stats = server.stats()
        asked = [set(body) & {"tools", "response_format"} for body in server.requests]
    assert said.code == 0 and said.out == "", said.err
    assert asked == [{"tools" if mode == "tools" else "response_format"}] * 19
    assert (stats.requests, stats.unmatched, set(stats.calls.values())) == (19, 0, {1})
    assert rows(db, "SELECT status, count(*) FROM outcomes GROUP BY ALL") == [("done", 19)]
    assert rows(db, "SELECT count(*), count(DISTINCT record_id), min(status), max(n) FROM attempts") == [
        (19, 19, "ok", 1)
    ]
    assert rows(db, "SELECT sum(prompt_tokens), sum(completion_tokens) FROM attempts") == [
        (stats.tokens_in, stats.tokens_out)
    ]


def test_gold_comes_back_as_claims(seeds_db: Path) -> None:
    numbers = [n for answer in seed_answers().values() for n in answer["headline_numbers"]]  # type: ignore[attr-defined]
    assert rows(seeds_db, "SELECT count(*) FROM headline_numbers") == [(len(numbers),)]
    assert rows(seeds_db, "SELECT count(*) FROM rejected WHERE match = 'absent'") == [(0,)]
    for name in ("INNSteer", "TGL", "BoNG", "ISM", "BFM-QD", "BabyTheorist", "Alice"):
        assert rows(seeds_db, f"SELECT count(*) FROM papers WHERE starts_with(method, '{name}')") == [(1,)], name


@pytest.mark.parametrize(("view", "name"), [("datasets", "name"), ("baselines", "name"), ("headline_numbers", "quote")])
def test_every_quote_is_where_it_is_said_to_be(seeds_db: Path, view: str, name: str) -> None:
    [(count, misplaced)] = rows(seeds_db, EXACT.format(view=view, name=name))
    assert isinstance(count, int) and count > 5
    assert misplaced == 0
    [(exact_and_other,)] = rows(
        seeds_db,
        """SELECT count(*) FROM evidence JOIN records USING (record_id)
        WHERE match = 'exact' AND text[start + 1:"end"] <> quote""",
    )
    assert exact_and_other == 0


def test_an_invalid_reply_is_asked_again_with_the_errors(claimbase: Command, tmp_path: Path) -> None:
    db = tmp_path / "claims.duckdb"
    with running(seed_script(rules=(once(faults.WrongTypes()),))) as server:
        said = run(claimbase, server, db)
        stats, requests = server.stats(), server.requests
    assert said.code == 0, said.err
    assert (stats.requests, set(stats.calls.values())) == (38, {2})
    assert rows(db, "SELECT status, count(*) FROM outcomes GROUP BY ALL") == [("done", 19)]
    kept = rows(db, "SELECT n, status, error_type, count(*) FROM attempts GROUP BY ALL ORDER BY n")
    assert kept == [(1, "invalid", "reply", 19), (2, "ok", None, 19)]
    [(error,)] = rows(db, "SELECT DISTINCT split_part(error, ';', 1) FROM attempts WHERE n = 1")
    sent = [json.dumps(body["messages"]) for body in requests]
    assert sum(str(error) in messages for messages in sent) == 19
    # Each attempt has the usage of its own call: that of the re-ask is larger, and all of them add up to the server's.
    [(first, second)] = rows(
        db, "SELECT sum(prompt_tokens) FILTER (n = 1), sum(prompt_tokens) FILTER (n = 2) FROM attempts"
    )
    assert isinstance(first, int) and isinstance(second, int)
    assert first < second < 2 * first + 19 * 500 and first + second == stats.tokens_in


def test_a_record_that_always_fails_is_one_row(claimbase: Command, tmp_path: Path) -> None:
    db = tmp_path / "claims.duckdb"
    bad = next(iter(seed_answers()))
    with running(seed_script(rules=(Rule(faults.Malformed(), bad),))) as server:
        said = run(claimbase, server, db, "--reasks", "1", "--json")
    assert said.code == 3
    told = json.loads(said.out)
    assert (told["done"], told["failed"], told["errors"], told["calls"]) == (18, 1, {"reply": 1}, 20)
    assert "see why: claimbase sql" in said.err
    assert rows(db, "SELECT error_type, count(*) FROM failures GROUP BY ALL") == [("reply", 1)]


def test_what_is_done_is_not_asked_again(claimbase: Command, tmp_path: Path) -> None:
    db = tmp_path / "claims.duckdb"
    own = tmp_path / "own.v1.md"
    own.write_text("# system\nExtract claims as JSON.\n{{fields}}\n# user\n<abstract>\n{{abstract}}\n</abstract>\n")
    schema = tmp_path / "sorts.py"
    schema.write_text("from pydantic import BaseModel\n\nclass Kind(BaseModel):\n    task: str\n", encoding="utf-8")
    requests = []
    with running(seed_script(default={"task": "t"})) as server:
        for options, model in (
            ([], MODEL),
            ([], MODEL),
            (["--prompt", str(own)], MODEL),
            (["--schema", f"{schema}:Kind", "--limit", "2"], MODEL),
            ([], "gpt-4o"),
            ([], MODEL),
        ):
            before = server.stats().requests
            own_prompt = {"examples": 0} if options else {}
            server.follow(seed_script(default={"task": "t"}, **own_prompt))
            said = run(claimbase, server, db, *options, model=model)
            assert said.code == 0, said.err
            requests.append(server.stats().requests - before)
    assert requests == [19, 0, 19, 2, 19, 0]
    assert rows(db, "SELECT count(*) FROM records") == [(19,)]
    per_run = rows(db, "SELECT count(*) FROM outcomes WHERE status = 'done' GROUP BY run_id ORDER BY min(finished_at)")
    assert per_run == [(19,), (19,), (2,), (19,)]
    assert rows(db, "SELECT count(*) FROM papers") == [(19,)]
    assert rows(db, "SELECT count(*) FROM kinds") == [(2,)]
    assert rows(db, "SELECT DISTINCT model FROM papers") == [("gpt-4o",)]


def test_sql_works_while_a_run_goes_on(tmp_path: Path) -> None:
    db = tmp_path / "claims.duckdb"
    with running(seed_script(latency_ms=(250, 250))) as server:
        going = spawn(["run", SEEDS, "--db", db, "--model", MODEL, "--base-url", server.base_url, "--concurrency", "1"])
        while not db.exists():
            assert going.poll() is None
            time.sleep(0.02)
        counts = []
        while going.poll() is None:
            asked = spawn(["sql", "SELECT count(*) AS n FROM papers", "--db", db, "--format", "jsonl"])
            out, err = asked.communicate(timeout=30)
            assert (asked.returncode, err) == (0, ""), err
            counts.append(json.loads(out)["n"])
        _, said = going.communicate()
    assert going.returncode == 0, said
    assert counts == sorted(counts) and len(set(counts)) > 2
    assert "19 done" in said


def test_nothing_but_the_endpoint_is_called(tmp_path: Path) -> None:
    """A proxy that is set for everything sees no request, and the command needs no name looked up."""
    with running(seed_script()) as server:
        code = (
            "import socket\n"
            "connect, seen = socket.socket.connect, []\n"
            "def noted(self, address):\n    seen.append(address[:2])\n    return connect(self, address)\n"
            "socket.socket.connect = noted\n"
            "from extract.cli import main\n"
            "try:\n    main()\nexcept SystemExit as e:\n    print(e.code, sorted(set(seen)))\n"
        )
        options = ["--db", str(tmp_path / "c.duckdb"), "--model", MODEL, "--base-url", server.base_url]
        done = subprocess.run(
            [sys.executable, "-c", code, "run", str(SEEDS), *options],
            capture_output=True, text=True, cwd=SEEDS.parents[1], timeout=60,
        )  # fmt: skip
        port = int(server.base_url.rpartition(":")[2].partition("/")[0])
    assert done.stdout.strip() == f"0 [('127.0.0.1', {port})]", done.stderr


def test_a_test_that_reaches_for_the_network_fails() -> None:
    for reach in (
        lambda: socket.create_connection(("192.0.2.1", 80), timeout=1),
        lambda: socket.getaddrinfo("api.openai.com", 443),
    ):
        with pytest.raises(AssertionError, match="reached for the network"):
            reach()
