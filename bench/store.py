"""The store: saving outcomes, asking the views, size on disk, and a rerun over records that are finished.

    python -m bench.store [--outcomes N] [--numbers N] [--batch N]

The outcomes are derived from the seeds' right answers by the engine's own code, so that claims, evidence and replies
have their real shape; only the time in `Store.save` counts. The words of each abstract are shuffled, so that no text
repeats another; replies and claims do, 19 of them, so that the file is smaller than one of as many papers. Then more
are saved until there are so many headline numbers, and the views are asked what users ask, each question as `claimbase
sql` or `export` asks it: the file opened anew.
"""

import argparse
import itertools
import json
import random
import statistics
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bench.measuring import CLAIMBASE, machine, measure, spread, table
from bench.samples import MODEL, abstracts, marker, paper_answers, seeds, write_abstracts
from extract.claims import derive
from extract.grounding import GroundedText
from extract.readers import read
from extract.recipe import Recipe, make_recipe
from extract.settings import Asking
from store.db import Store
from store.export import export
from store.query import run_query
from store.rows import Attempt, Outcome, Prompt, Record, Run, Schema

NOW = datetime(2026, 5, 4, 12, tzinfo=UTC)
RUN = "20260504-120000-bench0"
QUESTIONS = {
    "a filter": "SELECT * FROM headline_numbers WHERE unit = '%' AND value > 90 LIMIT 100",
    "a GROUP BY": "SELECT unit, role, count(*), median(value) FROM headline_numbers GROUP BY ALL ORDER BY 3 DESC",
    "datasets by use": "SELECT lower(name), count(*) FROM datasets GROUP BY 1 ORDER BY 2 DESC LIMIT 20",
    "claims by dataset": "SELECT dataset, count(*), max(value) FROM claims GROUP BY 1 ORDER BY 2 DESC LIMIT 20",
    "a paper": "SELECT * FROM claims WHERE record_id = '{record_id}'",
}


def outcome_of(record: Record, recipe: Recipe, reply: str) -> Outcome:
    """What the engine makes of a right reply for a record."""
    answer = recipe.schema.model.model_validate_json(reply)
    derived = derive(recipe.schema.fields, answer, GroundedText(record.text))
    attempt = Attempt(
        record.record_id, 1, NOW, 812.5, "ok", None, None, "0" * 20, reply, "stop", 1200, 1024, 120, 0.000252
    )
    value = json.dumps(derived.value, ensure_ascii=False, separators=(",", ":"))
    return Outcome(record.record_id, "done", None, None, value, NOW, [attempt], tuple(derived.evidence))


def outcomes(records: Iterator[Record], recipe: Recipe) -> Iterator[tuple[Record, Outcome]]:
    """Each record with its outcome: those of the seeds, again and again, each for a record of its own.

    Their offsets are those in the seed's text: nothing here looks at them.
    """
    replies = [json.dumps(answer, ensure_ascii=False) for answer in paper_answers(len(seeds())).values()]
    made: list[Outcome] = []
    texts = list(abstracts(len(replies)))
    for n, record in enumerate(records):
        if n < len(replies):
            made.append(outcome_of(replace(record, text=texts[n]), recipe, replies[n]))
        known = made[n % len(replies)]
        attempts = [replace(attempt, record_id=record.record_id) for attempt in known.attempts]
        yield record, replace(known, record_id=record.record_id, attempts=attempts)


def shuffled(texts: Iterable[str]) -> Iterator[str]:
    """Each text with its words in another order."""
    for n, text in enumerate(texts):
        words = text.split()
        random.Random(n).shuffle(words)
        yield " ".join(words)


def begin(store: Store, recipe: Recipe) -> None:
    """Make the database with a run in it."""
    store.create()
    loaded, prompt = recipe.schema, recipe.prompt
    run = Run(RUN, NOW, MODEL, "scripted", loaded.hash, prompt.hash, recipe.hash, "{}", "bench", "bench", 1)
    schema = Schema(loaded.hash, loaded.name, loaded.json_schema, json.dumps(loaded.structure))
    store.begin_run(run, schema, Prompt(prompt.hash, prompt.name, prompt.version, prompt.text))


def save(store: Store, pairs: Iterator[tuple[Record, Outcome]], count: int, batch: int) -> list[float]:
    """Save so many outcomes in batches; return the seconds of each."""
    seconds = []
    for _ in range(0, count, batch):
        chunk = list(itertools.islice(pairs, batch))
        began = time.perf_counter()
        store.save(RUN, [record for record, _ in chunk], [outcome for _, outcome in chunk])
        seconds.append(time.perf_counter() - began)
    return seconds


