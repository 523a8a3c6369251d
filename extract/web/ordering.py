"""Pages of a sorted table that cost the same at its end as at its beginning. Pure: it makes SQL and addresses.

Sorted rows are paged by the key of the last row that was seen (its value in the column, its `record_id`, its
`ordinal`), as passing over a million rows would mean sorting them all. Unsorted rows come as the table has them and are
passed over by number, which DuckDB does without reading what it passes. Unknown values come last in either direction.
"""

import json
import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Literal

from store.views import literal, quoted

Value = str | float | None
Way = Literal["after", "before"]
_NUMBERS = ("value",)
"""Columns that hold numbers; the others hold text."""
_MOST = 1 << 31

LAST = "last"
"""In an address, in place of a key: the end of the table."""


@dataclass(frozen=True, slots=True)
class Key:
    """Where a row stands in the order."""

    value: Value
    record_id: str
    ordinal: int

    def text(self) -> str:
        """As an address has it."""
        return json.dumps([self.value, self.record_id, self.ordinal], ensure_ascii=False, separators=(",", ":"))


@dataclass(frozen=True, slots=True)
class Order:
    """How rows are sorted, and where in that order a page begins.

    Without a `column` the rows come as the table has them and `first` says how many are passed over. With one the page
    lies `after` or `before` the `key`, or at the very beginning or end if there is none; `first` is then only shown.
    """

    column: str = ""
    descending: bool = False
    way: Way = "after"
    key: Key | None = None
    first: int | None = 0

    @classmethod
    def of(cls, parameters: Mapping[str, str], columns: Collection[str]) -> "Order":
        """The order of an address: `sort` (`-` before it: descending), and `after`, `before` or `first`.

        What can't be read is as if it weren't there.
        """
        sort = parameters.get("sort", "")
        column = sort.removeprefix("-")
        first = _number(parameters.get("first", ""))
        if column not in columns:
            return cls(first=first or 0)
        made = cls(column, sort.startswith("-"), first=first)
        if parameters.get("before") == LAST:
            return replace(made, way="before", first=None)
        for way in ("after", "before"):
            if way in parameters and (key := _key(parameters[way], column)):
                return replace(made, way=way, key=key)
        return replace(made, first=0)

    @property
    def backwards(self) -> bool:
        """Whether the page is read from its end, so that its rows come the other way round."""
        return self.way == "before"

    def sort(self) -> dict[str, str]:
        """The parameter that says how rows are sorted, if they are."""
        return {"sort": f"{'-' if self.descending else ''}{self.column}"} if self.column else {}

    def turned(self, column: str) -> dict[str, str]:
        """The parameter of a click on a column's head: ascending, descending, as the table has them."""
        if column != self.column:
            return {"sort": column}
        return {} if self.descending else {"sort": f"-{column}"}

    def condition(self, of_papers: bool = False) -> str:
        """What the rows of the page must fulfil, in SQL; or the papers that have such rows."""
        if self.key is None:
            return "true"
        column, past = quoted(self.column), "<" if self.descending != self.backwards else ">"
        tie = "<" if self.backwards else ">"
        later = f"(record_id, ordinal) {tie} ({literal(self.key.record_id)}, {self.key.ordinal})"
        if of_papers:
            later = f"record_id {tie}= {literal(self.key.record_id)}"
        if self.key.value is None:
            return f"({column} IS NOT NULL OR {later})" if self.backwards else f"({column} IS NULL AND {later})"
        value = literal(self.key.value) if isinstance(self.key.value, str) else f"{self.key.value!r}::DOUBLE"
        unknown = "" if self.backwards else f" OR {column} IS NULL"
        return f"({column} {past} {value} OR ({column} = {value} AND {later}){unknown})"

    def clause(self, rows: int, of_papers: bool = False) -> str:
        """ORDER BY and LIMIT, in SQL, for rows or for papers."""
        if not self.column:
            return f"LIMIT {rows} OFFSET {self.first or 0}"
        way = "DESC" if self.descending != self.backwards else "ASC"
        tie = "DESC" if self.backwards else "ASC"
        nulls = "FIRST" if self.backwards else "LAST"
        ordinal = "" if of_papers else f", ordinal {tie}"
        return f"ORDER BY {quoted(self.column)} {way} NULLS {nulls}, record_id {tie}{ordinal} LIMIT {rows}"


def _key(said: str, column: str) -> Key | None:
    """The key that an address has, None for what is none or doesn't fit the column."""
    try:
        found = json.loads(said)
    except (ValueError, RecursionError):
        return None
    match found:
        case [value, str(record_id), int(ordinal)] if ordinal is not True and 0 <= ordinal < _MOST:
            fits = str if column not in _NUMBERS else (int, float)
            if value is None or (isinstance(value, fits) and not isinstance(value, bool) and _is_finite(value)):
                return Key(float(value) if isinstance(value, int) else value, record_id, ordinal)
    return None


def _is_finite(value: object) -> bool:
    return not isinstance(value, (int, float)) or math.isfinite(value)


def _number(said: str) -> int | None:
    return int(said) if said.isascii() and said.isdigit() and len(said) < 16 else None
