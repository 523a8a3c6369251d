"""A user's own schema, as the docs show it: from `run` to views, with the examples of the docs themselves."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from extract.rederive import rederive
from extract.schema_report import explained, find_form, records_done
from schemas.registry import load_schema
from store.db import Store
from store.views import short
from tests.engine import ROOT, extract, request_for, rows, write_texts
from tests.scripted import Script, running

TEXT = (
    "In a randomized trial of 120 adults, Solvane shortened fever by 2.5 days. Pain fell by 30\\%, "
    "and no patient was readmitted."
)


def python_blocks(page: str) -> list[str]:
    return re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(encoding="utf-8"), re.DOTALL)


def sql_blocks(page: str) -> list[str]:
    return re.findall(r"```sql\n(.*?)```", (ROOT / page).read_text(encoding="utf-8"), re.DOTALL)


@pytest.fixture
def trials(tmp_path: Path) -> Path:
    path = tmp_path / "trials.py"
    path.write_text(python_blocks("docs/schemas.md")[0], encoding="utf-8")
    return path


def effect(quote: str, unit: str, outcome: str | None) -> dict[str, Any]:
    return {"quote": quote, "unit": unit, "outcome": outcome}


ANSWER = {
    "drug": "solvane",
    "design": "randomized",
    "patients": 120,
    "finding": "Solvane shortened fever by 2.5 days",
    "effects": [effect("2.5", "days", "fever"), effect("30%", "x", "pain"), effect("31%", "%", None)],
}


def test_the_schema_of_the_docs_runs_to_its_views(tmp_path: Path, trials: Path) -> None:
    db, texts = tmp_path / "claims.duckdb", write_texts(tmp_path / "in.jsonl", [TEXT])
    with running(Script(default=ANSWER)) as server:
        run = extract(request_for(server, db, [texts], schema=f"{trials}:Trial", reasks=0))
        sent: Any = server.requests[0]
    assert (run.ended.tally.done, run.code) == (1, 0)
    assert "- drug*: the drug under trial" in sent["messages"][0]["content"]
    properties = sent["response_format"]["json_schema"]["schema"]["$defs"]["Effect"]["properties"]
    assert list(properties) == ["quote", "unit", "outcome"], "a value is never asked for"
    assert rows(db, "SELECT drug, design, patients, finding FROM trials") == [
        ("Solvane", "randomized", 120, "Solvane shortened fever by 2.5 days")
    ]
    query, *_ = sql_blocks("docs/schemas.md")
    assert [row[2:] for row in rows(db, query)] == [
        ("fever", "2.5", 2.5, "days"),
        ("Pain", "30\\%", 30.0, "%"),
    ]
    assert rows(db, "SELECT path, quote FROM rejected ORDER BY ALL") == [
        ("effects.quote", "31%"),
        ("effects.unit", "x"),
    ]
    wrong = 'SELECT * FROM trial_effects JOIN records USING (record_id) WHERE text[start + 1:"end"] <> quote'
    assert rows(db, wrong) == []


def test_the_readmes_schema_loads(tmp_path: Path) -> None:
    path = tmp_path / "trials.py"
    path.write_text(python_blocks("README.md")[0], encoding="utf-8")
    assert [field.name for field in load_schema(f"{path}:Trial").fields] == ["drug", "patients", "effects"]


def test_a_new_computed_field_is_served_without_a_call(tmp_path: Path, trials: Path) -> None:
    db, texts = tmp_path / "claims.duckdb", write_texts(tmp_path / "in.jsonl", [TEXT])
    spec = f"{trials}:Trial"
    with running(Script(default=ANSWER)) as server:
        extract(request_for(server, db, [texts], schema=spec, reasks=0))
        computed = ["", "@computed_field", "@property", "def large(self) -> bool:", "    return self.patients > 100"]
        added = "\n    ".join(computed) + "\n"
        source = trials.read_text(encoding="utf-8").replace("BaseModel, Field", "BaseModel, Field, computed_field")
        trials.write_text(source + added, encoding="utf-8")
        done = rederive(Store(db), spec)
        assert server.stats().requests == 1
    assert (done.read, done.changed, done.unfit) == (1, 1, 0)
    assert rows(db, "SELECT drug, large FROM trials") == [("Solvane", True)]


# --- a schema's own code

OWN_CODE = """
from typing import Annotated
from pydantic import BaseModel, computed_field, field_validator
from schemas.base import Name, NumberQuote, ValueOf

class Effect(BaseModel):
    quote: NumberQuote
    value: Annotated[float | None, ValueOf("quote")] = None

    @computed_field
    def half(self) -> float:
        return self.value / 2

