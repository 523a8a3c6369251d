"""Tokens an abstract, sent and received, and dollars for 10,000 abstracts, beside the peers.

    python -m bench.cost [--peer NAME]...

Each peer asks about the seeds; what it sent is counted from the requests that the server recorded, by OpenAI's own
tokenizer (o200k_base), the schema as the JSON that was sent. A provider counts a schema in its own way, so dollars are
an estimate. The replies are the same claims in each peer's form. `static` is what all requests of a peer begin with,
the schema, which providers put first, included: a prompt cache can hold that, if the provider caches prompts so short
(OpenAI: from 1,024 tokens).
"""

import argparse
import json
import os
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench import environments
from bench.engine import EXAMPLES, PEERS, command
from bench.measuring import BenchError, machine, measure, table
from bench.samples import MODEL, ROOT, langextract_answer, paper_answers, script, seeds, write_abstracts
from bench.samples import abstracts as sample_abstracts
from extract.budget import PRICES, load_prices, price_of
from extract.recipe import make_recipe
from extract.settings import Asking
from tests.scripted import spawned
from tests.scripted.replies import dumps

DEFAULT = "langextract, default"
"""langextract as it comes: it cuts an abstract of over 1,000 characters in two."""
ABSTRACTS = 10_000
CACHED_FROM = 1_024
"""Tokens of the shortest prompt that OpenAI caches."""


@dataclass(frozen=True, slots=True)
class Usage:
    """What a peer sent and got for the seeds: means an abstract, in characters and in tokens."""

    requests: float
    characters: float
    schema_characters: float
    messages: float
    schema: float
    static: float
    received: float

    @property
    def sent(self) -> float:
        """Tokens sent an abstract."""
        return self.messages + self.schema


def recorded(peer: str) -> list[Mapping[str, Any]]:
    """The requests that a peer makes for the seeds."""
    count = len(seeds())
    name, form = ("langextract", "langextract") if peer.startswith("langextract") else (peer, "paper")
    asked = script(count, form, (0, 0), EXAMPLES if peer == "claimbase" else 0)
    with tempfile.TemporaryDirectory(prefix="bench-") as made, spawned(asked, "--keep", "1000") as server:
        folder = Path(made)
        texts = write_abstracts(folder / "abstracts.jsonl", sample_abstracts(count))
        env = environments.env_of(folder)
        if peer == DEFAULT:
            env["MAX_CHAR_BUFFER"] = "1000"
        measure(command(name, texts, server.base_url, 1, folder), env)
        requests = [request for request in server.requests if "Jason is 25" not in dumps(request)]
    return requests


def count_tokens(texts: Sequence[str]) -> list[int]:
    """Tokens of each text by o200k_base. Raises BenchError where its tokenizer can't be had."""
    python = environments.python_of("curator")
    if python is None:
        raise BenchError("no tokenizer: it comes with curator, which can't be installed")
    done = subprocess.run(
        [python, "-m", "bench.peers.count_tokens"],
        input=json.dumps(list(texts)) + "\n",
        cwd=ROOT,
        env={**os.environ, **environments.env_of(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    counts: list[int] = json.loads(done.stdout)
    return counts


def compact(value: object) -> str:
    """JSON without a space: as clients send a schema, and as a model answers that is shown examples without."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")) if value else ""


def usage(peer: str) -> Usage:
    """Count what a peer sends for the seeds, and what their right answers come to in its form."""
    requests = recorded(peer)
    said = ["\n".join(str(m.get("content") or "") for m in request["messages"]) for request in requests]
    schemas = [compact(request.get("tools") or request.get("response_format")) for request in requests]
    answers = list(paper_answers(len(seeds())).values())
    if peer == "claimbase":  # what its schema asks for, and no more
        sent = json.dumps(make_recipe("paper", None, Asking(MODEL)).sent)
        answers = [_asked_for(answer, sent) for answer in answers]
    elif peer.startswith("langextract"):
        answers = [langextract_answer(answer) for answer in answers]
    messages, schema = sum(count_tokens(said)), sum(count_tokens(schemas))
    whole = [f"{given}\n{text}" for given, text in zip(schemas, said, strict=True)]
    prefix = os.path.commonprefix(whole)  # noqa: RUF071 (of texts, not of paths)
    n = len(answers)
    return Usage(
        requests=len(requests) / n,
        characters=sum(map(len, said)) / n,
        schema_characters=sum(map(len, schemas)) / n,
        messages=messages / n,
        schema=schema / n,
        static=count_tokens([prefix])[0] * len(requests) / n,
        received=sum(count_tokens(list(map(compact, answers)))) / n,
    )


def _asked_for(answer: Mapping[str, object], sent: str) -> dict[str, object]:
    """An answer without what the schema doesn't name: what code reads of a number."""
    numbers = answer["headline_numbers"]
    assert isinstance(numbers, list)
    asked = [{name: value for name, value in number.items() if f'"{name}"' in sent} for number in numbers]
    return {**answer, "headline_numbers": asked}


def row(peer: str, used: Usage) -> list[str]:
    """A line of the table."""
    price = price_of(MODEL, load_prices(PRICES))
    assert price is not None
    sent, received = round(used.sent * ABSTRACTS), round(used.received * ABSTRACTS)
    whole = price.cost(sent, 0, received)
    cached = price.cost(sent, round(used.static * ABSTRACTS), received)
    at_openai = "yes" if used.static / used.requests >= CACHED_FROM else "no"
    figures = [used.characters, used.schema_characters, used.messages, used.schema, used.received]
    shares = [f"{used.static / used.sent:.0%}", at_openai, f"{whole:.2f}", f"{cached:.2f}"]
    return [peer, f"{used.requests:.2f}", *(f"{figure:,.0f}" for figure in figures), *shares]


HEADS = ("", "requests", "characters: messages", "schema", "tokens: messages", "schema", "received", "static share",
         "long enough for OpenAI's cache", f"$ for {ABSTRACTS:,}", "$ static part cached")  # fmt: skip


def main(argv: Sequence[str] | None = None) -> int:
    """Print the table."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    names = (*PEERS[:2], DEFAULT, *PEERS[2:])
    arguments.add_argument("--peer", action="append", choices=names, help="all unless given")
    chosen = arguments.parse_args(argv).peer or names
    peers = [p for p in chosen if p == "claimbase" or environments.python_of(p.partition(",")[0])]
    print(machine())
    print(f"\ntokens by o200k_base, an abstract; dollars at {MODEL}'s listed price\n")
    print(table(HEADS, [row(peer, usage(peer)) for peer in peers]))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
