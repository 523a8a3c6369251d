"""Gold to an adapter in a folder, with its card: reads, trains, measures what was held out, calibrates.

Everything lies in the folder, so that the same command goes on where it was ended: a checkpoint while it trains, then
the adapter, then the database of the measurement.
"""

import json
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from extract.adapters import ADAPTER, TRAINED_PROMPT
from extract.certainty import Certainties
from extract.claims import derive
from extract.errors import SettingsError
from extract.evaluate import Evaluation, evaluate, table
from extract.grounding import GroundedText
from extract.job import Request, prepare
from extract.local import assembled_weights
from extract.progress import Progress
from extract.readers.text import numbered_lines
from extract.replies import read_reply
from extract.settings import LOCAL, cache_folder
from extract.training.adapter import write_adapter
from extract.training.calibrating import Judged, calibrate
from extract.training.card import Card, Data, write_card
from extract.training.examples import Example, Split, read_examples, split, without
from extract.training.loop import Plan, train
from extract.training.lora import Tokenizer, Tokens, device_at_hand
from prompts.loader import load_prompt
from schemas.describe import describe
from schemas.registry import LoadedSchema, load_schema
from store.db import Store

LONGEST = 2_048
"""Tokens of an example; what is longer is left out (an abstract of 5,000 characters and its reply have some 1,500)."""
HELD_OUT_GOLD, HELD_OUT_DB = "held_out.jsonl", "held_out.duckdb"


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a person asked for with `claimbase train`."""

    gold: tuple[Path, ...]
    to: Path
    other_hand: tuple[Path, ...] = ()
    schema: str = "paper"
    held_out: float = 0.06
    held_out_gold: Path | None = None
    rank: int = 16
    epochs: int = 3
    rate: float = 4e-4
    start_from: Path | None = None
    seed: int = 0
    command: str = "claimbase train"


def make_adapter(wanted: Wanted, say: Callable[[str], None]) -> Evaluation | None:
    """Train an adapter as wanted; returns how what was held out is measured, None if nothing was.

    Raises InputError for gold, SettingsError for a folder of another training, SchemaError.
    """
    schema = load_schema(wanted.schema)
    prompt = load_prompt(TRAINED_PROMPT, describe(schema.fields))
    examples = read_examples(wanted.gold, schema, prompt, wanted.other_hand)
    if wanted.held_out_gold is None:
        parts = split(examples, wanted.held_out, wanted.seed)
    else:
        parts = without(examples, read_examples([wanted.held_out_gold], schema, prompt))
    weights = assembled_weights(cache_folder())
    plan = Plan(
        weights=weights,
        rank=wanted.rank,
        epochs=wanted.epochs,
        rate=wanted.rate,
        seed=wanted.seed,
        start_from=wanted.start_from,
    )
    tokenizer = Tokenizer(weights)
    learned, checked = _tokens(tokenizer, parts.train), _tokens(tokenizer, parts.held_out)
    counts = Data(
        _counts((*wanted.gold, *wanted.other_hand)),
        len(learned),
        len(checked),
        len(parts.train) + len(parts.held_out) - len(learned) - len(checked),
    )
    device = device_at_hand()
    say(f"{len(learned):,} abstracts to learn from, {len(checked):,} held out, on {device}")
    wanted.to.mkdir(parents=True, exist_ok=True)
    try:
        state = train(plan, learned, checked, wanted.to, parts.digest, device)
    except ValueError as e:
        raise SettingsError(f"--to: {e}") from e
    assert state.best is not None
    write_adapter(wanted.to / ADAPTER, state.best, plan.rank)
    card = Card(schema, plan, counts, state.epochs, state.seconds, device, wanted.command)
    write_card(wanted.to, card)
    return _measure(wanted, parts, card, say) if checked else None


def _measure(wanted: Wanted, parts: Split, card: Card, say: Callable[[str], None]) -> Evaluation:
    """Ask the adapted model for what was held out, as any run would; measure, calibrate, and tell it in the card."""
    gold, db = wanted.to / HELD_OUT_GOLD, wanted.to / HELD_OUT_DB
    files = [wanted.held_out_gold] if wanted.held_out_gold else wanted.gold
    lines = _lines_about(files, {example.text for example in parts.held_out})
    gold.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    request = Request(inputs=(str(gold),), db=db, schema=wanted.schema, model=f"{LOCAL}:{wanted.to}")
    with Progress(say) as progress:
        prepare(request).run(progress.watch)
    [measured] = evaluate(db, gold, schema=wanted.schema)
    calibration = calibrate(_judged(db, measured, card.schema))
    write_card(wanted.to, replace(card, figures=tuple(table([measured]))[2:], calibration=calibration))
    return measured


def _judged(db: Path, measured: Evaluation, schema: LoadedSchema) -> Iterator[Judged]:
    """Say of each claim of a measured run how likely its tokens were, and whether it was right."""
    right = {scored.record_id: scored.judged for scored in measured.scored}
    for reply in Store(db).replies(schema.hash):
        certainties = Certainties.of(reply.reply, reply.logprobs)
        if certainties is None or reply.record_id not in right:
            continue
        derived = derive(schema.fields, read_reply(schema.model, reply.reply), GroundedText(reply.text), certainties)
        for claim, certainty in derived.certainties.items():
            if claim in right[reply.record_id]:
                yield Judged(claim[0], certainty, right[reply.record_id][claim])


def _tokens(tokenizer: Tokenizer, examples: Sequence[Example]) -> list[tuple[Tokens, ...]]:
    """Return each example in tokens, once for each way to ask, but for those that are too long."""
    every = [tuple(tokenizer.tokens(prompt, example.reply) for prompt in example.prompts) for example in examples]
    return [ways for ways in every if max(map(len, ways)) <= LONGEST]


def _counts(paths: Sequence[Path]) -> list[tuple[str, int]]:
    return [(path.name, sum(1 for _, line in numbered_lines(path) if line.strip())) for path in paths]


def _lines_about(paths: Sequence[Path], texts: Collection[str]) -> Iterator[str]:
    """Yield the lines of gold about these abstracts, of each the first."""
    seen: set[str] = set()
    for path in paths:
        for _, line in numbered_lines(path):
            text = str(json.loads(line)["abstract"]) if line.strip() else ""
            if text in texts and text not in seen:
                seen.add(text)
                yield line.strip()
