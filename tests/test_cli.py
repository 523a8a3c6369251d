"""The command line as a person meets it, and as a script does: what goes where, exit codes, progress, JSON."""

import csv
import io
import json
import os
import pty
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import duckdb
import pytest

from extract import __version__
from store.db import Store
from store.query import run_query
from store.rows import Evidence, Outcome, Record
from tests.conftest import MODEL, ROOT, SEEDS, Command, read_all, run_arguments, seed_script, spawn
from tests.scripted import Rule, faults, running
from tests.scripted.script import Script
from tests.store_samples import NOON, a_run, made

COMMANDS = ("run", "status", "sql", "export", "show", "eval", "doctor", "rederive")
ESCAPE = "\x1b"


# What each command costs to start


def imported(arguments: list[str], among: set[str]) -> set[str]:
    """Which of these modules a command has imported by its end."""
    code = (
        "import sys\nfrom extract.cli import main\ntry:\n    main(sys.argv[2:])\nexcept SystemExit as e:\n"
        "    code = e.code\nprint(code, *sorted(set(sys.argv[1].split(',')) & set(sys.modules)), file=sys.stderr)"
    )
    command = [sys.executable, "-c", code, ",".join(among), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=60)
    status, *found = done.stderr.splitlines()[-1].split()
    assert status == "0", done.stderr
    return set(found)


CLIENT = {"openai", "instructor", "tenacity", "xllamacpp"}


@pytest.mark.parametrize("command", [(), ("run",), ("sql",), ("doctor",)])
def test_help_imports_next_to_nothing(command: tuple[str, ...]) -> None:
    assert imported([*command, "--help"], {*CLIENT, "duckdb", "rich.table", "asyncio", "schemas.shape"}) == set()


@pytest.mark.parametrize(
    "arguments", [["sql", "FROM papers", "--format", "csv"], ["status"], ["export", "papers", "--to", "-"]]
)
def test_a_question_imports_neither_client_nor_schema(arguments: list[str], seeds_db: Path) -> None:
    assert imported([*arguments, "--db", str(seeds_db)], {*CLIENT, "rich.table", "asyncio", "schemas.shape"}) == set()


# Help and version


def test_without_arguments_it_shows_its_help(claimbase: Command) -> None:
    alone, asked = claimbase(), claimbase("--help")
    assert alone == asked and alone.code == 0 and alone.err == ""
    listed = re.findall(r"^  ([a-z]+)  +(\S.*)$", alone.out.partition("Commands:")[2], re.MULTILINE)
    assert {name for name, _ in listed} >= set(COMMANDS)
    assert not [about for _, about in listed if about.endswith("...")], "a sentence is cut off"


def test_the_version(claimbase: Command) -> None:
    said = claimbase("--version")
    assert (said.code, said.out, said.err) == (0, f"claimbase {__version__}\n", "")


# run


def test_a_run_says_what_it_did_on_standard_error(claimbase: Command, tmp_path: Path) -> None:
    db = tmp_path / "claims.duckdb"
    with running(seed_script()) as server:
        said = claimbase(*run_arguments(server, db))
    assert (said.code, said.out) == (0, "")
    first, second, third = said.err.splitlines()
    assert first == "19 records: 19 done, 0 failed"
    assert re.fullmatch(r"19 calls, [\d,]+ tokens sent, [\d,]+ received, \$0\.\d{4}, \d+\.\d s", second)
    assert re.fullmatch(rf"saved in {re.escape(str(db))} as run \d{{8}}-\d{{6}}-[0-9a-f]{{6}}", third)
    assert ESCAPE not in said.err


def test_the_summary_counts_what_was_not_asked(claimbase: Command, tmp_path: Path) -> None:
    db, twice = tmp_path / "claims.duckdb", tmp_path / "twice.txt"
    twice.write_text("\n\n".join([SEEDS.read_text(encoding="utf-8")] * 2), encoding="utf-8")
    with running(seed_script()) as server:
        limited = claimbase(*run_arguments(server, db, "--limit", "5"))
        assert limited.err.splitlines()[0] == "19 records: 5 done, 0 failed, 14 not reached"
        said = claimbase(*run_arguments(server, db), str(twice))
        assert server.stats().requests == 19
    assert said.err.splitlines()[0] == "57 records: 14 done, 0 failed, 5 done before, 38 repeated"


