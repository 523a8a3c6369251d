"""Past one process: a run on a Ray cluster of this machine beside that of one process; kills; merging a million.

    python -m bench.scale same|kills|throughput|cpu|limits|merge|read [--records N]

Every case prints what it measured, and fails if what must hold doesn't. The server is the scripted one in a process of
its own, the cluster one of three node processes on loopback (`tests.clusters`).

- same: the corpus beside the checkout (abstracts of our own without it), with faults, compared with one process row by
  row in SQL.
- kills: a worker killed, a node removed, the driver killed and started again: calls made beyond those needed, rows.
- throughput: the same total concurrency in one process and over workers, once started; and how long starting takes.
- cpu: a worker's loop held for 4 ms a record, so that a worker is worth 250 records a second whatever the machine's
  cores do: what two are worth.
- limits: calls in flight at the server, calls a minute, tokens of a budget.
- merge: parts of real shape, with ids of their own, merged twice.
- read: records a second of the driver alone, and of the dataset.
"""

import argparse
import json
import random
import re
import resource
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb

from bench.engine import EXAMPLES
from bench.measuring import machine
from bench.samples import MODEL, ROOT, abstracts, write_abstracts
from bench.store import NOW, RUN, outcomes, shuffled
from extract.distributed.cluster import Cluster
from extract.distributed.parts import LocalFolder, table_of
from extract.readers import Columns, Notices, check_inputs, read
from extract.readers.text import make_record
from extract.recipe import make_recipe
from extract.settings import Asking, Limits
from store.db import Store
from store.journal import Begun, begun_to_json
from store.merging import merge
from store.rows import Prompt, Run, Schema
from store.sqltext import literal
from tests import engine
from tests.clusters import Nodes, cluster, differences
from tests.scripted import Answer, Rule, Script, SpawnedServer, always, faults, number, once, paper, spawned

CORPUS = ROOT.parent / "shared" / "corpus" / "abstracts.jsonl"
IN_FLIGHT = 32
PER_PART = 5_000
PATIENT = replace(engine.HASTY, timeout_s=180.0)
"""On a busy machine a call may take long, and one more attempt is a row that differs."""
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

    def __init__(self, folder: Path, nodes: Nodes, server: SpawnedServer, named: str) -> None:
        self.folder, self.nodes, self.server, self.named = folder, nodes, server, named

    def run(self, name: str, workers: int | None, **more: Any) -> engine.Run:
        """Run over the file into a database of this name: in one process, or over so many workers."""
        self.server.reset()
        where = Cluster(workers=workers) if workers else None
        usual = {"concurrency": IN_FLIGHT, "cluster": where, "patience": PATIENT}
        db = self.folder / f"{name}.duckdb"
        return engine.extract(engine.request_for(self.server, db, [self.named], **(usual | more)))

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


def seconds_of(run: engine.Run) -> float:
    """From a run's first call to its last outcome."""
    return float(run.rows("SELECT epoch(max(o.finished_at) - min(a.started_at)) FROM outcomes o, attempts a")[0][0])


def until_first_call(run: engine.Run, began: float) -> float:
    """From a moment (as `time.time` has it) to a run's first call."""
    return float(run.rows("SELECT epoch(min(started_at)) FROM attempts")[0][0]) - began


