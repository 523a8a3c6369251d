"""Reads gold: annotated abstracts, one JSON object a line, in the form that `docs/evaluation.md` describes."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from extract.errors import InputError
from extract.readers.cleaning import cleaned
from extract.readers.text import numbered_lines, record_id


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
    """An annotated abstract. `places` holds the offsets of each number, None for one that isn't where it should be."""

    record_id: str
    name: str
    text: str
    claims: GoldClaims
    places: Sequence[tuple[int, int] | None]


def read_gold(path: Path) -> Iterator[GoldRow]:
    """Yield the rows of a gold file. Raises InputError with the line for one that is out of form."""
    if not path.is_file():
        raise InputError(str(path), "no such file; expected gold, one JSON object a line")
    for number, line in numbered_lines(path):
        if line.strip():
            yield _row(path, number, line)


def as_read(row: GoldRow) -> GoldRow:
    """Return a row with its text as a reader makes it, its tags and entities undone: the record's, if it came so."""
    text = cleaned(row.text, "marked")
    return GoldRow(record_id(text), row.name, text, row.claims, _places(text, row.claims.numbers))


def _row(path: Path, number: int, line: str) -> GoldRow:
    try:
        row: Mapping[str, Any] = json.loads(line)
        text, claims = str(row["abstract"]), GoldClaims.model_validate(row["gold"])
    except ValidationError as e:
        first = e.errors(include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        raise InputError(str(path), f"gold.{where}: {first['msg']}", number) from e
    except (ValueError, KeyError, TypeError) as e:
        raise InputError(str(path), f"not a row of gold ({e}); expected id, abstract and gold", number) from e
    return GoldRow(record_id(text), str(row.get("id", number)), text, claims, _places(text, claims.numbers))


def _places(text: str, numbers: Sequence[GoldNumber]) -> list[tuple[int, int] | None]:
    """Find each number in turn: they are listed in order of appearance."""
    places: list[tuple[int, int] | None] = []
    start = 0
    for number in numbers:
        at = text.find(number.quote, start)
        places.append((at, at + len(number.quote)) if at >= 0 else None)
        start = at + 1 if at >= 0 else start
    return places
