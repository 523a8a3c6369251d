"""Every construct of a user's model: its columns, what a prompt says of it, or one line that says why not."""

import json
from pathlib import Path

import pytest

from schemas.base import SchemaError
from schemas.describe import describe
from schemas.registry import LoadedSchema, load_schema
from schemas.shape import EVIDENCE_COLUMNS, Structure, structure_of

HEAD = """
import datetime, enum, uuid
from decimal import Decimal
from pathlib import PurePath
from typing import Annotated, Any, Callable, Generic, Literal, TypeVar
from typing_extensions import TypedDict
from pydantic import (
    AliasChoices, AliasPath, AnyUrl, BaseModel, ConfigDict, Field, RootModel, computed_field, model_serializer,
)
from schemas.base import Name, NumberQuote, QualifierOf, Quote, UnitOf, ValueOf

T = TypeVar("T")
class Cat(BaseModel):
    kind: Literal["cat"]
    name: Name = Field(description="what it is called")
    lives: int
class Dog(BaseModel):
    kind: Literal["dog"]
    name: Name = Field(description="how one calls it")
    good: bool
class Bird(BaseModel):
    name: int
class Sites(RootModel[list[Name]]):
    pass
class Box(BaseModel, Generic[T]):
    content: T
class Typed(TypedDict):
    a: Name
"""
PLACE = dict(EVIDENCE_COLUMNS)


def loaded(folder: Path, body: str, name: str = "Thing") -> LoadedSchema:
    """The schema `Thing` with these lines of a class's body, or a whole source."""
    source = (
        body if "class Thing" in body else "class Thing(BaseModel):\n" + "\n".join(f"    {x}" for x in body.split("\n"))
    )
    path = folder / "things.py"
    path.write_text(HEAD + source, encoding="utf-8")
    return load_schema(f"{path}:{name}")


def columns(schema: LoadedSchema) -> dict[str, Structure]:
    """The columns of its fields."""
    return structure_of(schema.fields)


@pytest.mark.parametrize(
    ("body", "structure", "prompt"),
    [
        ("a: int | None", {"a": "BIGINT"}, "- a (integer or null)"),
        ("a: int | float", {"a": "DOUBLE"}, "- a (number)"),
        ("a: int | str", {"a": "JSON"}, "- a (integer or text)"),
        ("a: datetime.date | str", {"a": "VARCHAR"}, "- a"),
        ("a: Decimal", {"a": "DOUBLE"}, "- a (number)"),
        ("a: datetime.datetime", {"a": "TIMESTAMP"}, "- a (YYYY-MM-DDThh:mm:ss)"),
        ("a: datetime.time", {"a": "TIME"}, "- a (hh:mm:ss)"),
        ("a: datetime.timedelta", {"a": "VARCHAR"}, "- a (a duration as in ISO 8601, P3DT2H)"),
        ("a: uuid.UUID", {"a": "UUID"}, "- a (UUID)"),
        ("a: AnyUrl", {"a": "VARCHAR"}, "- a (URL, not empty)"),
        ("a: PurePath", {"a": "VARCHAR"}, "- a (text)"),
        ('a: Literal["x", None]', {"a": "VARCHAR"}, "- a (x or null)"),
        ('a: Literal[1, "x"]', {"a": "JSON"}, "- a (1|x)"),
        ("a: dict[str, float]", {"a": "JSON"}, "- a ({any key: number})"),
        ("a: tuple[int, str]", {"a": "JSON"}, "- a ([integer, text])"),
        ("a: list[list[int]]", {"a": ["JSON"]}, "- a (list list of integer)"),
        ("a: Any", {"a": "JSON"}, "- a (any JSON)"),
        ("a: set[str]", {"a": ["VARCHAR"]}, "- a (list)"),
        ("a: Sites", {"a": [{"name": "VARCHAR", **PLACE}]}, "- a* (list)"),
        ("a: Box[Name]", {"a": {"content": "VARCHAR"}}, "- a\n  - content*"),
        ("a: list[Name] | None", {"a": [{"name": "VARCHAR", **PLACE}]}, "- a* (list or null)"),
        ("a: Annotated[Name, Field(max_length=9)] | None", {"a": "VARCHAR"}, "- a* (or null, at most 9 characters)"),
        ("a: int = Field(ge=0, lt=10)", {"a": "BIGINT"}, "- a (integer, at least 0, less than 10)"),
        ("a: list[str] = Field(min_length=1)", {"a": ["VARCHAR"]}, "- a (list, at least 1 of them)"),
        ('a: str = Field(pattern="^x$")', {"a": "VARCHAR"}, "- a (matching ^x$)"),
        ('class_: Name = Field(alias="class")', {"class_": "VARCHAR"}, "- class*"),
        ('a: Name = Field(validation_alias=AliasChoices("x", "y"))', {"a": "VARCHAR"}, "- x*"),
        ("a: str\nthoughts: str = Field(exclude=True)", {"a": "VARCHAR"}, "- a\n- thoughts"),
        ('a: str = Field(description="two\\n lines")', {"a": "VARCHAR"}, "- a: two lines"),
        ("a: str\n@computed_field\ndef b(self) -> list[int]: return []", {"a": "VARCHAR", "b": ["BIGINT"]}, "- a"),
    ],
)  # fmt: skip
def test_a_construct_has_its_columns_and_its_line(
    tmp_path: Path, body: str, structure: dict[str, object], prompt: str
) -> None:
    schema = loaded(tmp_path, body)
    assert columns(schema) == structure
    assert describe(schema.fields) == prompt


