import json
from dataclasses import replace
from pathlib import Path

import pytest

from extract.diff import FieldAgreement, diff
from extract.errors import MistakeError
from schemas.registry import load_schema
from store.db import Store
from store.rows import Schema
from tests.conftest import Command
from tests.field_samples import FIELD, Number, Paper
from tests.store_samples import PROMPT, a_run, failed, made

LOADED = load_schema("paper")
SCHEMA = Schema(LOADED.hash, LOADED.name, LOADED.json_schema, json.dumps(LOADED.structure))


def two_runs(folder: Path, first: list[Paper], second: list[Paper]) -> Store:
    """A database of two runs by two models: run1 said `first`, run2 said `second`."""
    store = made(folder)
    for run_id, model, papers in (("run1", "small", first), ("run2", "large", second)):
        store.begin_run(replace(a_run(run_id, recipe=run_id, schema=SCHEMA), model=model), SCHEMA, PROMPT)
        store.save(run_id, [paper.record for paper in papers], [paper.outcome() for paper in papers])
    return store


def test_runs_that_say_the_same_agree_in_full(tmp_path: Path) -> None:
    found = diff(two_runs(tmp_path, list(FIELD), list(FIELD)).path, "run1", "run2")
    assert (found.records, found.same, found.differences) == (6, 6, [])
    assert all(f.share in (1.0, None) for f in found.fields.values())
    assert found.fields["datasets"] == FieldAgreement(6, 0, 0)


def test_each_field_has_its_own_agreement(tmp_path: Path) -> None:
    lantern, candle = FIELD[0], FIELD[3]
    score, gain = lantern.numbers
    said = replace(
        lantern,
        contribution="system",
        datasets=["MarbleQA", "PebbleBench"],
        numbers=[replace(score, metric="precision"), Number("7", 7.0)],
    )
    found = diff(two_runs(tmp_path, [lantern, candle], [said, FIELD[4]]).path, "run1", "run2")
    assert (found.records, found.same, found.only_first, found.only_second) == (1, 0, 1, 1)
    assert found.fields["contribution"] == FieldAgreement(0, 1, 1)
    assert found.fields["method"].share == 1.0
    assert found.fields["datasets"] == FieldAgreement(1, 0, 1)
    assert found.fields["datasets"].share == pytest.approx(2 / 3)
    assert found.fields["headline_numbers"] == FieldAgreement(1, 1, 1)
    assert found.fields["headline_numbers.metric"] == FieldAgreement(0, 2, 2)
    said_of = {(m.field, m.gold, m.said) for m in found.differences}
    assert ("contribution", "method", "system") in said_of
    assert ("datasets", None, "PebbleBench") in said_of
    assert ("headline_numbers", gain.quote, None) in said_of
    assert ("headline_numbers.metric", "accuracy", "precision") in said_of


def test_neither_run_is_the_right_one(tmp_path: Path) -> None:
    lantern, other = FIELD[0], replace(FIELD[0], datasets=["Nothing"], task="another task")
    db = two_runs(tmp_path, [lantern], [other]).path
    there, back = diff(db, "run1", "run2"), diff(db, "run2", "run1")
    assert {path: f.share for path, f in there.fields.items()} == {path: f.share for path, f in back.fields.items()}
    assert there.same == back.same == 0


def test_what_a_run_failed_at_is_not_compared(tmp_path: Path) -> None:
    store = two_runs(tmp_path, [FIELD[0]], [])
    store.save("run2", [], [failed(FIELD[0].record)])
    found = diff(store.path, "run1", "run2")
    assert (found.records, found.only_first) == (0, 1)
    assert found.fields == {}


@pytest.mark.parametrize(
    ("first", "second", "why"),
    [
        ("run", "run2", "several runs 'run'; give one of run1, run2"),
        ("run1", "nothing", "no run 'nothing'; give one of run1, run2"),
        ("run1", "", "no run ''"),
    ],
)
def test_a_run_that_isnt_one_is_a_line(tmp_path: Path, first: str, second: str, why: str) -> None:
    db = two_runs(tmp_path, [], []).path
    with pytest.raises(MistakeError, match=why):
        diff(db, first, second)


def test_a_run_of_another_schema_is_a_line(tmp_path: Path) -> None:
    store = two_runs(tmp_path, [], [])
    trial = Schema("s1-trial", "trial", "{}", '{"phase": "VARCHAR"}')
    store.begin_run(a_run("trial1", schema=trial), trial, PROMPT)
    with pytest.raises(
        MistakeError, match=r"'trial1' is of schema 'trial', not 'paper'; name its schema with --schema"
    ):
        diff(store.path, "run1", "trial1")


def test_the_command_shows_a_table_and_json(tmp_path: Path, claimbase: Command) -> None:
    db = two_runs(tmp_path, [FIELD[0]], [replace(FIELD[0], method="Candle")]).path
    said = claimbase("diff", "run1", "run2", "--db", db, "--differences")
    assert said.code == 0
    assert "1 done by both, 0 of them alike in full; 0 by the first alone, 0 by the second" in said.out
    assert "| method | 0.00 | 0 | 1 | 1 |" in said.out
    assert "lantern  method: first 'Lantern', second 'Candle'" in said.out
    row = json.loads(claimbase("diff", "run1", "run2", "--db", db, "--json").out)
    assert row["fields"]["method"] == {"agreement": 0.0, "both": 0, "first": 1, "second": 1}
    assert row["first"] == {"run": "run1", "model": "small", "done": 1}
    assert [one["field"] for one in row["differences"]] == ["method"]
    assert claimbase("diff", "run1", "x", "--db", db).code == 2
