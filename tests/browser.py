"""Fixtures for the tests of the web app: a client without a browser, a server on loopback, a real chromium.

`conftest` makes them known to all tests. Those of a browser are skipped where there is none.
"""

import os
import shutil
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import uvicorn
from starlette.testclient import TestClient

from extract.web.app import make_app
from extract.web.safety import Door, loopback_names

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

HOST = "127.0.0.1"


def chromium_path() -> str | None:
    """The browser: the one that CLAIMBASE_CHROMIUM names, or the first that is installed."""
    named = os.environ.get("CLAIMBASE_CHROMIUM")
    return named or next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


@contextmanager
def client(db: Path, door: Door | None = None) -> Iterator[TestClient]:
    """A client of the app over this database, which runs in this process; it follows no redirect by itself."""
    app = make_app(db, door or Door(loopback_names()), wait_s=30.0)
    with TestClient(app, base_url=f"http://{HOST}", follow_redirects=False) as made:
        yield made


@contextmanager
def serving(db: Path, door: Door | None = None) -> Iterator[str]:
    """The app over this database on loopback, on a free port; its address without a slash at the end."""
    bound = socket.socket()
    bound.bind((HOST, 0))
    config = uvicorn.Config(make_app(db, door or Door(loopback_names()), wait_s=30.0), log_level="error", lifespan="on")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [bound]}, daemon=True)
    thread.start()
    until = time.monotonic() + 10
    while not server.started:
        assert time.monotonic() < until, "the server didn't start"
        time.sleep(0.01)
    try:
        yield f"http://{HOST}:{bound.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(10)
        bound.close()


@pytest.fixture
def site(seeds_db: Path) -> Iterator[TestClient]:
    """A client of the app over the seeds' database."""
    with client(seeds_db) as made:
        yield made


@pytest.fixture
def served(seeds_db: Path) -> Iterator[str]:
    """The address of a server of the seeds' database."""
    with serving(seeds_db) as address:
        yield address


@pytest.fixture(scope="module")
def chromium() -> Iterator["Browser"]:
    """A browser, started once for a module's tests."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="the browser tests need playwright")
    if (path := chromium_path()) is None:
        pytest.skip("the browser tests need chromium; CLAIMBASE_CHROMIUM may name it")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-dev-shm-usage"])
        yield browser
        browser.close()


@pytest.fixture
def browser_page(chromium: "Browser") -> Iterator["Page"]:
    """A page of its own; the test fails if a script on it failed, or anything broke the security policy."""
    context = chromium.new_context(accept_downloads=True, viewport={"width": 1280, "height": 900})
    context.set_default_timeout(10_000)
    faults: list[str] = []
    page = context.new_page()
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on("console", lambda said: faults.append(said.text) if said.type == "error" else None)
    yield page
    context.close()
    assert not faults, faults
