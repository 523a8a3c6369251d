"""A small field of research for the tests of names and questions: papers that know each other, as a database."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

from store.db import Store
from store.rows import Outcome, Record
from tests.store_samples import NOON, a_run, made


@dataclass(frozen=True, slots=True)
class Number:
    """A headline number as a paper states it; what isn't said is as it usually is."""

    quote: str
    value: float
    unit: str = "%"
    role: str = "score"
    metric: str | None = "accuracy"
    dataset: str | None = None
    baseline: str | None = None
    direction: str | None = None
    qualifier: str = "exact"


@dataclass(frozen=True, slots=True)
class Paper:
    """A paper, its claims, and what its source says of it."""

    name: str
    text: str
    method: str | None = None
    datasets: Sequence[str] = ()
    baselines: Sequence[str] = ()
    numbers: Sequence[Number] = ()
    title: str | None = None
    task: str = "question answering"
    contribution: str = "method"
    meta: dict[str, Any] = field(default_factory=dict)

    @property
    def record(self) -> Record:
        """The record that a reader makes of it."""
        title = self.title or f"On {self.name} and what it is good for"
        return Record(f"sha256:{self.name}", "field.jsonl", self.name, self.name, title, self.text, self.meta)

    def outcome(self, minutes: float = 0) -> Outcome:
        """Its claims, each at a place that nothing here looks at."""
        place = {"start": 0, "end": 1, "match": "exact"}
        numbers = [
            {name: getattr(number, name) for name in Number.__slots__} | place | {"note": None}
            for number in self.numbers
        ]
        value = {
            "contribution": self.contribution,
            "task": self.task,
            "method": self.method,
            "datasets": [{"name": name, **place} for name in self.datasets],
            "baselines": [{"name": name, **place} for name in self.baselines],
            "headline_numbers": numbers,
        }
        finished_at = NOON + timedelta(minutes=minutes)
        return Outcome(f"sha256:{self.name}", "done", None, None, json.dumps(value), finished_at)


def database(folder: Path, papers: Sequence[Paper]) -> Store:
    """A database of these papers, by one run."""
    store = made(folder, a_run())
    store.save("run1", [paper.record for paper in papers], [paper.outcome() for paper in papers])
    return store


FIELD = (
    Paper(
        "lantern",
        "We present Lantern, which reaches 64.4% accuracy on MarbleQA, 3% over Candle.",
        "Lantern",
        ["MarbleQA"],
        ["Candle"],
        [
            Number("64.4%", 64.4, dataset="MarbleQA"),
            Number("3%", 3.0, role="gain", dataset="MarbleQA", baseline="Candle", direction="increase"),
        ],
        meta={"year": 2023},
    ),
    Paper(
        "lantern-v2",
        "We present Lantern, which reaches 65.0% accuracy on the MarbleQA dataset.",
        "Lantern",
        ["MarbleQA dataset"],
        [],
        [Number("65.0%", 65.0, dataset="MarbleQA dataset")],
        title="On Lantern and What It Is Good For",
        meta={"year": 2024, "doi": "10.1234/Lantern"},
    ),
    Paper(
        "lantern-journal",
        "Lantern, as it was published.",
        "Lantern",
        ["Marble-QA"],
        [],
        [Number("0.65", 0.65, unit="", dataset="Marble-QA", metric="Accuracy")],
        title="Another title of it",
        meta={"year": 2024, "doi": "https://doi.org/10.1234/LANTERN"},
    ),
    Paper(
        "candle",
        "Candle (a small model) has 71% accuracy on marble qa and up to 5% more than Torch.",
        "Candle",
        ["marble qa", "PebbleBench"],
        ["Torch"],
        [
            Number("71%", 71.0, dataset="marble qa"),
            Number("5%", 5.0, role="gain", baseline="Torch", direction="increase", qualifier="up_to"),
        ],
        meta={"year": 2025},
    ),
    Paper(
        "torch",
        "Torch halves the error of Lantern on PebbleBench.",
        "Torch",
        ["PebbleBench"],
        ["Lantern"],
        [
            Number("2", 2.0, "x", "gain", "error", "PebbleBench", "Lantern", "decrease"),
            Number("12 ms", 12.0, "ms", metric="latency"),
        ],
        meta={"year": 2025},
    ),
    Paper(
        "position", "We argue that tasks want more thought.", task="philosophy of evaluation", contribution="position"
    ),
)
"""Three versions of one paper among them, and a circle of three methods."""
