"""Measures runs against gold: precision, recall and F1 a field with intervals, whole abstracts, and each miss."""

import json
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Generic, TypeVar

from extract.agreement import compare, compared_fields
from extract.errors import MistakeError
from extract.gold import GoldRow, OwnGoldRow, as_read, own_as_read, read_gold, read_own_gold
from extract.reliability import confidences
from extract.rules import claims_by_rules
from extract.scoring import FIELDS, Count, Scored, score
from schemas.registry import SHIPPED, LoadedSchema, load_schema
from store.query import run_query
from store.views import literal

RESAMPLES = 1_000
"""Of the bootstrap over abstracts (Efron 1979): enough for two digits of a 95% interval."""

LATEST = "latest"
"""Stands for the latest good outcome of each record, of whichever run."""


@dataclass(frozen=True, slots=True)
class Figure:
    """A measured share with its 95% interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class FieldScore:
    """Micro-averaged over abstracts. A share of nothing (no answer, no gold) is None."""

    precision: float | None
    recall: float | None
    f1: Figure | None
    right: int
    wrong: int
    missed: int


@dataclass(slots=True)
class Evaluation:
    """One run measured: of gold's records some are done (and scored), failed, or missing from the run."""

    run: str
    model: str
    done: int
    failed: list[str]
    missing: list[str]
    fields: dict[str, FieldScore]
    whole: int
    whole_interval: Figure | None
    silent_right: int
    silent: int
    scored: list[Scored] = field(default_factory=list)
    set_aside: int = 0
    """Abstracts of gold that weren't drawn at random, and are measured nowhere."""


Row = TypeVar("Row", GoldRow, OwnGoldRow)


@dataclass(frozen=True, slots=True)
class _Gold(Generic[Row]):
    """The gold of a schema, and how claims are measured by it.

    `as_read` is a row as a reader gives its text; `numbers` are the fields that count numbers.
    """

    rows: Sequence[Row]
    fields: Sequence[str]
    numbers: Sequence[str]
    score: Callable[[Row, Mapping[str, Any]], Scored]
    as_read: Callable[[Row], Row]
    set_aside: int = 0


def evaluate(db: Path, gold_path: Path, runs: Sequence[str] = (LATEST,), schema: str = "paper") -> list[Evaluation]:
    """Measure each run (by the start of its id, or LATEST) against a gold file of a schema, given as in `run`.

    Raises InputError for gold out of form, MistakeError for an unknown run or one of another schema, SchemaError,
    StoreError for the database.
    """
    loaded = load_schema(schema)
    if loaded.name in SHIPPED:
        return _evaluate_all(db, gold_path, _paper_gold(gold_path), runs, loaded)
    return _evaluate_all(db, gold_path, _own_gold(gold_path, loaded), runs, loaded)


def _evaluate_all(
    db: Path, path: Path, gold: _Gold[Row], runs: Sequence[str], schema: LoadedSchema
) -> list[Evaluation]:
    if not gold.rows:
        raise MistakeError(f"{path}: no gold in it; expected one JSON object a line")
    return [_evaluate(db, gold, run, schema) for run in runs]


def _paper_gold(path: Path) -> _Gold[GoldRow]:
    every = list(read_gold(path))
    rows = [row for row in every if row.sampled]
    if every and not rows:
        raise MistakeError(
            f"{path}: none of its abstracts was drawn at random, so they say nothing of all; review a sample"
        )
    return _Gold(rows, FIELDS, ("number: value",), score, as_read, len(every) - len(rows))


def _own_gold(path: Path, schema: LoadedSchema) -> _Gold[OwnGoldRow]:
    anchors = [(f.name, f.anchor) for f in schema.fields if f.many]
    return _Gold(
        rows=list(read_own_gold(path, schema)),
        fields=compared_fields(schema.fields),
        numbers=[name for name, anchor in anchors if anchor is not None and anchor.kind == "number"],
        score=lambda row, said: compare(row.name, row.text, schema.fields, row.claims, said),
        as_read=partial(own_as_read, schema=schema),
    )