def test_a_run_that_asked_nothing_saves_nothing(claimbase: Command, tmp_path: Path, seeds_db: Path) -> None:
    db = Path(shutil.copy(seeds_db, tmp_path))
    with running(seed_script()) as server:
        said = claimbase(*run_arguments(server, db), "--json")
        assert server.stats().requests == 0
    told = json.loads(said.out)
    assert (said.code, told["run_id"], told["done_before"], told["calls"]) == (0, None, 19, 0)
    assert "saved in" not in said.err
    assert list(run_query(db, "SELECT count(*) FROM runs").rows) == [(1,)]


def test_a_dry_run_counts_and_makes_nothing(claimbase: Command, tmp_path: Path) -> None:
    db = tmp_path / "claims.duckdb"
    with running(seed_script()) as server:
        said = claimbase(*run_arguments(server, db, "--dry-run"))
        as_json = claimbase(*run_arguments(server, db, "--dry-run", "--json", "--limit", "3"))
        assert server.stats().requests == 0
        real = claimbase(*run_arguments(server, tmp_path / "real.duckdb", "--json"))
    assert not db.exists() and said.code == as_json.code == 0 and said.err == as_json.err == ""
    assert re.fullmatch(
        r"19 of 19 records would be asked: about [\d,]+ tokens to send, 4,750 to receive, about \$0\.\d{4}\n", said.out
    )
    told, used = json.loads(as_json.out), json.loads(real.out)
    assert (told["read"], told["records"]) == (19, 3)
    assert told["cost_usd"] > 0
    sent = int(re.findall(r"about ([\d,]+) tokens to send", said.out)[0].replace(",", ""))
    assert 0.8 < sent / used["prompt_tokens"] < 1.25  # the scripted server counts four characters a token too


def test_an_unknown_price_is_said_so(claimbase: Command, tmp_path: Path) -> None:
    with running(seed_script()) as server:
        dry = claimbase(*run_arguments(server, tmp_path / "c.duckdb", "--dry-run", "--model", "pebble-1"))
        said = claimbase(*run_arguments(server, tmp_path / "c.duckdb", "--limit", "1", "--model", "pebble-1", "--json"))
    assert "cost unknown (no price is listed; --prices FILE)" in dry.out
    assert "cost unknown" in said.err and json.loads(said.out)["cost_usd"] is None


def test_a_budget_ends_a_run_with_3(claimbase: Command, tmp_path: Path) -> None:
    db = tmp_path / "claims.duckdb"
    with running(seed_script()) as server:
        said = claimbase(*run_arguments(server, db, "--max-tokens", "20000", "--concurrency", "1", "--json"))
        told = json.loads(said.out)
        assert said.code == 3 and told["status"] == "stopped" and "budget" in told["error"]
        assert 0 < told["done"] < 19 and told["prompt_tokens"] + told["completion_tokens"] <= 20_000
        assert "not reached" in said.err and "the same command goes on where this run ended" in said.err
        assert claimbase(*run_arguments(server, db)).code == 0
        assert server.stats().requests == 19


def test_some_failed_is_3_and_says_how_to_see_why(claimbase: Command, tmp_path: Path) -> None:
    db = tmp_path / "my claims.duckdb"
    with running(seed_script(rules=(Rule(faults.Refusal(), last=2, counted="all"),))) as server:
        said = claimbase(*run_arguments(server, db, "--concurrency", "1"))
        assert said.code == 3 and "19 records: 17 done, 2 failed (2 refusal)" in said.err
        again = claimbase(*run_arguments(server, db))
        assert again.code == 3 and "2 failed before and not asked again (--retry-failed does)" in again.err
        assert claimbase(*run_arguments(server, db, "--retry-failed")).code == 0
    why = re.findall(r"see why: (.*)", said.err)[0]
    shown = subprocess.run(
        why.replace("claimbase", f"{sys.executable} -m extract.cli", 1),
        shell=True, capture_output=True, text=True, cwd=ROOT, timeout=30,
    )  # fmt: skip
    assert shown.returncode == 0 and shown.stdout.split()[:4] == ["source", "locator", "error_type", "error"]


