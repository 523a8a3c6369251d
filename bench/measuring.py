"""What the benchmarks share: commands measured from outside, medians with their spread, tables, the machine's line."""

import json
import os
import platform
import statistics
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from bench.samples import ROOT

PYTHON = sys.executable
CLAIMBASE = (PYTHON, "-m", "extract.cli")


class BenchError(RuntimeError):
    """A measured command failed: no figure can be given."""


@dataclass(frozen=True, slots=True)
class Measured:
    """What a command took, from its start to its end, with what it wrote to standard output."""

    wall_s: float
    cpu_s: float
    peak_mb: float
    code: int
    out: str

    def last_line(self) -> dict[str, float]:
        """The JSON object on the last line that it wrote."""
        found: dict[str, float] = json.loads(self.out.strip().splitlines()[-1])
        return found


def measure(command: Sequence[str | Path], env: Mapping[str, str] | None = None) -> Measured:
    """Run a command from the repository's root, without keys or proxies. Raises BenchError where it fails."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith("OPENAI_") and not k.lower().endswith("_proxy")}
    done = subprocess.run(
        [PYTHON, "-m", "bench.child", *map(str, command)],
        cwd=ROOT,
        env={**kept, "NO_COLOR": "1", **(env or {})},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise BenchError(done.stderr.strip()[-2000:])
    measured = Measured(**json.loads(done.stdout.splitlines()[-1]))
    if measured.code:
        raise BenchError(f"{' '.join(map(str, command))}: exit {measured.code}: {done.stderr.strip()[-2000:]}")
    return measured


def spread(values: Iterable[float], digits: int = 2) -> str:
    """A median with the least and the most: `1.03 (1.02-1.05)`; one value alone stands alone."""
    found = sorted(values)
    if not found:
        return "-"
    middle = f"{statistics.median(found):,.{digits}f}"
    if len(found) == 1:
        return middle
    return f"{middle} ({found[0]:,.{digits}f}-{found[-1]:,.{digits}f})"


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table, its columns padded so that it reads in a terminal too."""
    lines = [list(heads), *map(list, rows)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(heads))]
    shown = [
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) + " |" for line in lines
    ]
    return "\n".join([shown[0], "|" + "|".join("-" * (width + 2) for width in widths) + "|", *shown[1:]])


def machine() -> str:
    """A line on the machine, its load now, and the versions that matter."""
    cpu = next(
        (line.partition(":")[2].strip() for line in _read("/proc/cpuinfo") if line.startswith("model name")),
        platform.processor() or platform.machine(),
    )
    load = ", ".join(f"{of:.1f}" for of in os.getloadavg())
    versions = ", ".join(f"{name} {version(name)}" for name in ("openai", "instructor", "pydantic", "duckdb"))
    return f"{os.cpu_count()} × {cpu}; load {load}; Python {platform.python_version()}, {versions}"


def _read(path: str) -> list[str]:
    try:
        return Path(path).read_text(encoding="utf-8").splitlines()
    except OSError:
        return []
