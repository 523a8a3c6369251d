"""What a person asks of the claims, as it stands in an address and as it is asked in SQL. Pure: it asks nothing.

Each field of `Filters` is a parameter of the address under its own name, so a view can be sent to a colleague. A text
is looked for within the column, in any case; one that begins with `=` is what the column must equal. The conditions
name columns that both `NUMBERS` and `CLAIMS` have, so that they fit a page and a download alike; those on a paper go by
its `record_id`. Texts are SQL literals made by `views.literal`, which doubles every quote.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from typing import get_args

from schemas.paper import HeadlineNumber
from store.views import literal

ROLES: tuple[str, ...] = get_args(HeadlineNumber.model_fields["role"].annotation)
ORIGINS = ("model", "corrected", "added")
VERDICTS = ("accepted", "corrected", "added", "disputed")
NO_UNIT = NO_VERDICT = "none"
"""In an address: of a plain score, whose unit is the empty text; of a claim that nobody has judged."""

NUMBERS, CLAIMS = "reviewed_headline_numbers", "reviewed_claims"
PAPERS, DATASETS = "reviewed_papers", "reviewed_datasets"
"""The views that pages ask: what holds once people's verdicts are laid over what the model said."""

_FOLDED = ("origin", "verdict", "method", "baseline", "contribution", "year", "venue", "uses", "model", "run")
_ANYWHERE_OF_NUMBER = ("metric", "dataset", "baseline")
_ANYWHERE_OF_PAPER = ("title", "task", "method")


@dataclass(frozen=True, slots=True)
class Filters:
    """What the claims shown must be like; an empty text asks nothing.

    `low` and `high` are numbers as text. `origin` says where a claim comes from, `verdict` what holds of it. `uses` is
    a dataset that the paper uses, whatever the claim is about.
    """

    q: str = ""
    task: str = ""
    method: str = ""
    metric: str = ""
    dataset: str = ""
    baseline: str = ""
    role: str = ""
    unit: str = ""
    low: str = ""
    high: str = ""
    origin: str = ""
    verdict: str = ""
    contribution: str = ""
    year: str = ""
    venue: str = ""
    uses: str = ""
    model: str = ""
    run: str = ""

    @classmethod
    def of(cls, parameters: Mapping[str, str]) -> "Filters":
        """The filters of an address; parameters of another kind are passed over."""
        return cls(**{name: parameters[name].strip() for name in names() if name in parameters})

    def parameters(self) -> dict[str, str]:
        """Those that ask something, as an address has them."""
        return {name: said for name in names() if (said := getattr(self, name))}

    @property
    def more(self) -> bool:
        """Whether any asks something that the page keeps folded away."""
        return any(getattr(self, name) for name in _FOLDED)

    def faults(self) -> list[str]:
        """What is wrong with them, each in a sentence; such a filter asks nothing."""
        wrong = [f"{said!r} is no number" for said in (self.low, self.high) if said and _finite(said) is None]
        low, high = _finite(self.low), _finite(self.high)
        if low is not None and high is not None and low > high:
            wrong.append(f"no value is at least {self.low} and at most {self.high}")
        return wrong

    def papers_condition(self) -> str | None:
        """What is asked of a paper, in SQL over `PAPERS`; None if something is asked of its numbers, or nothing."""
        if self.q or any(self._conditions_on_number()) or not self.parameters():
            return None
        return self.condition()

    def condition(self) -> str:
        """All that is asked, in SQL; `true` if nothing is."""
        return " AND ".join(self._conditions()) or "true"

    def _conditions(self) -> Iterator[str]:
        if self.q:
            on_number = [_like(column, self.q) for column in _ANYWHERE_OF_NUMBER]
            on_paper = [_like(column, self.q) for column in _ANYWHERE_OF_PAPER]
            yield f"({' OR '.join([*on_number, _of(PAPERS, ' OR '.join(on_paper))])})"
        yield from self._conditions_on_number()
        if on_paper := list(self._conditions_on_paper()):
            yield _of(PAPERS, " AND ".join(on_paper))
        if self.uses:
            yield _of(DATASETS, _like("name", self.uses))
        for key in ("year", "venue"):
            if said := getattr(self, key):
                yield _of("records", f"meta->>{literal(key)} = {literal(said)}")

    def _conditions_on_number(self) -> Iterator[str]:
        for column in ("metric", "dataset", "baseline"):
            if said := getattr(self, column):
                yield _like(column, said)
        if self.role:
            yield f"role = {literal(self.role)}"
        if self.unit:
            yield f"unit = {literal('' if self.unit == NO_UNIT else self.unit)}"
        if (low := _finite(self.low)) is not None:
            yield f"value >= {low!r}::DOUBLE"
        if (high := _finite(self.high)) is not None:
            yield f"value <= {high!r}::DOUBLE"
        if self.origin:
            yield f"origin = {literal(self.origin)}"
        if self.verdict:
            yield "verdict IS NULL" if self.verdict == NO_VERDICT else f"verdict = {literal(self.verdict)}"

    def _conditions_on_paper(self) -> Iterator[str]:
        for column in ("task", "method"):
            if said := getattr(self, column):
                yield _like(column, said)
        for column, said in (("contribution", self.contribution), ("model", self.model), ("run_id", self.run)):
            if said:
                yield f"{column} = {literal(said)}"


def names() -> tuple[str, ...]:
    """The names of all filters."""
    return tuple(field.name for field in fields(Filters))


def exactly(said: str) -> str:
    """The text of a filter that asks for just this."""
    return f"={said}"


def _like(column: str, said: str) -> str:
    if said.startswith("="):
        return f"lower({column}) = lower({literal(said[1:])})"
    if set(said) & set("%_\\"):  # signs of a pattern; else the pattern is faster by a quarter
        return f"contains(lower({column}), lower({literal(said)}))"
    return f"{column} ILIKE {literal(f'%{said}%')}"


def _of(source: str, condition: str) -> str:
    """That the claim's paper has such a row in a view or table."""
    return f"record_id IN (SELECT record_id FROM {source} WHERE {condition})"  # noqa: S608


def _finite(said: str) -> float | None:
    try:
        value = float(said.replace(",", ""))
    except ValueError:
        return None
    return value if math.isfinite(value) else None
