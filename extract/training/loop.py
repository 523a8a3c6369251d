"""The training loop: epochs over examples on one or several processes, with checkpoints, until it gets no better.

On a processor each core runs a process of one thread with a model of its own; after each batch their gradients are
summed, so that the result is that of one process. (Two threads in one process wait for each other at every operation:
0.70 s an example against 0.34 s.) A GPU runs one. A run that is killed goes on from its last checkpoint.
"""

import math
import multiprocessing
import os
import random
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch.multiprocessing.spawn import spawn

from extract.training.adapter import read_adapter, write_adapter
from extract.training.lora import AdaptedModel, Tokens

CHECKPOINT = "checkpoint.pt"
_CHECKPOINT_EVERY_S = 120.0
_TELL_EVERY_S = 15.0
_WARM_UP = 15
"""Steps in which the rate rises to its full height."""
_LOWEST_RATE = 0.05
"""What is left of the rate at the end, as a share; it falls along a cosine."""


@dataclass(frozen=True, slots=True)
class Plan:
    """How to train. `patience`: epochs in a row that may be no better on what is held out before it ends."""

    weights: Path
    rank: int = 16
    epochs: int = 3
    rate: float = 4e-4
    batch: int = 8
    patience: int = 1
    seed: int = 0
    start_from: Path | None = None


@dataclass(slots=True)
class State:
    """How far it is: the batches done of the epoch, the figures of each epoch, and the best adapter so far."""

    epoch: int = 0
    batch: int = 0
    seconds: float = 0.0
    epochs: list["Epoch"] = field(default_factory=list)
    best: dict[str, torch.Tensor] | None = None
    adapter: dict[str, torch.Tensor] | None = None
    optimizer: dict[str, Any] | None = None
    mean: float = math.nan
    done: bool = False


@dataclass(frozen=True, slots=True)
class Epoch:
    """The figures of an epoch. Losses are means a token; `right` is the share of held-out tokens that came first."""

    loss: float
    held_out_loss: float
    right: float


@dataclass(frozen=True, slots=True)
class Job:
    """All that a process needs to take part. An example is one or several ways to ask for the same reply."""

    plan: Plan
    train: Sequence[Sequence[Tokens]]
    held_out: Sequence[Sequence[Tokens]]
    folder: Path
    digest: str
    device: str
    processes: int
    meeting: str


def train(
    plan: Plan,
    train: Sequence[Sequence[Tokens]],
    held_out: Sequence[Sequence[Tokens]],
    folder: Path,
    digest: str,
    device: str,
) -> State:
    """Train, or go on from the checkpoint in `folder`; returns the last state, its `best` the adapter to keep.

    Raises ValueError if the folder's checkpoint is of other data or another plan.
    """
    kept = load_checkpoint(folder, plan, digest)
    if kept is not None and kept.done:
        return kept
    processes = 1 if device == "cuda" else min(os.cpu_count() or 1, plan.batch)
    with tempfile.TemporaryDirectory() as meeting:
        job = Job(plan, train, held_out, folder, digest, device, processes, f"file://{meeting}/meeting")
        if processes == 1:
            _work(0, job)
        else:
            spawn(_work, args=(job,), nprocs=processes, join=True)  # type: ignore[no-untyped-call]
    state = load_checkpoint(folder, plan, digest)
    assert state is not None
    return state


def load_checkpoint(folder: Path, plan: Plan, digest: str) -> State | None:
    """Return the state that was left in a folder, None if there is none. Raises ValueError if it is of other data."""
    path = folder / CHECKPOINT
    if not path.is_file():
        return None
    kept = torch.load(path, weights_only=False)
    if kept["of"] != _identity(plan, digest):
        raise ValueError(f"{path} is of other data or settings; name another folder, or delete it")
    state: State = kept["state"]
    return state


def _identity(plan: Plan, digest: str) -> dict[str, object]:
    return {**{k: str(v) for k, v in asdict(plan).items() if k != "weights"}, "data": digest}


