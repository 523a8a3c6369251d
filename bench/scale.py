"""Past one process: a run on a Ray cluster of this machine beside that of one process; kills; merging a million.

    python -m bench.scale same|kills|throughput|cpu|limits|merge|read [--records N] [--slower TIMES]

Every case prints what it measured, and fails if what must hold doesn't. The server is the scripted one in a process of
its own, the cluster one of three node processes on loopback (`tests.clusters`).

- same: the corpus beside the checkout (abstracts of our own without it), with faults, compared with one process row by
  row in SQL.
- kills: a worker killed, a node removed, the driver killed and started again: calls made beyond those needed, rows.
- throughput: the same total concurrency in one process and over workers, once started; how long starting takes; and
  the processor time of a record. `--slower`: for a machine that has too few cores for server, driver and workers.
- cpu: a worker's loop held for 4 ms a record, so that a worker is worth 250 records a second whatever the machine's
  cores do: what two are worth. `--slower`: the same at fewer records a second.
- limits: calls in flight at the server, calls a minute, tokens of a budget.
- merge: parts of real shape, with ids of their own, merged twice.
- read: records a second of the driver alone, and of the dataset.
"""

import argparse
import json
import os
import re
import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from bench.engine import EXAMPLES
from bench.measuring import machine
from bench.merging import merging
from bench.processor_time import watched
from bench.samples import ROOT, abstracts, write_abstracts
from bench.samples import script as right_answers
from extract.distributed.cluster import Cluster
from extract.readers import Columns, Notices, check_inputs, read
from extract.settings import Limits
from tests import engine
from tests.clusters import PATIENT, Nodes, cluster, differences, differing_rows
from tests.scripted import Answer, Rule, Script, SpawnedServer, always, faults, number, once, paper, spawned
from tests.scripted.records import short_key

CORPUS = ROOT.parent / "shared" / "corpus" / "abstracts.jsonl"
IN_FLIGHT = 32
TURNS = 3
"""How often what is compared is measured, in turn."""
FAULTS: tuple[Callable[[str], Rule], ...] = (
    lambda key: once(faults.Malformed(), key),
    lambda key: once(faults.Status(500), key),
    lambda key: always(faults.Refusal(), key),
    lambda key: once(faults.AbsentQuote(), key),
    lambda key: always(faults.AbsentQuote(), key),
    lambda key: always(faults.ContextLength(), key),
    lambda key: once(faults.Reset(), key),
    lambda key: always(faults.Malformed(), key),
    lambda key: once(faults.Truncated(), key),
    lambda key: always(faults.WrongTypes(), key),
)
"""One of these strikes every tenth abstract, in turn."""
SLOW = """import time
from typing import Annotated
from pydantic import BaseModel, model_validator
from schemas.base import Quote

class Slow(BaseModel):
    method: Annotated[str, Quote()]

    @model_validator(mode="after")
    def held(self):
        time.sleep({seconds})
        return self
"""
"""A schema whose check holds a worker's loop."""


def texts_of(count: int) -> list[str]:
    """The abstracts of the corpus, or our own where it isn't there."""
    if CORPUS.exists():
        lines = CORPUS.read_text(encoding="utf-8").splitlines()
        return [json.loads(line)["abstract"].strip() for line in lines[:count]]
    return list(abstracts(count))


def answer_to(text: str) -> Answer:
    """An answer that quotes a text: its first word with a capital, and its first numbers."""
    names = re.findall(r"\b[A-Z][A-Za-z]{3,}\b", text)
    numbers = re.findall(r"\d+(?:\.\d+)?", text)[:3]
    return paper(
        task="reading",
        method=names[0] if names else None,
        datasets=names[1:3],
        headline_numbers=[number(one, role="score", direction=None, unit="") for one in numbers],
    )


