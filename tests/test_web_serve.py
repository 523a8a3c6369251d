"""The command `serve`: it says its address, serves until Ctrl-C, and says in a line what it can't do."""

import http.client
import re
import signal
import socket
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.conftest import Command, spawn

TOKEN = "a-token-of-some-length"


@contextmanager
def running(*arguments: str | Path, stop: Sequence[signal.Signals] = (signal.SIGINT,)) -> Iterator[str]:
    """The command in a process of its own, on a free port; the address that it says. It must end well by Ctrl-C."""
    process = spawn(["serve", "--port", "0", *arguments])
    assert process.stderr is not None
    said = process.stderr.readline()
    found = re.search(r"http://\S+", said)
    assert found is not None, said
    yield found[0]
    for one in stop:
        process.send_signal(one)
    assert process.wait(30) == 0
    assert process.stderr.read() == ""
    process.stderr.close()
    assert process.stdout is not None and process.stdout.read() == ""
    process.stdout.close()


def get(address: str, path: str) -> http.client.HTTPResponse:
    connection = http.client.HTTPConnection(address.split("/")[2], timeout=30)
    connection.request("GET", path, headers={"Connection": "close"})
    answer = connection.getresponse()
    answer.body = answer.read()  # type: ignore[attr-defined]
    connection.close()
    return answer


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGINT for another process")
def test_it_serves_until_it_is_stopped(seeds_db: Path) -> None:
    with running("--db", seeds_db) as address:
        assert address.startswith("http://127.0.0.1:")
        answer = get(address, "/claims")
        assert answer.status == 200 and "server" not in answer.headers


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGINT for another process")
def test_an_impatient_person_sees_no_traceback(seeds_db: Path) -> None:
    with running("--db", seeds_db, stop=(signal.SIGINT, signal.SIGINT)) as address:
        assert get(address, "/claims").status == 200


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGINT for another process")
def test_with_a_token_the_address_says_it(seeds_db: Path) -> None:
    with running("--db", seeds_db, "--token", TOKEN) as address:
        assert address.endswith(f"/sign-in?token={TOKEN}")
        assert get(address, "/claims").status == 401


def test_what_it_can_not_do_is_a_line(claimbase: Command, seeds_db: Path, tmp_path: Path) -> None:
    assert "no database at" in claimbase("serve", "--db", tmp_path / "none.duckdb").err
    assert "12 characters" in claimbase("serve", "--db", seeds_db, "--token", "short").err
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        said = claimbase("serve", "--db", seeds_db, "--port", str(taken.getsockname()[1]))
    assert (said.code, said.out) == (2, "")
    assert "can't listen on" in said.err and "--port" in said.err


def test_a_missing_package_is_a_line(claimbase: Command, seeds_db: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "extract.web.serving", None)
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    said = claimbase("serve", "--db", seeds_db)
    assert said.code == 2 and "claimbase[web]" in said.err