def _work(process: int, job: Job) -> None:
    """Be one of the processes, from the meeting of all to the end."""
    if job.device == "cpu":
        torch.set_num_threads(1)
    alone = job.processes == 1
    if not alone:
        dist.init_process_group("gloo", init_method=job.meeting, rank=process, world_size=job.processes)
    try:
        used = {t for ways in (*job.train, *job.held_out) for e in ways for t in (*e.prompt, *e.reply)}
        model = AdaptedModel(job.plan.weights, job.plan.rank, used, job.device, job.plan.seed)
        _Worker(process, job, model).run()
    finally:
        if not alone:
            dist.destroy_process_group()


class _Worker:
    """One process's part of the work. The first one keeps the checkpoints and tells how it goes."""

    def __init__(self, process: int, job: Job, model: AdaptedModel) -> None:
        self.process, self.job, self.model = process, job, model
        self.optimizer = torch.optim.AdamW(model.parameters, lr=job.plan.rate, weight_decay=0.0, betas=(0.9, 0.98))
        self.state = load_checkpoint(job.folder, job.plan, job.digest) or State()
        self.since = time.monotonic()
        self.saved = self.told = self.since
        if self.state.adapter is not None and self.state.optimizer is not None:
            model.load(self.state.adapter)
            self.optimizer.load_state_dict(self.state.optimizer)
        elif job.plan.start_from is not None:
            model.load(read_adapter(job.plan.start_from, model.names))
        self.batches = math.ceil(len(job.train) / job.plan.batch)

    def run(self) -> None:
        """Go through the epochs that are left."""
        while not self.state.done:
            self._epoch()

    def _epoch(self) -> None:
        state, plan = self.state, self.job.plan
        examples = in_turn(self.job.train, state.epoch)
        for number, batch in enumerate(batches(examples, plan.batch, plan.seed + state.epoch)):
            if number < state.batch:
                continue
            _end_with_parent()
            self._step(batch)
            state.batch = number + 1
            if self.process == 0:
                self._tell()
                if time.monotonic() - self.saved > _CHECKPOINT_EVERY_S:
                    self._save()
        state.epochs.append(self._measured())
        if state.epochs[-1].right >= max(e.right for e in state.epochs):
            state.best = self.model.adapter()
        state.epoch, state.batch = state.epoch + 1, 0
        state.done = state.epoch >= plan.epochs or _no_better(state.epochs, plan.patience)
        if self.process == 0:
            last = state.epochs[-1]
            print(
                f"epoch {state.epoch} of {plan.epochs}: loss {last.loss:.4f}; held out: loss {last.held_out_loss:.4f}, "
                f"{last.right:.2%} of tokens right",
                file=sys.stderr,
                flush=True,
            )
            self._save()
            write_adapter(self.job.folder / f"epoch-{state.epoch}.gguf", self.model.adapter(), plan.rank)
        self._meet()

    def _step(self, batch: Sequence[Tokens]) -> None:
        """Learn from one batch, of which this process takes its share."""
        plan, state = self.job.plan, self.state
        total = sum(len(example.reply) for example in batch)
        summed = 0.0
        for example in _share(batch, self.process, self.job.processes):
            loss = self.model.loss(example)
            (loss.total / total).backward()  # type: ignore[no-untyped-call]
            summed += loss.total.item() / total
        [mean] = self._sum([p.grad for p in self.model.parameters], [summed])
        state.mean = mean if math.isnan(state.mean) else 0.98 * state.mean + 0.02 * mean
        for group in self.optimizer.param_groups:
            group["lr"] = plan.rate * rate_share(state.epoch * self.batches + state.batch, plan.epochs * self.batches)
        torch.nn.utils.clip_grad_norm_(self.model.parameters, 1.0)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=False)

    def _measured(self) -> Epoch:
        """Measure what is held out, each process its share."""
        loss = tokens = right = 0.0
        with torch.no_grad():
            for example in in_turn(self.job.held_out, 0)[self.process :: self.job.processes]:
                one = self.model.loss(example)
                loss, tokens, right = loss + one.total.item(), tokens + one.tokens, right + one.right
        loss, tokens, right = self._sum([], [loss, tokens, right])
        known = tokens or math.nan
        return Epoch(self.state.mean, loss / known, right / known if tokens else float(self.state.epoch))

    def _sum(self, gradients: Sequence[torch.Tensor | None], figures: Sequence[float]) -> list[float]:
        """Sum gradients, in their places, and figures over all processes."""
        if self.job.processes == 1:
            return list(figures)
        for parameter, gradient in zip(self.model.parameters, gradients, strict=False):
            if gradient is None:  # a process without a share in a short batch
                parameter.grad = torch.zeros_like(parameter)
        summed = [p.grad.flatten() for p in self.model.parameters[: len(gradients)] if p.grad is not None]
        flat = torch.cat([*summed, torch.tensor(figures, dtype=torch.float32)])
        dist.all_reduce(flat)
        at = 0
        for parameter in self.model.parameters[: len(gradients)]:
            assert parameter.grad is not None
            parameter.grad.copy_(flat[at : at + parameter.numel()].view_as(parameter))
            at += parameter.numel()
        return [float(x) for x in flat[at:]]

    def _meet(self) -> None:
        if self.job.processes > 1:
            dist.barrier()

    def _tell(self) -> None:
        now = time.monotonic()
        if now - self.told < _TELL_EVERY_S:
            return
        self.told = now
        state, plan = self.state, self.job.plan
        spent = state.seconds + now - self.since
        share = (state.epoch * self.batches + state.batch) / (plan.epochs * self.batches)
        left = spent / share * (1 - share)
        print(
            f"epoch {state.epoch + 1} of {plan.epochs}, batch {state.batch} of {self.batches}: loss {state.mean:.4f}, "
            f"{spent / 60:.0f} min, {left / 60:.0f} min left",
            file=sys.stderr,
            flush=True,
        )

    def _save(self) -> None:
        """Keep a checkpoint, whole or not at all."""
        now = time.monotonic()
        self.state.seconds += now - self.since
        self.since = self.saved = now
        self.state.adapter, self.state.optimizer = self.model.adapter(), self.optimizer.state_dict()
        path = self.job.folder / CHECKPOINT
        partial = path.with_suffix(".part")
        torch.save({"of": _identity(self.job.plan, self.job.digest), "state": self.state}, partial)
        partial.replace(path)


