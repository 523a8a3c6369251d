"""Agreement of claims by a schema's shape: pairs one to one, and what of each field counts."""

from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, computed_field

from extract.agreement import agree, compare, compared_fields
from extract.scoring import Count
from schemas.base import Name, NumberQuote, UnitOf, ValueOf
from schemas.shape import FieldShape, shape_of


class Effect(BaseModel):
    quote: NumberQuote
    value: Annotated[float | None, ValueOf("quote")] = None
    unit: Annotated[str, UnitOf("quote")]
    outcome: Name | None
    sites: list[Name]


class Person(BaseModel):
    age: int


class Trial(BaseModel):
    drug: Name
    design: Literal["a", "b"]
    summary: str
    lead: Person | None
    people: list[Person]
    years: list[int]
    effects: list[Effect]

    @computed_field
    def twice(self) -> str:
        return self.drug * 2


FIELDS = shape_of(Trial)


def effect(quote: str, outcome: str | None = None, *sites: str) -> dict[str, Any]:
    return {"quote": quote, "value": 1.0, "unit": "%", "outcome": outcome, "sites": [{"name": s} for s in sites]}


def claims(**changed: Any) -> dict[str, Any]:
    usual: dict[str, Any] = {"drug": "Solvane", "design": "a", "summary": "pain fell by half", "lead": {"age": 3}}
    return {**usual, "people": [], "years": [2020, 2021], "effects": [effect("5%", "pain", "Oslo", "Turku")], **changed}


def wrong(expected: dict[str, Any], said: dict[str, Any]) -> dict[str, Count]:
    counts = compare("a", "Pain fell by 5%.", FIELDS, expected, said).counts
    return {name: count for name, count in counts.items() if not count.perfect}


def test_all_but_what_code_makes_is_compared() -> None:
    assert compared_fields(FIELDS) == (
        "drug", "design", "summary", "lead.age", "people", "years", "effects", "effects.unit", "effects.outcome",
        "effects.sites",
    )  # fmt: skip
    scored = compare("a", "", FIELDS, claims(), claims(twice="otherwise"))
    assert scored.whole and not scored.misses and set(scored.counts) == set(compared_fields(FIELDS))


@pytest.mark.parametrize(
    ("said", "counts"),
    [
        ({"drug": "SOLVANE"}, {}),
        ({"drug": "Solva"}, {"drug": Count(0, 1, 1)}),
        ({"drug": None}, {"drug": Count(0, 0, 1)}),
        ({"summary": "by half pain fell"}, {}),
        ({"summary": "no effect"}, {"summary": Count(0, 1, 1)}),
        ({"design": "b"}, {"design": Count(0, 1, 1)}),
        ({"lead": None}, {"lead.age": Count(0, 0, 1)}),
        ({"people": [{"age": 1}]}, {"people": Count(0, 1, 0)}),
        ({"years": [2021]}, {"years": Count(1, 0, 1)}),
        ({"years": [2021, 2020, 2020]}, {"years": Count(2, 1, 0)}),
        ({"effects": [effect("5 %", "pain", "Turku", "Oslo")]}, {}),
        ({"effects": [effect("5%", None, "Oslo", "Turku")]}, {"effects.outcome": Count(0, 1, 1)}),
        ({"effects": [effect("5%", "pain", "Oslo", "Bergen")]}, {"effects.sites": Count(1, 1, 1)}),
        (
            {"effects": [effect("6%", "pain", "Oslo")]},
            {
                "effects": Count(0, 1, 1),
                "effects.unit": Count(0, 1, 1),
                "effects.outcome": Count(0, 1, 1),
                "effects.sites": Count(0, 1, 2),
            },
        ),
    ],
)
def test_what_is_wrong_counts_where_it_is(said: dict[str, Any], counts: dict[str, Count]) -> None:
    assert wrong(claims(), claims(**said)) == counts


def test_items_alike_are_paired_by_what_else_is_said_of_them() -> None:
    two = [effect("5%", "pain"), effect("5%", "fever")]
    assert wrong(claims(effects=two), claims(effects=two[::-1])) == {}


def test_each_miss_is_told_once_with_its_place() -> None:
    scored = compare(
        "a", "Pain fell by 5%.", FIELDS, claims(), claims(effects=[effect("5%", "fever", "Oslo", "Turku")])
    )
    [miss] = scored.misses
    assert (miss.field, miss.gold, miss.said) == ("effects.outcome", "pain", "fever")


@pytest.mark.parametrize(
    ("kind", "column", "one", "other", "same"),
    [
        ("number", "VARCHAR", "\\textbf{17.06\\%}", "17.06%", True),
        ("number", "VARCHAR", "1,010", "1010", True),
        ("number", "VARCHAR", "17.06%", "17.06", False),
        ("number", "VARCHAR", "some", "many", False),
        ("unit", "VARCHAR", "percent", "%", True),
        ("plain", "DOUBLE", 0.1 + 0.2, 0.3, True),
        ("plain", "DOUBLE", 1, 1.0, True),
        ("plain", "BOOLEAN", True, False, False),
        ("plain", "DATE", "2026-01-02", "2026-01-03", False),
        ("plain", "JSON", {"a": [1]}, {"a": [1]}, True),
        ("text", "VARCHAR", "the long name of it", "the long name", False),
        ("plain", "VARCHAR", None, None, True),
        ("plain", "VARCHAR", None, "x", False),
    ],
)
def test_values_agree_by_their_kind(kind: Any, column: str, one: Any, other: Any, same: bool) -> None:
    assert agree(FieldShape("f", kind, column), one, other) is same