# status


def test_status_counts_runs(claimbase: Command, seeds_db: Path) -> None:
    said = claimbase("status", "--db", seeds_db)
    did = r"gpt-4o-mini: 19 done, 0 failed; 19 calls, [\d,]+ \+ [\d,]+ tokens, \$0\.\d{4}"
    assert re.fullmatch(rf"\d{{8}}-\d{{6}}-[0-9a-f]{{6}}  finished     {did}", said.out.strip())
    run_id = said.out.split()[0]
    assert claimbase("status", run_id[:15], "--db", seeds_db).out == said.out
    [told] = json.loads(claimbase("status", "--json", "--db", seeds_db).out)
    assert (told["run_id"], told["status"], told["done"], told["calls"]) == (run_id, "finished", 19, 19)


def test_status_tells_a_run_that_died(claimbase: Command, tmp_path: Path) -> None:
    db = tmp_path / "claims.duckdb"
    with running(seed_script(latency_ms=(300, 300))) as server:
        going = spawn(run_arguments(server, db, "--concurrency", "2"))
        while not db.exists() or not Store(db).runs():
            assert going.poll() is None
            time.sleep(0.05)
        assert "running" in claimbase("status", "--db", db).out
        going.kill()
        going.communicate(timeout=30)
    said = claimbase("status", "--db", db)
    assert said.code == 0 and "  died  " in said.out
    assert json.loads(claimbase("status", "--db", db, "--json").out)[0]["status"] == "died"


# sql and export


def test_sql_writes_data_alone_to_standard_output(claimbase: Command, seeds_db: Path) -> None:
    query = "SELECT method FROM papers WHERE method IS NOT NULL ORDER BY method"
    said = claimbase("sql", query, "--db", seeds_db, "--format", "csv", "--limit", "2")
    assert said.code == 0 and said.err == "more rows than the 2 shown\n"
    found = list(csv.reader(io.StringIO(said.out)))
    assert found[0] == ["method"] and len(found) == 3
    rows = [
        json.loads(line) for line in claimbase("sql", query, "--db", seeds_db, "--format", "jsonl").out.splitlines()
    ]
    assert [row["method"] for row in rows[:2]] == [row[0] for row in found[1:]]
    assert json.loads(claimbase("sql", query, "--db", seeds_db, "--format", "json").out) == rows
    assert claimbase("sql", query, "--db", seeds_db, "--format", "markdown").out.startswith("| method |\n| --- |\n")


def test_sql_reads_its_query_from_standard_input(seeds_db: Path) -> None:
    going = spawn(["sql", "-", "--db", seeds_db, "--format", "csv"], stdin=subprocess.PIPE)
    out, err = going.communicate("SELECT count(*) AS n FROM papers;\n", timeout=30)
    assert (going.returncode, out, err) == (0, "n\n19\n", "")


def test_a_reader_that_has_had_enough_is_no_error(seeds_db: Path) -> None:
    going = spawn(["sql", "SELECT text FROM records, range(200)", "--db", seeds_db, "--format", "csv"])
    assert going.stdout is not None and going.stderr is not None
    assert going.stdout.readline() == "text\n"
    going.stdout.close()
    assert going.stderr.read() == "" and going.wait(30) == 0
    going.stderr.close()


def test_output_is_utf_8_whatever_the_locale(seeds_db: Path) -> None:
    going = subprocess.run(
        [sys.executable, "-m", "extract.cli", "sql", "SELECT '×é' AS c", "--db", str(seeds_db), "--format", "csv"],
        capture_output=True, cwd=ROOT, env={**os.environ, "PYTHONIOENCODING": "ascii"}, timeout=30,
    )  # fmt: skip
    assert (going.returncode, going.stdout) == (0, "c\n×é\n".encode())


