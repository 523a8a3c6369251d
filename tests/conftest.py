"""What every test gets: no home folder, no key, no network but loopback; and the seeds as a database, made once."""

import json
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from extract import cli
from extract.job import Request, Watch, prepare
from extract.recipe import make_recipe
from extract.settings import Asking
from tests.browser import browser_page, chromium, served, site  # noqa: F401  (fixtures)
from tests.scripted import Answer, Script, answer_from_gold, running
from tests.scripted.asking import Server

ROOT = Path(__file__).parents[1]
SEEDS = ROOT / "seeds" / "neurips_2026_papers.txt"
MODEL = "gpt-4o-mini"


@dataclass(frozen=True, slots=True)
class Said:
    """What a command ended with, and what it wrote."""

    code: int
    out: str
    err: str


Command = Callable[..., Said]


def _is_loopback(host: object) -> bool:
    shown = host.decode() if isinstance(host, bytes) else host
    return shown in (None, "", "localhost", "::1") or str(shown).startswith("127.")


@pytest.fixture(scope="session", autouse=True)
def _away_from_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """No test, nor a command that it starts, sees the user's home folder, caches, keys or proxies.

    The embedded model's weights (240 MB) are put together once, into a folder that later sessions find again.
    """
    user = os.getuid() if hasattr(os, "getuid") else "user"
    weights = os.environ.get("CLAIMBASE_TEST_CACHE") or Path(tempfile.gettempdir()) / f"claimbase-tests-{user}"
    home = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        for name in list(os.environ):
            if name.startswith("OPENAI_") or name.lower().endswith("_proxy"):
                patch.delenv(name)
        patch.setenv("HOME", str(home))
        patch.setenv("XDG_CACHE_HOME", str(home / ".cache"))
        patch.setenv("CLAIMBASE_CACHE", str(weights))
        yield


@pytest.fixture(scope="session", autouse=True)
def _no_network() -> Iterator[None]:
    """Connecting to, or looking up, anything but loopback raises."""
    connect, connect_ex, getaddrinfo = socket.socket.connect, socket.socket.connect_ex, socket.getaddrinfo

    def check(address: Any) -> None:
        host = address[0] if isinstance(address, tuple) else None  # else a path, of a Unix socket
        if not _is_loopback(host):
            raise AssertionError(f"a test reached for the network: {host!r}")

    def guarded_connect(self: socket.socket, address: Any) -> None:
        check(address)
        connect(self, address)

    def guarded_connect_ex(self: socket.socket, address: Any) -> int:
        check(address)
        return connect_ex(self, address)

    def guarded_getaddrinfo(host: Any, *args: Any, **kwargs: Any) -> Any:
        check((host,))
        return getaddrinfo(host, *args, **kwargs)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(socket.socket, "connect", guarded_connect)
        patch.setattr(socket.socket, "connect_ex", guarded_connect_ex)
        patch.setattr(socket, "getaddrinfo", guarded_getaddrinfo)
        yield


@pytest.fixture
def claimbase(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Command:
    """Run the command line in this process, as wide as 80 columns."""
    monkeypatch.setenv("COLUMNS", "80")

    def run(*arguments: str | Path) -> Said:
        capfd.readouterr()
        with pytest.raises(SystemExit) as ended:
            cli.main([str(argument) for argument in arguments])
        out, err = capfd.readouterr()
        assert isinstance(ended.value.code, int)
        return Said(ended.value.code, out, err)

    return run


def spawn(arguments: Sequence[str | Path], **more: Any) -> subprocess.Popen[str]:
    """Start the command in a process of its own, with pipes unless told; it imports this checkout from anywhere."""
    usual: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    usual |= {"text": True, "encoding": "utf-8", "env": {**os.environ, "PYTHONPATH": str(ROOT)}}
    return subprocess.Popen([sys.executable, "-m", "extract.cli", *map(str, arguments)], **{**usual, **more})


def run_arguments(server: Server, db: Path, *options: str) -> list[str]:
    """The arguments of a run of the seeds against this server."""
    return ["run", str(SEEDS), "--db", str(db), "--model", MODEL, "--base-url", server.base_url, *options]


def read_all(descriptor: int) -> str:
    """What was written to a pseudo-terminal, until its other end is closed."""
    pieces = []
    while True:
        try:
            piece = os.read(descriptor, 65_536)
        except OSError:  # Linux says EIO where a pipe would say that it has ended
            break
        if not piece:
            break
        pieces.append(piece)
    return b"".join(pieces).decode()


def seed_answers() -> dict[str, Answer]:
    """The right reply for each seed, by its text."""
    lines = (ROOT / "seeds" / "gold.jsonl").read_text(encoding="utf-8").splitlines()
    return {row["abstract"]: answer_from_gold(row) for row in map(json.loads, lines)}


def seed_script(**more: Any) -> Script:
    """A script that answers the seeds rightly under the shipped prompt; `more` are fields of Script."""
    examples = len(make_recipe("paper", None, Asking(MODEL)).prompt.examples)
    return Script(**{"answers": seed_answers(), "examples": examples, **more})


@pytest.fixture(scope="session")
def seeds_db(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database of the seeds, extracted from a scripted server that knows the gold. Not to be written to."""
    db = tmp_path_factory.mktemp("seeds") / "claims.duckdb"
    with running(seed_script()) as server:
        request = Request(inputs=(str(SEEDS),), db=db, model=MODEL, base_url=server.base_url)
        ended = prepare(request).run(Watch(lambda *_: None, lambda _: None, lambda: None))
    assert (ended.tally.done, ended.tally.failed, ended.tally.calls) == (19, 0, 19)
    return db