def timed(work: Callable[[], object], repeats: int = 5) -> list[float]:
    """Seconds of each of some runs."""
    seconds = []
    for _ in range(repeats):
        began = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - began)
    return seconds


def one(db: Path, question: str) -> Any:
    """The one value that a question is answered with."""
    return next(iter(run_query(db, question).rows))[0]


def saving(store: Store, count: int, batch: int, seconds: Sequence[float]) -> str:
    """Say how fast so many were saved, and how large the file is."""
    size = store.path.stat().st_size
    tenth = max(1, len(seconds) // 10)
    first, last = statistics.median(seconds[:tenth]), statistics.median(seconds[-tenth:])
    return (
        f"saved {count:,} outcomes in batches of {batch}: {count / sum(seconds):,.0f} a second ({sum(seconds):.1f} s); "
        f"a batch takes {first * 1000:.0f} ms at the beginning, {last * 1000:.0f} ms at the end; "
        f"{size / 1e6:,.0f} MB, {size / count:,.0f} bytes a paper"
    )


def ask_views(db: Path, record_id: str, folder: Path) -> str:
    """A table of what each question takes."""
    rows = []
    for name, question in QUESTIONS.items():
        asked = question.format(record_id=record_id)
        rows.append([name, spread(timed(lambda asked=asked: list(run_query(db, asked).rows)), 3)])  # type: ignore[misc]
    written = timed(lambda: export(db, "claims", str(folder / "claims.csv"), force=True), 3)
    size = (folder / "claims.csv").stat().st_size
    rows.append([f"all claims to CSV ({size / 1e6:,.0f} MB)", spread(written, 3)])
    return table(("question", "s"), rows)


def rerun(db: Path, texts: Path) -> str:
    """The same command again, over a file whose records are all finished: nothing is asked."""
    options = ["--model", MODEL, "--base-url", "http://127.0.0.1:9/v1", "--json"]
    runs = [measure([*CLAIMBASE, "run", texts, "--db", db, *options]) for _ in range(3)]
    assert all(run.last_line()["calls"] == 0 and run.last_line()["done_before"] for run in runs)
    found = runs[0].last_line()["done_before"]
    walls, cpus = [run.wall_s for run in runs], [run.cpu_s for run in runs]
    return f"a rerun over {found:,} finished records: {spread(walls)} s, CPU {spread(cpus)} s"


def main(argv: Sequence[str] | None = None) -> int:
    """Print the figures as they come."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--outcomes", type=int, default=100_000)
    arguments.add_argument("--numbers", type=int, default=1_000_000, help="headline numbers that the views are over")
    arguments.add_argument("--batch", type=int, default=1_000)
    options = arguments.parse_args(argv)
    print(f"{machine()}\n", flush=True)
    recipe = make_recipe("paper", None, Asking(MODEL))
    a_seed = sum(len(row["gold"]["numbers"]) for row in seeds()) / len(seeds())
    more = max(0, round(options.numbers / a_seed) - options.outcomes)
    with tempfile.TemporaryDirectory(prefix="bench-") as made:
        folder = Path(made)
        texts = write_abstracts(folder / "abstracts.jsonl", shuffled(abstracts(options.outcomes)))
        further = itertools.islice(abstracts(options.outcomes + more), options.outcomes, None)
        rest = write_abstracts(folder / "more.jsonl", shuffled(further))
        store = Store(folder / "claims.duckdb")
        begin(store, recipe)
        pairs = outcomes(read([str(texts), str(rest)]), recipe)
        seconds = save(store, pairs, options.outcomes, options.batch)
        print(saving(store, options.outcomes, options.batch, seconds), flush=True)
        print(rerun(store.path, texts), flush=True)
        seconds += save(store, pairs, more, 5_000)
        numbers = one(store.path, "SELECT count(*) FROM headline_numbers")
        size = store.path.stat().st_size
        print(
            f"\n{numbers:,} headline numbers of {options.outcomes + more:,} papers, {size / 1e6:,.0f} MB\n", flush=True
        )
        record_id = one(store.path, f"SELECT record_id FROM records WHERE contains(text, '{marker(7)}')")
        print(ask_views(store.path, str(record_id), folder))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
