"""The example schemas of the docs: from `run` to `export` and `eval`, by a scripted server and the embedded model."""

import csv
import importlib.util
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from extract.gold import read_own_gold
from schemas.registry import load_schema
from store.query import run_query
from tests.conftest import MODEL, ROOT, Command
from tests.engine import rows
from tests.scripted import Script, running

EXAMPLES = ROOT / "docs" / "examples"
PAGE = (ROOT / "docs" / "schemas.md").read_text(encoding="utf-8")


@dataclass(frozen=True, slots=True)
class Example:
    """An example schema, and the view of its numbers."""

    file: str
    model: str
    claims: str

    @property
    def schema(self) -> str:
        return f"docs/examples/{self.file}.py:{self.model}"

    @property
    def gold(self) -> str:
        return f"docs/examples/{self.file}.jsonl"

    def rows(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in (ROOT / self.gold).read_text(encoding="utf-8").splitlines()]


TRIAL = Example("trial", "Trial", "trial_claims")
MATERIAL = Example("material", "Report", "report_claims")


@pytest.fixture(autouse=True)
def _in_the_repository(monkeypatch: pytest.MonkeyPatch) -> None:
    """The page's commands name the examples from there."""
    monkeypatch.chdir(ROOT)


def extracted(claimbase: Command, example: Example, db: Path, answers: dict[str, Any]) -> None:
    with running(Script(answers=answers)) as server:
        options = ["--schema", example.schema, "--model", MODEL, "--base-url", server.base_url, "--db", db]
        said = claimbase("run", example.gold, *options)
    assert said.code == 0, said.err


def scores(claimbase: Command, example: Example, db: Path) -> dict[str, Any]:
    said = claimbase("eval", example.gold, "--schema", example.schema, "--db", db, "--json")
    assert said.code == 0, said.err
    [row] = json.loads(said.out)
    return dict(row)


@pytest.mark.parametrize("example", [TRIAL, MATERIAL], ids=lambda e: e.file)
def test_right_answers_are_right_from_run_to_eval(claimbase: Command, tmp_path: Path, example: Example) -> None:
    db, target = tmp_path / "c.duckdb", tmp_path / "claims.csv"
    extracted(claimbase, example, db, {row["abstract"]: row["gold"] for row in example.rows()})
    row = scores(claimbase, example, db)
    assert (row["done"], row["whole"], row["misses"]) == (5, 5, [])
    assert all(s["wrong"] == s["missed"] == 0 for s in row["fields"].values())
    assert claimbase("export", example.claims, "--to", target, "--db", db).code == 0
    with target.open(encoding="utf-8", newline="") as file:
        exported = list(csv.DictReader(file))
    gold = list(read_own_gold(ROOT / example.gold, load_schema(example.schema)))
    lists = [r.claims["outcomes"] if example is TRIAL else r.claims["materials"] for r in gold]
    numbers = [n for found in lists for item in found for n in item.get("measurements", [item])]
    assert sorted(float(r["value"]) for r in exported) == sorted(n["value"] for n in numbers) and len(numbers) > 7
    misplaced = f'SELECT * FROM {example.claims} JOIN records USING (record_id) WHERE text[start + 1:"end"] <> '
    assert rows(db, misplaced + ("effect" if example is TRIAL else "quote")) == []


def test_a_wrong_answer_costs_what_is_wrong_of_it(claimbase: Command, tmp_path: Path) -> None:
    answers = {row["abstract"]: row["gold"] for row in TRIAL.rows()}
    first, *_ = answers.values()
    first["outcomes"][0] |= {"measure": "odds_ratio", "ci_low": "0.77"}
    first["outcomes"].pop(1)
    first["intervention"] = "placebos"
    db = tmp_path / "c.duckdb"
    extracted(claimbase, TRIAL, db, answers)
    row = scores(claimbase, TRIAL, db)
    wrong = {name: (s["wrong"], s["missed"]) for name, s in row["fields"].items() if s["wrong"] or s["missed"]}
    assert wrong == {
        "intervention": (0, 1),
        "outcomes": (0, 1),
        "outcomes.name": (0, 1),
        "outcomes.measure": (1, 2),
        "outcomes.unit": (0, 1),
        "outcomes.ci_low": (1, 2),
        "outcomes.ci_high": (0, 1),
        "outcomes.p": (0, 1),
    }
    assert row["whole"] == 4


def commands() -> list[list[str]]:
    """The commands that the page shows, of the examples."""
    lines = [line for block in re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL) for line in block.splitlines()]
    return [line.split("#")[0].split()[1:] for line in lines if "docs/examples/" in line]


def test_the_pages_commands_do_what_it_says(claimbase: Command, tmp_path: Path) -> None:
    answers = {row["abstract"]: row["gold"] for example in (TRIAL, MATERIAL) for row in example.rows()}
    assert {command[0] for command in commands()} == {"run", "eval", "schema"}
    with running(Script(answers=answers)) as server:
        for command in commands():
            here = ["--db", str(tmp_path / "c.duckdb")] if command[0] != "schema" else []
            asked = ["--model", MODEL, "--base-url", server.base_url] if command[0] == "run" else []
            said = claimbase(*command, *here, *asked)
            assert said.code == 0, (command, said.err)
    db = tmp_path / "c.duckdb"
    queries = "".join(re.findall(r"```sql\n(.*?)```", PAGE.partition("## Two examples")[2], re.DOTALL)).split(";")
    assert [len(list(run_query(db, sql).rows)) for sql in queries if sql.strip()] == [3, 5, 5]


def test_every_python_of_the_examples_is_typed_and_shown() -> None:
    for example in (TRIAL, MATERIAL):
        assert f"[{example.file}.py](examples/{example.file}.py)" in PAGE


@pytest.mark.local_model
@pytest.mark.skipif(importlib.util.find_spec("xllamacpp") is None, reason="the extra `local` is not installed")
@pytest.mark.parametrize("example", [TRIAL, MATERIAL], ids=lambda e: e.file)
def test_the_embedded_model_answers_in_form(claimbase: Command, tmp_path: Path, example: Example) -> None:
    db = tmp_path / "c.duckdb"
    said = claimbase("run", example.gold, "--schema", example.schema, "--db", db)
    assert said.code in (0, 3), said.err
    row = scores(claimbase, example, db)
    assert row["done"] + len(row["missing"]) == 5 and row["done"] >= 3
    # The grammar and its bounds hold it to the schema; what a validator of the schema's own asks it can't be held to.
    refused = rows(db, "SELECT error FROM attempts WHERE status <> 'ok'")
    assert len(refused) == 5 - row["done"] and all(error.startswith("reply: Value error") for (error,) in refused)
