"""A user's own schema, as the docs show it: from `run` to views, with the examples of the docs themselves."""

import re
from pathlib import Path
from typing import Any

import pytest

from extract.rederive import rederive
from schemas.registry import load_schema
from store.db import Store
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
    (query,) = sql_blocks("docs/schemas.md")
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
    assert list(load_schema(f"{path}:Trial").structure) == ["drug", "patients", "effects"]


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
