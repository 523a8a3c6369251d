"""Reads gold: annotated abstracts, one JSON object a line, in the forms that `docs/evaluation.md` describes.

Gold of the shipped schema lists equally right forms of a name; gold of a schema of one's own is, for each abstract, the
reply that is right for it.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
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
    title: str | None = None


@dataclass(frozen=True, slots=True)
class OwnGoldRow:
    """An abstract annotated by a schema of one's own: the claims that come of the reply that is right for it."""

    record_id: str
    name: str
    text: str
    reply: BaseModel
    claims: Mapping[str, Any]
    title: str | None = None


def read_gold(path: Path) -> Iterator[GoldRow]:
    """Yield the rows of a gold file. Raises InputError with the line for one that is out of form."""
    for row in _rows(path):
        try:
            claims = GoldClaims.model_validate(row.gold)
        except ValidationError as e:
            first = e.errors(include_url=False)[0]
            where = ".".join(str(part) for part in first["loc"])
            raise InputError(str(path), f"gold.{where}: {first['msg']}", row.number) from e
        places = _places(row.text, claims.numbers)
        yield GoldRow(record_id(row.text), row.name, row.text, claims, places, row.sampled, row.title)


def as_read(row: GoldRow) -> GoldRow:
    """Return a row with its text as a reader makes it, its tags and entities undone: the record's, if it came so."""
    text = cleaned(row.text, "marked")
    places = _places(text, row.claims.numbers)
    return replace(row, record_id=record_id(text), text=text, places=places)


def read_own_gold(path: Path, schema: LoadedSchema) -> Iterator[OwnGoldRow]:
    """Yield the rows of a gold file for a schema of one's own.

    Raises InputError with the line for one that is out of form, doesn't fit the schema, or quotes what its abstract
    doesn't hold.
    """
    for row in _rows(path):
        try:
            reply = read_reply(schema.model, json.dumps(row.gold))
            derived = derive(schema.fields, reply, GroundedText(row.text))
        except ReplyUnfit as e:
            raise InputError(str(path), f"gold is not of schema {schema.name!r}: {e.faults[0]}", row.number) from e
        if derived.faults:
            raise InputError(str(path), f"gold.{derived.faults[0]}", row.number)
        yield OwnGoldRow(record_id(row.text), row.name, row.text, reply, derived.value, row.title)


def own_as_read(row: OwnGoldRow, schema: LoadedSchema) -> OwnGoldRow:
    """Return a row with its text as a reader makes it, as `as_read` does."""
    text = cleaned(row.text, "marked")
    claims = derive(schema.fields, row.reply, GroundedText(text)).value
    return replace(row, record_id=record_id(text), text=text, claims=claims)


@dataclass(frozen=True, slots=True)
class _Row:
    """A line as it stands, with its number; `gold` is not looked into yet."""

    number: int
    name: str
    title: str | None
    text: str
    gold: Any
    sampled: bool


def _rows(path: Path) -> Iterator[_Row]:
    if not path.is_file():
        raise InputError(str(path), "no such file; expected gold, one JSON object a line")
    for number, line in numbered_lines(path):
        if not line.strip():
            continue
        try:
            row: Mapping[str, Any] = json.loads(line)
            text, gold = str(row["abstract"]), row["gold"]
            name, title = str(row.get("id", number)), row.get("title")
        except (ValueError, KeyError, TypeError, AttributeError) as e:
            raise InputError(str(path), f"not a row of gold ({e}); expected id, abstract and gold", number) from e
        yield _Row(number, name, str(title) if title else None, text, gold, row.get("sampled") is not False)


def _places(text: str, numbers: Sequence[GoldNumber]) -> list[tuple[int, int] | None]:
    """Find each number in turn: they are listed in order of appearance."""
    places: list[tuple[int, int] | None] = []
    start = 0
    for number in numbers:
        at = text.find(number.quote, start)
        places.append((at, at + len(number.quote)) if at >= 0 else None)
        start = at + 1 if at >= 0 else start
    return places
