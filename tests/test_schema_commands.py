"""`claimbase schema show|check|diff`: what a person is told of a schema, and of a change of one."""

import json
from pathlib import Path

import pytest

from extract.schema_report import find_form
from schemas.changes import Change, Changes, compare, form_of
from schemas.registry import load_schema
from tests.conftest import Command

HEAD = """
import datetime
from typing import Annotated, Literal
from pydantic import BaseModel, Field, computed_field
from schemas.base import Name, NumberQuote, QualifierOf, Quote, UnitOf, ValueOf

"""
OLD = """
class Effect(BaseModel):
    quote: NumberQuote = Field(description="the effect size")
    value: Annotated[float | None, ValueOf("quote")] = None
    unit: Annotated[str, UnitOf("quote")]

class Trial(BaseModel):
    order: Name = Field(description="the drug")
    arms: int = Field(ge=1)
    doses: dict[str, float]
    effects: list[Effect]
    sites: list[str]
"""
EDITS = (
    ('order: Name = Field(description="the drug")', 'order: Quote = Field(description="its name")'),
    ("arms: int = Field(ge=1)", "arms: int | None = Field(ge=2)"),
    ("    doses: dict[str, float]\n", ""),
    (
        '    unit: Annotated[str, UnitOf("quote")]',
        "    unit: str\n    start: datetime.date = datetime.date(2026, 1, 2)",
    ),
    ("sites: list[str]", "sites: list[Name]"),
)


def edited(source: str) -> str:
    for old, new in EDITS:
        assert old in source
        source = source.replace(old, new)
    return source


def schema(folder: Path, name: str, body: str) -> str:
    (folder / name).write_text(HEAD + body, encoding="utf-8")
    return f"{folder / name}:Trial"


@pytest.fixture
def old(tmp_path: Path) -> str:
    return schema(tmp_path, "old.py", OLD)


def changes(one: str, other: str) -> Changes:
    return compare(form_of(load_schema(one)), form_of(load_schema(other)))


def test_show_has_the_prompt_what_is_sent_and_the_views(claimbase: Command, old: str) -> None:
    said = claimbase("schema", "show", old)
    assert said.code == 0 and not said.err
    assert "  - order*: the drug\n  - arms (integer, at least 1)\n  - doses ({any key: number})\n" in said.out
    assert "The JSON schema that is sent, as advice (see `schema check`):\n  {\n" in said.out
    assert '"quote"' in said.out and "x-verbatim" not in said.out
    assert "\n  trial_effects, one row an item of effects\n    record_id VARCHAR\n    ordinal INTEGER\n" in said.out


def test_show_as_json_and_as_the_embedded_model_gets_it(claimbase: Command, old: str) -> None:
    plain = json.loads(claimbase("schema", "show", old, "--json").out)
    local = json.loads(claimbase("schema", "show", old, "--json", "--model", "local").out)
    assert plain["hash"] == local["hash"] == load_schema(old).hash and plain["strict"] is False
    assert plain["sent"]["properties"]["arms"] == {"type": "integer"}
    assert local["sent"]["properties"]["arms"] == {"type": "integer", "minimum": 1}
    assert plain["views"]["trial_effects"]["value"] == "DOUBLE"
    assert list(plain["views"]) == ["trials", "trial_effects", "trial_sites", "trial_claims"]
    shipped = json.loads(claimbase("schema", "show", "--json").out)
    assert (shipped["name"], shipped["strict"]) == ("paper", True)
    assert list(shipped["views"]) == ["papers", "datasets", "baselines", "headline_numbers", "claims"]


def test_check_says_what_becomes_of_each_field(claimbase: Command, old: str) -> None:
    said = claimbase("schema", "check", old)
    assert said.code == 0
    parts = dict(part.split(":\n", 1) for part in said.out.rstrip().split("\n\n")[1:])
    assert {title.partition(";")[0]: lines.splitlines() for title, lines in parts.items()} == {
        "An endpoint can't be held to these": [
            "  doses: an object with any keys; make it a list of a model with the key and the value as fields"
        ],
        "Not sent, but stated in the prompt and checked here": ["  arms: at least 1"],
        "Looked up in the text": ["  order", "  effects.quote"],
        "Filled in by code, never asked for": ["  effects.value: the value of quote"],
        "Words of SQL: write them in double quotes": ["  order"],
        "Advice": [
            f"  {field}: no description; the model has only its name to go by"
            for field in ("arms", "doses", "effects", "effects.unit", "sites")
        ],
    }


