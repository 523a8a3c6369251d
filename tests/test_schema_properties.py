"""Any schema: what a reply says is what the views give back, for models made up at random."""

import datetime
import enum
import functools
import json
import tempfile
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Literal

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, Field, create_model

from extract.claims import derive
from extract.grounding import GroundedText
from extract.readers.text import make_record
from extract.replies import read_reply
from schemas.base import Name, NumberQuote, Quote, ValueOf
from schemas.registry import fingerprinted
from schemas.sent import sent_schema
from schemas.shape import EVIDENCE_COLUMNS
from store.db import Store
from store.export import export
from store.rows import Outcome, Prompt, Run, Schema
from store.structure import Column, ListField, Shape, shape_of

NOW = datetime.datetime(2026, 1, 2, tzinfo=UTC)
NAMES = [f"Alder{i}x" for i in range(8)]
NUMBERS = [f"{i}7.5" for i in range(1, 9)]
TEXT = " ".join(f"With {name} it was {number}." for name, number in zip(NAMES, NUMBERS, strict=True))
FIELD_NAMES = (
    "order", "select", "group", "table", "end", "start", "match", "note", "record_id", "source_id", "title", "model",
    "run_id", "ordinal", "value", "name", "item", "naïve", "text", "a", "b", "a_b",
)  # fmt: skip


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Cat(BaseModel):
    kind: Literal["cat"]
    called: Name
    lives: int


class Dog(BaseModel):
    kind: Literal["dog"]
    called: Name
    weighs: float | None


Values = st.SearchStrategy[Any]


@dataclass(frozen=True)
class Kind:
    """A type of field, and its values in a reply. `anchors`: a list's items can be told apart by it."""

    annotation: Any
    values: Values
    anchors: bool = False


def json_of(values: Values) -> Values:
    return values.map(lambda value: value.isoformat() if hasattr(value, "isoformat") else str(value))


TEXTS = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=12)
INTEGERS = st.integers(-(2**63), 2**63 - 1)
FLOATS = st.floats(allow_nan=False, allow_infinity=False)
SCALARS = (
    Kind(str, TEXTS),
    Kind(int, INTEGERS),
    Kind(float, FLOATS),
    Kind(bool, st.booleans()),
    Kind(Decimal, st.decimals(-1000, 1000, places=2).map(str)),
    Kind(datetime.date, json_of(st.dates())),
    Kind(datetime.datetime, json_of(st.datetimes())),
    Kind(datetime.time, json_of(st.times())),
    Kind(uuid.UUID, json_of(st.uuids())),
    Kind(Colour, st.sampled_from(["red", "blue"])),
    Kind(Literal["x", "y"], st.sampled_from(["x", "y"])),
    Kind(Literal[1, 2], st.sampled_from([1, 2])),
    Kind(int | str, INTEGERS | TEXTS),
    Kind(int | None, st.none() | INTEGERS),
    Kind(Annotated[int, Field(ge=3)], st.integers(3, 9)),
)
QUOTES = (
    Kind(Name, st.sampled_from(NAMES), anchors=True),
    Kind(Quote, st.sampled_from(NAMES), anchors=True),
    Kind(NumberQuote, st.sampled_from(NUMBERS), anchors=True),
    Kind(Name | None, st.none() | st.sampled_from(NAMES)),
)
LISTS = (
    Kind(list[Name], st.lists(st.sampled_from(NAMES), unique=True, max_size=3)),
    Kind(list[int], st.lists(INTEGERS, max_size=3)),
    Kind(list[Colour], st.lists(st.sampled_from(["red", "blue"]), max_size=3)),
    Kind(dict[str, int], st.dictionaries(TEXTS, INTEGERS, max_size=2)),
    Kind(tuple[int, str], st.tuples(INTEGERS, TEXTS).map(list)),
)
PET = st.one_of(
    st.fixed_dictionaries({"kind": st.just("cat"), "called": st.sampled_from(NAMES), "lives": INTEGERS}),
    st.fixed_dictionaries({"kind": st.just("dog"), "called": st.sampled_from(NAMES), "weighs": st.none() | FLOATS}),
)
UNION = Kind(Annotated[Cat | Dog, Field(discriminator="kind")], PET)
UNIONS = Kind(
    list[Annotated[Cat | Dog, Field(discriminator="kind")]], st.lists(PET, max_size=3, unique_by=lambda p: p["called"])
)


@st.composite
def models(draw: st.DrawFn, depth: int = 0) -> tuple[type[BaseModel], Values, str | None]:
    """A model, the replies that fit it, and the field that its items are told apart by in a list."""
    names = draw(st.lists(st.sampled_from(FIELD_NAMES), min_size=1, max_size=4, unique=True))
    fields: dict[str, Any] = {}
    replies: dict[str, Values] = {"sure": INTEGERS}
    numbers: list[str] = []
    quotes: list[str] = []
    for name in names:
        kind = draw(kinds(depth))
        fields[name] = (kind.annotation, Field(description=f"the {name}"))
        replies[name] = kind.values
        (numbers if kind.annotation is NumberQuote else quotes if kind.anchors else []).append(name)
    if numbers:
        fields["code_value"] = (Annotated[float | None, ValueOf(numbers[0])], None)
    model = create_model(f"M{depth}", sure=(int, ...), **fields)
    return model, st.fixed_dictionaries(replies), next(iter(numbers + quotes), None)


