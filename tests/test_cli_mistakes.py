"""A person's mistake gets one line that says what, where and the way out, exit 2, and leaves nothing behind."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from tests.conftest import MODEL, Command, Said, seed_script
from tests.scripted import faults, running
from tests.scripted.script import Script, always

GOOD = "We sort pebbles. It is 5\\% faster than by hand.\n"


@pytest.fixture
def folder(tmp_path: Path, seeds_db: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder, with a good input, a good database, and one of each kind of bad ones."""
    files: dict[str, bytes] = {
        "good.txt": GOOD.encode(),
        "empty.txt": b"",
        "white.txt": b"  \n\t\n\n",
        "heading.txt": b"Accepted Papers\n",
        "latin.txt": b"We sort pebbles.\n\nCaf\xe9s too.\n",
        "binary.dat": b"\x7fELF\x00\x01",
        "broken.jsonl": b'{"abstract": "We sort pebbles."}\n{"abstract": \n',
        "list.jsonl": b'{"abstract": "We sort pebbles."}\n[1]\n',
        "titles.jsonl": b'{"title": "Pebbles"}\n',
        "deep.jsonl": b'{"abstract": ' + b"[" * 100_000 + b"\n",
        "failing.py": b"import no_such_module_of_ours\n",
        "plain.py": b"class Plain:\n    pass\n",
        "unreadable.py": b"def (\n",
        "untyped.py": b"from pydantic import BaseModel\n\nclass Empty(BaseModel):\n    pass\n",
        "sections.md": b"Extract what you find.\n",
        "notes.duckdb": b"this is no database, but it has the name of one",
        "prices.toml": b"[broken\n",
        "there.csv": b"old\n",
    }
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    (tmp_path / "sub").mkdir()
    shutil.copy(seeds_db, tmp_path / "claims.duckdb")
    shutil.copy(seeds_db, tmp_path / "newer.duckdb")
    with duckdb.connect(tmp_path / "newer.duckdb") as con:
        con.execute("INSERT INTO migrations SELECT 99, 'later', now() AT TIME ZONE 'UTC'")
    with duckdb.connect(tmp_path / "other.duckdb") as con:
        con.execute("CREATE TABLE pebbles (colour VARCHAR)")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def listing(folder: Path) -> dict[str, tuple[int, int]]:
    """Every file and folder in it, with its size and when it was changed."""
    return {str(p): (p.stat().st_size, p.stat().st_mtime_ns) for p in sorted(folder.rglob("*"))}


def refused(claimbase: Command, folder: Path, *arguments: str) -> str:
    """Run the command, see that it is refused as it should be, and return its one line."""
    before = listing(folder)
    said: Said = claimbase(*arguments)
    assert said.code == 2 and said.out == ""
    assert said.err.startswith("claimbase: ") and said.err.count("\n") == 1 and said.err.endswith("\n")
    assert listing(folder) == before
    return said.err


INPUTS = {
    "absent.txt": "absent.txt: no such file",
    "": "'': is no file's name",
    "sub": "sub: is a folder without a file to read",
    "empty.txt": "empty.txt: is empty; expected abstracts",
    "white.txt": "white.txt: is empty; expected abstracts",
    "heading.txt": "heading.txt: no abstract in it",
    "titles.jsonl": "titles.jsonl: no abstract in it",
    "latin.txt": "latin.txt, line 3: not UTF-8: byte 0xe9 at offset 21",
    "binary.dat": "binary.dat: is binary",
    "broken.jsonl": "broken.jsonl, line 2: not JSON",
    "list.jsonl": "list.jsonl, line 2: found list; expected an object a line",
    "deep.jsonl": "deep.jsonl, line 1: ",
}


@pytest.mark.parametrize("name", INPUTS)
def test_an_input_that_is_none(claimbase: Command, folder: Path, name: str) -> None:
    assert INPUTS[name] in refused(claimbase, folder, "run", name, "--strict", "--db", "new.duckdb")
    among = refused(claimbase, folder, "run", "good.txt", name, "--strict", "--db", "new.duckdb", "--dry-run")
    assert INPUTS[name] in among


