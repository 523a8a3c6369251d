"""The abstracts that the benchmarks ask about, with the right answers in the forms of those that are compared.

The seeds repeated, each with a word of its own at its end: text of real length, with real claims, and no two alike.
"""

import json
import random
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from tests.scripted import Answer, Script, answer_from_gold

ROOT = Path(__file__).parents[1]
GOLD = ROOT / "seeds" / "gold.jsonl"
MODEL = "gpt-4o-mini"
"""Named in every request: a model with a listed price, so that costs are counted as in a real run."""
LABELS = ("unit", "role", "direction", "qualifier", "metric", "dataset", "baseline")
"""What is said of a headline number beside its quote."""

CURATORS_PROBE: Mapping[str, Answer] = {"Jason is 25 years old.": {"name": "Jason", "age": 25}}
"""What curator asks an endpoint once, to see whether it keeps to a schema."""


def seeds() -> list[dict[str, Any]]:
    """The rows of the seeds' gold."""
    return [json.loads(line) for line in GOLD.read_text(encoding="utf-8").splitlines()]


def marker(n: int) -> str:
    """The word that stands in abstract `n` alone."""
    return f"release-{n:06d}"


def abstracts(count: int) -> Iterator[str]:
    """The first `count` abstracts."""
    texts = [row["abstract"] for row in seeds()]
    for n in range(count):
        yield f"{texts[n % len(texts)]} Code: {marker(n)}."


def write_abstracts(path: Path, texts: Iterable[str]) -> Path:
    """Write abstracts as JSON lines, an object each; return the path."""
    path.write_text("".join(json.dumps({"abstract": text}) + "\n" for text in texts), encoding="utf-8")
    return path


def paper_answers(count: int) -> dict[str, Answer]:
    """The answers of the shipped schema, by the abstracts' markers."""
    answers = [answer_from_gold(row) for row in seeds()]
    return {marker(n): answers[n % len(answers)] for n in range(count)}


def langextract_answer(answer: Mapping[str, Any]) -> dict[str, object]:
    """The same claims in langextract's wire format: a list of quotes, each with its attributes."""
    found: list[dict[str, object]] = []

    def add(kind: str, quote: object, **attributes: object) -> None:
        found.append({kind: quote, f"{kind}_attributes": attributes})

    add("task", answer["task"], contribution=answer["contribution"])
    if answer["method"]:
        add("method", answer["method"])
    for kind in ("datasets", "baselines"):
        for name in answer[kind]:
            add(kind.removesuffix("s"), name)
    for number in answer["headline_numbers"]:
        add("number", number["quote"], **{label: number[label] for label in LABELS if number[label] is not None})
    return {"extractions": found}


def latencies_s(span_ms: tuple[float, float], count: int, seed: int = 0) -> list[float]:
    """The latencies that the scripted server gives the first `count` calls, in order, in seconds."""
    drawn = random.Random(seed)
    return [drawn.uniform(*span_ms) / 1000 for _ in range(count)]


def script(count: int, form: str, latency_ms: tuple[float, float], examples: int = 0) -> Script:
    """A script that knows the first `count` abstracts and answers in a form: `paper` or `langextract`."""
    answers = paper_answers(count)
    if form == "langextract":
        answers = {key: langextract_answer(answer) for key, answer in answers.items()}
    answers |= CURATORS_PROBE
    return Script(answers=answers, latency_ms=latency_ms, examples=examples, cache=True)
