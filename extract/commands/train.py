"""`claimbase train`: an adapter of one's own for the embedded model."""

import importlib.util
import shlex
from pathlib import Path
from typing import Annotated

import typer

from extract.console import reporting_errors, say
from extract.errors import SettingsError

_NEEDED = ("torch", "transformers", "peft", "gguf")


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command("train")(train)


@reporting_errors
def train(
    gold: Annotated[
        list[Path], typer.Argument(metavar="GOLD.jsonl", help="Annotated abstracts, one JSON object a line.")
    ],
    to: Annotated[Path, typer.Option("--to", metavar="FOLDER", help="Where the adapter is made; goes on from there.")],
    other_hand: Annotated[
        list[Path], typer.Option(metavar="GOLD.jsonl", help="Gold whose habits shall not carry over; repeatable.")
    ] = [],  # noqa: B006
    schema: Annotated[
        str, typer.Option(metavar="NAME", help="What the gold is of: a shipped schema, or FILE.py:Class.")
    ] = "paper",
    epochs: Annotated[int, typer.Option(metavar="N", min=1, help="Times through the gold, at most.")] = 3,
    rank: Annotated[int, typer.Option(metavar="N", min=1, help="Of the adapter: 16 makes a file of 8 MB.")] = 16,
    rate: Annotated[float, typer.Option(metavar="RATE", min=1e-7, help="How far a step goes.")] = 4e-4,
    held_out: Annotated[
        float, typer.Option(metavar="SHARE", min=0, max=0.5, help="Not learned from: it says when to stop.")
    ] = 0.06,
    held_out_gold: Annotated[
        Path | None, typer.Option(metavar="GOLD.jsonl", help="Hold these abstracts out, in place of a share.")
    ] = None,
    start_from: Annotated[
        Path | None, typer.Option(metavar="FILE.gguf", help="An adapter of this rank or less to begin from.")
    ] = None,
    seed: Annotated[int, typer.Option(metavar="N", help="Of the order and of what is held out.")] = 0,
) -> None:
    """Train a small model of your own from gold.

    It makes an adapter for the embedded model, with its model card, in FOLDER; `run --model local:FOLDER` uses it. On
    two cores an hour for 2,000 abstracts, faster on a GPU; ended, the same command goes on from its last checkpoint.
    """
    missing = [name for name in _NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        raise SettingsError(f"train needs {', '.join(missing)}; install it with: pip install 'claimbase[local,train]'")
    from extract.evaluate import table
    from extract.training.training import Wanted, make_adapter

    given = [*map(str, gold), "--to", str(to), "--epochs", str(epochs), "--rank", str(rank), "--rate", f"{rate:g}"]
    given += ["--held-out-gold", str(held_out_gold)] if held_out_gold else ["--held-out", f"{held_out:g}"]
    given += [part for path in other_hand for part in ("--other-hand", str(path))]
    given += ["--seed", str(seed)]
    given += [] if schema == "paper" else ["--schema", schema]
    given += ["--start-from", str(start_from)] if start_from else []
    wanted = Wanted(
        gold=tuple(gold),
        to=to,
        other_hand=tuple(other_hand),
        schema=schema,
        held_out=held_out,
        held_out_gold=held_out_gold,
        rank=rank,
        epochs=epochs,
        rate=rate,
        start_from=start_from,
        seed=seed,
        command=shlex.join(["claimbase", "train", *given]),
    )
    measured = make_adapter(wanted, say)
    for line in table([measured]) if measured else ():
        print(line)
    say(f"the adapter is in {to}; use it with: claimbase run --model local:{to}")