def by_rules(gold_path: Path) -> Evaluation:
    """Measure rules without any model, on gold of the schema `paper`: a baseline, for scale."""
    gold = _paper_gold(gold_path)
    outcomes: dict[str, str | None] = {row.record_id: json.dumps(claims_by_rules(row.text)) for row in gold.rows}
    return _measured(gold, load_schema("paper"), "rules", "no model", outcomes)


def _evaluate(db: Path, gold: _Gold[Row], run: str, schema: LoadedSchema) -> Evaluation:
    return _measured(gold, schema, *_outcomes(db, run, schema))


def _measured(
    gold: _Gold[Row], schema: LoadedSchema, run_id: str, model: str, outcomes: Mapping[str, str | None]
) -> Evaluation:
    rows = [row if row.record_id in outcomes else gold.as_read(row) for row in gold.rows]
    done = [(row, outcomes[row.record_id]) for row in rows if outcomes.get(row.record_id) is not None]
    scored = [
        replace(
            gold.score(row, json.loads(value)),
            record_id=row.record_id,
            confidences=confidences(schema.fields, json.loads(value)),
        )
        for row, value in done
        if value is not None
    ]
    numbers = [[s.counts[name] for name in gold.numbers] for s in scored] if gold.numbers else []
    silent = [counts for counts in numbers if not any(c.right + c.missed for c in counts)]
    return Evaluation(
        run=run_id,
        model=model,
        done=len(done),
        failed=[row.name for row in rows if row.record_id in outcomes and outcomes[row.record_id] is None],
        missing=[row.name for row in rows if row.record_id not in outcomes],
        fields={name: _field_score([s.counts[name] for s in scored]) for name in gold.fields},
        whole=sum(s.whole for s in scored),
        whole_interval=_interval([(int(s.whole), 1) for s in scored], _share) if scored else None,
        silent_right=sum(all(c.perfect for c in counts) for counts in silent),
        silent=len(silent),
        scored=scored,
        set_aside=gold.set_aside,
    )


def _outcomes(db: Path, run: str, schema: LoadedSchema) -> tuple[str, str, dict[str, str | None]]:
    """Return a run's id, its model, and its outcomes' values by record: None for one that failed."""
    if run == LATEST:
        # of a schema of one's own, the form that is asked about: its claims have its fields
        form = (
            f"s.name = {literal(schema.name)}" if schema.name in SHIPPED else f"s.schema_hash = {literal(schema.hash)}"
        )
        rows = run_query(
            db,
            "SELECT o.record_id, o.value, r.model FROM latest JOIN outcomes o USING (run_id, record_id) "  # noqa: S608
            f"JOIN runs r USING (run_id) JOIN schemas s ON s.schema_hash = r.schema_hash WHERE {form}",
        ).rows
        found = list(rows)
        models = ", ".join(sorted({str(model) for _, _, model in found}))
        return LATEST, models, {str(record): str(value) for record, value, _ in found}
    query = "SELECT run_id, model, name FROM runs JOIN schemas USING (schema_hash) ORDER BY run_id"
    every = [(str(i), str(m), str(n)) for i, m, n in run_query(db, query).rows]
    fitting = [row for row in every if row[0].startswith(run)]
    if len(fitting) != 1:
        known = ", ".join(run_id for run_id, _, _ in (fitting or every)[-5:]) or "none"
        raise MistakeError(f"{'several runs' if fitting else 'no run'} {run!r}; give one of {known}")
    run_id, model, name = fitting[0]
    if name != schema.name:
        raise MistakeError(
            f"run {run_id} is of schema {name!r}, not of {schema.name!r}; give its --schema and its gold"
        )
    query = f"SELECT record_id, value FROM outcomes WHERE run_id = {literal(run_id)}"  # noqa: S608
    return run_id, model, {str(r): None if v is None else str(v) for r, v in run_query(db, query).rows}