def test_check_advises_on_what_nothing_ties_to_the_text(claimbase: Command, tmp_path: Path) -> None:
    spec = schema(
        tmp_path, "loose.py", "class Row(BaseModel):\n    a: int\nclass Trial(BaseModel):\n    rows: list[Row]\n"
    )
    said = claimbase("schema", "check", spec).out
    assert "  rows: its items have no place in the text; give them a required Quote, Name or NumberQuote\n" in said
    assert said.endswith("  nothing in it is verbatim: no claim of it can be looked up in its text\n")


@pytest.mark.parametrize("command", ["show", "check"])
def test_a_schema_that_cannot_be_used_is_one_line(claimbase: Command, tmp_path: Path, command: str) -> None:
    spec = schema(tmp_path, "loop.py", "class Trial(BaseModel):\n    again: 'Trial | None'\n")
    said = claimbase("schema", command, spec)
    assert (said.code, said.out) == (2, "")
    assert said.err == "claimbase: schema 'Trial': 'Trial' holds itself; a schema must end somewhere\n"


def test_each_change_of_a_field_is_told(tmp_path: Path, old: str) -> None:
    found = changes(old, schema(tmp_path, "new.py", edited(OLD)))
    assert set(found.asked) == {
        Change(
            "changed", "order", ("rule 'its name', was 'the drug'", "mark 'a quote', was 'a quote, letter case apart'")
        ),
        Change("changed", "arms", ("type 'integer or null', was 'integer'", "limit 'at least 2', was 'at least 1'")),
        Change("removed", "doses"),
        Change("changed", "effects.unit", ("no mark now",)),
        Change("added", "effects.start", ("YYYY-MM-DD",)),
        Change("changed", "sites", ("mark 'a quote, letter case apart' is new",)),
    }
    back = changes(str(tmp_path / "new.py") + ":Trial", old)
    assert Change("changed", "effects.unit", ("mark \"the unit of 'quote'\" is new",)) in back.asked
    assert Change("added", "doses", ("{any key: number}",)) in back.asked


def test_a_new_computed_field_asks_for_nothing(claimbase: Command, tmp_path: Path, old: str) -> None:
    more = "\n    @computed_field\n    def many(self) -> bool: return self.arms > 2\n"
    said = claimbase("schema", "diff", old, schema(tmp_path, "new.py", OLD + more))
    assert said.code == 0
    assert said.out.splitlines()[1:] == [
        *("", "Computed fields:", "  + many: BOOLEAN", "", "Nothing is asked again."),
        "`claimbase rederive` makes the new columns from the stored replies.",
    ]


def test_what_no_field_shows_is_told_apart(claimbase: Command, tmp_path: Path, old: str) -> None:
    same = claimbase("schema", "diff", old, old).out
    assert "Nothing is asked again.\nIf a validator changed" in same
    documented = OLD.replace("class Effect(BaseModel):\n", 'class Effect(BaseModel):\n    """An effect."""\n')
    said = claimbase("schema", "diff", old, schema(tmp_path, "new.py", documented)).out
    assert "No field differs, but the name or the docstring of a class does" in said
    assert "`claimbase run` asks for every record again" in said


def test_a_form_is_found_in_a_database_by_the_start_of_its_hash(claimbase: Command, seeds_db: Path) -> None:
    paper = load_schema("paper")
    assert find_form(paper.hash[:9], seeds_db) == form_of(paper)
    said = claimbase("schema", "diff", paper.hash[:9], "paper", "--db", seeds_db)
    assert said.code == 0 and "Nothing is asked again." in said.out
    missing = claimbase("schema", "diff", "s1-000", "paper", "--db", seeds_db)
    assert (missing.code, missing.err.count("\n")) == (2, 1)
    assert "no schema 's1-000'; it has none that begins so" in missing.err
