"""The web app on a large database: how long each page's first byte takes, what comes over the wire, memory.

    python -m bench.web [--db FILE] [--repeats N] [--papers N] [--numbers N] [--reviewed N]

The server is a process of its own; pages are asked for one after another over loopback, gzip allowed, as a person
clicks: every address once a round, so that the answer to one is not what the next one left behind. `cold` is the first
request after the file was let go for longer than it is kept. Without --db the database is made first
(`bench.big_database`).
"""

import argparse
import contextlib
import http.client
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote, urlencode

from bench import big_database
from bench.measuring import machine, table
from extract.web.reads import IDLE_S
from store.query import run_query

ROOT = Path(__file__).parents[1]
LIMIT_MS = 150.0
COOKIE = "claimbase-reviewer=Anna"


@dataclass(slots=True)
class Page:
    """An address to ask for, with what it took: seconds to the first byte, the server's CPU, bytes over the wire."""

    name: str
    path: str
    first_byte_s: list[float] = field(default_factory=list)
    cpu_s: list[float] = field(default_factory=list)
    size: int = 0


def pages(db: Path) -> list[Page]:
    """What is asked: each page, each kind of filter, each kind of sort."""
    record_id, method = next(iter(run_query(db, "SELECT record_id, method FROM papers LIMIT 1 OFFSET 777").rows))
    key = quote('[50.0,"b1-8",2]')

    def claims(**parameters: str) -> str:
        return f"/claims?{urlencode(parameters)}"

    return [
        Page("claims", "/claims"),
        Page("claims, far on", claims(first="900000")),
        Page("sorted by value", claims(sort="-value")),
        Page("sorted by value, far on", f"/claims?sort=-value&after={key}"),
        Page("sorted by dataset", claims(sort="dataset")),
        Page("sorted by title", claims(sort="title")),
        Page("sorted by task", claims(sort="-task")),
        Page("the last page by value", claims(sort="value", before="last")),
        Page("text, a common word", claims(q="parsing")),
        Page("text, a rare word", claims(q=str(method))),
        Page("text that nothing has", claims(q="nowhere to be found")),
        Page("dataset", claims(dataset="=Bench-7")),
        Page("task, sorted by value", claims(task="parsing", sort="-value")),
        Page("unit, role, range", claims(unit="%", role="gain", low="90")),
        Page("unit, role, range, sorted", claims(unit="%", role="gain", low="50", sort="-value")),
        Page("the number of claims", f"/claims/total?{urlencode({'role': 'gain'})}"),
        Page("a paper", f"/paper/{record_id}"),
        Page("a paper of a filter", f"/paper/{record_id}?role=gain"),
        Page("runs", "/runs"),
        Page("a run", f"/runs/{big_database.RUN}"),
        *(Page(f"plot: {kind}", f"/plots?kind={kind}") for kind in ("task", "metric", "datasets", "time", "spread")),
        Page("SQL, empty", "/sql"),
        Page("SQL, a GROUP BY", f"/sql?{urlencode({'q': 'SELECT unit, count(*) FROM headline_numbers GROUP BY 1'})}"),
        Page("views", "/views"),
        Page("a view", "/views/headline_numbers"),
        Page("a view, far on", "/views/headline_numbers?first=900000"),
        Page("origin", claims(origin="corrected")),
        Page("verdict, sorted", claims(verdict="accepted", sort="-value")),
        Page("sorted by origin", claims(sort="origin")),
        Page("a review begins", "/review"),
        Page("an abstract to review", f"/review/abstract/{record_id}?queue=weakest"),
        Page("the next abstract", "/review/next?queue=weakest"),
        Page("differences", "/review/settle"),
        Page("reviewers", "/review/reviewers"),
    ]


def ask(port: int, pid: int, page: Page) -> None:
    """Ask for a page once."""
    used_s = cpu_s(pid)
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    began = time.perf_counter()
    connection.request("GET", page.path, headers={"Accept-Encoding": "gzip", "Cookie": COOKIE})
    response = connection.getresponse()
    first = response.read(1)
    page.first_byte_s.append(time.perf_counter() - began)
    page.size = len(first + response.read())
    page.cpu_s.append(cpu_s(pid) - used_s)
    assert response.status in (200, 303), (page.path, response.status)
    connection.close()


def main(argv: Sequence[str] | None = None) -> int:
    """Print a table: the median and the longest of each page."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--db", type=Path)
    arguments.add_argument("--repeats", type=int, default=11)
    arguments.add_argument("--papers", type=int, default=big_database.PAPERS)
    arguments.add_argument("--numbers", type=int, default=big_database.NUMBERS)
    arguments.add_argument("--reviewed", type=int, default=0)
    options = arguments.parse_args(argv)
    print(f"{machine()}\n", flush=True)
    with tempfile.TemporaryDirectory(prefix="bench-web-") as folder:
        db = options.db or Path(folder) / "large.duckdb"
        if options.db is None:
            big_database.make(db, options.papers, options.numbers, options.reviewed)
        asked = pages(db)
        command = [sys.executable, "-m", "extract.cli", "serve", "--db", str(db), "--port", "0"]
        with subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True) as server:
            try:
                measure(server, asked, options.repeats)
            finally:
                server.terminate()
    return 0


def ms(seconds: float) -> str:
    """Seconds as whole milliseconds."""
    return f"{1000 * seconds:.0f}"


def cpu_s(pid: int) -> float:
    """Seconds that a process has computed, on all its threads: what load of the machine doesn't change."""
    used_ns = 0
    for thread in Path(f"/proc/{pid}/task").iterdir():
        with contextlib.suppress(FileNotFoundError):  # a thread that has just ended
            used_ns += int((thread / "schedstat").read_text(encoding="ascii").split()[0])
    return used_ns / 1e9


def memory(pid: int, what: str) -> float:
    """MB that a process has in memory: now (`VmRSS`), or at most so far (`VmHWM`)."""
    lines = Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith(f"{what}:"))


def measure(server: "subprocess.Popen[str]", asked: Sequence[Page], repeats: int) -> None:
    """Ask for all pages so often, and print what that took."""
    assert server.stderr is not None
    port = int(server.stderr.readline().split(":")[2].split("/")[0])
    idle = memory(server.pid, "VmRSS")
    cold = Page("cold", asked[0].path)
    for _ in range(3):
        ask(port, server.pid, cold)
        time.sleep(IDLE_S * 2.5)
    for _ in range(repeats):
        for page in asked:
            ask(port, server.pid, page)
    cold.name, cold.first_byte_s = "claims, cold", cold.first_byte_s[1:]  # the first one starts the server's threads
    rows = [
        [
            p.name,
            ms(statistics.median(p.first_byte_s)),
            ms(max(p.first_byte_s)),
            ms(statistics.median(p.cpu_s)),
            f"{p.size:,}",
        ]
        for p in (asked[0], cold, *asked[1:])
    ]
    print(table(("page", "median ms", "longest ms", "CPU ms", "bytes, gzip"), rows))
    slow = [p.name for p in asked if 1000 * statistics.median(p.first_byte_s) >= LIMIT_MS]
    print(f"\nover {LIMIT_MS:.0f} ms in the median: {', '.join(slow) or 'none'}")
    after, most = memory(server.pid, "VmRSS"), memory(server.pid, "VmHWM")
    print(f"memory: {idle:.0f} MB before the first page, {after:.0f} MB after the last, {most:.0f} MB at most")


if __name__ == "__main__":
    raise SystemExit(main())