@st.composite
def kinds(draw: st.DrawFn, depth: int) -> Kind:
    nested = ["model", "optional", "list"] if depth < 2 else []
    which = draw(st.sampled_from(["scalar", "scalar", "quote", "quote", "many", "union", *nested]))
    if which == "scalar":
        return draw(st.sampled_from(SCALARS))
    if which == "quote":
        return draw(st.sampled_from(QUOTES))
    if which == "many":
        return draw(st.sampled_from(LISTS))
    if which == "union":
        return draw(st.sampled_from((UNION, UNIONS)))
    model, replies, anchor = draw(models(depth + 1))
    if which == "model":
        return Kind(model, replies)
    if which == "optional":
        return Kind(model | None, st.none() | replies)
    key: Callable[[Any], Any] = (lambda item: item[anchor]) if anchor else json.dumps
    return Kind(list[model], st.lists(replies, max_size=2, unique_by=key))  # type: ignore[valid-type]  # made at run time


@st.composite
def cases(draw: st.DrawFn) -> tuple[type[BaseModel], dict[str, Any]]:
    model, replies, _ = draw(models())
    return model, draw(replies)


@functools.cache
def empty_database() -> bytes:
    """A new database's file: to make one anew takes most of an example's time."""
    with tempfile.TemporaryDirectory() as folder:
        store = Store(Path(folder) / "empty.duckdb")
        store.create()
        return store.path.read_bytes()


def stored(folder: Path, model: type[BaseModel], reply: dict[str, Any]) -> tuple[Path, Shape, BaseModel]:
    """Put a reply through what a run does with one; return the database, its shape, and the model's instance."""
    loaded = fingerprinted("thing", model)
    instance = read_reply(model, json.dumps(reply))
    derived = derive(loaded.fields, instance, GroundedText(TEXT))
    assert derived.faults == []
    store = Store(folder / "p.duckdb")
    store.path.write_bytes(empty_database())
    schema = Schema(loaded.hash, loaded.name, loaded.json_schema, json.dumps(loaded.structure))
    store.begin_run(
        Run("r", NOW, "m", "e", loaded.hash, "p", "q", "{}", "0", "h", 1), schema, Prompt("p", "any", 1, "")
    )
    record = make_record(TEXT, "f", "line 1")
    store.save("r", [record], [Outcome(record.record_id, "done", None, None, json.dumps(derived.value), NOW)])
    return store.path, shape_of(loaded.name, schema.structure), instance


def rows(db: Path, view: str) -> list[list[Any]]:
    """A view's rows as an export has them, in the order of its columns."""
    target = db.with_name(f"{view}.jsonl")
    export(db, view, str(target), force=True)
    return [list(json.loads(line).values()) for line in target.read_text(encoding="utf-8").split("\n")[:-1]]


def put(into: dict[str, Any], path: Sequence[str], value: Any) -> None:
    for key in path[:-1]:
        into = into.setdefault(key, {})
    into[path[-1]] = value


def filled(columns: Sequence[Column], values: Sequence[Any]) -> Any:
    """The object that these columns unfold; of a column without a path, the value."""
    made: dict[str, Any] = {}
    for column, value in zip(columns, values, strict=True):
        if not column.path:
            return value
        put(made, column.path, value)
    return made


def put_together(db: Path, shape: Shape) -> dict[str, Any]:
    """The value that the exported views show."""
    [row] = rows(db, "things")
    value: dict[str, Any] = filled(shape.scalars, row[3 : 3 + len(shape.scalars)])
    made: dict[int, dict[tuple[int, ...], Any]] = {}
    for field in shape.lists:
        depth = len(field.within)
        parents = made[id(field.within[-1])] if depth else {(): value}
        for parent in parents.values():
            put(parent, field.path, [])
        items = sorted(rows(db, f"thing_{field.name}"), key=lambda row: row[1 : 2 + depth])
        made[id(field)] = {}
        for row in items:
            *above, ordinal = row[1 : 2 + depth]
            item = filled(field.columns, row[2 + depth : 2 + depth + len(field.columns)])
            holder: Any = parents[tuple(above)]
            for key in field.path:
                holder = holder[key]
            holder.append(item["name"] if is_name(field) else item)
            made[id(field)][(*above, ordinal)] = item
    return value


def is_name(field: ListField) -> bool:
    return [column.name for column in field.columns] == ["name", *EVIDENCE_COLUMNS]


def without_code(value: Any) -> Any:
    """Without what only code fills in, and with an object of nothing for none: a view can't tell these apart."""
    if isinstance(value, Mapping):
        kept = {key: without_code(item) for key, item in value.items() if key != "code_value"}
        return None if "sure" in kept and kept["sure"] is None else kept
    return [without_code(item) for item in value] if isinstance(value, list) else value


@settings(deadline=None, max_examples=15, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(case=cases())
def test_what_a_reply_says_is_what_the_views_give_back(case: tuple[type[BaseModel], dict[str, Any]]) -> None:
    model, reply = case
    with tempfile.TemporaryDirectory() as folder:
        db, shape, instance = stored(Path(folder), model, reply)
        back = model.model_validate_json(json.dumps(without_code(put_together(db, shape))))
    assert back == instance


@settings(deadline=None, max_examples=30, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(case=cases())
def test_what_is_sent_is_plain_and_asks_for_what_a_reply_needs(case: tuple[type[BaseModel], dict[str, Any]]) -> None:
    model, reply = case
    sent = sent_schema(model)
    assert sent["required"] == list(sent["properties"]) and set(sent["properties"]) == set(reply)
    text = json.dumps(sent)
    assert not [
        key for key in ("discriminator", "oneOf", "minimum", "x-verbatim", "x-derived-from") if f'"{key}"' in text
    ]
