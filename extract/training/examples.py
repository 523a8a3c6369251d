"""Gold to what a model is to learn: the prompt as it will be asked, and the reply that would be right.

It knows neither tokens nor tensors. The reply is compact JSON of the fields that a model is asked for, in the schema's
order; what code computes (values, qualifiers) is left out, as it is when a model is asked.

Two people who follow the same guidelines still differ in what they leave out, and a model learns their mean. Gold of
another hand is therefore learned under a prompt that says so: what it teaches of the language carries over, its habits
don't (as Caswell, Chelba and Grangier 2019 tag translations of another origin).
"""

import hashlib
import json
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from extract.errors import InputError
from extract.gold import GoldClaims, GoldRow, OwnGoldRow, read_gold, read_own_gold
from extract.recipe import messages_about
from extract.replies import said_in
from prompts.loader import Prompt
from schemas.registry import SHIPPED, LoadedSchema
from schemas.shape import FieldShape

OTHER_HAND = "By another hand.\n"
"""Stands before the prompt of an abstract that another hand annotated; never before one that is asked about."""


@dataclass(frozen=True, slots=True)
class Example:
    """An annotated abstract as it is trained on. `name` is its id; `own`: not of another hand.

    `prompts` are the ways to ask about it, taken in turn: with its title and without, since many a pile has none.
    """

    name: str
    text: str
    prompts: tuple[str, ...]
    reply: str
    own: bool = True


@dataclass(frozen=True, slots=True)
class Split:
    """Examples to train on, and those held out to say when to stop and how sure the model may be."""

    train: tuple[Example, ...]
    held_out: tuple[Example, ...]

    @property
    def digest(self) -> str:
        """A hash of all examples: a checkpoint goes with the data that it was made from."""
        whole = json.dumps([[[e.prompts, e.reply] for e in part] for part in (self.train, self.held_out)])
        return hashlib.sha256(whole.encode()).hexdigest()[:20]


def read_examples(
    paths: Sequence[Path], schema: LoadedSchema, prompt: Prompt, other_hand: Sequence[Path] = ()
) -> list[Example]:
    """Read gold files into examples, then those of another hand; of an abstract that comes twice the first counts.

    Raises InputError, with file and line, for a file that isn't there, a row that is no gold of the schema, or no rows.
    """
    found: dict[str, Example] = {}
    for hand, files in (("", paths), (OTHER_HAND, other_hand)):
        for path in files:
            for row, answer in _annotated(path, schema):
                said = (
                    hand + "".join(m["content"] for m in messages_about(prompt, row.text, t)) for t in (row.title, None)
                )
                reply = json.dumps(_asked(schema.fields, answer), ensure_ascii=False, separators=(",", ":"))
                found.setdefault(row.text, Example(row.name, row.text, tuple(dict.fromkeys(said)), reply, own=not hand))
    if not found:
        raise InputError(", ".join(map(str, paths)), "no annotated abstracts; expected gold, one JSON object a line")
    return list(found.values())


def split(examples: Sequence[Example], share: float, seed: int) -> Split:
    """Hold out a share of the examples, none of another hand, chosen by the seed alone; at least one is trained on."""
    shuffled = [example for example in examples if example.own]
    random.Random(seed).shuffle(shuffled)  # noqa: S311 - not for secrets
    count = min(round(len(shuffled) * share), len(examples) - 1)
    return without(examples, shuffled[:count])


def without(examples: Sequence[Example], held_out: Sequence[Example]) -> Split:
    """Hold out these examples: what is about the same abstracts isn't trained on."""
    texts = {example.text for example in held_out}
    return Split(tuple(example for example in examples if example.text not in texts), tuple(held_out))


def _annotated(path: Path, schema: LoadedSchema) -> Iterator[tuple[GoldRow | OwnGoldRow, Mapping[str, Any]]]:
    """Yield an annotated abstract and the right reply's fields by their names."""
    if schema.name in SHIPPED:
        for row in read_gold(path):
            yield row, _paper(row.claims)
    else:
        for own in read_own_gold(path, schema):
            yield own, said_in(own.reply, schema.fields)


def _paper(claims: GoldClaims) -> dict[str, Any]:
    """Take the best form of each thing of which gold knows several."""
    return {
        "contribution": claims.contribution,
        "task": claims.task[0],
        "method": next(iter(claims.method), None),
        "datasets": [forms[0] for forms in claims.datasets],
        "baselines": [forms[0] for forms in claims.baselines],
        "headline_numbers": [number.model_dump() for number in claims.numbers],
    }


def _asked(fields: Sequence[FieldShape], value: Mapping[str, Any]) -> dict[str, Any]:
    """Keep of an instance what a model is asked for."""
    kept: dict[str, Any] = {}
    for shape in fields:
        said = value.get(shape.name)
        if shape.kind == "model" and said is not None:
            kept[shape.key or shape.name] = (
                [_asked(shape.fields, item) for item in said] if shape.many else _asked(shape.fields, said)
            )
        elif shape.kind == "model" or shape.asked:
            kept[shape.key or shape.name] = said
    return kept
