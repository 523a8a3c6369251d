"""Scripted servers for tests and benchmarks: one in a thread of this process, or one in a process of its own.

Both stop when their `with` block ends. The one in a thread takes answers that are callables, and its requests can be
looked at while they come; the other leaves this process's CPU and interpreter lock alone, and can be killed.
"""

import asyncio
import http.client
import json
import ssl
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import TypeVar
from urllib.parse import urlsplit

from tests.scripted.certificate import self_signed
from tests.scripted.endpoint import HOST, ScriptedServer
from tests.scripted.model import ScriptedModel, Stats
from tests.scripted.script import Script, script_to_json

ROOT = Path(__file__).parents[2]
T = TypeVar("T")


class ThreadedServer:
    """A server in a thread with its own event loop. Every method may be called from any other thread."""

    def __init__(self, model: ScriptedModel, tls: ssl.SSLContext | None) -> None:
        self._model = model
        self._server = ScriptedServer(model, tls=tls)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="scripted-server", daemon=True)

    def start(self) -> None:
        """Listen; from now on `base_url` is right."""
        self._thread.start()
        self._wait_for(self._server.start())

    def stop(self) -> None:
        """Close all connections and end the thread."""
        self._wait_for(self._server.stop())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    @property
    def base_url(self) -> str:
        """What an OpenAI client takes as `base_url`."""
        return self._server.base_url

    @property
    def requests(self) -> list[Mapping[str, object]]:
        """The bodies of the last chat requests, oldest first."""
        return self._in_loop(lambda: list(self._model.recorded))

    def stats(self) -> Stats:
        """The counts; `cpu_s` is this process's, so it holds the client's share too."""
        return self._in_loop(self._model.stats)

    def reset(self) -> None:
        """Zero the counts and start the script anew."""
        self._in_loop(self._model.reset)

    def follow(self, script: Script) -> None:
        """Follow another script from now on."""
        self._in_loop(lambda: self._model.follow(script))

    def outage(self, seconds: float) -> None:
        """Drop every connection and close the port for this long; returns at once."""
        self._wait_for(self._server.outage(seconds))

    def _wait_for(self, work: Coroutine[object, object, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    def _in_loop(self, work: Callable[[], T]) -> T:
        async def run() -> T:
            return work()

        return self._wait_for(run())


class SpawnedServer:
    """A server in a process of its own, steered over HTTP; during an outage it can't be asked anything."""

    def __init__(self, process: subprocess.Popen[str], base_url: str) -> None:
        self.process = process
        self.base_url = base_url

    @property
    def requests(self) -> list[Mapping[str, object]]:
        """The bodies of the last chat requests, oldest first, as many as `keep` allows."""
        recorded = self._ask("GET", "/stats")["recorded"]
        return recorded if isinstance(recorded, list) else []

    def stats(self) -> Stats:
        """The counts."""
        counts = {name: value for name, value in self._ask("GET", "/stats").items() if name != "recorded"}
        stats = Stats(**counts)  # type: ignore[arg-type]  # written by `asdict(Stats)` on the other side
        stats.calls, stats.faults = Counter(stats.calls), Counter(stats.faults)
        return stats

    def reset(self) -> None:
        """Zero the counts and start the script anew."""
        self._ask("POST", "/reset")

    def follow(self, script: Script) -> None:
        """Follow another script from now on; raises TypeError where it holds a callable."""
        self._ask("POST", "/script", script_to_json(script))

    def outage(self, seconds: float) -> None:
        """Drop every connection and close the port for this long; returns at once."""
        self._ask("POST", "/outage", {"seconds": seconds})

    def _ask(self, method: str, path: str, body: Mapping[str, object] | None = None) -> dict[str, object]:
        url = urlsplit(self.base_url)
        connection = (
            http.client.HTTPConnection(HOST, url.port, timeout=30)
            if url.scheme == "http"
            else http.client.HTTPSConnection(HOST, url.port, timeout=30, context=_trusting())
        )
        with closing(connection):
            connection.request(method, path, json.dumps(body) if body is not None else None)
            response = connection.getresponse()
            answer: dict[str, object] = json.loads(response.read())
        if response.status != 200:
            raise RuntimeError(f"{method} {path}: {response.status} {answer}")
        return answer


def _trusting() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context


@contextmanager
def running(script: Script | None = None, *, keep: int = 10_000, tls: bool = False) -> Iterator[ThreadedServer]:
    """A server in a thread, on a free port; it keeps the last `keep` request bodies."""
    model = ScriptedModel(script or Script(), keep=keep)
    server = ThreadedServer(model, self_signed() if tls else None)
    server.start()
    try:
        yield server
    finally:
        server.stop()


@contextmanager
def spawned(script: Script | None = None, *options: str) -> Iterator[SpawnedServer]:
    """A server in a process of its own; `options` are the program's, such as "--gold", "FILE", "--keep", "100"."""
    command = [sys.executable, "-m", "tests.scripted.server", "--script", "-", *options]
    text = json.dumps(script_to_json(script)) if script else "{}"
    with subprocess.Popen(command, cwd=ROOT, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdin is not None and process.stdout is not None
            with suppress(BrokenPipeError):  # it may have refused its options already
                process.stdin.write(text)
                process.stdin.close()
            base_url = process.stdout.readline().strip()
            if not base_url:
                raise RuntimeError(f"the scripted server ended with status {process.wait()}; its stderr says why")
            yield SpawnedServer(process, base_url)
        finally:
            process.terminate()
            process.wait()