def test_export_writes_a_file_and_says_so(claimbase: Command, tmp_path: Path, seeds_db: Path) -> None:
    for name in ("papers.csv", "papers.tsv", "papers.jsonl", "papers.parquet"):
        said = claimbase("export", "papers", "--to", tmp_path / name, "--db", seeds_db)
        assert (said.code, said.out, said.err) == (0, "", f"19 rows written to {tmp_path / name}\n")
    with (tmp_path / "papers.csv").open(encoding="utf-8", newline="") as file:
        assert len(list(csv.DictReader(file))) == 19
    again = claimbase("export", "SELECT 1 AS one", "--to", tmp_path / "papers.csv", "--force", "--db", seeds_db)
    assert again.err == f"1 row written to {tmp_path / 'papers.csv'}\n"
    assert (tmp_path / "papers.csv").read_text(encoding="utf-8") == "one\n1\n"
    piped = claimbase("export", "papers", "--to", "-", "--db", seeds_db)
    assert piped.out.startswith("record_id,source_id,title,") and piped.err == "19 rows written to standard output\n"


# show


def test_show_marks_evidence_at_its_place(seeds_db: Path) -> None:
    [(record_id, text, start, end)] = run_query(
        seeds_db,
        """SELECT record_id, text, start, "end" FROM headline_numbers JOIN records USING (record_id)
        WHERE value = 17.06""",
    ).rows
    ours, theirs = pty.openpty()
    going = spawn(
        ["show", record_id[:12], "--db", seeds_db], stdout=theirs, env=ENVIRONMENT | {"TERM": "xterm-256color"}
    )
    os.close(theirs)
    shown = read_all(ours)
    os.close(ours)
    assert going.wait(30) == 0
    going.communicate()
    marked = re.findall(r"\x1b\[1;3\dm([^\x1b]*)\x1b\[0m", shown.replace("\r\n", " "))
    assert text[start:end] in marked and "DecodeTS" in marked
    plain = re.sub(r"\x1b\[[0-9;]*m", "", shown)
    assert "value 17.06, unit %, role gain, direction increase" in " ".join(plain.split())


ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "100"}


def test_show_says_what_was_rejected_and_sends_no_control_character(claimbase: Command, tmp_path: Path) -> None:
    store = made(tmp_path, a_run())
    text = f"We{ESCAPE}[31m present\u202e Lantern.\x07\nIt gains 5\\% on\tMarbleQA."
    start = text.index("Lantern")
    record = Record("r1-0123", f"a{ESCAPE}]0;b\x07.txt", "line 3", "p\x1b1", f"Light {ESCAPE}[2J", text)
    value = {"contribution": "method", "task": f"light{ESCAPE}c", "method": "Lantern", "datasets": [], "baselines": []}
    evidence = (
        Evidence("method", 0, "Lantern", start, start + 7, "exact"),
        Evidence("headline_numbers.quote", 0, f"6{ESCAPE}\\%", None, None, "absent", "not in the abstract"),
    )
    whole = json.dumps({**value, "headline_numbers": []})
    store.save("run1", [record], [Outcome("r1-0123", "done", None, None, whole, NOON, (), evidence)])
    said = claimbase("show", "r1-0123", "--db", store.path)
    assert said.code == 0 and said.err == ""
    assert not [c for c in said.out if c != "\n" and not c.isprintable()]
    assert re.search(r"rejected headline_numbers\.quote '6.+%': not in the abstract", " ".join(said.out.split()))
    assert "present� Lantern.� It gains 5\\% on MarbleQA." in " ".join(said.out.split("\n"))
    as_sql = claimbase("sql", "SELECT title, text FROM records", "--db", store.path)
    assert not [c for c in as_sql.out if c != "\n" and not c.isprintable()]


def test_show_of_a_record_without_claims_says_so(claimbase: Command, tmp_path: Path) -> None:
    db = tmp_path / "claims.duckdb"
    with running(seed_script(rules=(Rule(faults.Refusal()),))) as server:
        claimbase(*run_arguments(server, db, "--limit", "1"))
    [(record_id,)] = run_query(db, "SELECT record_id FROM records").rows
    said = claimbase("show", record_id, "--db", db)
    assert said.code == 0 and "no claims yet; `claimbase sql 'FROM failures'` says what failed" in said.out


# doctor


