"""Rows for the tests of the store: runs, records and outcomes as the engine makes them, at places that are known."""

import json
import os
import socket
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import duckdb

from store.db import Store
from store.rows import Attempt, Evidence, Outcome, Prompt, Record, Run, Schema

NOON = datetime(2026, 5, 4, 12, tzinfo=UTC)

NAME = {"name": "VARCHAR", "start": "INTEGER", "end": "INTEGER", "match": "VARCHAR", "confidence": "DOUBLE"}
NUMBER = {
    **{name: "VARCHAR" for name in ("quote",)},
    "value": "DOUBLE",
    **{name: "VARCHAR" for name in ("unit", "role", "direction", "qualifier", "metric", "dataset", "baseline")},
    "start": "INTEGER",
    "end": "INTEGER",
    "match": "VARCHAR",
    "confidence": "DOUBLE",
    "note": "VARCHAR",
}
PAPER_STRUCTURE = json.dumps(
    {
        "contribution": "VARCHAR",
        "task": "VARCHAR",
        "method": "VARCHAR",
        "datasets": [NAME],
        "baselines": [NAME],
        "headline_numbers": [NUMBER],
        "record_confidence": "DOUBLE",
    }
)
_NAME_MARK = {"type": "string", "x-any-case": True}
_NUMBER_NAMES = {name: {"anyOf": [_NAME_MARK, {"type": "null"}]} for name in ("metric", "dataset", "baseline")}
PAPER_JSON_SCHEMA = json.dumps(
    {
        "title": "Paper",
        "$defs": {"HeadlineNumber": {"properties": _NUMBER_NAMES}},
        "properties": {
            "method": {"anyOf": [_NAME_MARK, {"type": "null"}]},
            "datasets": {"type": "array", "items": _NAME_MARK},
            "baselines": {"type": "array", "items": _NAME_MARK},
            "headline_numbers": {"type": "array", "items": {"$ref": "#/$defs/HeadlineNumber"}},
        },
    }
)
PAPER = Schema("sha256:aaaabbbbcccc", "paper", PAPER_JSON_SCHEMA, PAPER_STRUCTURE)
PROMPT = Prompt("sha256:prompt", "paper", 1, "Read the abstract.")


def made(folder: Path, *runs: Run) -> Store:
    """A database in this folder with these runs of the shipped schema begun."""
    store = Store(folder / "claims.duckdb")
    store.create()
    for run in runs:
        store.begin_run(run, PAPER, PROMPT)
    return store


def a_run(run_id: str = "run1", recipe: str = "recipe", minutes: float = 0, schema: Schema = PAPER) -> Run:
    return Run(
        run_id=run_id,
        started_at=NOON + timedelta(minutes=minutes),
        model="scripted",
        endpoint="http://127.0.0.1:1/v1",
        schema_hash=schema.schema_hash,
        prompt_hash=PROMPT.prompt_hash,
        recipe=recipe,
        settings='{"concurrency": 4}',
        code_version="0.1.0",
        host=socket.gethostname(),
        pid=os.getpid(),
    )


def a_record(i: int) -> Record:
    """An abstract with characters outside the BMP before its quotes: offsets must count code points."""
    text = f"𝒜n abstract – №{i}: we test Lantern on MarbleQA and gain {i}.5\\% over Candle."
    return Record(f"sha256:{i:08x}", "made.jsonl", f"line {i}", f"made.{i}", f"Paper {i}", text, {"year": 2026})


def an_attempt(record: Record, n: int = 1, cost_usd: float | None = 0.25) -> Attempt:
    return Attempt(
        record_id=record.record_id,
        n=n,
        started_at=NOON,
        latency_ms=120.5,
        status="ok",
        error_type=None,
        error=None,
        request_hash=f"request{n}",
        reply='{"task": "question answering"}',
        finish_reason="stop",
        prompt_tokens=100,
        cached_tokens=60,
        completion_tokens=20,
        cost_usd=cost_usd,
    )


def done(
    record: Record, minutes: float = 0, task: str = "question answering", cost_usd: float | None = 0.25
) -> Outcome:
    """A good outcome: a method, a dataset, a baseline and a number that the text says, and a metric that it doesn't."""
    text = record.text

    def placed(quote: str) -> tuple[int, int]:
        return text.index(quote), text.index(quote) + len(quote)

    number = text[text.index("gain ") + 5 : text.index(" over")]
    names = {quote: dict(zip(("start", "end"), placed(quote), strict=True)) for quote in ("MarbleQA", "Candle", number)}
    value = {
        "contribution": "method",
        "task": task,
        "method": "Lantern",
        "datasets": [{"name": "MarbleQA", **names["MarbleQA"], "match": "exact"}],
        "baselines": [{"name": "Candle", **names["Candle"], "match": "exact"}],
        "headline_numbers": [
            {
                "quote": number,
                "value": float(number.removesuffix("\\%")),
                "unit": "%",
                "role": "gain",
                "direction": "increase",
                "qualifier": "exact",
                "metric": None,
                "dataset": "MarbleQA",
                "baseline": "Candle",
                **names[number],
                "match": "exact",
                "note": None,
            }
        ],
    }
    evidence = [
        Evidence("method", 0, "Lantern", *placed("Lantern"), "exact"),
        Evidence("datasets", 0, "MarbleQA", *placed("MarbleQA"), "exact"),
        Evidence("baselines", 0, "Candle", *placed("Candle"), "exact"),
        Evidence("headline_numbers.quote", 0, number, *placed(number), "exact"),
        Evidence("headline_numbers.metric", 0, "speed", None, None, "absent", "not in the abstract"),
    ]
    return Outcome(
        record_id=record.record_id,
        status="done",
        error_type=None,
        error=None,
        value=json.dumps(value),
        finished_at=NOON + timedelta(minutes=minutes),
        attempts=[an_attempt(record, cost_usd=cost_usd)],
        evidence=evidence,
    )


def failed(record: Record, minutes: float = 0, error_type: str = "timeout") -> Outcome:
    finished_at = NOON + timedelta(minutes=minutes)
    return Outcome(record.record_id, "failed", error_type, "it took too long", None, finished_at)


def rows(path: Path, sql: str, parameters: Sequence[object] = ()) -> list[tuple[object, ...]]:
    """What a user would see who opens the file with DuckDB alone."""
    con = duckdb.connect(path, read_only=True)
    try:
        return con.execute(sql, list(parameters)).fetchall()
    finally:
        con.close()