RUN = ("run", "good.txt", "--db", "new.duckdb")
ELSEWHERE = ("--model", MODEL, "--base-url", "http://127.0.0.1:1/v1")
SETTINGS: list[tuple[tuple[str, ...], str]] = [
    ((*RUN, "--schema", "pebbles"), "unknown schema 'pebbles'; shipped: paper; your own: path/to/file.py:Class"),
    ((*RUN, "--schema", "absent.py:Pebble"), "schema file 'absent.py' does not exist"),
    ((*RUN, "--schema", "plain.py:Pebble"), "'Pebble' is no such class; name a subclass of pydantic.BaseModel"),
    ((*RUN, "--schema", "plain.py:Plain"), "'Plain' is not a Pydantic model"),
    ((*RUN, "--schema", "untyped.py:Empty"), "'Empty' has no fields; give it at least one"),
    ((*RUN, "--schema", "failing.py:Pebble"), "'failing.py' fails when loaded: ModuleNotFoundError"),
    ((*RUN, "--schema", "unreadable.py:Pebble"), "'unreadable.py' fails when loaded: SyntaxError"),
    ((*RUN, "--schema", "good.txt:Pebble"), "'good.txt' is no Python file"),
    ((*RUN, "--prompt", "pebbles"), "unknown prompt 'pebbles'; shipped: "),
    ((*RUN, "--prompt", "sections.md"), "prompt 'sections' has the sections []; expected '# system'"),
    ((*RUN, "--model", MODEL), "no API key for api.openai.com; set OPENAI_API_KEY, or use --model local"),
    ((*RUN, *ELSEWHERE), "answers at http://127.0.0.1:1/v1"),
    ((*RUN, "--model", "m", "--base-url", "127.0.0.1:1"), "--base-url '127.0.0.1:1' is no address"),
    ((*RUN, "--base-url", "http://127.0.0.1:1/v1"), "--model local is embedded"),
    ((*RUN, "--mode", "tools"), "--model local is asked in one way only"),
    ((*RUN, "--mode", "xml"), "unknown --mode 'xml'; expected one of json_schema, tools, json, md_json"),
    ((*RUN, *ELSEWHERE, "--model", "m", "--max-cost", "1"), "none is known for 'm'; give one with --prices FILE"),
    ((*RUN, "--prices", "absent.toml"), "prices 'absent.toml'"),
    ((*RUN, "--prices", "prices.toml"), "prices 'prices.toml'"),
    ((*RUN, "--retry-failed", "--fresh"), "--retry-failed and --fresh exclude each other"),
    ((*RUN[:3], "notes.duckdb"), "notes.duckdb is not a claimbase database (it is not a DuckDB file)"),
    ((*RUN[:3], "other.duckdb"), "other.duckdb is not a claimbase database (it holds other tables: pebbles)"),
    ((*RUN[:3], "newer.duckdb"), "newer.duckdb was made by a newer claimbase (database version 99, this one knows"),
    ((*RUN[:3], "sub"), "'sub' is a folder; name a file in it"),
    ((*RUN[:3], "absent/new.duckdb"), "no folder"),
    (("doctor", "--model", MODEL), "no API key for api.openai.com"),
    (("doctor", *ELSEWHERE), "'gpt-4o-mini' at http://127.0.0.1:1/v1 can't be used"),
    (("doctor", "--base-url", "http://127.0.0.1:1/v1"), "--model local is the embedded one"),
    # What typer itself finds wrong.
    ((*RUN, "--colour"), "No such option: --colour"),
    ((*RUN, "--limit", "0"), "Invalid value for '--limit'"),
    ((*RUN, "--limit", "ten"), "Invalid value for '--limit'"),
    ((*RUN, "--temperature", "nan"), "Invalid value for '--temperature'"),
    (("run",), "Missing argument 'INPUT'; see `claimbase run --help`"),
    (("qqq",), "No such command 'qqq'; see `claimbase --help`"),
    (("--colour",), "No such option: --colour; see `claimbase --help`"),
]


@pytest.mark.parametrize(
    ("arguments", "words"), SETTINGS, ids=lambda v: " ".join(v)[:60] if isinstance(v, tuple) else ""
)
def test_a_setting_that_does_not_fit(claimbase: Command, folder: Path, arguments: tuple[str, ...], words: str) -> None:
    assert words in refused(claimbase, folder, *arguments)


