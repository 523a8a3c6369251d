"""Puts a run together from what a person asked for: checks everything that can be checked before the first call."""

import asyncio
import itertools
import json
import os
import secrets
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

from extract import __version__
from extract.adapters import adapter_of
from extract.addresses import shown
from extract.budget import PRICES, Budget, Price, load_prices, price_of
from extract.distributed import cluster
from extract.distributed.cluster import Cluster
from extract.errors import SettingsError
from extract.readers import Columns, Notices, check_inputs, read
from extract.readers.inputs import Source
from extract.recipe import Recipe, make_recipe
from extract.runner import Ended, Job, Runner
from extract.selection import Ask
from extract.settings import LOCAL, Asking, Endpoint, Limits, Mode, Patience, is_local, openai_endpoint
from extract.tally import Tally
from store.db import Store
from store.journal import Begun
from store.rows import Outcome, Prompt, Record, Run, Schema

_COUNTED_BYTES = 200_000_000
"""Inputs up to this size are read through beside the run, so that progress can say how many records there are."""


@dataclass(frozen=True, slots=True)
class Request:
    """What a person asked for with `claimbase run`."""

    inputs: tuple[str, ...]
    db: Path = Path("claims.duckdb")
    schema: str = "paper"
    prompt: str | None = None
    model: str = LOCAL
    base_url: str | None = None
    mode: Mode | None = None
    temperature: float | None = None
    reasks: int | None = None
    logprobs: bool = False
    limits: Limits = field(default_factory=Limits)
    concurrency: int | None = None
    patience: Patience = field(default_factory=Patience)
    prices: Path | None = None
    ask: Ask = "missing"
    limit: int | None = None
    columns: Columns = field(default_factory=Columns)
    strict: bool = False
    cluster: Cluster | None = None
    """Where to run on Ray; None: in this process."""


@dataclass(frozen=True, slots=True)
class Watch:
    """What is told of a run as it goes: that it begins (with what counts its records), and each outcome."""

    begun: Callable[[Callable[[], int | None], Tally], None]
    outcome: Callable[[Outcome], None]
    stopping: Callable[[], None]


@dataclass(frozen=True, slots=True)
class Prepared:
    """A run that has passed every check that needs no call."""

    request: Request
    recipe: Recipe
    store: Store
    records: Iterator[Record]
    sources: tuple[Source, ...]
    notices: Notices

    def run(self, watch: Watch) -> Ended:
        """Make the calls and save what comes of them.

        Raises MistakeError for an endpoint that can't be used, and KeyboardInterrupt when it is told twice to end.
        """
        where = self.request.cluster
        with cluster.connected(where) if where else nullcontext(), self._endpoint() as endpoint:
            try:
                return asyncio.run(_run(self, endpoint, watch))
            except asyncio.CancelledError:
                raise KeyboardInterrupt from None

    def count(self) -> int | None:
        """Return how many records the inputs have, None where finding out takes long, or costs, or can't be done twice.

        Raises InputError where the run is strict and they have a fault.
        """
        sizes = [None if source.remote else source.size for source in self.sources]
        if None in sizes or sum(size for size in sizes if size is not None) > _COUNTED_BYTES:
            return None
        request = self.request
        return sum(1 for _ in read(request.inputs, request.columns, Notices(strict=request.strict)))

    def _endpoint(self) -> AbstractContextManager[Endpoint]:
        if is_local(self.request.model):
            from extract.local import embedded_model

            return embedded_model(adapter_of(self.request.model))
        return nullcontext(openai_endpoint(self.request.base_url))


def prepare(request: Request) -> Prepared:
    """Check inputs, database, schema, prompt, model and budget. Raises one-line errors; makes and calls nothing."""
    if request.cluster is not None:
        cluster.check(request.model)
    sources = check_inputs(request.inputs, request.columns)
    store = _usable(Store(request.db))
    recipe = make_recipe(request.schema, request.prompt, _asking(request))
    if is_local(request.model):
        _check_adapter(request.model, recipe)
    else:
        openai_endpoint(request.base_url)
    Budget(request.limits, _price(request), request.model)
    notices = Notices(strict=request.strict)
    records = read(request.inputs, request.columns, notices)
    prepared = Prepared(request, recipe, store, itertools.chain([next(records)], records), tuple(sources), notices)
    if request.strict:
        prepared.count()
    return prepared


def _check_adapter(model: str, recipe: Recipe) -> None:
    """Raise SettingsError where a folder's adapter was trained on another schema: its answers would mean nothing."""
    adapter = adapter_of(model)
    if not adapter.shipped and adapter.schema_hash != recipe.schema.hash:
        raise SettingsError(
            f"--model {model} was trained on schema {adapter.schema!r} ({adapter.schema_hash}), which "
            f"{recipe.schema.name!r} ({recipe.schema.hash}) is not; name that one with --schema, or train anew"
        )


def _asking(request: Request) -> Asking:
    """Return how the model is asked: as it is best for the embedded one, as told for others."""
    if is_local(request.model):
        from extract.local import asking_for

        if request.base_url:
            raise SettingsError(f"--base-url goes with a model served there; --model {request.model} is embedded")
        if any(told is not None for told in (request.mode, request.temperature, request.reasks)):
            raise SettingsError(
                f"--model {request.model} is asked in one way only; --mode, --temperature and --reasks go with others"
            )
        return asking_for(adapter_of(request.model))
    usual = Asking(request.model)
    return replace(
        usual,
        mode=request.mode or usual.mode,
        temperature=usual.temperature if request.temperature is None else request.temperature,
        reasks=usual.reasks if request.reasks is None else request.reasks,
        logprobs=request.logprobs,
    )