def test_doctor_says_which_modes_hold(claimbase: Command) -> None:
    held = Script(default={"zq_colour": "onyx"})
    with running(held) as server:
        said = claimbase("doctor", "--model", MODEL, "--base-url", server.base_url)
        assert said.code == 0 and said.err == ""
        names = [line.split()[0] for line in said.out.splitlines()]
        assert names == ["endpoint", "model", "json_schema", "tools", "use"]
        assert said.out.count("enforced (") == 2 and "--mode json_schema" in said.out
        server.follow(Script(default={"zq_colour": "blue"}))
        loose = claimbase("doctor", "--model", MODEL, "--base-url", server.base_url)
        assert loose.code == 0 and loose.out.count("not enforced (") == 2 and "--mode json (replies" in loose.out


@pytest.mark.parametrize("fault", [faults.NotJsonBody(), faults.NoChoices(), faults.Status(500), faults.ErrorIn200()])
def test_doctor_of_an_endpoint_that_talks_nonsense(claimbase: Command, fault: faults.Fault) -> None:
    with running(Script(rules=(Rule(fault),))) as server:
        said = claimbase("doctor", "--model", MODEL, "--base-url", server.base_url)
    assert (said.code, said.out, said.err.count("\n")) == (2, "", 1)
    assert said.err.startswith(f"claimbase: 'gpt-4o-mini' at {server.base_url} can't be used: ")


# rederive


def test_rederive_leaves_alone_what_comes_out_the_same(claimbase: Command, tmp_path: Path, seeds_db: Path) -> None:
    db = Path(shutil.copy(seeds_db, tmp_path))
    tables = (
        "SELECT * FROM claims ORDER BY ALL",
        "SELECT * FROM evidence ORDER BY ALL",
        "SELECT * FROM outcomes ORDER BY ALL",
    )
    before = [list(run_query(db, query).rows) for query in tables]
    said = claimbase("rederive", "--db", db)
    assert said.err == "19 replies read again: 0 records changed, 0 no longer fit the schema\n"
    assert [list(run_query(db, query).rows) for query in tables] == before


def test_rederive_rewrites_what_differs(claimbase: Command, tmp_path: Path, seeds_db: Path) -> None:
    db = Path(shutil.copy(seeds_db, tmp_path))
    tables = (
        "SELECT * FROM claims ORDER BY ALL",
        "SELECT * FROM evidence ORDER BY ALL",
        "SELECT * FROM papers ORDER BY ALL",
    )
    before = [list(run_query(db, query).rows) for query in tables]
    [run] = Store(db).runs()
    [(first,), (second,)] = run_query(db, "SELECT record_id FROM records ORDER BY record_id LIMIT 2").rows
    kept = Store(db).claims_of(second)[0]
    spoiled = json.dumps({**json.loads(kept.value), "task": "spoiled"})
    Store(db).replace_claims(
        run.run.run_id,
        [
            Outcome(first, "done", None, None, Store(db).claims_of(first)[0].value, NOON),  # its evidence is lost
            Outcome(second, "done", None, None, spoiled, NOON, (), tuple(kept.evidence)),
        ],
    )
    assert [list(run_query(db, query).rows) for query in tables] != before
    assert claimbase("rederive", "--db", db).err.startswith("19 replies read again: 2 records changed, 0 no longer")
    assert [list(run_query(db, query).rows) for query in tables] == before


def test_rederive_leaves_alone_what_no_longer_fits(claimbase: Command, tmp_path: Path, seeds_db: Path) -> None:
    db = Path(shutil.copy(seeds_db, tmp_path))
    before = list(run_query(db, "SELECT * FROM papers ORDER BY ALL").rows)
    with duckdb.connect(db) as con:
        con.execute("UPDATE attempts SET reply = '{}' WHERE record_id = (SELECT min(record_id) FROM records)")
    said = claimbase("rederive", "--db", db)
    assert said.err == "19 replies read again: 0 records changed, 1 no longer fit the schema\n"
    assert list(run_query(db, "SELECT * FROM papers ORDER BY ALL").rows) == before


def test_rederive_of_a_schema_that_was_never_used(claimbase: Command, tmp_path: Path, seeds_db: Path) -> None:
    schema = tmp_path / "sorts.py"
    schema.write_text("from pydantic import BaseModel\n\nclass Kind(BaseModel):\n    task: str\n", encoding="utf-8")
    said = claimbase("rederive", "--db", seeds_db, "--schema", f"{schema}:Kind")
    assert said.code == 2 and "holds no replies of schema" in said.err
