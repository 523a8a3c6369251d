"""What of a schema an endpoint can be held to, what is left to the reply's check, what llama.cpp's grammars take."""

import datetime
from pathlib import Path
from typing import Any, Literal

import pytest
from pydantic import BaseModel, Field

from schemas.base import Name
from schemas.sent import Bounds, sent_schema
from schemas.strict import left_out, refusals
from schemas.wording import words
from tests.engine import extract, request_for, write_texts
from tests.scripted import Script, running


class Dose(BaseModel):
    drug: Name = Field(min_length=2, max_length=40)
    milligrams: float = Field(gt=0)


class Held(BaseModel):
    doses: list[Dose] = Field(min_length=1)
    arms: int = Field(ge=1, le=9)
    kinds: set[Literal["a", "b"]]
    begun: datetime.date


class Free(BaseModel):
    table: dict[str, int]
    pair: tuple[int, str]
    rows: list[dict[str, Dose]]
    whatever: Any
    rest: list[Any]


def test_what_is_held_is_refused_by_none() -> None:
    assert refusals(sent_schema(Held)) == []


def test_each_part_that_no_endpoint_can_be_held_to_is_named_with_the_way_out() -> None:
    assert [line.partition(";")[0] for line in refusals(sent_schema(Free))] == [
        "table: an object with any keys",
        "pair: a tuple of fixed places",
        "rows: an object with any keys",
        "whatever: any value at all",
        "rest: any value at all",
    ]


def test_constraints_are_not_sent_but_told() -> None:
    assert left_out(Held.model_json_schema()) == [
        "doses: at least 1 of them",
        "doses.drug: at least 2 characters, at most 40 characters",
        "doses.milligrams: more than 0",
        "arms: at least 1, at most 9",
        "kinds: two of the list may not be alike",
    ]
    sent = sent_schema(Held)
    assert sent["properties"]["arms"] == {"type": "integer"} and sent["properties"]["begun"] == {"type": "string"}


def test_a_grammar_takes_some_of_them() -> None:
    bounded = sent_schema(Held, Bounds(24, 200))
    assert bounded["properties"]["arms"] == {"type": "integer", "minimum": 1, "maximum": 9}
    assert bounded["properties"]["begun"] == {"type": "string", "format": "date"}
    assert bounded["properties"]["doses"]["minItems"] == 1
    assert bounded["$defs"]["Dose"]["properties"]["drug"] == {"type": "string", "maxLength": 40, "minLength": 2}


@pytest.mark.parametrize(
    ("node", "said"),
    [
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, "integer or null"),
        ({"type": "string", "format": "date"}, "YYYY-MM-DD"),
        ({"$ref": "#/$defs/P"}, "{x: number}"),
        ({"type": "object"}, "{any key: any JSON}"),
        ({"type": "array", "items": {"enum": ["a", "b", None]}}, "list of a|b"),
        ({"const": 3}, "3"),
        ({}, "any JSON"),
    ],
)
def test_a_json_schema_is_said_in_words(node: dict[str, Any], said: str) -> None:
    assert words(node, {"P": {"type": "object", "properties": {"x": {"type": "number"}}}}) == said


@pytest.mark.parametrize(("mode", "annotation", "strict"), [
    ("json_schema", "int", True), ("json_schema", "dict[str, int]", False), ("tools", "dict[str, int]", False),
])  # fmt: skip
def test_an_endpoint_is_asked_to_be_strict_where_it_can_be(
    tmp_path: Path, mode: str, annotation: str, strict: bool
) -> None:
    own = tmp_path / "own.py"
    own.write_text(f"from pydantic import BaseModel\nclass Own(BaseModel):\n    a: {annotation}\n", encoding="utf-8")
    answer = {"a": 3 if strict else {"x": 3}}
    with running(Script(default=answer)) as server:
        texts = write_texts(tmp_path / "in.jsonl", ["An abstract of a few words."])
        run = extract(request_for(server, tmp_path / "c.duckdb", [texts], schema=f"{own}:Own", mode=mode))
        sent: Any = server.requests[0]
    assert run.ended.tally.done == 1
    holder = sent["response_format"]["json_schema"] if mode == "json_schema" else sent["tools"][0]["function"]
    assert holder["strict"] is strict
    assert run.rows("SELECT a FROM owns") == [(3 if strict else '{"x":3}',)]