def _end_with_parent() -> None:
    """End this process if the one that started it is gone: two trainings must not write one checkpoint."""
    parent = multiprocessing.parent_process()
    if parent is not None and not parent.is_alive():
        raise SystemExit("the training's first process was ended")


def in_turn(examples: Sequence[Sequence[Tokens]], epoch: int) -> list[Tokens]:
    """Take one way to ask of each example, half of them the first and half the second, others in the next epoch."""
    return [ways[(place + epoch) % len(ways)] for place, ways in enumerate(examples)]


def batches(examples: Sequence[Tokens], size: int, seed: int) -> Iterator[list[Tokens]]:
    """Yield the examples in batches, in the order of a seed; those of a batch the longest first."""
    order = list(examples)
    random.Random(seed).shuffle(order)  # noqa: S311 - not for secrets
    for at in range(0, len(order), size):
        yield sorted(order[at : at + size], key=len, reverse=True)


def rate_share(step: int, steps: int) -> float:
    """Return what share of the full rate a step is taken with: a short rise, then a cosine."""
    fall = 0.5 * (1 + math.cos(math.pi * min(1.0, step / steps)))
    return min(1.0, (step + 1) / _WARM_UP) * ((1 - _LOWEST_RATE) * fall + _LOWEST_RATE)


def _share(batch: Sequence[Tokens], process: int, processes: int) -> list[Tokens]:
    """Deal a batch out, each example to the process that has the least so far."""
    loads = [0] * processes
    mine: list[Tokens] = []
    for example in batch:
        least = loads.index(min(loads))
        loads[least] += len(example)
        if least == process:
            mine.append(example)
    return mine


def _no_better(epochs: Sequence[Epoch], patience: int) -> bool:
    """Were the last epochs no better than one before them?"""
    best = max(range(len(epochs)), key=lambda i: epochs[i].right)
    return len(epochs) - 1 - best >= patience