QUESTIONS: list[tuple[tuple[str, ...], str]] = [
    (("sql", "SELECT 1", "--db", "absent.duckdb"), "no database at absent.duckdb; make one with `claimbase run INPUT`"),
    (("sql", "SELECT 1", "--db", "notes.duckdb"), "it is not a DuckDB file"),
    (("sql", "SELECT 1", "--db", "other.duckdb"), "it holds other tables: pebbles"),
    (("sql", "SELECT 1", "--db", "newer.duckdb"), "was made by a newer claimbase"),
    (("sql", "SELECT 1", "--db", "sub"), "it is a folder"),
    (("sql", "SELECT 1", "--format", "xml"), "unknown --format 'xml'; expected one of table, csv, json"),
    (("sql", ""), "there is no SQL here"),
    (("sql", "how many papers are there"), "syntax error"),
    (("sql", "SELECT 1; SELECT 2"), "these are 2 statements"),
    (("sql", "SELECT * FROM pebbles"), "pebbles does not exist"),
    (("sql", "SELECT colour FROM papers"), 'Referenced column "colour" not found'),
    (("sql", "DELETE FROM records"), "DELETE is not allowed"),
    (("sql", "CREATE TABLE pebbles (n INT)"), "CREATE is not allowed"),
    (("sql", "COPY records TO 'out.csv'"), "COPY is not allowed"),
    (("sql", "ATTACH 'out.duckdb'"), "ATTACH is not allowed"),
    (("sql", "INSTALL httpfs"), "INSTALL is not allowed"),
    (("sql", "SELECT * FROM read_text('good.txt')"), "a query has no access to files or the network"),
    (("sql", "SELECT * FROM read_csv('http://127.0.0.1:1/x.csv')"), "no access to files or the network"),
    (("export", "papers", "--to", "there.csv"), "there already; name another, or replace it with --force"),
    (("export", "papers", "--to", "papers.docx"), "the suffix '.docx' tells no format; use one of .csv"),
    (("export", "papers", "--to", "papers"), "tells no format"),
    (("export", "papers", "--to", "sub"), "can't export to sub"),
    (("export", "papers", "--to", "absent/papers.csv"), "there is no folder absent"),
    (("export", "pebbles", "--to", "new.csv"), "there is no view or table 'pebbles'; the views are baselines, claims"),
    (("export", "SELECT colour FROM papers", "--to", "new.csv"), "colour"),
    (("export", "DROP TABLE records", "--to", "new.csv"), "DROP is not allowed"),
    (("export", "papers", "--to", "new.csv", "--db", "absent.duckdb"), "no database at absent.duckdb"),
    (("export", "papers"), "Missing option '--to'"),
    (("show", "r1-pebble"), "no record 'r1-pebble'; `claimbase sql 'FROM records'` lists them"),
    (("show", "r1-"), "'r1-' fits "),
    (("show", ""), "no record ''"),
    (("show", "r1-1", "--db", "absent.duckdb"), "no database at absent.duckdb"),
    (("status", "1999"), "no run '1999'; the latest are 20"),
    (("status", "--db", "notes.duckdb"), "it is not a DuckDB file"),
    (("rederive", "--schema", "pebbles"), "unknown schema 'pebbles'"),
    (("rederive", "--db", "absent.duckdb"), "no database at absent.duckdb"),
]


@pytest.mark.parametrize(
    ("arguments", "words"), QUESTIONS, ids=lambda v: " ".join(v)[:60] if isinstance(v, tuple) else ""
)
def test_a_question_that_cannot_be_answered(
    claimbase: Command, folder: Path, arguments: tuple[str, ...], words: str
) -> None:
    assert words in refused(claimbase, folder, *arguments)


@pytest.fixture(scope="module")
def strict_endpoint() -> Iterator[str]:
    """The address of a server that knows one key and one model."""
    with running(Script(api_key="sk-right-0123456789", models=("known",))) as server:
        yield server.base_url


@pytest.mark.parametrize("command", [RUN, ("doctor",)], ids=["run", "doctor"])
@pytest.mark.parametrize(
    ("key", "model", "words"),
    [
        ("sk-wrong-0123456789", "known", "401: "),
        ("sk-right-0123456789", "pebble-1", "404: "),
    ],
)
def test_what_the_endpoint_refuses(
    claimbase: Command,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    strict_endpoint: str,
    command: tuple[str, ...],
    key: str,
    model: str,
    words: str,
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", key)
    said = refused(claimbase, folder, *command, "--model", model, "--base-url", strict_endpoint)
    assert words in said and "mend" in said and key not in said


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        (faults.InsufficientQuota(), "429: "),
        (faults.InvalidSchema(), "400: "),
        (faults.Status(402), "402: "),
    ],
    ids=["no money", "invalid schema", "payment required"],
)
def test_what_every_record_would_meet_stops_the_run(
    claimbase: Command, folder: Path, fault: faults.Fault, words: str
) -> None:
    with running(seed_script(rules=(always(fault),))) as server:
        said = refused(claimbase, folder, *RUN, "--model", MODEL, "--base-url", server.base_url)
    assert said.startswith("claimbase: stopped: ") and words in said


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_written_to(claimbase: Command, folder: Path) -> None:
    (folder / "sub").chmod(0o500)
    assert "can't be written to" in refused(claimbase, folder, *RUN[:3], "sub/new.duckdb")


def test_a_full_disk_behind_standard_output(claimbase: Command, folder: Path) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("no /dev/full here")
    from tests.conftest import spawn

    with open("/dev/full", "w", encoding="utf-8") as full:
        going = spawn(["sql", "FROM papers", "--db", folder / "claims.duckdb"], stdout=full)
        _, err = going.communicate(timeout=30)
    assert going.returncode == 2 and err == "claimbase: standard output: No space left on device\n"
