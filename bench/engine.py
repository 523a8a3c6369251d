"""The engine beside its peers: wall time over the ideal, processor time, memory, requests, characters sent.

    python -m bench.engine [--case NAME]... [--peer NAME]... [--repeats N]

The same scripted server in a process of its own, the same abstracts, the same claims as answers, in turn. Each runs as
a command of its own. The ideal is the sum of the server's latencies over the calls in flight. A command's start
(Python, imports, making a client, a database) is measured by runs over one abstract, and taken off the processor time
an abstract; claimbase's wall time is its own `seconds`, the peers' begins after their imports.
"""

import argparse
import statistics
import tempfile
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench import environments
from bench.measuring import CLAIMBASE, Measured, machine, measure, spread, table
from bench.samples import MODEL, abstracts, latencies_s, script, write_abstracts
from tests.scripted import SpawnedServer, Stats, spawned

PEERS = ("claimbase", "langextract", "instructor", "openai", "curator")
EXAMPLES = 2
"""Assistant messages of the shipped prompt: the server must not take them for replies."""


@dataclass(frozen=True, slots=True)
class Case:
    """So many abstracts at a latency (low, high), in milliseconds, with so many calls in flight."""

    name: str
    records: int
    latency_ms: tuple[float, float]
    in_flight: int

    @property
    def ideal_s(self) -> float:
        """The wall time of a client that costs nothing and keeps all calls in flight."""
        return sum(latencies_s(self.latency_ms, self.records)) / self.in_flight


CASES = (
    Case("even", 500, (200, 200), 10),
    Case("spread", 500, (40, 360), 10),
    Case("wide", 5_000, (200, 200), 256),
    Case("long", 5_000, (2_000, 2_000), 256),
)


@dataclass(frozen=True, slots=True)
class Taken:
    """What one run over a case took; `start` is the run over one abstract beside it."""

    case: Case
    whole: Measured
    start: Measured
    stats: Stats

    @property
    def seconds(self) -> float:
        """The wall time of the work itself, as the client measured it."""
        return self.whole.last_line()["seconds"]

    @property
    def cpu_ms(self) -> float:
        """Processor milliseconds an abstract, the start taken off."""
        return (self.whole.cpu_s - self.start.cpu_s) / max(1, self.case.records - 1) * 1000

    @property
    def whole_cpu_ms(self) -> float:
        """Processor milliseconds an abstract, the start spread over them."""
        return self.whole.cpu_s / self.case.records * 1000


def command(peer: str, texts: Path, base_url: str, in_flight: int, folder: Path) -> list[str | Path]:
    """The command that asks about all of a file's abstracts."""
    if peer == "claimbase":
        db = folder / "claims.duckdb"
        db.unlink(missing_ok=True)
        options = ["--model", MODEL, "--base-url", base_url, "--concurrency", str(in_flight), "--json"]
        return [*CLAIMBASE, "run", texts, "--db", db, *options]
    python = environments.python_of(peer)
    assert python is not None
    return [python, "-m", f"bench.peers.with_{peer}", texts, base_url, str(in_flight), folder / "out.jsonl"]


def take(peer: str, case: Case, server: SpawnedServer, folder: Path) -> Taken:
    """Run a peer over one abstract, then over the case."""
    env = environments.env_of(folder)

    def over(records: int, in_flight: int) -> Measured:
        texts = write_abstracts(folder / f"abstracts-{records}.jsonl", abstracts(records))
        server.reset()
        return measure(command(peer, texts, server.base_url, in_flight, folder), env)

    start = over(1, 1)
    whole = over(case.records, case.in_flight)
    taken = Taken(case, whole, start, server.stats())
    if whole.last_line()["done"] != case.records:
        raise RuntimeError(f"{peer}: {whole.last_line()} of {case.records} records")
    return taken


def measure_case(case: Case, peers: Sequence[str], repeats: int) -> Mapping[str, Sequence[Taken]]:
    """All peers in turn, so many times."""
    taken: dict[str, list[Taken]] = defaultdict(list)
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        for _ in range(repeats):
            for peer in peers:
                form, examples = ("langextract", 0) if peer == "langextract" else ("paper", EXAMPLES)
                asked = script(case.records, form, case.latency_ms, examples if peer == "claimbase" else 0)
                with spawned(asked) as server:
                    taken[peer].append(take(peer, case, server, Path(folder)))
    return taken


HEADS = ("", "wall / ideal", "CPU ms an abstract", "with its start", "start: wall s", "start: CPU s", "peak MB",
         "requests", "characters sent")  # fmt: skip


def row(peer: str, runs: Sequence[Taken]) -> list[str]:
    """A line of the table."""
    case = runs[0].case
    return [
        peer,
        spread(run.seconds / case.ideal_s for run in runs),
        spread(run.cpu_ms for run in runs),
        spread(run.whole_cpu_ms for run in runs),
        spread((run.start.wall_s for run in runs), 1),
        spread((run.start.cpu_s for run in runs), 1),
        spread((run.whole.peak_mb for run in runs), 0),
        spread((run.stats.requests / case.records for run in runs), 2),
        spread((run.stats.prompt_chars / case.records for run in runs), 0),
    ]


def report(case: Case, taken: Mapping[str, Sequence[Taken]]) -> str:
    """A case's table, and the ratios to claimbase."""
    low, high = case.latency_ms
    between = f"{low:.0f} ms" if low == high else f"{low:.0f} to {high:.0f} ms"
    head = (
        f"{case.name}: {case.records:,} abstracts at {between}, {case.in_flight} in flight; ideal {case.ideal_s:.1f} s"
    )
    lines = [head, "", table(HEADS, [row(peer, runs) for peer, runs in taken.items()])]
    ours = taken.get("claimbase")
    for peer, runs in taken.items():
        if ours and peer != "claimbase":
            wall = _ratio([run.seconds for run in runs], [run.seconds for run in ours])
            cpu = _ratio([run.cpu_ms for run in runs], [run.cpu_ms for run in ours])
            lines.append(f"{peer} / claimbase: wall {wall:.2f}, CPU {cpu:.2f}")
    return "\n".join(lines)


def _ratio(theirs: Sequence[float], ours: Sequence[float]) -> float:
    return statistics.median(theirs) / statistics.median(ours)


def main(argv: Sequence[str] | None = None) -> int:
    """Print a table a case."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--case", action="append", choices=[case.name for case in CASES], help="all unless given")
    arguments.add_argument("--peer", action="append", choices=PEERS, help="all unless given")
    arguments.add_argument("--repeats", type=int, default=3)
    arguments.add_argument("--records", type=int, help="so many in place of each case's own number")
    options = arguments.parse_args(argv)
    peers = [p for p in options.peer or PEERS if p == "claimbase" or environments.python_of(p)]
    print(machine(), flush=True)
    for case in CASES:
        if case.name in (options.case or [case.name]):
            sized = Case(case.name, options.records or case.records, case.latency_ms, case.in_flight)
            print(f"\n{report(sized, measure_case(sized, peers, options.repeats))}", flush=True)
    print(f"\n{machine()}; {', '.join(environments.version_of(peer) for peer in peers if peer != 'claimbase')}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
