"""The key and other secrets appear nowhere but in the request, and nothing but the endpoint is called."""

import json
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from extract.redaction import Secrets
from extract.settings import Endpoint
from tests.engine import KEY, ROOT, answer, claimbase, done_with, marker, run_arguments, script, write_abstracts
from tests.scripted import always, faults, nth, once, paper, spawned

PASSWORD = "proxy-password-42"
ONLY_THE_ENDPOINT = """
import sys
allowed = int(sys.argv.pop(1))
def audit(event, arguments):
    if event in ("socket.connect", "socket.sendto") and arguments[1][:2] != ("127.0.0.1", allowed):
        print("CALLED", event, arguments[1], file=sys.stderr, flush=True)
        raise SystemExit(99)
    if event == "socket.getaddrinfo" and arguments[0] not in ("127.0.0.1", b"127.0.0.1"):
        print("LOOKED UP", arguments, file=sys.stderr, flush=True)
        raise SystemExit(99)
sys.addaudithook(audit)
from extract.cli import main
main()
"""


def everything_in(folder: Path) -> bytes:
    """The bytes of every file there, but for the inputs."""
    return b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file() and path.suffix != ".jsonl")


def test_no_secret_is_kept_or_said(tmp_path: Path) -> None:
    """A run of faults against a server that says back the key it was sent, in errors and in answers."""
    echoed = json.dumps({"error": {"message": f"Bad request with Authorization: Bearer {KEY}. {'x ' * 130}{KEY}"}})
    said_back = {**answer(3), "task": f"the key {KEY}", "method": KEY}
    rules = (
        nth(2, faults.Status(500, echoed), marker(0)),
        once(faults.Malformed(), marker(1)),
        always(faults.Status(400, f"{'y' * 280} {KEY}"), marker(1)),
        once(faults.Malformed(f'{{"task": "{KEY}"'), marker(2)),
        once(faults.Malformed(), marker(0)),
        once(faults.Refusal(f"I was given {KEY}"), marker(4)),
        once(faults.RateLimited(0.01, "ms"), marker(5)),
    )
    told = script(6, *rules, api_key=KEY)
    told = type(told)(answers={**told.answers, marker(3): said_back}, rules=rules, api_key=KEY, examples=told.examples)
    inputs = write_abstracts(tmp_path, 6)
    with spawned(told) as server:
        env = {"OPENAI_API_KEY": KEY, "OPENAI_LOG": "debug"}
        process = claimbase(*run_arguments(server, tmp_path / "c.duckdb", inputs), "--json", env=env)
        code, out, err = done_with(process)
        assert server.stats().unauthorized == 0 and server.stats().faults["Status"] >= 2
    assert code == 3 and json.loads(out)["failed"] == 2
    for kept in (everything_in(tmp_path), out.encode(), err.encode()):
        assert KEY.encode() not in kept and KEY[:12].encode() not in kept
        assert b"Bearer" not in kept.replace(b"Bearer [secret]", b"")
    assert b"[secret]" in everything_in(tmp_path)


def test_a_fatal_answer_that_says_the_key_back(tmp_path: Path) -> None:
    body = f"No such key: {KEY}"
    with spawned(script(1, always(faults.Status(401, body)))) as server:
        arguments = run_arguments(server, tmp_path / "c.duckdb", write_abstracts(tmp_path, 1))
        code, out, err = done_with(claimbase(*arguments, env={"OPENAI_API_KEY": KEY}))
    assert code == 2 and KEY not in out + err and "No such key: [secret]" in err


@pytest.mark.parametrize("where", ["proxy", "address"])
def test_a_password_in_an_address_is_not_said(where: str, tmp_path: Path) -> None:
    """Both are asked for a connection that nobody answers, so that it is the error that could hold the password."""
    db, inputs = tmp_path / "c.duckdb", write_abstracts(tmp_path, 1)
    proxy = f"http://user:{PASSWORD}@127.0.0.1:9"
    url = f"http://user:{PASSWORD}@127.0.0.1:9/v1" if where == "address" else "http://127.0.0.2:8/v1"
    env = {"OPENAI_API_KEY": KEY} | ({"HTTP_PROXY": proxy, "ALL_PROXY": proxy} if where == "proxy" else {})
    code, out, err = done_with(claimbase(*run_arguments(url, db, inputs), env=env))
    assert code == 2 and "no model answers at" in err and "Traceback" not in err
    assert PASSWORD not in out + err and not db.exists()


def test_a_password_in_the_address_is_not_stored(tmp_path: Path) -> None:
    db, inputs = tmp_path / "c.duckdb", write_abstracts(tmp_path, 1)
    with spawned(script(1)) as server:
        url = server.base_url.replace("//", f"//user:{PASSWORD}@")
        code, out, err = done_with(claimbase(*run_arguments(url, db, inputs), env={"OPENAI_API_KEY": KEY}))
    assert code == 0 and PASSWORD not in out + err and PASSWORD.encode() not in everything_in(tmp_path)


def test_what_is_taken_for_a_secret() -> None:
    assert Secrets(Endpoint(("http://127.0.0.1/v1",), "none")).words == []
    endpoint = Endpoint((f"http://u:{PASSWORD}%21@a/v1", "http://b/v1"), KEY)
    assert set(Secrets(endpoint).words) == {KEY, f"{PASSWORD}%21", f"{PASSWORD}!"}
    assert KEY not in repr(endpoint)


@pytest.mark.parametrize("cut", [5, 12, len(KEY) - 1])
def test_a_key_that_was_cut_short_with_its_message(cut: int) -> None:
    secrets = Secrets(Endpoint(("http://127.0.0.1/v1",), KEY))
    assert secrets.out_of(f"key {KEY} or {KEY[:cut]}…") == "key [secret] or …"


def test_nothing_but_the_endpoint_is_called(tmp_path: Path) -> None:
    inputs = write_abstracts(tmp_path, 4)
    with spawned(script(4, once(faults.Malformed()), default=paper())) as server:
        port = str(urlsplit(server.base_url).port)
        arguments = run_arguments(server, tmp_path / "c.duckdb", inputs)
        command = [sys.executable, "-c", ONLY_THE_ENDPOINT, port, *arguments]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60)
        assert server.stats().requests == 8
    assert done.returncode == 0, done.stderr
    assert "CALLED" not in done.stderr and "LOOKED UP" not in done.stderr
