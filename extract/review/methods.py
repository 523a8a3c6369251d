"""Writes what a systematic review must say of claims that a model extracted: how, by whom checked, how often wrong.

Each figure comes from the database; what isn't known is said to be unknown. The error is measured on the abstracts
that were drawn at random and reviewed, no others.
"""

import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from extract.evaluate import Evaluation, evaluate
from extract.review.agreement import agreements
from extract.review.gold import SCHEMA, gold_rows
from store import review_queues, reviewing, session
from store.query import run_query

_RUNS = """SELECT u.run_id, u.model, u.endpoint, u.code_version, p.name, p.version, u.prompt_hash, u.schema_hash,
    u.started_at, u.finished_at, (SELECT count(*) FROM latest l WHERE l.run_id = u.run_id)
FROM runs u JOIN prompts p USING (prompt_hash) WHERE u.run_id IN (SELECT run_id FROM papers) ORDER BY u.started_at"""
_COUNTS = """SELECT (SELECT count(*) FROM records), (SELECT count(*) FROM papers),
    (SELECT count(DISTINCT record_id) FROM failures), (SELECT count(*) FROM headline_numbers),
    (SELECT count(*) FROM datasets), (SELECT count(*) FROM baselines), (SELECT count(*) FROM rejected),
    (SELECT count(*) FROM papers WHERE method IS NOT NULL)"""
_FIELDS = ("task", "method", "datasets", "baselines", "number: value, unit", "number: value, unit, role, metric")


@dataclass(frozen=True, slots=True)
class _Counts:
    """Of the shipped schema's claims."""

    records: int
    papers: int
    failed: int
    numbers: int
    datasets: int
    baselines: int
    rejected: int
    methods: int


def methods(db: Path) -> Iterator[str]:
    """The lines of the report, in Markdown, of the shipped schema's claims. Raises StoreError."""
    runs = list(run_query(db, _RUNS).rows)
    counts = _Counts(*next(run_query(db, _COUNTS).rows))
    with session.reading(db) as con:
        subject = reviewing.subject_of(con, SCHEMA)
        people = review_queues.reviewers(con, subject)
        done = review_queues.finished(con, subject)
        samples = review_queues.samples(con, subject)
        disputed = review_queues.disputes(con, subject)
        judged = review_queues.judged_alike(con, subject)
    gold = [row for row in gold_rows(db) if row["sampled"]]
    yield "## Data extraction"
    yield ""
    yield _extracted(runs, counts) + " " + _reviewed(people, len(done), counts.papers, len(disputed))
    yield ""
    yield from _error_paragraph(gold, samples)
    yield from _run_table(runs)
    yield from _count_table(counts)
    yield from _review_tables(people, judged)
    if gold:
        yield from _error_table(_measured(db, gold))


def _extracted(runs: Sequence[Sequence[Any]], counts: _Counts) -> str:
    return (
        f"Claims were extracted from {counts.records:,} abstracts with {_tools(runs)}, by {_models(runs)}, between "
        f"{_dates(runs)}. The model returned quotations and labels; software located each quotation in the abstract "
        f"and computed values and units from it. {counts.papers:,} abstracts gave a valid answer and "
        f"{counts.failed:,} did not; {counts.rejected:,} statements of the model that the text does not bear out were "
        "discarded."
    )


def _run_table(runs: Sequence[Sequence[Any]]) -> Iterator[str]:
    yield "| run | claimbase | model | prompt | prompt's hash | schema | started, UTC | ended, UTC | abstracts |"
    yield "| --- | --- | --- | --- | --- | --- | --- | --- | ---: |"
    for run_id, model, endpoint, version, name, number, prompt, schema, began, ended, count in runs:
        shown = f"{name} v{number} | `{prompt}` | `{schema}` | {began:%Y-%m-%d %H:%M} | {_time(ended)}"
        yield f"| {run_id} | {version} | {model} at {endpoint} | {shown} | {count:,} |"
    yield ""


def _count_table(counts: _Counts) -> Iterator[str]:
    yield "| kind of claim | extracted |"
    yield "| --- | ---: |"
    yield f"| headline numbers | {counts.numbers:,} |"
    yield f"| datasets | {counts.datasets:,} |"
    yield f"| baselines | {counts.baselines:,} |"
    yield f"| methods | {counts.methods:,} |"
    yield ""


