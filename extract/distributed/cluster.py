"""Where a run's workers live: on a Ray cluster that is there, or on one of this machine's own for the time of the run.

It starts and ends Ray, quietly, and says what is missing; it knows nothing of records.
"""

import importlib.util
import logging
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass, replace
from typing import Any

from extract.addresses import shown
from extract.errors import SettingsError
from extract.settings import calm_ray, is_local

_STORE_BYTES = 512 << 20
"""The shared memory of a cluster of this machine's own: records on their way to the workers are all that it holds."""


@dataclass(frozen=True, slots=True)
class Cluster:
    """Where to run, as a person asks for it.

    `address` is that of a cluster (`auto`: the one that this process is in), None for one of this machine's own;
    `workers` is how many, None for one a core; `parts` is where they write, None for a folder beside the database.
    """

    address: str | None = None
    workers: int | None = None
    parts: str | None = None

    @property
    def shown(self) -> "Cluster":
        """The same without a key that may stand in the address of the parts."""
        return replace(self, parts=self.parts and shown(self.parts))


def check(model: str) -> None:
    """Raise SettingsError if Ray isn't installed, or the model is one that only this machine has."""
    if importlib.util.find_spec("ray") is None:
        raise SettingsError("--engine ray needs Ray, which isn't installed; `pip install 'claimbase[ray]'`")
    if is_local(model):
        raise SettingsError(
            f"--engine ray asks an endpoint that all nodes can reach; --model {model} is on this machine alone. Name "
            "the model of a server with --model and --base-url"
        )


@contextmanager
def connected(cluster: Cluster) -> Iterator[None]:
    """Be connected to the cluster while the block runs. Raises SettingsError where there is none.

    Nothing of the working folder is sent to it, nothing is reported to anybody, and its log stays in its own files.
    """
    calm_ray(alone=cluster.address is None)
    import ray

    if ray.is_initialized():  # a program that uses claimbase has its own
        yield
        return
    own: dict[str, Any] = {}
    if cluster.address is None:
        cores = os.cpu_count() or 1
        # One more than the workers take: what reads the inputs needs room too.
        own = {"num_cpus": (cluster.workers or cores) + 1, "object_store_memory": _STORE_BYTES}
        own |= {"include_dashboard": False}
    try:
        ray.init(address=cluster.address or "local", logging_level=logging.ERROR, log_to_driver=False, **own)
    except (ConnectionError, RuntimeError, ValueError) as e:
        where = f"--address {cluster.address!r}" if cluster.address else "a cluster of this machine's own"
        raise SettingsError(f"{where}: {str(e).strip().splitlines()[0]}; is a cluster up there (`ray start`)?") from e
    try:
        with redirect_stdout(sys.stderr):  # what Ray has to say of dead workers it would print among our data
            yield
    finally:
        ray.shutdown()


def worker_count(cluster: Cluster, concurrency: int) -> int:
    """Return how many workers a run has: as told, else one a core of the cluster; never more than calls at once."""
    import ray

    resources: dict[str, float] = ray.cluster_resources()  # type: ignore[no-untyped-call]  # Ray's own
    cores = int(resources.get("CPU", 1))
    return max(1, min(cluster.workers or cores - 1, concurrency))
