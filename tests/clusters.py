"""A Ray cluster of some node processes on this machine, for tests and benchmarks, and databases compared row by row.

Everything listens on loopback. The processes are children of this one and end with the `with` block.
"""

import os
import signal
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import duckdb

from extract.settings import calm_ray
from tests.engine import HASTY

HOST = "127.0.0.1"
PATIENT = replace(HASTY, timeout_s=180.0)
"""On a busy machine a call may take long, and one more attempt is a row that differs."""
_STORE_BYTES = 150_000_000

SAME = {
    "records": "*",
    "sources": "*",
    "outcomes": "record_id, status, error_type, error, value",
    "evidence": "* EXCLUDE (run_id)",
    "attempts": "* EXCLUDE (run_id, started_at, latency_ms)",
}
"""What two runs over the same records must have alike, whatever their times."""


@dataclass(slots=True)
class Nodes:
    """A cluster: its address, and its nodes but the head, which the driver is on."""

    address: str
    cluster: Any
    others: list[Any]

    def workers(self) -> dict[int, Any]:
        """The processes in which a worker of a run is, by their ids, each with its node."""
        found: dict[int, Any] = {}
        for node in self.cluster.list_all_nodes():
            raylet = node.all_processes["raylet"][0].process.pid
            found |= {pid: node for pid in _children(raylet) if "ray::Worker" in _title(pid)}
        return found

    def kill_a_worker(self) -> int:
        """Kill one worker's process; return its id."""
        pid = min(self.workers())
        os.kill(pid, signal.SIGKILL)
        return pid

    def remove_a_node(self) -> None:
        """Kill all processes of a node: of one that has a worker on it, if any of those that can be removed has."""
        busy = (node for node in self.workers().values() if node in self.others)
        node = next(busy, self.others[0])
        self.others.remove(node)
        self.cluster.remove_node(node, allow_graceful=False)


@contextmanager
def cluster(nodes: int = 3, cpus: int = 1) -> Iterator[Nodes]:
    """A cluster of so many nodes with so many cores each, to which this process is connected."""
    calm_ray(alone=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import ray
        from ray.cluster_utils import Cluster

    size: dict[str, Any] = {"num_cpus": cpus, "object_store_memory": _STORE_BYTES, "node_ip_address": HOST}
    made: Any = Cluster(initialize_head=True, head_node_args={**size, "include_dashboard": False})
    try:
        others = [made.add_node(**size) for _ in range(nodes - 1)]
        ray.init(address=made.address, logging_level=40, log_to_driver=False, _node_ip_address=HOST)
        yield Nodes(made.address, made, others)
    finally:
        ray.shutdown()
        made.shutdown()


def differences(one: Path, other: Path) -> dict[str, int]:
    """Rows that one of two databases has and the other hasn't, by table; {} where they say the same."""
    counts = {table: len(differing_rows(one, other, table)) for table in SAME}
    return {table: count for table, count in counts.items() if count}


def differing_rows(one: Path, other: Path, table: str) -> list[tuple[Any, ...]]:
    """The rows of a table that one of two databases has and the other hasn't: `one` or `other`, then its columns."""
    with duckdb.connect() as con:
        con.execute(f"ATTACH '{one}' AS one (READ_ONLY); ATTACH '{other}' AS other (READ_ONLY)")
        ours, theirs = (f"SELECT {SAME[table]} FROM {name}.{table}" for name in ("one", "other"))
        query = f"""SELECT 'one', * FROM ({ours} EXCEPT ALL {theirs})
            UNION ALL SELECT 'other', * FROM ({theirs} EXCEPT ALL {ours}) ORDER BY 2, 1"""
        return con.execute(query).fetchall()


def _children(pid: int) -> Sequence[int]:
    try:
        return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def _title(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text()
    except OSError:
        return ""
