"""The attacks of the table in docs/web.md, each tried: what must not run doesn't, what must not be read isn't."""

import json
import re
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from extract.commands.serve import door_for
from extract.errors import SettingsError
from extract.web import safety
from extract.web.pages import sql
from extract.web.safety import SIGN_IN, Door, host_name, is_loopback, loopback_names
from store.db import Store
from store.rows import Evidence, Outcome, Record, Schema
from tests.browser import client
from tests.store_samples import NOON, PROMPT, a_run, an_attempt, made

SCRIPT = "<script>window.hacked = true</script>"
QUOTE = f"90% {SCRIPT}"
NAME = f"Sheet{SCRIPT}"
TOKEN = "a-token-of-some-length"
ANOTHER = {"Origin": "http://elsewhere.example"}
EVERY_PAGE = (
    "/claims",
    "/runs",
    "/plots",
    "/plots?kind=metric",
    "/plots?kind=datasets",
    "/plots?kind=time",
    "/plots?kind=spread",
    "/sql",
    "/views",
    "/views/records",
    "/views/claims",
    "/views/rejected",
    "/views/failures",
)


@pytest.fixture(scope="module")
def hostile_db(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database with a script in every text that it can have one in."""
    store = made(tmp_path_factory.mktemp("hostile"), replace(a_run(), model=SCRIPT, endpoint=SCRIPT))
    text = f"We reach {QUOTE} on {SCRIPT} data."
    record = Record("r1", f"{SCRIPT}.txt", "line 1", SCRIPT, SCRIPT, text, {"year": SCRIPT, "venue": SCRIPT})
    number = {"quote": QUOTE, "value": 90.0, "unit": "%", "role": "gain", "metric": SCRIPT, "dataset": SCRIPT}
    value = {
        "contribution": SCRIPT,
        "task": SCRIPT,
        "method": SCRIPT,
        "datasets": [{"name": SCRIPT, "start": 0, "end": 3, "match": "exact"}],
        "baselines": [],
        "headline_numbers": [number, number | {"role": "score"}],
    }
    attempt = replace(an_attempt(record), reply=SCRIPT, error=SCRIPT, error_type=SCRIPT, status="invalid")
    evidence = (
        Evidence("headline_numbers.quote", 0, QUOTE, 9, 9 + len(QUOTE), "exact"),
        Evidence("headline_numbers.metric", 0, SCRIPT, None, None, "absent", SCRIPT),
    )
    done = Outcome("r1", "done", None, None, json.dumps(value), NOON, [attempt], evidence)
    failed = replace(record, record_id="r2", text=f"{text} Again.")
    store.save("run1", [record, failed], [done, Outcome("r2", "failed", SCRIPT, SCRIPT, None, NOON)])
    hostile = Schema("s1-hostile", NAME, "{}", json.dumps({SCRIPT: "VARCHAR", "rows": [{"value": "DOUBLE"}]}))
    store.begin_run(a_run("run2", schema=hostile), hostile, PROMPT)
    store.save("run2", [record], [Outcome("r1", "done", None, None, json.dumps({SCRIPT: SCRIPT}), NOON)])
    return store.path


@pytest.fixture
def hostile(hostile_db: Path) -> Iterator[TestClient]:
    with client(hostile_db) as made_client:
        yield made_client


@pytest.mark.parametrize("path", [*EVERY_PAGE, "/paper/r1", "/paper/r2", "/runs/run1", "/runs/run2"])
def test_a_script_in_the_data_is_text(hostile: TestClient, path: str) -> None:
    answer = hostile.get(path)
    assert answer.status_code == 200
    assert SCRIPT not in answer.text
    assert "alert(" not in answer.text


@pytest.mark.parametrize("path", ["/paper/r1", "/claims"])
def test_the_text_is_shown_whole(hostile: TestClient, path: str) -> None:
    assert "&lt;script&gt;window.hacked = true&lt;/script&gt;" in hostile.get(path).text


@pytest.mark.parametrize(
    "name", ["q", "task", "unit", "low", "sort", "after", "run", "kind", "pair", "by", "x", "first"]
)
@pytest.mark.parametrize("page", ["/claims", "/plots", "/sql", "/views/records", "/paper/r1", "/nowhere"])
def test_a_script_in_the_address_is_text(hostile: TestClient, page: str, name: str) -> None:
    answer = hostile.get(page, params={name: SCRIPT})
    assert answer.status_code in (200, 404)
    assert SCRIPT not in answer.text


def test_a_view_of_a_schema_with_a_hostile_name_is_shown(hostile: TestClient) -> None:
    listed = hostile.get("/views").text
    assert "Sheet&lt;script&gt;" in listed
    name = f"{NAME}s"
    assert hostile.get(f"/views/{name}").status_code == 200
    assert hostile.get("/views/records; DROP TABLE records").status_code == 404


def test_every_answer_has_the_headers(site: TestClient) -> None:
    for path in ("/claims", "/nowhere", SIGN_IN, "/sql?q=DROP+TABLE+records", "/claims.csv"):
        answer = site.get(path)
        for name, value in safety.HEADERS.items():
            assert answer.headers[name] == value, (path, name)
    assert "unsafe" not in safety.CSP and "script-src 'self'" in safety.CSP


def test_no_page_has_inline_script_or_style(site: TestClient) -> None:
    """Or the policy would break it: scripts are files, but for data, which doesn't run."""
    for path in (*EVERY_PAGE, SIGN_IN):
        html = site.get(path).text
        for attributes in re.findall(r"<script([^>]*)>", html):
            assert "src=" in attributes or 'type="application/json"' in attributes, path
        assert not re.search(r"<style|\sstyle=|\son\w+=|javascript:", html), path


@pytest.mark.parametrize(
    "host",
    ["evil.example", "evil.example:8765", "127.0.0.1.evil.example", "localhost.evil.example", "",
     "127.0.0.1@evil.example", "[::1].evil.example", "0.0.0.0", "169.254.169.254", "localhost/evil"],
)  # fmt: skip
def test_rebinding_finds_nothing(site: TestClient, host: str) -> None:
    answer = site.get("/claims", headers={"Host": host})
    assert answer.status_code == 421
    assert "claim" not in answer.text.replace("claimbase serve", "")


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.1:9", "localhost:8765", "LOCALHOST", "[::1]:8765"])
def test_this_machine_is_known_by_its_names(site: TestClient, host: str) -> None:
    assert site.get("/claims", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize(
    ("host", "name"),
    [
        ("a.example:80", "a.example"),
        ("[::1]:80", "::1"),
        ("[::1", ""),
        ("a b", ""),
        ("a/b", ""),
        ("A.Example", "a.example"),
    ],
)
def test_the_name_in_a_host_header(host: str, name: str) -> None:
    assert host_name(host) == name


def _csrf(site: TestClient) -> str:
    found = re.search(r'<meta name="csrf" content="(\w+)">', site.get("/claims").text)
    assert found is not None
    return found[1]


@pytest.fixture
def locked(seeds_db: Path) -> Iterator[TestClient]:
    """A client of a server that has a token."""
    with client(seeds_db, Door(loopback_names(), TOKEN)) as made_client:
        yield made_client


@pytest.mark.parametrize("token", ["", "wrong", "0" * 64, "é"])
def test_a_post_without_the_pages_token_is_refused(locked: TestClient, token: str) -> None:
    locked.get(SIGN_IN)
    assert locked.post(SIGN_IN, data={"token": TOKEN, "csrf": token}).status_code == 403


def test_a_token_of_another_session_is_refused(locked: TestClient, seeds_db: Path) -> None:
    with client(seeds_db, Door(loopback_names(), TOKEN)) as other:
        theirs = _field(other.get(SIGN_IN).text)
    locked.get(SIGN_IN)
    assert locked.post(SIGN_IN, data={"token": TOKEN, "csrf": theirs}).status_code == 403


def test_a_form_of_another_site_is_refused_even_with_the_token(locked: TestClient) -> None:
    token = _field(locked.get(SIGN_IN).text)
    assert locked.post(SIGN_IN, data={"token": TOKEN, "csrf": token}, headers=ANOTHER).status_code == 403
    assert locked.post(SIGN_IN, data={"token": TOKEN, "csrf": token}, headers={"Origin": "null"}).status_code == 403


def test_a_long_body_is_refused(locked: TestClient) -> None:
    assert locked.post(SIGN_IN, data={"token": "x" * (safety.LONGEST_BODY + 1)}).status_code == 413


@pytest.mark.parametrize("where", ["cross-site", "same-site"])
def test_what_another_site_embeds_is_refused(site: TestClient, where: str) -> None:
    cross = {"Sec-Fetch-Site": where}
    embedded = cross | {"Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "image"}
    assert site.get("/sql?q=SELECT+1", headers=embedded).status_code == 403
    framed = cross | {"Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "iframe"}
    assert site.get("/claims", headers=framed).status_code == 403
    followed = cross | {"Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
    assert site.get("/claims", headers=followed).status_code == 200


def test_a_query_that_another_site_links_to_is_shown_and_not_run(site: TestClient) -> None:
    followed = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
    answer = site.get("/sql", params={"q": "SELECT 40 + 2 AS sum"}, headers=followed)
    assert "has not been run" in answer.text and "SELECT 40 + 2" in answer.text
    assert ">42<" not in answer.text
    assert site.get("/sql.csv", params={"q": "SELECT 1"}, headers=followed).status_code == 403


def _field(html: str) -> str:
    return html.partition('name="csrf" value="')[2].partition('"')[0]


def test_nothing_is_seen_without_the_token(locked: TestClient) -> None:
    for path in ("/", *EVERY_PAGE, "/claims.csv", "/sql.csv?q=SELECT+1", "/paper/x", "/runs/x/events"):
        assert locked.get(path).status_code == 401, path
        answer = locked.get(path, headers={"Accept": "text/html"})
        assert (answer.status_code, answer.headers["location"]) == (303, SIGN_IN), path


def test_the_right_token_lets_in_and_a_wrong_one_does_not(locked: TestClient) -> None:
    token = _field(locked.get(SIGN_IN).text)
    wrong = locked.post(SIGN_IN, data={"token": "wrong", "csrf": token})
    assert wrong.status_code == 403 and "not the token" in wrong.text
    assert locked.get("/claims").status_code == 401
    right = locked.post(SIGN_IN, data={"token": TOKEN, "csrf": token})
    assert right.status_code == 303
    assert "HttpOnly" in right.headers["set-cookie"]
    assert locked.get("/claims").status_code == 200


def test_the_address_with_the_token_lets_in_and_the_token_leaves_the_address(locked: TestClient) -> None:
    answer = locked.get(f"{SIGN_IN}?token={TOKEN}")
    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    assert locked.get("/claims").status_code == 200
    assert locked.get(f"{SIGN_IN}?token=wrong").status_code == 403


def test_only_loopback_is_open_without_a_token() -> None:
    assert door_for("127.0.0.1", None, ()).token is None
    for host in ("0.0.0.0", "::", "192.0.2.7", "example.org"):
        token = door_for(host, None, ()).token
        assert token is not None and len(token) >= 24, host
    assert door_for("0.0.0.0", TOKEN, ()).token == TOKEN
    with pytest.raises(SettingsError, match="12 characters"):
        door_for("127.0.0.1", "short", ())


def test_a_server_for_others_answers_to_its_names_and_no_other() -> None:
    door = door_for("0.0.0.0", None, ("papers.example",))
    assert door.answers_to("papers.example:80") and door.answers_to("192.0.2.7:8765")
    assert not door.answers_to("evil.example")
    assert not door_for("192.0.2.7", None, ()).answers_to("192.0.2.8")


@pytest.mark.parametrize(
    ("host", "so"),
    [("127.0.0.1", True), ("127.1.2.3", True), ("::1", True), ("localhost", True), ("0.0.0.0", False), ("::", False),
     ("192.0.2.1", False), ("example.org", False), ("", False)],
)  # fmt: skip
def test_what_loopback_is(host: str, so: bool) -> None:
    assert is_loopback(host) is so


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("DROP TABLE records", "DROP is not allowed"),
        ("DELETE FROM records", "DELETE is not allowed"),
        ("UPDATE runs SET model = ''", "UPDATE is not allowed"),
        ("INSERT INTO runs SELECT * FROM runs", "INSERT is not allowed"),
        ("CREATE TABLE t (a INT)", "CREATE is not allowed"),
        ("ATTACH '/tmp/x.db'", "ATTACH is not allowed"),
        ("COPY records TO '/tmp/stolen.csv'", "COPY is not allowed"),
        ("EXPORT DATABASE '/tmp/stolen'", "EXPORT is not allowed"),
        ("INSTALL httpfs", "INSTALL is not allowed"),
        ("LOAD httpfs", "LOAD is not allowed"),
        ("SET enable_external_access = true", "SET is not allowed"),
        ("PRAGMA enable_profiling", "is not allowed"),
        ("CALL pragma_version()", "is not allowed"),
        ("SELECT 1; DROP TABLE records", "2 statements"),
        ("SELECT * FROM read_csv('/etc/passwd')", "no access to files"),
        ("SELECT * FROM '/etc/passwd'", "does not exist"),
        ("SELECT * FROM read_text('/etc/passwd')", "no access to files"),
        ("SELECT * FROM glob('/*')", "no access to files"),
        ("SELECT * FROM 'https://evil.example/x.parquet'", "no access to files"),
        ("SELECT getenv('HOME')", "getenv"),
    ],
)
def test_sql_that_writes_or_reads_what_is_not_the_database_is_refused(site: TestClient, query: str, said: str) -> None:
    answer = site.get("/sql", params={"q": query})
    assert answer.status_code == 200
    assert said in answer.text.replace("&#39;", "'") and 'class="fault"' in answer.text
    assert site.get("/sql.csv", params={"q": query}).status_code == 400


@pytest.mark.parametrize(
    "query",
    [
        "WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t) SELECT max(n) FROM t",
        "SELECT count(*) FROM range(1000000000) a, range(1000000000) b",
    ],
)
def test_sql_that_never_ends_is_stopped(site: TestClient, query: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sql, "LONGEST_S", 0.3)
    began = time.monotonic()
    answer = site.get("/sql", params={"q": query})
    assert "took longer than 0.3 s and was stopped" in answer.text
    assert time.monotonic() - began < 8
    assert site.get("/claims").status_code == 200


def test_an_answer_of_many_rows_is_cut(site: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sql, "ROWS", 5)
    answer = site.get("/sql", params={"q": "SELECT * FROM range(10000000)"})
    assert "the first of more" in answer.text
    assert answer.text.count("<tr>") == 6


def test_a_long_cell_is_cut(site: TestClient) -> None:
    assert len(site.get("/sql", params={"q": "SELECT repeat('x', 1000000)"}).text) < 60_000


def test_the_database_is_as_it_was(hostile_db: Path) -> None:
    """After all of the above, which ran against it or a copy of its like."""
    assert [run.run.run_id for run in Store(hostile_db).runs()]


def test_static_files_are_only_those(site: TestClient) -> None:
    for path in ("../app.py", "..%2fapp.py", "%2e%2e/app.py", "vendor/../../app.py", "/etc/passwd"):
        answer = site.get(f"/static/x/{path}", follow_redirects=True)
        assert answer.status_code in (404, 405), path