def _field_score(counts: Sequence[Count]) -> FieldScore:
    right, wrong, missed = (sum(getattr(c, part) for c in counts) for part in ("right", "wrong", "missed"))
    precision = right / (right + wrong) if right + wrong else None
    recall = right / (right + missed) if right + missed else None
    samples = [(2 * c.right, 2 * c.right + c.wrong + c.missed) for c in counts]
    figure = _interval(samples, _share) if right + wrong + missed else None
    return FieldScore(precision, recall, figure, right, wrong, missed)


def _share(samples: Sequence[tuple[int, int]]) -> float:
    """Return the sum of the first over the sum of the second; of F1 these are 2·right and 2·right + wrong + missed."""
    whole = sum(n for _, n in samples)
    return sum(k for k, _ in samples) / whole if whole else 0.0


def _interval(samples: Sequence[tuple[int, int]], measure: Any) -> Figure:
    """Return a measure over abstracts with the percentile interval of its bootstrap; the same for the same samples."""
    draw = random.Random(0)  # noqa: S311  # nothing secret
    values = sorted(measure(draw.choices(samples, k=len(samples))) for _ in range(RESAMPLES))
    low, high = values[round(0.025 * (RESAMPLES - 1))], values[round(0.975 * (RESAMPLES - 1))]
    return Figure(measure(samples), low, high)


def table(evaluations: Sequence[Evaluation]) -> Iterator[str]:
    """Yield the lines of a Markdown table for each run."""
    for e in evaluations:
        aside = f", {e.set_aside} not drawn at random and left out" if e.set_aside else ""
        yield f"{e.run} ({e.model}): {e.done} done, {len(e.failed)} failed, {len(e.missing)} missing{aside}"
        yield ""
        yield "| field | precision | recall | F1 [95%] | right | wrong | missed |"
        yield "| --- | --- | --- | --- | --- | --- | --- |"
        for name, s in e.fields.items():
            figures = f"{_two(s.precision)} | {_two(s.recall)} | {_with_interval(s.f1)}"
            yield f"| {name} | {figures} | {s.right} | {s.wrong} | {s.missed} |"
        yield f"| whole abstracts | | | {_with_interval(e.whole_interval)} | {e.whole} of {e.done} | | |"
        if e.silent:
            yield f"| no number where gold has none | | | | {e.silent_right} of {e.silent} | | |"
        yield ""


def misses(evaluations: Sequence[Evaluation]) -> Iterator[str]:
    """Yield a line for each miss: the abstract, the field, gold, the answer, and the text around it."""
    for e in evaluations:
        for scored in e.scored:
            for m in scored.misses:
                yield f"{e.run}  {m.name}  {m.field}: gold {m.gold!r}, said {m.said!r}" + (
                    f"  [{m.around}]" if m.around else ""
                )


def as_rows(evaluations: Sequence[Evaluation]) -> list[Mapping[str, Any]]:
    """Return all of it as plain values for JSON."""
    return [
        {
            "run": e.run,
            "model": e.model,
            "done": e.done,
            "failed": e.failed,
            "missing": e.missing,
            "set_aside": e.set_aside,
            "fields": {name: _row(s) for name, s in e.fields.items()},
            "whole": e.whole,
            "whole_share": None if e.whole_interval is None else _figure(e.whole_interval),
            "silent": {"right": e.silent_right, "of": e.silent},
            "misses": [
                {"id": m.name, "field": m.field, "gold": m.gold, "said": m.said, "around": m.around}
                for s in e.scored
                for m in s.misses
            ],
        }
        for e in evaluations
    ]


def _row(s: FieldScore) -> dict[str, Any]:
    f1 = None if s.f1 is None else _figure(s.f1)
    counts = {"right": s.right, "wrong": s.wrong, "missed": s.missed}
    return {"precision": s.precision, "recall": s.recall, "f1": f1, **counts}


def _figure(figure: Figure) -> dict[str, float]:
    return {"value": figure.value, "low": figure.low, "high": figure.high}


def _two(share: float | None) -> str:
    return "" if share is None else f"{share:.2f}"


def _with_interval(figure: Figure | None) -> str:
    return "" if figure is None else f"{figure.value:.2f} [{figure.low:.2f}, {figure.high:.2f}]"