def same(case: Case, count: int) -> Iterator[str]:
    """The same rows as one process."""
    alone, spread = case.run("alone", None), case.run("spread", 3)
    stats = case.server.stats()
    unlike = differences(alone.db, spread.db)
    for run in (alone, spread) if unlike else ():
        yield f"attempts: {run.rows('SELECT status, error_type, count(*) FROM attempts GROUP BY ALL ORDER BY ALL')}"
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
    acts = {"a worker is killed": case.nodes.kill_a_worker, "a node is removed": case.nodes.remove_a_node}
    for n, (what, act) in enumerate(acts.items()):
        thread = case.after(count // 3, act) if n == 0 else None
        case.server.reset()
        thread = thread or case.after(count // 3, act)
        run = case.run(f"killed{n}", 3)
        thread.join()
        yield f"{what}: {_against(alone, run.db, needed, case.server)}"
    case.server.reset()
    for part in (1, 2):
        driver = engine.claimbase(*case.command("driver"))
        engine.eventually(lambda part=part: case.server.stats().requests >= part * count // 3, 300)  # type: ignore[misc]
        driver.kill()
        driver.communicate()
    engine.done_with(engine.claimbase(*case.command("driver")), 600)
    yield f"the driver is killed twice: {_against(alone, case.folder / 'driver.duckdb', needed, case.server)}"


def _against(alone: engine.Run, db: Path, needed: int, server: SpawnedServer) -> str:
    stats, unlike = server.stats(), differences(alone.db, db)
    # What a call was lost of meets its fault once less: of such a record the calls differ, and nothing else.
    assert set(unlike) <= {"attempts"}, unlike
    [(rows, records)] = engine.rows(db, "SELECT count(*), count(DISTINCT record_id) FROM outcomes")
    assert rows == records
    extra = stats.requests - needed
    return (
        f"{rows:,} outcomes, no record twice or missing, no row differs but of {unlike.get('attempts', 0)} attempts; "
        f"{extra} calls more than one process made; at most {stats.most_in_flight} in flight of {IN_FLIGHT}"
    )


def throughput(case: Case, count: int) -> Iterator[str]:
    """The same concurrency in one process and over workers."""
    found: dict[int, list[float]] = {0: [], 1: [], 2: [], 3: []}
    starts = []
    for turn in range(3):
        for workers in found:
            began = time.time()
            run = case.run(f"t{turn}-{workers}", workers or None)
            found[workers].append(count / seconds_of(run))
            starts += [until_first_call(run, began)] if workers else []
    best = {workers: sorted(rates)[1] for workers, rates in found.items()}
    yield f"{count:,} abstracts, {IN_FLIGHT} calls in flight, abstracts a second from the first call on (median of 3):"
    yield f"one process {best[0]:.1f}; " + "; ".join(
        f"{n} workers {best[n]:.1f} ({best[n] / best[0]:.2f} of it)" for n in (1, 2, 3)
    )
    yield f"first call after {min(starts):.1f} to {max(starts):.1f} s, the cluster being up"


def cpu(case: Case, count: int) -> Iterator[str]:
    """What two workers are worth, where each can do no more than so much."""
    own = case.folder / "slow.py"
    own.write_text(SLOW.format(seconds=0.004))
    rates = {}
    for workers in (1, 2):
        run = case.run(f"cpu{workers}", workers, schema=f"{own}:Slow", concurrency=64)
        rates[workers] = count / seconds_of(run)
    yield (
        f"4 ms of a worker's loop a record: one worker {rates[1]:.0f} a second, two {rates[2]:.0f}: "
        f"{rates[2] / rates[1]:.2f} times"
    )


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


def make_parts(folder: Path, count: int) -> int:
    """Write parts of so many outcomes of real shape, their texts and ids their own; return their bytes."""
    recipe = make_recipe("paper", None, Asking(MODEL))
    loaded, prompt = recipe.schema, recipe.prompt
    run = Run(RUN, NOW, MODEL, "scripted", loaded.hash, prompt.hash, recipe.hash, "{}", "bench", "bench", 1)
    schema = Schema(loaded.hash, loaded.name, loaded.json_schema, json.dumps(loaded.structure))
    begun = Begun(run, schema, Prompt(prompt.hash, prompt.name, prompt.version, prompt.text))
    texts = shuffled(abstracts(PER_PART))
    records = (make_record(t, "made", f"{n}", f"p{n}", f"A paper of its own {n}") for n, t in enumerate(texts))
    LocalFolder(folder).write(f"w.{RUN}.0.parquet", table_of(begun, list(outcomes(records, recipe))))
    with duckdb.connect() as con:
        con.execute(f"CREATE TABLE first AS FROM read_parquet('{folder}/w.{RUN}.0.parquet')")
        for n in range(1, count // PER_PART):
            new = (
                f"'r1-' || left(md5(record_id || '{n}'), 20) AS record_id, text || ' {n}' AS text, "
                f"title || ' {n}' AS title, locator || '.{n}' AS locator, source_id || '.{n}' AS source_id"
            )
            metadata = f"KV_METADATA {{claimbase: {literal(begun_to_json(begun))}}}"
            con.execute(
                f"COPY (SELECT * REPLACE ({new}) FROM first) TO '{folder}/w.{RUN}.{n}.parquet' "
                f"(FORMAT parquet, COMPRESSION zstd, {metadata})"
            )
    return sum(path.stat().st_size for path in folder.iterdir())


def merging(folder: Path, count: int) -> Iterator[str]:
    """Parts merged twice; memory is the peak of this process."""
    parts = folder / "parts"
    parts.mkdir()
    size = make_parts(parts, count)
    yield f"{count:,} outcomes in {count // PER_PART} parts, {size / 1e6:,.0f} MB, {size / count:,.0f} bytes each"
    store, paths = Store(folder / "merged.duckdb"), sorted(parts.iterdir())
    began = time.perf_counter()
    first = merge(store, paths)
    took = time.perf_counter() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    bytes_ = store.path.stat().st_size
    yield f"merged in {took:.0f} s, {count / took:,.0f} a second, peak {peak:,.0f} MB; database {bytes_ / 1e6:,.0f} MB"
    state = engine.rows(store.path, STATE)
    random.Random(1).shuffle(paths)
    began = time.perf_counter()
    second = merge(store, paths)
    again = time.perf_counter() - began
    assert (first.new, second.new) == (count, 0) and engine.rows(store.path, STATE) == state
    yield f"merged again in {again:.1f} s: nothing new, the same rows ({state})"


STATE = """SELECT (SELECT count(*) FROM outcomes), (SELECT count(*) FROM attempts), (SELECT count(*) FROM evidence),
    (SELECT count(*) FROM claims), (SELECT bit_xor(hash(o)) FROM outcomes o), (SELECT bit_xor(hash(e)) FROM evidence e)
"""


def reading(folder: Path, count: int) -> Iterator[str]:
    """Reading the inputs: the driver alone, and the dataset."""
    from extract.distributed.dataset import records_of

    named = str(write_abstracts(folder / "many.jsonl", abstracts(count)))
    began = time.perf_counter()
    assert sum(1 for _ in read([named])) == count
    alone = time.perf_counter() - began
    with cluster():
        began = time.perf_counter()
        sources = check_inputs([named])
        piece = max(1 << 20, (sources[0].size or 0) // 8)
        assert sum(1 for _ in records_of(sources, Columns(), Notices(), iter(()), piece)) == count
        spread = time.perf_counter() - began
    yield f"{count:,} records: the driver alone {count / alone:,.0f} a second, the dataset {count / spread:,.0f}"


ON_CLUSTER = {"same": same, "kills": kills, "throughput": throughput, "cpu": cpu, "limits": limits}
ALONE = {"merge": merging, "read": reading}


def on_cluster(name: str, folder: Path, count: int) -> Iterator[str]:
    """Run a case that needs a cluster and a server."""
    texts = texts_of(count)
    named = str(write_abstracts(folder / "abstracts.jsonl", texts))
    script = faulty(texts, (50, 250))
    if name == "cpu":
        script = replace(script, rules=(), answers={}, default={"method": "the"}, latency_ms=(50, 100))
    elif name == "throughput":
        script = replace(script, rules=(), latency_ms=(200, 600))
    with spawned(script) as server, cluster(nodes=3) as nodes:
        yield from ON_CLUSTER[name](Case(folder, nodes, server, named), len(texts))


def main(argv: Sequence[str] | None = None) -> int:
    """Print what was measured, as it comes."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("case", choices=[*ON_CLUSTER, *ALONE])
    arguments.add_argument("--records", type=int, default=2_000)
    options = arguments.parse_args(argv)
    print(machine(), flush=True)
    with tempfile.TemporaryDirectory(prefix="bench-scale-") as made:
        folder = Path(made)
        if options.case in ALONE:
            lines = ALONE[options.case](folder, options.records)
        else:
            lines = on_cluster(options.case, folder, options.records)
        for line in lines:
            print(line, flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