class Trial(BaseModel):
    drug: Name
    arms: int
    effects: list[Effect]

    @field_validator("arms")
    @classmethod
    def _at_least_two(cls, arms: int) -> int:
        if arms < 2:
            raise ValueError("a trial has two arms or more")
        return [arms][0 if arms < 100 else arms]

    @computed_field
    def largest(self) -> float | None:
        return max((effect.half for effect in self.effects), default=None)

    @computed_field
    def per_arm(self) -> float:
        return 1 / (self.arms - 3)
"""


@pytest.fixture
def own_code(tmp_path: Path) -> str:
    (tmp_path / "coded.py").write_text(OWN_CODE, encoding="utf-8")
    return f"{tmp_path / 'coded.py'}:Trial"


def coded(arms: int, *quotes: str) -> dict[str, Any]:
    return {"drug": "Solvane", "arms": arms, "effects": [{"quote": quote} for quote in quotes]}


@pytest.mark.parametrize(
    ("arms", "fault"),
    [(1, "arms: Value error, a trial has two arms or more"), (500, "a validator fails on it: IndexError")],
)
def test_what_a_validator_raises_is_asked_again(tmp_path: Path, own_code: str, arms: int, fault: str) -> None:
    answers = iter([coded(arms, "2.5"), coded(2, "2.5")])
    texts = write_texts(tmp_path / "in.jsonl", [TEXT])
    with running(Script(default=lambda asked: next(answers))) as server:
        run = extract(request_for(server, tmp_path / "c.duckdb", [texts], schema=own_code, reasks=1))
        asked_again: Any = server.requests[1]
    assert run.rows("SELECT status FROM attempts ORDER BY n") == [("invalid",), ("ok",)]
    assert fault in run.rows("SELECT error FROM attempts WHERE n = 1")[0][0]
    assert fault in json.dumps(asked_again["messages"][-1])
    assert run.rows("SELECT arms FROM trials") == [(2,)]


def test_what_is_computed_sees_what_is_kept_and_no_more(tmp_path: Path, own_code: str) -> None:
    texts = write_texts(tmp_path / "in.jsonl", [TEXT])
    with running(Script(default=coded(4, "2.5", "30%", "999"))) as server:
        run = extract(request_for(server, tmp_path / "c.duckdb", [texts], schema=own_code, reasks=0))
    assert run.rows("SELECT quote, value, half FROM trial_effects ORDER BY ordinal") == [
        ("2.5", 2.5, 1.25),
        ("30\\%", 30.0, 15.0),
    ]
    assert run.rows("SELECT largest, per_arm FROM trials") == [(15.0, 1.0)], "999 isn't in the text"


def test_a_computed_field_that_fails_is_null_and_says_why(tmp_path: Path, own_code: str) -> None:
    db, texts = tmp_path / "c.duckdb", write_texts(tmp_path / "in.jsonl", [TEXT])
    with running(Script(default=coded(3, "2.5"))) as server:
        run = extract(request_for(server, db, [texts], schema=own_code))
        path = Path(own_code.rpartition(":")[0])
        assert run.rows("SELECT largest, per_arm FROM trials") == [(1.25, None)]
        assert run.rows("SELECT path, reason FROM rejected") == [("per_arm", "ZeroDivisionError: division by zero")]
        path.write_text(OWN_CODE.replace("self.arms - 3", "self.arms"), encoding="utf-8")
        done = rederive(Store(db), own_code)
        assert server.stats().requests == 1
    assert (done.changed, run.rows("SELECT per_arm FROM trials")) == (1, [(1 / 3,)])
    assert run.rows("SELECT count(*) FROM rejected") == [(0,)]


# --- numbers beside a number, lists within lists

NESTED = """
from typing import Annotated, Literal
from pydantic import BaseModel, Field
from schemas.base import Name, NumberQuote, QualifierOf, UnitOf, ValueOf
from schemas.qualifiers import Qualifier

class Effect(BaseModel):
    quote: NumberQuote
    value: Annotated[float | None, ValueOf("quote")] = None
    unit: Annotated[str, UnitOf("quote")]
    low: NumberQuote | None
    low_value: Annotated[float | None, ValueOf("low")] = None
    p: NumberQuote | None
    p_value: Annotated[float | None, ValueOf("p")] = None
    p_bound: Annotated[Qualifier | None, QualifierOf("p")] = None

class Arm(BaseModel):
    drug: Name
    effects: list[Effect]
    sites: list[Name]

class Trial(BaseModel):
    size: NumberQuote
    count: Annotated[float | None, ValueOf("size")] = None
    arms: list[Arm]
