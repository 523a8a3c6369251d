"""Verdicts are appended, keyed by content, taken back by appending; the views show what holds of them."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import pytest

from store import review_queues, reviewing, session
from store.aliases import Alias
from store.db import Store
from store.errors import StoreError
from store.reviewed import Subject
from store.reviewing import Item, Judgement, Verdict
from store.rows import Evidence, Outcome, Record, Schema
from tests.store_samples import NOON, PAPER, PROMPT, a_record, a_run, done, made, rows

NUMBERS = "headline_numbers"


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """Three abstracts of one run; a second run is begun."""
    store = made(tmp_path, a_run(), a_run("run2", minutes=5))
    records = [a_record(i) for i in (1, 2, 3)]
    store.save("run1", records, [done(record) for record in records])
    return store


@contextmanager
def opened(store: Store) -> Iterator[tuple[duckdb.DuckDBPyConnection, Subject]]:
    with session.writing(store.path) as con:
        yield con, reviewing.subject_of(con, "paper")


def items(store: Store, i: int = 1) -> dict[str, Item]:
    """The claims of a record by path; each list of the sample has one item."""
    with session.reading(store.path) as con:
        found = reviewing.items_of(con, reviewing.subject_of(con, "paper"), a_record(i).record_id)
    return {item.path: item for item in found}


def say(store: Store, path: str, verdict: Verdict, reviewer: str = "Anna", i: int = 1, **more: Any) -> None:
    with opened(store) as (con, _):
        claim = more.pop("claim", None) or (items_in(con, i)[path].claim)
        reviewing.append(con, Judgement(reviewer, "paper", a_record(i).record_id, path, claim, verdict, **more))


def items_in(con: duckdb.DuckDBPyConnection, i: int) -> dict[str, Item]:
    subject = reviewing.subject_of(con, "paper")
    return {item.path: item for item in reviewing.items_of(con, subject, a_record(i).record_id)}


def judge_all(store: Store, reviewer: str, i: int = 1) -> None:
    """Accept each claim of a record, and say that nothing is missing."""
    with opened(store) as (con, subject):
        record_id = a_record(i).record_id
        for item in items_in(con, i).values():
            reviewing.append(con, Judgement(reviewer, "paper", record_id, item.path, item.claim, "accepted"))
        digest = reviewing.digest_of(con, subject, record_id)
        reviewing.append(con, Judgement(reviewer, "paper", record_id, "", digest, "complete"))


def corrected(store: Store, **changes: Any) -> str:
    return json.dumps({**items(store)[NUMBERS].known, **changes})


def test_the_content_of_a_claim_is_its_fields_and_its_place(store: Store) -> None:
    number, dataset = items(store)[NUMBERS], items(store)["datasets"]
    about = ("match", "confidence", "note")
    assert json.loads(number.claim) == {key: said for key, said in number.known.items() if key not in about}
    assert json.loads(dataset.claim) == {"name": "MarbleQA", "start": 37, "end": 45}
    assert items(store)["task"].claim == '"question answering"'
    assert number.ordinal == 0 and items(store)["task"].ordinal is None


def test_without_a_verdict_the_reviewed_views_are_what_the_model_said(store: Store) -> None:
    for view in ("papers", "datasets", "baselines", NUMBERS, "claims"):
        columns = ", ".join(f'"{name}"' for (name,) in rows(store.path, f"SELECT column_name FROM (DESCRIBE {view})"))
        shared = [c for c in columns.split(", ") if f'"{c[1:-1]}"' in _columns(store.path, f"reviewed_{view}")]
        names = ", ".join(shared)
        assert rows(store.path, f"SELECT {names} FROM reviewed_{view} ORDER BY ALL") == rows(
            store.path, f"SELECT {names} FROM {view} ORDER BY ALL"
        )
    assert rows(store.path, "SELECT DISTINCT origin, verdict FROM reviewed_claims") == [("model", None)]


def _columns(path: Path, view: str) -> list[str]:
    return [f'"{name}"' for (name,) in rows(path, f"SELECT column_name FROM (DESCRIBE {view})")]


def test_a_correction_a_rejection_and_an_addition_are_what_holds(store: Store) -> None:
    say(store, NUMBERS, "corrected", value=corrected(store, value=15.0, unit="pp"))
    say(store, "datasets", "rejected", reason="not a dataset")
    say(store, "task", "corrected", value='"reading"')
    added = json.dumps({"name": "abstract", "start": 3, "end": 11, "match": "exact"})
    say(store, "baselines", "added", claim='{"name":"abstract","start":3,"end":11}', value=added)
    this = f"record_id = '{a_record(1).record_id}'"
    assert rows(
        store.path, f"SELECT quote, value, unit, task, origin, verdict, reviewers FROM reviewed_claims WHERE {this}"
    ) == [("1.5\\%", 15.0, "pp", "reading", "corrected", "corrected", "Anna")]
    assert rows(store.path, f"SELECT count(*) FROM reviewed_datasets WHERE {this}") == [(0,)]
    assert rows(store.path, f"SELECT name, origin FROM reviewed_baselines WHERE {this} ORDER BY name") == [
        ("Candle", "model"),
        ("abstract", "added"),
    ]
    assert rows(store.path, f"SELECT task, task_origin, method_origin FROM reviewed_papers WHERE {this}") == [
        ("reading", "corrected", "model")
    ]
    assert rows(store.path, f"SELECT value, unit FROM headline_numbers WHERE {this}") == [(1.5, "%")]
    assert rows(store.path, "SELECT count(*) FROM reviewed_claims WHERE origin = 'model'") == [(2,)]


def test_a_verdict_holds_for_the_same_claim_of_another_run_and_opens_for_a_changed_one(store: Store) -> None:
    judge_all(store, "Anna")
    assert rows(store.path, "SELECT reviewed_by FROM reviewed_papers ORDER BY record_id") == [
        ("Anna",),
        (None,),
        (None,),
    ]
    same = done(a_record(1), minutes=6)
    store.save("run2", [], [same, done(a_record(2), minutes=6)])
    assert rows(store.path, "SELECT verdict, run_id FROM reviewed_claims ORDER BY record_id LIMIT 1") == [
        ("accepted", "run2")
    ]
    assert rows(store.path, "SELECT reviewed_by FROM reviewed_papers ORDER BY record_id LIMIT 1") == [("Anna",)]
    store.begin_run(a_run("run3", minutes=9), _schema(store), PROMPT)
    value = json.loads(same.value or "")
    value["headline_numbers"][0]["role"] = "score"
    store.save("run3", [], [replace(same, value=json.dumps(value), finished_at=NOON.replace(minute=20))])
    assert rows(store.path, "SELECT role, verdict FROM reviewed_claims ORDER BY record_id LIMIT 1") == [("score", None)]
    assert rows(store.path, "SELECT reviewed_by FROM reviewed_papers ORDER BY record_id LIMIT 1") == [(None,)]
    with opened(store) as (con, subject):
        assert review_queues.weakest(con, subject, 1) == [a_record(1).record_id]
        verdicts = reviewing.own_verdicts(con, "paper", a_record(1).record_id, "Anna")
        assert any('"role":"gain"' in str(review.said.claim) for review in verdicts)


def _schema(store: Store) -> Schema:
    return Schema(*map(str, rows(store.path, "SELECT schema_hash, name, json_schema, structure FROM schemas")[0]))


def test_undo_goes_back_over_many_steps_and_only_appends(store: Store) -> None:
    say(store, "task", "accepted", reviewer="Ben")
    say(store, "task", "accepted")
    say(store, "task", "rejected", reason="wrong task")
    say(store, NUMBERS, "accepted")
    for expected in ((NUMBERS, "accepted"), ("task", "rejected"), ("task", "accepted")):
        with opened(store) as (con, _):
            undone = reviewing.undo(con, "paper", "Anna")
        assert undone is not None and (undone.said.path, undone.said.verdict) == expected
    with opened(store) as (con, _):
        assert reviewing.undo(con, "paper", "Anna") is None
        assert reviewing.own_verdicts(con, "paper", a_record(1).record_id, "Anna") == []
    assert rows(store.path, "SELECT path, verdict, reviewers FROM verdicts") == [("task", "accepted", "Ben")]
    assert rows(store.path, "SELECT count(*) FROM reviews") == [(7,)]
    assert rows(store.path, "SELECT count(*) FROM (SELECT judged_at FROM reviews GROUP BY ALL)") == [(7,)]


def test_the_same_said_twice_is_one_row(store: Store) -> None:
    for _ in range(3):
        say(store, "task", "accepted")
    assert rows(store.path, "SELECT count(*) FROM reviews") == [(1,)]
    say(store, "task", "rejected", reason="wrong task")
    say(store, "task", "accepted")
    assert rows(store.path, "SELECT verdict FROM verdicts") == [("accepted",)]


def test_a_difference_is_disputed_until_it_is_settled(store: Store) -> None:
    say(store, NUMBERS, "accepted")
    say(store, NUMBERS, "rejected", reviewer="Ben", reason="wrong unit")
    assert rows(store.path, "SELECT verdict, reviewers FROM verdicts") == [("disputed", "Anna, Ben")]
    assert rows(store.path, "SELECT count(*) FROM reviewed_claims WHERE verdict = 'disputed'") == [(1,)]
    with opened(store) as (con, subject):
        [dispute] = review_queues.disputes(con, subject)
    assert [(voice.reviewer, voice.verdict, voice.reason) for voice in dispute.voices] == [
        ("Anna", "accepted", None),
        ("Ben", "rejected", "wrong unit"),
    ]
    say(store, NUMBERS, "rejected", reviewer="Cleo", reason="wrong unit", settles=True)
    with opened(store) as (con, subject):
        assert review_queues.disputes(con, subject) == []
    assert rows(store.path, "SELECT verdict, reason FROM verdicts") == [("rejected", "wrong unit")]
    assert rows(store.path, "SELECT count(*) FROM reviewed_claims") == [(2,)]
    with opened(store) as (con, _):
        reviewing.undo(con, "paper", "Cleo")
    assert rows(store.path, "SELECT verdict FROM verdicts") == [("disputed",)]


def test_what_one_added_and_another_who_was_done_did_not_is_a_difference(store: Store) -> None:
    claim, value = '{"name":"test","start":31,"end":35}', '{"name":"test","start":31,"end":35,"match":"exact"}'
    say(store, "datasets", "added", claim=claim, value=value)
    with opened(store) as (con, subject):
        assert review_queues.disputes(con, subject) == []
    judge_all(store, "Ben")
    with opened(store) as (con, subject):
        [dispute] = review_queues.disputes(con, subject)
    assert [(voice.reviewer, voice.verdict) for voice in dispute.voices] == [("Anna", "added"), ("Ben", "absent")]


def test_an_added_claim_that_a_later_run_makes_stands_once(store: Store) -> None:
    item = {"name": "test", "start": 31, "end": 35, "match": "exact"}
    with opened(store) as (con, subject):
        claim = reviewing.content_of(con, subject, "datasets", item)
    say(store, "datasets", "added", claim=claim, value=json.dumps(item))
    this = f"record_id = '{a_record(1).record_id}'"
    assert rows(store.path, f"SELECT count(*) FROM reviewed_datasets WHERE {this}") == [(2,)]
    later = done(a_record(1), minutes=8)
    value = json.loads(later.value or "")
    value["datasets"].append(item)
    store.save("run2", [], [replace(later, value=json.dumps(value))])
    assert rows(store.path, f"SELECT name, origin FROM reviewed_datasets WHERE {this} ORDER BY start") == [
        ("test", "model"),
        ("MarbleQA", "model"),
    ]


def test_a_deferred_claim_is_open(store: Store) -> None:
    judge_all(store, "Anna")
    say(store, "task", "deferred")
    assert rows(store.path, "SELECT count(reviewed_by) FROM reviewed_papers") == [(0,)]
    with opened(store) as (con, subject):
        assert review_queues.deferred(con, subject, "Anna") == [a_record(1).record_id]
        assert review_queues.deferred(con, subject, "Ben") == []
    say(store, "task", "accepted")
    assert rows(store.path, "SELECT count(reviewed_by) FROM reviewed_papers") == [(1,)]


def test_the_weakest_come_first_and_the_sample_is_kept_apart(tmp_path: Path) -> None:
    store = made(tmp_path, a_run(), a_run("run2", minutes=5))
    records = [a_record(i) for i in range(1, 7)]
    plain = replace(done(records[0]), evidence=())
    outcomes = [replace(done(record), evidence=()) for record in records]
    folded = json.loads(outcomes[2].value or "")
    folded["headline_numbers"][0]["match"] = "folded"
    outcomes[2] = replace(outcomes[2], value=json.dumps(folded))
    refused = Evidence("headline_numbers.metric", 0, "speed", None, None, "absent", "not in the abstract")
    outcomes[3] = replace(outcomes[3], evidence=[refused])
    store.save("run1", records, outcomes)
    differing = json.loads(outcomes[4].value or "")
    differing["headline_numbers"][0]["unit"] = "pp"
    store.save(
        "run2",
        [],
        [
            replace(outcomes[4], value=json.dumps(differing), finished_at=NOON.replace(minute=9)),
            replace(plain, finished_at=NOON.replace(minute=9)),
        ],
    )
    ids = [record.record_id for record in records]
    with opened(store) as (con, subject):
        assert review_queues.weakest(con, subject, 9) == [ids[4], ids[3], ids[2], ids[0], ids[1], ids[5]]
        sample = review_queues.draw_sample(con, subject, "7", 2, "Anna")
        assert (sample.drawn, sample.of) == (2, 6)
        drawn = review_queues.sampled(con, subject, "7")
        assert set(review_queues.weakest(con, subject, 9)) == set(ids) - set(drawn)
        with pytest.raises(StoreError, match="drawn already"):
            review_queues.draw_sample(con, subject, "7", 2, "Anna")
        con.execute("DELETE FROM review_samples")
        review_queues.draw_sample(con, subject, "7", 4, "Ben")
        assert review_queues.sampled(con, subject, "7")[:2] == drawn
        assert [s.seed for s in review_queues.samples(con, subject)] == ["7"]


def test_the_least_confident_come_first_where_a_view_knows_it(store: Store) -> None:
    with opened(store) as (con, subject):
        con.execute("CREATE VIEW numbers_sure AS SELECT record_id, 1 / (value + 1) AS confidence FROM headline_numbers")
        con.execute("COMMENT ON VIEW numbers_sure IS 'claimbase: schema paper: one row a number'")
        ids = [a_record(i).record_id for i in (3, 2, 1)]
        assert review_queues.weakest(con, subject, 9) == ids


@pytest.mark.parametrize(
    ("ids", "gone", "after", "expected"),
    [
        (["a", "b", "c"], set(), None, "a"),
        (["a", "b", "c"], {"a"}, None, "b"),
        (["a", "b", "c"], set(), "a", "b"),
        (["a", "b", "c"], {"b"}, "a", "c"),
        (["a", "b", "c"], set(), "c", "a"),
        (["a", "b", "c"], {"a", "b"}, "c", None),
        (["a", "b"], set(), "elsewhere", "a"),
        ([], set(), None, None),
    ],
)
def test_the_next_of_a_queue(ids: list[str], gone: set[str], after: str | None, expected: str | None) -> None:
    assert review_queues.next_of(ids, gone, after) == expected


def test_a_schema_of_ones_own_is_reviewed_too(tmp_path: Path) -> None:
    store = made(tmp_path)
    structure = {
        "phase": "VARCHAR",
        "arms": [{"name": "VARCHAR", "value": "DOUBLE", "outcomes": [{"value": "DOUBLE"}]}],
        "sites": ["VARCHAR"],
    }
    schema = Schema("sha256:1234567890", "trial", "{}", json.dumps(structure))
    store.begin_run(a_run(schema=schema), schema, PROMPT)
    value = {"phase": "II", "arms": [{"name": "x", "value": 5, "outcomes": [{"value": 1}]}], "sites": ["Oslo", "Rome"]}
    record: Record = a_record(1)
    store.save("run1", [record], [Outcome(record.record_id, "done", None, None, json.dumps(value), NOON)])
    with session.writing(store.path) as con:
        subject = reviewing.subject_of(con, "trial")
        found = reviewing.items_of(con, subject, record.record_id)
        assert [(item.path, item.ordinal, item.claim) for item in found] == [
            ("phase", None, '"II"'),
            ("arms", 0, '{"name":"x","value":5.0}'),
            ("sites", 0, '"Oslo"'),
            ("sites", 1, '"Rome"'),
        ]
        for path, claim in (("sites", '"Oslo"'), ("phase", '"II"')):
            reviewing.append(con, Judgement("Anna", "trial", record.record_id, path, claim, "rejected", reason="wrong"))
        with pytest.raises(StoreError, match=r"no claims of schema 'paper' here; there are trial"):
            reviewing.subject_of(con, "paper")
    assert rows(store.path, "SELECT name FROM reviewed_trial_sites") == [("Rome",)]
    assert rows(store.path, "SELECT phase, phase_origin FROM reviewed_trials") == [(None, "model")]
    assert rows(store.path, "SELECT name, value, origin FROM reviewed_trial_claims") == [("x", 5.0, "model")]


def test_reviewed_views_have_the_columns_that_join_and_compare(store: Store) -> None:
    for view in ("papers", "datasets", "baselines", NUMBERS, "claims"):
        assert set(_columns(store.path, view)) <= set(_columns(store.path, f"reviewed_{view}"))
    say(store, NUMBERS, "corrected", value=corrected(store, dataset="Candle", metric="Acc@1"))
    item = {"name": "Lantern", "start": 24, "end": 31, "match": "exact"}
    with opened(store) as (con, subject):
        claim = reviewing.content_of(con, subject, "datasets", item)
    say(store, "datasets", "added", claim=claim, value=json.dumps(item))
    numbers = f"""SELECT dataset_canonical, metric_canonical, si_value, si_unit, better FROM reviewed_{NUMBERS}
        ORDER BY record_id LIMIT 1"""
    names = "SELECT ordinal, canonical, origin FROM reviewed_datasets WHERE origin = 'added' OR ordinal > 0"
    assert rows(store.path, numbers) == [("candle", "top1accuracy", 0.015, "fraction", "higher")]
    assert rows(store.path, names) == [(1, "lantern", "added")]
    assert rows(store.path, "SELECT DISTINCT work = record_id FROM reviewed_claims") == [(True,)]
    assert store.keep_aliases([Alias("Lantern", "Lamp"), Alias("Candle", "Wax")]) == 3
    assert rows(store.path, numbers)[0][0] == "Wax"
    assert rows(store.path, names) == [(1, "Lamp", "added")]


def test_what_reviews_leave_is_the_same_when_it_is_made_anew(store: Store) -> None:
    judge_all(store, "Anna")
    say(store, NUMBERS, "corrected", value=corrected(store, value=15.0))
    say(store, "datasets", "rejected", i=2, reason="not a dataset")
    say(store, "task", "rejected", i=2, reason="wrong task")
    say(store, "method", "corrected", i=3, value="null")
    store.save("run2", [], [done(a_record(2), minutes=6)])
    wanted = {view: rows(store.path, f"FROM {view} ORDER BY ALL") for view in _reviewed(store.path)}
    assert len(wanted) == 5
    with session.writing(store.path) as con:
        session.rebuild(con)
    assert {view: rows(store.path, f"FROM {view} ORDER BY ALL") for view in wanted} == wanted
    with opened(store) as (con, subject):
        before = {view: con.execute(f"FROM {view} ORDER BY ALL").fetchall() for view in wanted}
        for reviewer in ("Anna", "Anna"):
            while reviewing.undo(con, "paper", reviewer):
                pass
        said = con.execute("SELECT DISTINCT origin, verdict FROM reviewed_claims").fetchall()
        assert said == [("model", None)] and before == wanted
        assert con.execute(f"SELECT done FROM {subject.reviewed_table}").fetchall() == [([],)] * 3


def _reviewed(path: Path) -> list[str]:
    return [str(name) for (name,) in rows(path, "SELECT view_name FROM duckdb_views() WHERE view_name ^@ 'reviewed_'")]


def test_a_verdict_holds_under_an_older_form_of_the_schema_too(store: Store) -> None:
    """A run with an older form makes its views the ones that are asked: what was said meanwhile is in them."""
    structure = json.dumps(json.loads(PAPER.structure) | {"extra": "VARCHAR"})
    newer = replace(PAPER, schema_hash="sha256:newer", structure=structure)
    store.begin_run(a_run("run3", minutes=8, schema=newer), newer, PROMPT)
    store.save("run3", [], [replace(done(a_record(1), minutes=9))])
    say(store, "task", "corrected", value='"reading"')
    assert rows(store.path, "SELECT task, extra FROM reviewed_papers") == [("reading", None)]
    store.begin_run(a_run("run4", minutes=20), PAPER, PROMPT)
    assert rows(store.path, "SELECT task FROM reviewed_papers ORDER BY ALL") == [
        *[("question answering",)] * 2,
        ("reading",),
    ]