@pytest.mark.parametrize("union", ['Annotated[Cat | Dog, Field(discriminator="kind")]', "Cat | Dog | None"])
def test_a_union_of_models_has_the_fields_of_all(tmp_path: Path, union: str) -> None:
    schema = loaded(tmp_path, f"pet: {union}")
    assert columns(schema) == {"pet": {"kind": "VARCHAR", "name": "VARCHAR", "lives": "BIGINT", "good": "BOOLEAN"}}
    assert describe(schema.fields).splitlines()[1:] == [
        "  - kind (cat|dog)",
        "  - name*: what it is called; how one calls it",
        "  - lives (integer, only where kind cat)",
        "  - good (true|false, only where kind dog)",
    ]
    listed = loaded(tmp_path, "pets: list[Cat | Dog]")
    assert listed.fields[0].anchor is not None and listed.fields[0].anchor.name == "name"


def test_columns_of_evidence_give_way_to_all_fields_called_alike(tmp_path: Path) -> None:
    row = "class Row(BaseModel):\n    q: Quote\n    Start: int\n    evidence_end: str\n    note: str\n"
    body = row + "class Thing(BaseModel):\n    rows: list[Row]"
    structure = columns(loaded(tmp_path, body))["rows"]
    assert isinstance(structure, list) and isinstance(structure[0], dict)
    assert {
        "Start",
        "evidence_end",
        "note",
        "evidence_evidence_start",
        "evidence_evidence_end",
        "evidence_note",
    } <= set(structure[0])


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("a: dict[str, Name]", "field 'a': a mark stands where no quote is looked up"),
        ("a: list[Name | None]", "field 'a': a mark stands where no quote is looked up"),
        ("a: Name | NumberQuote", "field 'a': a mark stands where no quote is looked up"),
        ("a: list[list[Quote]]", "field 'a': a mark stands where no quote is looked up"),
        ("a: Typed", "field 'a': a mark stands where no quote is looked up"),
        ("a: Cat | str", "field 'a': a mark stands where no quote is looked up"),
        ("a: dict[str, Cat]", "field 'a': a mark stands where no quote is looked up"),
        ("a: list[Cat | Bird]", "'name' is not the same in Cat and Bird; give it two names"),
        ('a: Annotated[int, *Name.__metadata__]', "field 'a': what is verbatim is a string"),
        ("Drug: str\ndrug: str", "the fields 'Drug' and 'drug' differ in case only"),
        ("q: NumberQuote\nv: Annotated[float, ValueOf('q')]", "field 'v': code fills it in, no reply has it; give it"),
        ("q: str\nv: Annotated[float | None, ValueOf('q')] = None", "ValueOf is of one number; make 'q' a NumberQuote"),
        ("q: list[NumberQuote]\nu: Annotated[str, UnitOf('q')]", "UnitOf is of one number"),
        ("u: Annotated[str, UnitOf('q')]", "UnitOf names 'q', which is no field of it; its fields are u"),
        ("a: 'Nowhere'", "a field is annotated with 'Nowhere', which is not defined"),
        ("a: Callable[[int], int]", "can't be said in JSON Schema"),
        ('a: str = Field(validation_alias=AliasPath("x", 0))', "field 'a': only a plain alias can be asked for"),
        ("a: 'dict[str, Thing]'", "'Thing' holds itself"),
        ("a: 'int | list[Thing]'", "'Thing' holds itself"),
        ("class Thing(RootModel[list[int]]):\n    pass", "a root model is no object of fields"),
        ("a: int\n@model_serializer\ndef s(self) -> str: return ''", "a model_serializer hides the fields"),
        ("class Other(BaseModel):\n    a: 'Thing | None'\nclass Thing(BaseModel):\n    b: Other", "holds itself"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_one_line(tmp_path: Path, body: str, said: str) -> None:
    with pytest.raises(SchemaError) as raised:
        loaded(tmp_path, body)
    assert said in str(raised.value) and "\n" not in str(raised.value)


# --- files


def test_annotations_that_are_text_are_looked_up_in_the_file(tmp_path: Path) -> None:
    source = "from __future__ import annotations\nfrom pydantic import BaseModel\n"
    source += "class Outer(BaseModel):\n    inner: list[Inner]\n\nclass Inner(BaseModel):\n    a: int\n"
    (tmp_path / "later.py").write_text(source, encoding="utf-8")
    assert columns(load_schema(f"{tmp_path / 'later.py'}:Outer")) == {"inner": [{"a": "BIGINT"}]}


@pytest.mark.parametrize("package", [False, True])
def test_a_file_may_import_what_lies_beside_it_and_each_has_its_own(tmp_path: Path, package: bool) -> None:
    structures = []
    for folder, kind in (("old", "int"), ("new", "str")):
        beside = tmp_path / folder / ("common/__init__.py" if package else "common.py")
        beside.parent.mkdir(parents=True)
        beside.write_text(f"from pydantic import BaseModel\nclass Part(BaseModel):\n    a: {kind}\n", encoding="utf-8")
        # a stray module with the name of an installed one is not taken for it
        (tmp_path / folder / "json.py").write_text("1 / 0", encoding="utf-8")
        whole = "import json\nfrom common import Part\nclass Whole(Part):\n    parts: list[Part]\n"
        (tmp_path / folder / "whole.py").write_text(whole, encoding="utf-8")
        structures.append(columns(load_schema(f"{tmp_path / folder / 'whole.py'}:Whole")))
    assert structures == [{"a": "BIGINT", "parts": [{"a": "BIGINT"}]}, {"a": "VARCHAR", "parts": [{"a": "VARCHAR"}]}]
    import json as installed

    assert installed is json


def test_two_classes_of_one_file_are_two_schemas(tmp_path: Path) -> None:
    both = "class Thing(BaseModel):\n    a: int\nclass OtherThing(BaseModel):\n    a: int"
    one, other = loaded(tmp_path, both), loaded(tmp_path, both, "OtherThing")
    assert (one.name, other.name) == ("thing", "other_thing") and one.hash != other.hash


def test_a_class_is_not_called_as_a_shipped_schema(tmp_path: Path) -> None:
    with pytest.raises(SchemaError, match="'paper' is the name of a shipped schema; rename the class"):
        loaded(tmp_path, "class Thing(BaseModel):\n    a: int\nclass Paper(Thing):\n    b: int", "Paper")


def test_the_shipped_schema_is_what_it_was() -> None:
    """Its answers are known by this: another value asks every user for every record again."""
    assert load_schema("paper").hash == "s1-cc29849e1be51a67d62e"
