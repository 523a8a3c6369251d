"""Schemas: their shape, what of them is sent and stated, how they are found and fingerprinted."""

import datetime
import enum
import json
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field, computed_field

from schemas.base import Name, NumberQuote, Quote, SchemaError, UnitOf, ValueOf
from schemas.describe import describe
from schemas.paper import HeadlineNumber, Paper
from schemas.registry import fingerprinted, load_schema
from schemas.sent import Bounds, sent_schema
from schemas.shape import FieldShape, shape_of, structure_of


class Arm(enum.Enum):
    DRUG = "drug"
    PLACEBO = "placebo"


class Effect(BaseModel):
    text: NumberQuote = Field(description="the effect size")
    size: Annotated[float | None, ValueOf("text")] = None
    unit: Annotated[str, UnitOf("text")]
    outcome: Quote | None
    start: datetime.date | None


class Trial(BaseModel):
    drug: Quote = Field(description="the drug's name", max_length=80)
    arms: list[Arm]
    patients: int
    blinded: bool | None
    sites: list[Name] = Field(max_length=3)
    sponsor: "Sponsor"
    effects: list[Effect]
    either: int | str

    @computed_field  # type: ignore[prop-decorator]  # mypy 1.15 and later know no decorator on a property
    @property
    def large(self) -> bool:
        return self.patients > 1000


class Sponsor(BaseModel):
    name: Name | None
    kind: Literal["company", "university"]


Trial.model_rebuild()


PLACE = {"start": "INTEGER", "end": "INTEGER", "match": "VARCHAR", "confidence": "DOUBLE"}


def by_name(fields: tuple[FieldShape, ...]) -> dict[str, FieldShape]:
    return {f.name: f for f in fields}


def test_the_shape_says_what_each_field_is() -> None:
    fields = by_name(shape_of(Trial))
    assert {n: (f.kind, f.many, f.optional) for n, f in fields.items()} == {
        "drug": ("text", False, False),
        "arms": ("plain", True, False),
        "patients": ("plain", False, False),
        "blinded": ("plain", False, True),
        "sites": ("text", True, False),
        "sponsor": ("model", False, False),
        "effects": ("model", True, False),
        "either": ("plain", False, False),
        "large": ("plain", False, False),
    }
    assert fields["arms"].choices == ("drug", "placebo")
    assert fields["sites"].any_case and not fields["drug"].any_case
    assert not fields["large"].asked and fields["patients"].asked
    effect = by_name(fields["effects"].fields)
    assert (effect["size"].kind, effect["size"].of, effect["unit"].kind) == ("value", "text", "unit")
    assert fields["effects"].anchor == effect["text"]


def test_the_structure_has_a_type_for_each_value_and_a_place_for_each_quote() -> None:
    assert structure_of(shape_of(Trial)) == {
        "drug": "VARCHAR",
        "arms": ["VARCHAR"],
        "patients": "BIGINT",
        "blinded": "BOOLEAN",
        "sites": [{"name": "VARCHAR", **PLACE}],
        "sponsor": {"name": "VARCHAR", "kind": "VARCHAR"},
        "effects": [
            {
                "text": "VARCHAR",
                "size": "DOUBLE",
                "unit": "VARCHAR",
                "outcome": "VARCHAR",
                "start": "DATE",  # the schema's own field keeps its name, the evidence's gives way
                "evidence_start": "INTEGER",
                "evidence_end": "INTEGER",
                "evidence_match": "VARCHAR",
                "evidence_confidence": "DOUBLE",
                "note": "VARCHAR",
            }
        ],
        "either": "JSON",
        "large": "BOOLEAN",
    }


def test_what_is_sent_is_strict_plain_and_asks_for_no_value() -> None:
    sent = sent_schema(Paper)
    number = sent["$defs"]["HeadlineNumber"]
    assert "value" not in number["properties"] and "value" not in number["required"]
    assert list(number["properties"]) == number["required"]
    assert number["additionalProperties"] is False and sent["additionalProperties"] is False
    text = json.dumps(sent)
    assert not [k for k in ("default", "title", "description", "maxLength", "maxItems") if f'"{k}"' in text]


def test_bounds_go_on_every_list_and_string_but_what_has_choices() -> None:
    def check(node: Any) -> None:
        if isinstance(node, list):
            for n in node:
                check(n)
        elif isinstance(node, dict):
            if node.get("type") == "array":
                assert node["maxItems"] <= 24
            if node.get("type") == "string":
                assert "enum" in node or node["maxLength"] <= 200
            for n in node.values():
                check(n)

    check(sent_schema(Paper, Bounds(24, 200)))
    trial = sent_schema(Trial, Bounds(24, 200))
    assert trial["properties"]["sites"]["maxItems"] == 3, "a schema's own bound that is closer stays"
    assert trial["properties"]["drug"]["maxLength"] == 80
    assert "maxLength" not in sent_schema(Trial)["properties"]["drug"], "endpoints refuse it; the reply is checked here"


