"""The embedded model: abstracts and tokens a second of `claimbase run`, and of its servers alone as the floor.

    python -m bench.local [--abstracts N] [--repeats N]

The floor posts the same requests straight to llama.cpp's servers over plain HTTP: a thread a server, each with its next
abstract as soon as it has an answer. Both begin when the servers are up: their start is stated apart.
"""

import argparse
import http.client
import itertools
import json
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from bench.measuring import CLAIMBASE, machine, measure, spread, table
from bench.samples import abstracts, write_abstracts
from extract.adapters import adapter_of
from extract.local import asking_for, embedded_model
from extract.recipe import Recipe, make_recipe, messages_about
from extract.settings import LOCAL, Endpoint


@dataclass(frozen=True, slots=True)
class Taken:
    """What a pass over all abstracts took: seconds, and tokens of prompts, of their cached part, of replies."""

    seconds: float
    prompt: int
    cached: int
    reply: int


def body_of(recipe: Recipe, text: str) -> dict[str, Any]:
    """The request that the engine makes for an abstract."""
    schema = {"name": recipe.schema.model.__name__, "strict": True, "schema": recipe.sent}
    return {
        "model": recipe.asking.model,
        "messages": messages_about(recipe.prompt, text),
        "max_tokens": recipe.asking.reply_tokens,
        "temperature": recipe.asking.temperature,
        "response_format": {"type": "json_schema", "json_schema": schema},
    }


def ask(url: str, key: str, bodies: Iterator[dict[str, Any]], usages: list[dict[str, Any]]) -> None:
    """Post one request after another to a server over one connection; keep what each says it took."""
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=600)
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    for body in bodies:
        connection.request("POST", f"{parts.path}/chat/completions", json.dumps(body), headers)
        usages.append(json.loads(connection.getresponse().read())["usage"])
    connection.close()


class _Shared(Iterator[dict[str, Any]]):
    """An iterator that threads take from in turn."""

    def __init__(self, bodies: Sequence[dict[str, Any]]) -> None:
        self._bodies, self._lock = iter(bodies), threading.Lock()

    def __next__(self) -> dict[str, Any]:
        with self._lock:
            return next(self._bodies)


def floor(endpoint: Endpoint, recipe: Recipe, texts: Sequence[str]) -> Taken:
    """Ask for all abstracts without the engine."""
    bodies, usages = _Shared([body_of(recipe, text) for text in texts]), list[dict[str, Any]]()
    threads = [threading.Thread(target=ask, args=(url, endpoint.api_key, bodies, usages)) for url in endpoint.base_urls]
    began = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    seconds = time.perf_counter() - began
    cached = sum((usage.get("prompt_tokens_details") or {}).get("cached_tokens", 0) for usage in usages)
    return Taken(seconds, sum(u["prompt_tokens"] for u in usages), cached, sum(u["completion_tokens"] for u in usages))


def engine(path: Path, folder: Path) -> tuple[Taken, float]:
    """Run the command; return what its work took, and the seconds of the whole command."""
    db = folder / "claims.duckdb"
    db.unlink(missing_ok=True)
    run = measure([*CLAIMBASE, "run", path, "--db", db, "--json"])
    said = run.last_line()
    counts = (int(said["prompt_tokens"]), int(said["cached_tokens"]), int(said["completion_tokens"]))
    return Taken(said["seconds"], *counts), run.wall_s


def row(name: str, runs: Sequence[Taken], count: int) -> list[str]:
    """A line of the table."""
    last = runs[-1]
    return [
        name,
        spread((run.seconds for run in runs), 1),
        spread(count / run.seconds for run in runs),
        spread(((run.prompt - run.cached + run.reply) / run.seconds for run in runs), 0),
        f"{last.prompt / count:,.0f}",
        f"{last.cached / count:,.0f}",
        f"{last.reply / count:,.0f}",
    ]


HEADS = (
    "",
    "s",
    "abstracts a second",
    "tokens computed a second",
    "prompt tokens an abstract",
    "of them cached",
    "reply",
)


def main(argv: Sequence[str] | None = None) -> int:
    """Print the table."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--abstracts", type=int, default=19)
    arguments.add_argument("--repeats", type=int, default=2)
    options = arguments.parse_args(argv)
    print(f"{machine()}\n", flush=True)
    recipe = make_recipe("paper", None, asking_for(adapter_of(LOCAL)))
    texts = list(abstracts(options.abstracts))
    floors, engines, wholes, starts = list[Taken](), list[Taken](), list[float](), list[float]()
    with tempfile.TemporaryDirectory(prefix="bench-") as made:
        path = write_abstracts(Path(made) / "abstracts.jsonl", texts)
        for _ in itertools.repeat(None, options.repeats):
            began = time.perf_counter()
            with embedded_model(adapter_of(LOCAL)) as endpoint:
                starts.append(time.perf_counter() - began)
                floors.append(floor(endpoint, recipe, texts))
            taken, whole = engine(path, Path(made))
            engines.append(taken)
            wholes.append(whole)
    count = len(texts)
    print(
        table(HEADS, [row(f"claimbase run --model {LOCAL}", engines, count), row("its servers alone", floors, count)])
    )
    ratios = [ours.seconds / alone.seconds for ours, alone in zip(engines, floors, strict=True)]
    print(
        f"\nengine / floor {spread(ratios)}; servers up in {spread(starts, 1)} s; whole command {spread(wholes, 1)} s"
    )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
