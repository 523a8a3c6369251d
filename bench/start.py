"""How long a command takes that calls no model: help, a question in SQL, an export, on a small database; and imports.

    python -m bench.start [--repeats N]

The database holds the seeds. Beside them, what it takes to import the peers, where their environments are there.
"""

import argparse
import tempfile
from collections.abc import Sequence
from pathlib import Path

from bench import environments
from bench.measuring import CLAIMBASE, PYTHON, Measured, machine, measure, spread, table
from bench.samples import ROOT, abstracts, script, seeds, write_abstracts
from tests.scripted import spawned

PEER_IMPORTS = {
    "langextract": "import langextract as lx; lx.extract",
    "instructor": "import instructor; instructor.from_openai",
    "openai": "import openai; openai.AsyncOpenAI",
    "curator": "from bespokelabs import curator",
}
QUERY = "SELECT task, method FROM papers"


def make_database(folder: Path) -> Path:
    """A database of the seeds, extracted from a scripted server."""
    from bench.engine import EXAMPLES, command

    count = len(seeds())
    texts = write_abstracts(folder / "abstracts.jsonl", abstracts(count))
    with spawned(script(count, "paper", (0, 0), EXAMPLES)) as server:
        measure(command("claimbase", texts, server.base_url, 8, folder))
    return folder / "claims.duckdb"


def commands(db: Path, folder: Path) -> dict[str, list[str | Path]]:
    """What is measured, by name."""
    out = folder / "claims.csv"
    return {
        "python -c pass": [PYTHON, "-c", "pass"],
        "claimbase --help": [*CLAIMBASE, "--help"],
        "claimbase sql": [*CLAIMBASE, "sql", QUERY, "--db", db],
        "claimbase export, to CSV": [*CLAIMBASE, "export", "claims", "--db", db, "--to", out, "--force"],
        "claimbase status": [*CLAIMBASE, "status", "--db", db],
        "import extract.cli": [PYTHON, "-c", "import extract.cli"],
        "import extract.client": [PYTHON, "-c", "import extract.client"],
    }


def row(name: str, runs: Sequence[Measured]) -> list[str]:
    """A line of the table."""
    walls, cpus = [run.wall_s for run in runs], [run.cpu_s for run in runs]
    return [name, spread(walls), spread(cpus), spread((run.peak_mb for run in runs), 0)]


def main(argv: Sequence[str] | None = None) -> int:
    """Print the table."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--repeats", type=int, default=11)
    repeats = arguments.parse_args(argv).repeats
    print(f"{machine()}\n")
    with tempfile.TemporaryDirectory(prefix="bench-") as made:
        folder = Path(made)
        measured = commands(make_database(folder), folder)
        for peer, code in PEER_IMPORTS.items():
            if (environments.FOLDER / peer / "ready").exists() and (python := environments.python_of(peer)):
                measured[f"import {environments.version_of(peer)}"] = [python, "-c", code]
        taken: dict[str, list[Measured]] = {name: [] for name in measured}
        for turn in range(repeats + 1):
            for name, command in measured.items():
                run = measure(command, {"PYTHONPATH": str(ROOT), "HOME": made})
                if turn:  # the first one fills the disk's cache
                    taken[name].append(run)
    print(table(("", "wall, s", "CPU, s", "peak MB"), [row(name, runs) for name, runs in taken.items()]))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