def faulty(texts: Sequence[str], latency_ms: tuple[float, float]) -> Script:
    """A script that answers these abstracts, every tenth with a fault."""
    rules = tuple(FAULTS[n // 10 % len(FAULTS)](text) for n, text in enumerate(texts) if n % 10 == 3)
    return Script({text: answer_to(text) for text in texts}, rules=rules, latency_ms=latency_ms, examples=EXAMPLES)


class Case:
    """What the cases share: a folder, a cluster, a server, and runs of either engine over the same file."""

    def __init__(self, folder: Path, nodes: Nodes, server: SpawnedServer, texts: Sequence[str]) -> None:
        self.folder, self.nodes, self.server, self.texts = folder, nodes, server, texts
        self.named = str(write_abstracts(folder / "abstracts.jsonl", texts))

    def run(self, name: str, workers: int | None, **more: Any) -> engine.Run:
        """Run over the file into a database of this name: in one process, or over so many workers."""
        self.server.reset()
        where = Cluster(workers=workers) if workers else None
        usual = {"concurrency": IN_FLIGHT, "cluster": where, "patience": PATIENT}
        db = self.folder / f"{name}.duckdb"
        return engine.extract(engine.request_for(self.server, db, [self.named], **(usual | more)))

    def pids(self) -> dict[str, list[int]]:
        """The processes whose time is measured: this one is the driver, or the one process that asks."""
        return {"driver": [os.getpid()], "workers": [*self.nodes.workers()], "server": [self.server.process.pid]}

    def command(self, name: str) -> list[str]:
        """The command of a run over two workers into a database of this name."""
        arguments = engine.run_arguments(self.server, self.folder / f"{name}.duckdb", self.named, concurrency=IN_FLIGHT)
        return [*arguments, "--engine", "ray", "--address", self.nodes.address, "--workers", "2"]

    def after(self, calls: int, act: Callable[[], object]) -> threading.Thread:
        """Do something in a thread, once the server has had so many calls."""

        def wait() -> None:
            if engine.eventually(lambda: self.server.stats().requests >= calls, 300):
                act()

        thread = threading.Thread(target=wait)
        thread.start()
        return thread


def span_of(run: engine.Run) -> tuple[float, float]:
    """When a run's first call began and its last outcome came, as `time.time` has it."""
    [(began, ended)] = run.rows(
        "SELECT (SELECT epoch(min(started_at)) FROM attempts), (SELECT epoch(max(finished_at)) FROM outcomes)"
    )
    return float(began), float(ended)


def seconds_of(run: engine.Run) -> float:
    """From a run's first call to its last outcome."""
    began, ended = span_of(run)
    return ended - began


def until_first_call(run: engine.Run, began: float) -> float:
    """From a moment (as `time.time` has it) to a run's first call."""
    return span_of(run)[0] - began


def same(case: Case, count: int) -> Iterator[str]:
    """The same rows as one process."""
    alone, spread = case.run("alone", None), case.run("spread", 3)
    stats = case.server.stats()
    unlike = differences(alone.db, spread.db)
    for table in unlike:
        yield from (f"{table}: {row}" for row in differing_rows(alone.db, spread.db, table))
    assert not unlike, unlike
    tally = spread.ended.tally
    rows = {name: spread.rows(f"SELECT count(*) FROM {name}")[0][0] for name in ("outcomes", "evidence", "attempts")}
    yield f"{count:,} abstracts, one process and three workers: no row differs of {rows}"
    yield f"{tally.failed} failed in both: {dict(tally.errors)}; {tally.calls:,} calls"
    yield f"at most {stats.most_in_flight} calls in flight at the server, of {IN_FLIGHT}"


def kills(case: Case, count: int) -> Iterator[str]:
    """A worker killed, a node removed, the driver killed twice."""
    alone = case.run("alone", None)
    needed = case.server.stats().requests
    yield f"one process: {needed:,} calls for {count:,} abstracts"
    acts = {"a worker is killed": case.nodes.kill_a_worker, "a node is removed": case.nodes.remove_a_node}
    for n, (what, act) in enumerate(acts.items()):
        case.server.reset()
        thread = case.after(count // 3, act)
        run = case.run(f"killed{n}", 3)
        thread.join()
        yield f"{what}: {_against(case, alone, run.db, needed)}"
    case.server.reset()
    for part in (1, 2):
        driver = engine.claimbase(*case.command("driver"))
        engine.eventually(lambda part=part: case.server.stats().requests >= part * count // 3, 300)  # type: ignore[misc]
        driver.kill()
        driver.communicate()
    engine.done_with(engine.claimbase(*case.command("driver")), 600)
    yield f"the driver is killed twice: {_against(case, alone, case.folder / 'driver.duckdb', needed, 2)}"


def _against(case: Case, alone: engine.Run, db: Path, needed: int, kills: int = 1) -> str:
    stats, unlike = case.server.stats(), differences(alone.db, db)
    # What a call was lost of meets its fault once less: of such a record the calls differ, and nothing else.
    assert set(unlike) <= {"attempts"}, unlike
    [(rows, records)] = engine.rows(db, "SELECT count(*), count(DISTINCT record_id) FROM outcomes")
    assert rows == records
    extra = stats.requests - needed
    asked = alone.rows("SELECT locator, count(*) FROM attempts JOIN records USING (record_id) GROUP BY locator")
    usual = {f"line {n}": short_key(text) for n, text in enumerate(case.texts, 1)}
    again = sum(stats.calls[usual[line]] > calls for line, calls in asked)
    assert again <= kills * IN_FLIGHT, again
    return (
        f"{rows:,} outcomes, no record twice or missing, no row differs but of {unlike.get('attempts', 0)} attempts; "
        f"{extra} calls more than one process made, for {again} records that were under way; "
        f"at most {stats.most_in_flight} in flight of {IN_FLIGHT}"
    )


def throughput(case: Case, count: int) -> Iterator[str]:
    """The same concurrency in one process and over workers; the processor time of a record with three."""
    found: dict[int, list[float]] = {0: [], 1: [], 2: [], 3: []}
    starts = []
    spent: dict[str, float] = {}
    for turn in range(TURNS):
        for workers in found:
            began = time.time()
            with watched(case.pids) as times:
                run = case.run(f"t{turn}-{workers}", workers or None)
            found[workers].append(count / seconds_of(run))
            starts += [until_first_call(run, began)] if workers else []
            spent = times.between(*span_of(run))
            yield f"{workers or 'no'} workers: {found[workers][-1]:.1f} a second; " + in_ms(spent, count)
    best = {workers: statistics.median(rates) for workers, rates in found.items()}
    yield f"{count:,} abstracts, {IN_FLIGHT} calls in flight, abstracts a second from the first call on (medians):"
    yield f"one process {best[0]:.1f}; " + "; ".join(
        f"{n} workers {best[n]:.1f} ({best[n] / best[0]:.2f} of it)" for n in (1, 2, 3)
    )
    yield f"first call after {min(starts):.1f} to {max(starts):.1f} s, the cluster being up"


def cpu(case: Case, count: int, held_s: float) -> Iterator[str]:
    """What two workers are worth, where each can do no more than so much."""
    own = case.folder / "slow.py"
    own.write_text(SLOW.format(seconds=held_s))
    ratios = []
    for turn in range(TURNS):
        rates = {}
        for workers in (1, 2):
            with watched(case.pids) as times:
                run = case.run(f"cpu{turn}-{workers}", workers, schema=f"{own}:Slow", concurrency=64)
            rates[workers] = count / seconds_of(run)
            yield f"{workers} workers: {rates[workers]:.1f} a second; " + in_ms(times.between(*span_of(run)), count)
        ratios.append(rates[2] / rates[1])
    yield (
        f"a worker's loop held for {1000 * held_s:.0f} ms a record: two workers do {statistics.median(ratios):.2f} "
        f"times what one does ({', '.join(f'{ratio:.2f}' for ratio in ratios)})"
    )


def in_ms(spent: dict[str, float], count: int) -> str:
    """Say what a record took of the processor."""
    return ", ".join(f"{name} {1000 * seconds / count:.2f}" for name, seconds in spent.items()) + " ms of a core each"


def limits(case: Case, count: int) -> Iterator[str]:
    """Concurrency, rate and budget over three workers."""
    run = case.run("rate", 3, limits=Limits(rpm=1_200), limit=min(count, 400))
    [(seconds, calls)] = run.rows("SELECT epoch(max(started_at) - min(started_at)), count(*) FROM attempts")
    most = run.rows(
        "SELECT max(n) FROM (SELECT count(*) OVER (ORDER BY started_at RANGE BETWEEN CURRENT ROW AND INTERVAL 10 "
        "SECONDS FOLLOWING) AS n FROM attempts)"
    )[0][0]
    yield f"--rpm 1200 over three workers: {calls} calls in {seconds:.1f} s; at most {most} within 10 s (200 + 20)"
    run = case.run("budget", 3, limits=Limits(max_tokens=300_000))
    tally = run.ended.tally
    yield f"--max-tokens 300000: {tally.prompt_tokens + tally.completion_tokens:,} used; {run.ended.error}"
    yield f"at most {case.server.stats().most_in_flight} calls in flight of {IN_FLIGHT}"


def reading(folder: Path, count: int) -> Iterator[str]:
    """Reading the inputs: the driver alone, and the dataset."""
    named = str(write_abstracts(folder / "many.jsonl", abstracts(count)))
    began = time.perf_counter()
    assert sum(1 for _ in read([named])) == count
    alone = time.perf_counter() - began
    with cluster():
        from extract.distributed.dataset import records_of  # with Ray, which must be calmed before

        began = time.perf_counter()
        sources = check_inputs([named])
        piece = max(1 << 20, (sources[0].size or 0) // 8)
        assert sum(1 for _ in records_of(sources, Columns(), Notices(), iter(()), piece)) == count
        spread = time.perf_counter() - began
    yield f"{count:,} records: the driver alone {count / alone:,.0f} a second, the dataset {count / spread:,.0f}"


ON_CLUSTER = {"same": same, "kills": kills, "throughput": throughput, "limits": limits}
ALONE = {"merge": merging, "read": reading}


def on_cluster(name: str, folder: Path, count: int, slower: float) -> Iterator[str]:
    """Run a case that needs a cluster and a server."""
    timed = name in ("throughput", "cpu")
    texts = [*abstracts(count)] if timed else texts_of(count)
    script = faulty(texts, (50, 250))
    if name == "cpu":
        script = replace(script, rules=(), answers={}, default={"method": "the"}, latency_ms=(50, 100))
    elif name == "throughput":
        script = right_answers(count, "paper", (200 * slower, 600 * slower), EXAMPLES)
    with spawned(script) as server, cluster(nodes=3) as nodes:
        case = Case(folder, nodes, server, texts)
        yield from cpu(case, len(texts), 0.004 * slower) if name == "cpu" else ON_CLUSTER[name](case, len(texts))


def main(argv: Sequence[str] | None = None) -> int:
    """Print what was measured, as it comes."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("case", choices=[*ON_CLUSTER, "cpu", *ALONE])
    arguments.add_argument("--slower", type=float, default=1, help="times the waits of throughput and cpu are longer")
    arguments.add_argument("--records", type=int, default=2_000)
    options = arguments.parse_args(argv)
    print(machine(), flush=True)
    with tempfile.TemporaryDirectory(prefix="bench-scale-") as made:
        folder = Path(made)
        if options.case in ALONE:
            lines = ALONE[options.case](folder, options.records)
        else:
            lines = on_cluster(options.case, folder, options.records, options.slower)
        for line in lines:
            print(line, flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
