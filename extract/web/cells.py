"""How the rows of any query are shown in a table: what stands in a cell, which columns are numbers. Pure."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any

from store.text import visible

LONGEST = 400
"""Characters of a cell; what is longer is cut with a sign, and whole in a download."""

_NUMBERS = ("INT", "DOUBLE", "FLOAT", "DECIMAL", "REAL")


@dataclass(frozen=True, slots=True)
class Column:
    """A column of an answer."""

    name: str
    kind: str

    @property
    def is_number(self) -> bool:
        """Whether its values stand under each other by their digits."""
        return any(sign in self.kind.upper() for sign in _NUMBERS) and not self.kind.endswith("]")

    @property
    def is_record(self) -> bool:
        """Whether its values are ids of papers."""
        return self.name == "record_id"


@dataclass(frozen=True, slots=True)
class Cell:
    """A value as text; `none` for NULL. `whole` is False if it was cut."""

    text: str
    none: bool = False
    whole: bool = True


@dataclass(frozen=True, slots=True)
class Table:
    """An answer to be shown."""

    columns: Sequence[Column]
    rows: Sequence[Sequence[Cell]]


def table(names: Sequence[str], kinds: Sequence[str], rows: Iterable[Sequence[Any]]) -> Table:
    """The rows made ready to be shown."""
    columns = [Column(name, kind) for name, kind in zip(names, kinds, strict=True)]
    return Table(columns, [[cell(value) for value in row] for row in rows])


def cell(value: Any) -> Cell:
    """What stands in the cell of a value."""
    if value is None:
        return Cell("NULL", none=True)
    said = visible(_text(value))
    return Cell(said) if len(said) <= LONGEST else Cell(said[:LONGEST] + "…", whole=False)


def _text(value: Any) -> str:
    match value:
        case str():
            return value
        case bool():
            return "true" if value else "false"
        case int():
            return str(value)
        case float():
            return f"{value:.15g}"
        case datetime():
            return value.isoformat(sep=" ", timespec="seconds")
        case Decimal() | date() | time():
            return str(value)
        case dict() | list() | tuple():
            return json.dumps(value, ensure_ascii=False, default=str)
    return str(value)