"""
TWO_ARMS = (
    "We treated 1,204 adults. Solvane cut pain by 5 points (from 2.5 at best; P<0.05) in Oslo and Turku. "
    "Mirlax cut pain by 5 points (from 0.5 at best; P<0.01), and cost by 5% in Oslo."
)


def test_lists_within_lists_have_views_that_join(tmp_path: Path) -> None:
    (tmp_path / "nested.py").write_text(NESTED, encoding="utf-8")
    effect_of = {"unit": "", "low": None, "p": None}
    answer = {
        "size": "1,204",
        "arms": [
            {
                "drug": "Solvane",
                "effects": [{**effect_of, "quote": "5", "unit": "points", "low": "2.5", "p": "0.05"}],
                "sites": ["Oslo", "Turku"],
            },
            {
                "drug": "Mirlax",
                "effects": [
                    {**effect_of, "quote": "5", "unit": "points", "low": "0.5", "p": "0.01"},
                    {**effect_of, "quote": "5%", "unit": "%"},
                ],
                "sites": ["Oslo"],
            },
        ],
    }
    texts = write_texts(tmp_path / "in.jsonl", [TWO_ARMS])
    with running(Script(default=answer)) as server:
        schema = f"{tmp_path / 'nested.py'}:Trial"
        run = extract(request_for(server, tmp_path / "c.duckdb", [texts], schema=schema, reasks=0))
    assert run.rows("SELECT size, count FROM trials") == [("1,204", 1204.0)]
    joined = """SELECT a.drug, e.ordinal, e.value, e.low_value, e.p_value, e.p_bound FROM trial_arms a
        JOIN trial_arms_effects e ON (e.record_id, e.arm_ordinal) = (a.record_id, a.ordinal) ORDER BY ALL"""
    assert run.rows(joined) == [
        ("Mirlax", 0, 5.0, 0.5, 0.01, "up_to"),
        ("Mirlax", 1, 5.0, None, None, None),
        ("Solvane", 0, 5.0, 2.5, 0.05, "up_to"),
    ]
    assert run.rows("SELECT arm_ordinal, ordinal, name FROM trial_arms_sites ORDER BY ALL") == [
        (0, 0, "Oslo"),
        (0, 1, "Turku"),
        (1, 0, "Oslo"),
    ]
    assert run.rows("SELECT count, arm_drug, value, unit FROM trial_claims ORDER BY arm_ordinal, ordinal")[2] == (
        *(1204.0, "Mirlax", 5.0, "%"),
    )


# --- forms of a schema


def test_a_schema_a_changed_one_and_another_live_in_one_database(tmp_path: Path, trials: Path) -> None:
    db, texts = tmp_path / "c.duckdb", write_texts(tmp_path / "in.jsonl", [TEXT])
    changed, other = tmp_path / "changed.py", tmp_path / "other.py"
    changed.write_text(trials.read_text(encoding="utf-8").replace("patients: int | None", "people: int | None"))
    other.write_text("from pydantic import BaseModel\nclass Place(BaseModel):\n    town: str\n", encoding="utf-8")
    new = {("people" if key == "patients" else key): value for key, value in ANSWER.items()}
    runs: list[tuple[str, dict[str, Any]]] = [
        (f"{trials}:Trial", ANSWER),
        (f"{changed}:Trial", {**new, "people": 7}),
        (f"{other}:Place", {"town": "Oslo"}),
    ]
    for schema, said in runs:
        with running(Script(default=said)) as server:
            assert extract(request_for(server, db, [texts], schema=schema, reasks=0)).ended.tally.calls == 1
    old_hash = load_schema(f"{trials}:Trial").hash
    old = f"_{short(old_hash)}"
    assert rows(db, "SELECT people FROM trials") == [(7,)]
    assert rows(db, f"SELECT patients FROM trials{old}") == [(120,)]
    assert rows(db, f"SELECT quote, value FROM trial_effects{old}") == rows(
        db, "SELECT quote, value FROM trial_effects"
    )
    assert rows(db, "SELECT town FROM places") == [("Oslo",)]
    assert rows(db, "SELECT count(*) FROM outcomes WHERE status = 'done'") == [(3,)]
    told = list(explained(find_form(old_hash, db), find_form(f"{changed}:Trial", db), records_done(db, old_hash)))
    assert [line for line in told if line.startswith("  ")] == [
        "  + people: integer or null",
        "  - patients",
    ]
    assert told[-2:] == [
        "`claimbase run` asks for the 1 record done again. What was done stays: its views get",
        f"`{old}` behind their names once the new form has run.",
    ]
    assert list(explained(find_form("paper", db), find_form(f"{other}:Place", db), None))[-1] == (
        "These are two schemas: the views of paper and of place stand side by side."
    )
