"""Reads gold: annotated abstracts, one JSON object a line, in the forms that `docs/evaluation.md` describes.

Gold of the shipped schema lists equally right forms of a name; gold of a schema of one's own is, for each abstract, the
reply that is right for it.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from extract.claims import derive
from extract.errors import InputError
from extract.grounding import GroundedText
from extract.readers.cleaning import cleaned
from extract.readers.text import numbered_lines, record_id
from extract.replies import ReplyUnfit, read_reply
from schemas.registry import LoadedSchema


class GoldNumber(BaseModel):
    """A headline number as annotated; `quote` and the three names are verbatim."""

    quote: str
    value: float
    unit: str
    role: str
    direction: str | None
    qualifier: str
    metric: str | None
    dataset: str | None
    baseline: str | None


class GoldClaims(BaseModel):
    """What is true of an abstract. Lists of strings hold equally right forms, the best first."""

    contribution: str
    task: list[str]
    method: list[str]
    datasets: list[list[str]]
    baselines: list[list[str]]
    numbers: list[GoldNumber]


@dataclass(frozen=True, slots=True)
class GoldRow:
    """An annotated abstract. `places` holds the offsets of each number, None for one that isn't where it should be.

    `sampled`: drawn at random, as far as the file says; not so what was reviewed because it looked wrong.
    """

    record_id: str
    name: str
    text: str
    claims: GoldClaims
    places: Sequence[tuple[int, int] | None]
    sampled: bool = True


@dataclass(frozen=True, slots=True)
class OwnGoldRow:
    """An abstract annotated by a schema of one's own: the claims that come of the reply that is right for it."""

    record_id: str
    name: str
    text: str
    reply: BaseModel
    claims: Mapping[str, Any]


def read_gold(path: Path) -> Iterator[GoldRow]:
    """Yield the rows of a gold file. Raises InputError with the line for one that is out of form."""
    for number, name, text, gold, sampled in _rows(path):
        try:
            claims = GoldClaims.model_validate(gold)
        except ValidationError as e:
            first = e.errors(include_url=False)[0]
            where = ".".join(str(part) for part in first["loc"])
            raise InputError(str(path), f"gold.{where}: {first['msg']}", number) from e
        yield GoldRow(record_id(text), name, text, claims, _places(text, claims.numbers), sampled)


def as_read(row: GoldRow) -> GoldRow:
    """Return a row with its text as a reader makes it, its tags and entities undone: the record's, if it came so."""
    text = cleaned(row.text, "marked")
    return GoldRow(record_id(text), row.name, text, row.claims, _places(text, row.claims.numbers), row.sampled)


def read_own_gold(path: Path, schema: LoadedSchema) -> Iterator[OwnGoldRow]:
    """Yield the rows of a gold file for a schema of one's own.

    Raises InputError with the line for one that is out of form, doesn't fit the schema, or quotes what its abstract
    doesn't hold.
    """
    for number, name, text, gold, _ in _rows(path):
        try:
            reply = read_reply(schema.model, json.dumps(gold))
            derived = derive(schema.fields, reply, GroundedText(text))
        except ReplyUnfit as e:
            raise InputError(str(path), f"gold is not of schema {schema.name!r}: {e.faults[0]}", number) from e
        if derived.faults:
            raise InputError(str(path), f"gold.{derived.faults[0]}", number)
        yield OwnGoldRow(record_id(text), name, text, reply, derived.value)


def own_as_read(row: OwnGoldRow, schema: LoadedSchema) -> OwnGoldRow:
    """Return a row with its text as a reader makes it, as `as_read` does."""
    text = cleaned(row.text, "marked")
    claims = derive(schema.fields, row.reply, GroundedText(text)).value
    return OwnGoldRow(record_id(text), row.name, text, row.reply, claims)


def _rows(path: Path) -> Iterator[tuple[int, str, str, Any, bool]]:
    """Yield for each line its number, the abstract's name and text, its gold, and whether it was drawn at random."""
    if not path.is_file():
        raise InputError(str(path), "no such file; expected gold, one JSON object a line")
    for number, line in numbered_lines(path):
        if not line.strip():
            continue
        try:
            row: Mapping[str, Any] = json.loads(line)
            text, gold = str(row["abstract"]), row["gold"]
            name = str(row.get("id", number))
        except (ValueError, KeyError, TypeError, AttributeError) as e:
            raise InputError(str(path), f"not a row of gold ({e}); expected id, abstract and gold", number) from e
        yield number, name, text, gold, row.get("sampled") is not False


def _places(text: str, numbers: Sequence[GoldNumber]) -> list[tuple[int, int] | None]:
    """Find each number in turn: they are listed in order of appearance."""
    places: list[tuple[int, int] | None] = []
    start = 0
    for number in numbers:
        at = text.find(number.quote, start)
        places.append((at, at + len(number.quote)) if at >= 0 else None)
        start = at + 1 if at >= 0 else start
    return places