def _tools(runs: Sequence[Sequence[Any]]) -> str:
    versions = sorted({str(run[3]) for run in runs})
    return f"claimbase {' and '.join(versions)}" if versions else "claimbase"


def _models(runs: Sequence[Sequence[Any]]) -> str:
    models = sorted({str(run[1]) for run in runs})
    return f"the language model{'s' if len(models) > 1 else ''} {', '.join(models) or 'unknown'}"


def _dates(runs: Sequence[Sequence[Any]]) -> str:
    if not runs:
        return "unknown dates"
    last = max(run[9] or run[8] for run in runs)
    return f"{min(run[8] for run in runs):%Y-%m-%d} and {last:%Y-%m-%d}"


def _time(time: Any) -> str:
    return "unknown" if time is None else f"{time:%Y-%m-%d %H:%M}"


def _reviewed(people: Sequence[Mapping[str, Any]], done: int, papers: int, disputed: int) -> str:
    if not people:
        return "No claim was reviewed by a person."
    names = ", ".join(str(one["reviewer"]) for one in people)
    many = "One person" if len(people) == 1 else f"{len(people)} people, each without sight of another's verdicts,"
    settled = "no difference is open" if not disputed else f"{disputed:,} differences are open"
    return f"{many} ({names}) reviewed all claims of {done:,} of these {papers:,} abstracts; {settled}."


def _error_paragraph(gold: Sequence[Any], samples: Sequence[review_queues.Sample]) -> Iterator[str]:
    if not samples:
        yield "The error is not known: no random sample of abstracts was drawn and reviewed."
    for sample in samples:
        yield (
            f"A random sample of {sample.drawn:,} of {sample.of:,} abstracts (seed {sample.seed}) was drawn on "
            f"{sample.drawn_at:%Y-%m-%d}; {sample.reviewed:,} of them are reviewed."
        )
    if samples and not gold:
        yield "The error is not known yet."
    if gold:
        yield f"The error below is that on the {len(gold):,} reviewed abstracts of samples."
    yield ""


def _review_tables(people: Sequence[Mapping[str, Any]], judged: Sequence[tuple[str, str, str, str]]) -> Iterator[str]:
    if not people:
        return
    yield "| reviewer | abstracts | accepted | corrected | rejected | added | from | to |"
    yield "| --- | ---: | ---: | ---: | ---: | ---: | --- | --- |"
    for one in people:
        counts = " | ".join(f"{one[name]:,}" for name in ("complete", "accepted", "corrected", "rejected", "added"))
        yield f"| {one['reviewer']} | {counts} | {one['first']:%Y-%m-%d} | {one['last']:%Y-%m-%d} |"
    yield ""
    pairs = agreements(judged)
    if pairs:
        yield "| reviewers | claims | abstracts | alike | Cohen's kappa [95%] |"
        yield "| --- | ---: | ---: | ---: | --- |"
    for pair in pairs:
        interval = f" [{pair.low:.2f}, {pair.high:.2f}]" if pair.low is not None else ""
        kappa = "undefined" if pair.kappa is None else f"{pair.kappa:.2f}{interval}"
        yield f"| {pair.one}, {pair.other} | {pair.claims:,} | {pair.abstracts:,} | {100 * pair.alike:.1f}% | {kappa} |"
    if pairs:
        yield ""


def _measured(db: Path, gold: Sequence[Mapping[str, Any]]) -> Evaluation:
    with tempfile.TemporaryDirectory(prefix="claimbase-") as folder:
        file = Path(folder) / "gold.jsonl"
        file.write_text("".join(json.dumps(row) + "\n" for row in gold), encoding="utf-8")
        return evaluate(db, file)[0]


def _error_table(measured: Evaluation) -> Iterator[str]:
    yield "| field | precision | recall | F1 [95%] |"
    yield "| --- | ---: | ---: | --- |"
    for name in _FIELDS:
        score = measured.fields[name]
        shares = " | ".join("" if share is None else f"{share:.3f}" for share in (score.precision, score.recall))
        f1 = score.f1
        yield f"| {name} | {shares} | {'' if f1 is None else f'{f1.value:.3f} [{f1.low:.3f}, {f1.high:.3f}]'} |"
    whole = measured.whole_interval
    if whole is not None:
        yield f"| whole abstracts | | | {whole.value:.3f} [{whole.low:.3f}, {whole.high:.3f}] |"
    yield ""
    yield "Intervals are 95% percentile intervals of 1,000 bootstrap resamples of the abstracts."