def test_a_property_may_be_called_like_a_keyword() -> None:
    class Odd(BaseModel):
        title: str
        default: int
        pattern: Quote | None

    assert sent_schema(Odd)["required"] == ["title", "default", "pattern"]


def test_describe_states_every_field_that_is_asked() -> None:
    lines = describe(shape_of(Trial)).splitlines()
    assert lines[0] == "- drug* (at most 80 characters): the drug's name"
    assert "- arms (list drug|placebo)" in lines
    assert "  - text*: the effect size" in lines
    assert not [line for line in lines if "size (" in line or "large" in line]


def test_only_a_gain_has_a_direction() -> None:
    said = {"quote": "5%", "unit": "%", "direction": "increase", "qualifier": "exact", "metric": None}
    rest = {"dataset": None, "baseline": None}
    assert HeadlineNumber.model_validate({**said, **rest, "role": "score"}).direction is None
    assert HeadlineNumber.model_validate({**said, **rest, "role": "gain"}).direction == "increase"


def test_the_fingerprint_follows_fields_rules_and_marks() -> None:
    class One(BaseModel):
        a: Quote

    class Same(BaseModel):
        a: Quote

    class Looser(BaseModel):
        a: Name

    class Ruled(BaseModel):
        a: Quote = Field(description="a rule")

    Same.__name__ = Looser.__name__ = Ruled.__name__ = "One"
    one = fingerprinted("one", One).hash
    assert one.startswith("s1-") and one == fingerprinted("one", One).hash
    assert len({one, fingerprinted("one", Looser).hash, fingerprinted("one", Ruled).hash}) == 3
    assert one != fingerprinted("two", One).hash


def test_the_shipped_schema_has_the_fields_of_the_guidelines() -> None:
    assert [f.name for f in load_schema("paper").fields] == [
        "contribution", "task", "method", "datasets", "baselines", "headline_numbers",
    ]  # fmt: skip
    numbers = by_name(load_schema("paper").fields)["headline_numbers"]
    assert [f.name for f in numbers.fields] == [
        "quote", "value", "unit", "role", "direction", "qualifier", "metric", "dataset", "baseline",
    ]  # fmt: skip


def test_a_users_schema_is_loaded_by_path(tmp_path: Path) -> None:
    file = tmp_path / "my trials.py"
    file.write_text(
        "from pydantic import BaseModel\nfrom schemas.base import Quote\n\n"
        "class SmallTrial(BaseModel):\n    drug: Quote\n",
        encoding="utf-8",
    )
    loaded = load_schema(f"{file}:SmallTrial")
    assert (loaded.name, loaded.structure) == (
        "small_trial",
        {"drug": "VARCHAR", "record_confidence": "DOUBLE"},
    )


BAD = """
from pydantic import BaseModel
from typing import Annotated
from schemas.base import ValueOf
class Loop(BaseModel):
    inner: list['Loop']
class Empty(BaseModel):
    pass
class Lost(BaseModel):
    value: Annotated[float | None, ValueOf('quote')] = None
Plain = dict
"""


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("papers", "unknown schema 'papers'; shipped: paper"),
        ("nowhere.py:Trial", "'nowhere.py' does not exist"),
        ("{file}:Absent", "'Absent' is no such class"),
        ("{file}:Plain", "'Plain' is not a Pydantic model"),
        ("{file}:Loop", "'Loop' holds itself"),
        ("{file}:Empty", "'Empty' has no fields"),
        ("{file}:Lost", "ValueOf names 'quote', which is no field of it"),
        ("{broken}:X", "fails when loaded: ZeroDivisionError"),
        ("{text}:X", "is no Python file"),
    ],
)
def test_a_schema_that_cannot_be_used_is_one_clear_line(tmp_path: Path, spec: str, said: str) -> None:
    (tmp_path / "bad.py").write_text(BAD, encoding="utf-8")
    (tmp_path / "broken.py").write_text("1 / 0", encoding="utf-8")
    (tmp_path / "schema.txt").write_text("hello", encoding="utf-8")
    paths = {"file": tmp_path / "bad.py", "broken": tmp_path / "broken.py", "text": tmp_path / "schema.txt"}
    with pytest.raises(SchemaError) as raised:
        load_schema(spec.format(**paths))
    assert said in str(raised.value) and "\n" not in str(raised.value)


def test_a_computed_field_is_a_column_and_no_other_schema() -> None:
    class Plain(BaseModel):
        a: Quote

    class Computing(BaseModel):
        a: Quote

        @computed_field  # type: ignore[prop-decorator]  # mypy 1.15 and later know no decorator on a property
        @property
        def length(self) -> int:
            return len(self.a)

    Computing.__name__ = "Plain"
    plain, computing = fingerprinted("s", Plain), fingerprinted("s", Computing)
    assert plain.hash == computing.hash, "what code computes is served from stored replies, without asking again"
    assert (plain.structure, computing.structure) == (
        {"a": "VARCHAR", "record_confidence": "DOUBLE"},
        {"a": "VARCHAR", "length": "BIGINT", "record_confidence": "DOUBLE"},
    )