def _usable(store: Store) -> Store:
    """Return a store whose file is a database of ours, or isn't there and can be made."""
    if store.path.is_dir():
        raise SettingsError(f"--db {str(store.path)!r} is a folder; name a file in it")
    if store.path.exists():
        store.check()
        if not os.access(store.path, os.W_OK):
            raise SettingsError(f"--db {str(store.path)!r} can't be written to; name another file")
    elif not store.path.absolute().parent.is_dir():
        raise SettingsError(f"--db {str(store.path)!r}: no folder {str(store.path.absolute().parent)!r}; make it first")
    elif not os.access(store.path.absolute().parent, os.W_OK):
        raise SettingsError(f"--db {str(store.path)!r}: its folder can't be written to; name another file")
    return store


async def _run(prepared: Prepared, endpoint: Endpoint, watch: Watch) -> Ended:
    if prepared.request.cluster is not None:
        return await _run_on(prepared.request.cluster, prepared, endpoint, watch)
    from extract.client import Client
    from extract.extractor import Extractor
    from extract.limiter import Limiter

    request, recipe = prepared.request, prepared.recipe
    stopping = asyncio.Event()
    limits = _limits(request)
    budget = Budget(limits, _price(request), request.model)
    client = Client(endpoint, recipe, Limiter(limits, request.patience, stopping), budget, request.patience)
    job = _job(prepared, endpoint, limits)
    runner = Runner(job, prepared.store, Extractor(recipe, client), stopping, watch.outcome)
    watch.begun(prepared.count, runner.tally)
    _heed_signals(stopping, watch)
    try:
        return await runner.run(prepared.records)
    finally:
        await client.close()


async def _run_on(where: Cluster, prepared: Prepared, endpoint: Endpoint, watch: Watch) -> Ended:
    """Run over the workers of a cluster, to which this process is connected."""
    from extract.distributed.dataset import records_of
    from extract.distributed.engine import Driver
    from extract.distributed.plan import Plan, own_files

    request, limits, stopping = prepared.request, _limits(prepared.request), asyncio.Event()
    job = _job(prepared, endpoint, limits)
    plan = Plan(
        begun=Begun(job.run, job.schema, job.prompt),
        asking=prepared.recipe.asking,
        schema=request.schema,
        prompt=request.prompt,
        files=own_files(request.schema, request.prompt),
        endpoint=endpoint,
        limits=limits,
        price=_price(request),
        patience=request.patience,
        parts=where.parts or f"{request.db.absolute()}.parts",
        workers=cluster.worker_count(where, limits.concurrency),
    )
    driver = Driver(job, plan, prepared.store, stopping, watch.outcome, keep_parts=where.parts is not None)
    watch.begun(prepared.count, driver.tally)
    _heed_signals(stopping, watch)
    return await driver.run(records_of(prepared.sources, request.columns, prepared.notices, prepared.records))


def _limits(request: Request) -> Limits:
    """Return the limits with the concurrency that fits the model, unless told."""
    concurrency = request.concurrency
    if concurrency is None and is_local(request.model):
        from extract.local import server_count

        concurrency = server_count()
    return replace(request.limits, concurrency=concurrency or request.limits.concurrency)


def _price(request: Request) -> Price | None:
    return price_of(request.model, load_prices(request.prices or PRICES))


def _heed_signals(stopping: asyncio.Event, watch: Watch) -> None:
    """End the run well at the first Ctrl-C (or SIGTERM), at once at the second."""
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    assert task is not None

    def heed() -> None:
        if stopping.is_set():
            task.cancel()
        else:
            stopping.set()
            watch.stopping()

    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, heed)


def _job(prepared: Prepared, endpoint: Endpoint, limits: Limits) -> Job:
    """Return the rows that describe this run."""
    recipe, request = prepared.recipe, prepared.request
    now = datetime.now(UTC)
    settings = {
        "inputs": [shown(name) for name in request.inputs],
        "asking": asdict(recipe.asking),
        "limits": asdict(limits),
        "patience": asdict(request.patience),
        "ask": request.ask,
        "limit": request.limit,
    }
    if request.cluster is not None:
        settings["cluster"] = asdict(request.cluster.shown)
    run = Run(
        run_id=f"{now:%Y%m%d-%H%M%S}-{secrets.token_hex(3)}",
        started_at=now,
        model=request.model,
        endpoint="embedded" if is_local(request.model) else endpoint.shown,
        schema_hash=recipe.schema.hash,
        prompt_hash=recipe.prompt.hash,
        recipe=recipe.hash,
        settings=json.dumps(settings, ensure_ascii=False),
        code_version=__version__,
        host=socket.gethostname(),
        pid=os.getpid(),
    )
    loaded, prompt = recipe.schema, recipe.prompt
    schema = Schema(loaded.hash, loaded.name, loaded.json_schema, json.dumps(loaded.structure))
    return Job(
        run,
        schema,
        Prompt(prompt.hash, prompt.name, prompt.version, prompt.text),
        request.ask,
        request.limit,
        limits.concurrency,
    )
