"""What the tests of the engine's conduct share: abstracts of our own, and a run of them against a scripted server.

A run goes through `job.prepare`, in this process (`extract`) or as the command in another (`claimbase`). What it left
behind is read as a user reads it: through SQL.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from extract.cli import exit_code
from extract.job import Request, Watch, prepare
from extract.recipe import make_recipe
from extract.runner import Ended
from extract.settings import Asking, Patience
from store.db import Store
from store.query import run_query
from store.rows import Record
from tests.scripted import Answer, Rule, Script, number, paper
from tests.scripted.asking import Server

ROOT = Path(__file__).parents[1]
MODEL = "gpt-4o-mini"
"""A model with a listed price, so that costs are counted."""
HASTY = Patience(first_wait_s=0.01, longest_wait_s=0.05, timeout_s=20.0)
"""Short waits: faults are what is tested, not patience."""
KEY = "sk-scripted-0123456789abcdef"


def marker(n: int) -> str:
    """The word that stands in abstract `n` alone."""
    return f"Zeta{n}net"


def abstract(n: int) -> str:
    """Abstract `n`: a method, a dataset, a baseline and a number, each once."""
    return (
        f"Sorting pebbles by colour is slow work. We present {marker(n)}, which sorts them on PebbleSet-{n} with an "
        f"accuracy of {50 + n % 49}.{n % 10}\\%, where the older Sieve-{n} needs far more light."
    )


def answer(n: int) -> Answer:
    """The right answer for abstract `n`."""
    found = number(f"{50 + n % 49}.{n % 10}\\%", role="score", direction=None, metric="accuracy")
    return paper(
        task="pebble sorting",
        method=marker(n),
        datasets=[f"PebbleSet-{n}"],
        baselines=[f"Sieve-{n}"],
        headline_numbers=[found],
    )


def answers(count: int) -> dict[str, Answer]:
    """The right answers for the first `count` abstracts, by their markers."""
    return {marker(n): answer(n) for n in range(count)}


def script(count: int, *rules: Rule, **more: Any) -> Script:
    """A script that knows the first `count` abstracts within the shipped prompt; `more` are fields of Script."""
    examples = len(make_recipe("paper", None, Asking(MODEL)).prompt.examples)
    return Script(answers=answers(count), rules=rules, examples=examples, **more)


def write_texts(path: Path, texts: Iterable[str]) -> str:
    """Write texts as JSON lines, one record each; return the file's name."""
    path.write_text("".join(json.dumps({"abstract": text}) + "\n" for text in texts), encoding="utf-8")
    return str(path)


def write_abstracts(folder: Path, count: int) -> str:
    """Write the first `count` abstracts into a file of this folder; return its name."""
    return write_texts(folder / f"abstracts-{count}.jsonl", map(abstract, range(count)))


@dataclass(frozen=True, slots=True)
class Run:
    """A run that has ended, and the database that it left."""

    ended: Ended
    db: Path

    @property
    def code(self) -> int:
        """The exit code that the command would have had."""
        return exit_code(self.ended)

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        """The rows that a user's SQL gets."""
        return rows(self.db, query)

    def calls(self, n: int = 0) -> list[str]:
        """How the calls about abstract `n` ended, in order: `ok`, or status and kind."""
        return [
            status if kind is None else f"{status} {kind}"
            for status, kind in self.rows(
                f"SELECT a.status, a.error_type FROM attempts a JOIN records r USING (record_id) "
                f"WHERE contains(r.text, '{marker(n)}') ORDER BY a.started_at, a.n"
            )
        ]

    def outcome(self, n: int = 0) -> str:
        """How abstract `n` ended: `done`, `failed` and its kind, or `none`; of several outcomes the last."""
        found = self.rows(
            f"SELECT o.status, o.error_type FROM outcomes o JOIN records r USING (record_id) "
            f"WHERE contains(r.text, '{marker(n)}') ORDER BY o.finished_at"
        )
        status, kind = found[-1] if found else ("none", None)
        return str(status) if kind is None else f"{status} {kind}"


def rows(db: Path, query: str) -> list[tuple[Any, ...]]:
    """The rows that a user's SQL gets from this database."""
    return [tuple(row) for row in run_query(db, query).rows]


def request_for(server: Server | str, db: Path, inputs: Sequence[str], **more: Any) -> Request:
    """Return what a person would ask for, with short waits; `more` are fields of Request."""
    url = server if isinstance(server, str) else server.base_url
    usual = Request(inputs=tuple(inputs), db=db, model=MODEL, base_url=url, patience=HASTY)
    return replace(usual, **more)


def extract(request: Request, outcome: Callable[[], None] = lambda: None) -> Run:
    """Run in this process; `outcome` is called at each outcome. Raises the one-line errors of a person's mistake."""
    watch = Watch(lambda count, tally: None, lambda _: outcome(), lambda: None)
    return Run(prepare(request).run(watch), request.db)


def extract_records(request: Request, records: Iterable[Record]) -> Run:
    """Run over these records, in place of those that the request's inputs hold: what no reader lets through, too."""
    watch = Watch(lambda count, tally: None, lambda _: None, lambda: None)
    return Run(replace(prepare(request), records=iter(records)).run(watch), request.db)


def claimbase(*arguments: str, env: Mapping[str, str] | None = None, **more: Any) -> subprocess.Popen[str]:
    """Start the command in a process of its own, its output in pipes; `env` is added to an environment without keys."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith("OPENAI_") and not k.lower().endswith("_proxy")}
    return subprocess.Popen(
        [sys.executable, "-m", "extract.cli", *arguments],
        cwd=ROOT,
        env={**kept, **(env or {})},
        text=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        **more,
    )


def run_arguments(server: Server | str, db: Path, *inputs: str, concurrency: int = 8) -> list[str]:
    """The arguments of `claimbase run` against this server."""
    url = server if isinstance(server, str) else server.base_url
    options = ["--db", str(db), "--model", MODEL, "--base-url", url, "--concurrency", str(concurrency)]
    return ["run", *inputs, *options]


def done_with(process: subprocess.Popen[str], timeout: float = 60) -> tuple[int, str, str]:
    """Wait for a command's end; return its exit code, standard output and standard error."""
    out, err = process.communicate(timeout=timeout)
    return process.returncode, out, err


def eventually(holds: Callable[[], bool], seconds: float = 20.0) -> bool:
    """Does it hold within this time?"""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if holds():
            return True
        time.sleep(0.01)
    return False


def state_of(db: Path) -> list[tuple[Any, ...]]:
    """All that a finished database says of its records, in an order of its own: equal for equal claims."""
    if not db.exists():
        return []
    Store(db).check()
    claims = rows(db, "SELECT * EXCLUDE (run_id) FROM claims ORDER BY ALL")
    papers = rows(db, "SELECT * EXCLUDE (run_id) FROM papers ORDER BY ALL")
    evidence = rows(db, "SELECT * EXCLUDE (run_id) FROM evidence ORDER BY ALL")
    return [*claims, *papers, *evidence]
