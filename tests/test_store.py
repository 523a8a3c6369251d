import json
import os
from dataclasses import fields, replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from store.errors import (
    RecordNotFound,
    StoreWriteFailed,
)
from store.results import Known
from store.rows import Attempt, Evidence, Record
from store.saving import json_of, utc
from store.text import clean, clean_json, visible
from tests.store_samples import NOON, PAPER, a_record, a_run, an_attempt, done, failed, made, rows

# --- what is saved


def test_a_batch_is_in_the_tables_as_it_was_given(tmp_path: Path) -> None:
    store = made(tmp_path, a_run())
    records = [a_record(1), a_record(2)]
    store.save("run1", records, [done(records[0]), failed(records[1], error_type="refusal")])

    assert rows(store.path, "SELECT * EXCLUDE meta, meta->>'year' FROM records ORDER BY locator") == [
        (r.record_id, r.source, r.locator, r.source_id, r.title, r.text, "2026") for r in records
    ]
    assert rows(store.path, "SELECT record_id, status, error_type, error, value IS NULL FROM outcomes ORDER BY 1") == [
        (records[0].record_id, "done", None, None, False),
        (records[1].record_id, "failed", "refusal", "it took too long", True),
    ]
    attempt = an_attempt(records[0])
    values = [getattr(attempt, field.name) for field in fields(Attempt)]
    values[2] = NOON.replace(tzinfo=None)
    assert rows(store.path, "SELECT * FROM attempts") == [("run1", *values)]
    assert rows(store.path, 'SELECT path, ordinal, quote, start, "end", match, reason FROM evidence') == [
        tuple(getattr(found, field.name) for field in fields(Evidence)) for found in done(records[0]).evidence
    ]
    assert rows(store.path, "SELECT run_id, status, model, pid, settings->>'concurrency' FROM runs") == [
        ("run1", "running", "scripted", os.getpid(), "4")
    ]


def test_the_same_abstract_from_two_places_is_one_record_and_the_first_place_stays(tmp_path: Path) -> None:
    store = made(tmp_path, a_run())
    first = a_record(1)
    store.save("run1", [first, replace(first, locator="line 9")], [])
    store.save("run1", [replace(first, source="other.txt"), a_record(2)], [])
    assert rows(store.path, "SELECT source, locator FROM records ORDER BY record_id") == [
        ("made.jsonl", "line 1"),
        ("made.jsonl", "line 2"),
    ]


def test_of_a_batch_that_breaks_nothing_is_in_the_file(tmp_path: Path) -> None:
    store = made(tmp_path, a_run())
    store.save("run1", [a_record(1)], [done(a_record(1))])
    with pytest.raises(StoreWriteFailed, match="Duplicate key") as caught:
        store.save("run1", [a_record(2), a_record(1)], [done(a_record(2)), done(a_record(1))])
    assert caught.value.path == store.path
    with pytest.raises(StoreWriteFailed, match="JSON"):
        store.save("run1", [a_record(3)], [replace(done(a_record(3)), value="{not json")])
    for table in ("records", "outcomes", "attempts", "papers"):
        assert rows(store.path, f"SELECT count(*), min(record_id) FROM {table}") == [(1, a_record(1).record_id)]
    assert rows(store.path, "SELECT count(*) FROM evidence") == [(5,)]


def test_an_outcome_needs_a_run_that_was_begun(tmp_path: Path) -> None:
    store = made(tmp_path)
    with pytest.raises(LookupError, match="begin_run"):
        store.save("run1", [a_record(1)], [done(a_record(1))])
    assert rows(store.path, "SELECT count(*) FROM records") == [(0,)]


def test_text_that_utf8_lacks_is_replaced_and_all_else_is_kept(tmp_path: Path) -> None:
    store = made(tmp_path, a_run())
    text = "a\x00b \ud83d lone \u202e \x1b[31m \U0001f600 </abstract> {{x}} \\ud800"
    record = Record("sha256:odd", "s\udfff", "l", "\ud800", None, text, {"\ud800": ["\udc00", float("nan"), NOON]})
    value = r'{"task": "\ud800 \ud83d\ude00 \\ud800 \u0000", "datasets": [{"name": "' + "\ud800" + '"}]}'
    outcome = replace(done(a_record(1)), record_id=record.record_id, value=value, attempts=(), evidence=())
    store.save("run1", [record], [outcome])

    kept = store.record("sha256:odd")
    assert kept.text == text.replace("\ud83d", "\ufffd")
    assert len(kept.text) == len(text)
    assert (kept.source, kept.source_id) == ("s\ufffd", "\ufffd")
    assert kept.meta == {"\ufffd": ["\ufffd", None, str(NOON)]}
    assert rows(store.path, "SELECT task FROM papers") == [("\ufffd \U0001f600 \\ud800 \x00",)]
    assert rows(store.path, "SELECT name FROM datasets") == [("\ufffd",)]
    assert store.known("recipe", ["sha256:odd"]) == {"sha256:odd": Known("done", None, kept.text)}


@given(st.text(st.characters(exclude_categories=())))
def test_cleaned_text_has_its_length_and_is_utf8(text: str) -> None:
    cleaned = clean(text)
    assert len(cleaned) == len(text)
    cleaned.encode()
    assert all(a == b or b == "\ufffd" for a, b in zip(text, cleaned, strict=True))


@given(st.recursive(st.text(st.characters(exclude_categories=())), lambda inner: st.lists(inner) | st.tuples(inner)))
@settings(deadline=None)
def test_cleaned_json_says_what_cleaned_text_would(value: object) -> None:
    def cleaned(item: object) -> object:
        return clean(item) if isinstance(item, str) else [cleaned(one) for one in item]  # type: ignore[attr-defined]

    # A surrogate pair that JSON writes as two escapes is one character once it is read: compare what is read.
    again = json.loads(json.dumps(value))
    assert json.loads(clean_json(json.dumps(value))) == cleaned(again)
    assert json.loads(clean_json(json.dumps(value, ensure_ascii=False))) == cleaned(value if value else again)


@given(st.text(st.characters(exclude_categories=())))
def test_visible_text_is_one_line_that_a_terminal_can_show(text: str) -> None:
    shown = visible(text)
    assert not any(ord(char) < 32 or 127 <= ord(char) < 160 or char in "\u202e\u2066\u2028" for char in shown)
    shown.encode()


def test_json_of_odd_values() -> None:
    assert json.loads(json_of({"a": float("inf"), "b": (1, "x"), "c": NOON})) == {
        "a": None,
        "b": [1, "x"],
        "c": str(NOON),
    }
    with pytest.raises(ValueError, match="without a zone"):
        utc(datetime(2026, 1, 1))  # noqa: DTZ001


# --- what is known


def test_known_says_how_a_record_ended_under_a_recipe(tmp_path: Path) -> None:
    other = a_run("run3", recipe="other", minutes=2)
    store = made(tmp_path, a_run("run1"), a_run("run2", minutes=1), other)
    one, two, three, four = (a_record(i) for i in range(1, 5))
    store.save("run1", [one, two, three], [done(one), failed(two, error_type="length")])
    store.save("run2", [], [failed(one, minutes=1), failed(two, minutes=1, error_type="refusal")])
    store.save("run3", [], [done(two, minutes=2)])

    ids = [record.record_id for record in (one, two, three, four)]
    assert store.known("recipe", ids) == {
        one.record_id: Known("done", None, one.text),
        two.record_id: Known("failed", "refusal", two.text),
        three.record_id: Known(None, None, three.text),
    }
    assert {id: known.status for id, known in store.known("other", ids).items()} == {
        one.record_id: None,
        two.record_id: "done",
        three.record_id: None,
    }
    assert store.known("recipe", []) == {}
    assert rows(store.path, "SELECT record_id, error_type, run_id, model FROM failures") == [
        (two.record_id, "refusal", "run2", "scripted")
    ]


def test_runs_are_summed_up(tmp_path: Path) -> None:
    store = made(tmp_path, a_run("run1"), replace(a_run("run2", minutes=1), pid=2**22 + 1), a_run("run3", minutes=2))
    one, two, three = (a_record(i) for i in range(1, 4))
    store.save("run1", [one, two, three], [done(one), failed(two), failed(three)])
    store.save("run2", [], [done(one, cost_usd=None), done(two)])
    store.end_run("run1", "finished", NOON)

    third, second, first = store.runs()
    assert (first.run, first.status, first.finished_at, first.alive) == (a_run("run1"), "finished", NOON, False)
    assert (first.done, first.failed, first.attempts, first.errors) == (1, 2, 1, {"timeout": 2})
    assert (first.prompt_tokens, first.cached_tokens, first.completion_tokens, first.cost_usd) == (100, 60, 20, 0.25)
    assert (second.done, second.attempts, second.prompt_tokens, second.cost_usd) == (2, 2, 200, None)
    assert (second.status, second.alive) == ("running", False)  # no such process: it was killed
    assert (third.attempts, third.cost_usd, third.alive, third.errors) == (0, 0.0, True, {})
    assert [summary.run.run_id for summary in store.runs(limit=1)] == ["run3"]


def test_a_run_of_another_host_counts_as_alive(tmp_path: Path) -> None:
    store = made(tmp_path, replace(a_run(), host="elsewhere", pid=1))
    assert store.runs()[0].alive


# --- what is shown of a record


def test_a_record_is_found_by_its_source_id_or_the_start_of_its_id(tmp_path: Path) -> None:
    store = made(tmp_path, a_run())
    store.save("run1", [a_record(0x10), a_record(0x11)], [])
    assert store.record("made.16") == a_record(0x10)
    assert store.record("sha256:00000010") == a_record(0x10)
    assert store.record("00000011") == a_record(0x11)
    with pytest.raises(RecordNotFound, match="fits 2 records") as caught:
        store.record("0000001")
    assert caught.value.candidates == ("sha256:00000010", "sha256:00000011")
    for wanted in ("", "%", "none"):
        with pytest.raises(RecordNotFound, match="no record"):
            store.record(wanted)


def test_the_latest_claims_and_all_attempts_of_a_record(tmp_path: Path) -> None:
    store = made(tmp_path, a_run("run1"), a_run("run2", minutes=1))
    record = a_record(1)
    store.save("run1", [record], [done(record, task="old")])
    store.save("run2", [], [done(record, minutes=1, task="new")])
    (claims,) = store.claims_of(record.record_id)
    assert (claims.run_id, claims.schema_name, claims.model) == ("run2", "paper", "scripted")
    assert json.loads(claims.value)["task"] == "new"
    assert {found.path for found in claims.evidence} == {found.path for found in done(record).evidence}
    assert [found.start for found in claims.evidence][-1] is None
    assert [(kept.run_id, kept.attempt.n) for kept in store.attempts_of(record.record_id)] == [("run1", 1), ("run2", 1)]
    assert store.attempts_of(record.record_id)[0].attempt == an_attempt(record)
    assert store.claims_of("sha256:none") == []


# --- deriving again


def test_replies_are_those_that_were_accepted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("store.db._REPLIES_AT_ONCE", 2)
    store = made(tmp_path, a_run())
    records = [a_record(i) for i in range(5)]
    bad = replace(an_attempt(records[0]), status="invalid", reply="no JSON")
    outcomes = [done(record) for record in records]
    outcomes[0] = replace(outcomes[0], attempts=[bad, replace(an_attempt(records[0], n=2), reply="{}")])
    outcomes[4] = failed(records[4])
    store.save("run1", records, outcomes)

    replies = list(store.replies(PAPER.schema_hash))
    assert [(reply.record_id, reply.run_id) for reply in replies] == [(r.record_id, "run1") for r in records[:4]]
    assert [reply.text for reply in replies] == [record.text for record in records[:4]]
    assert [reply.reply for reply in replies] == ["{}"] + ['{"task": "question answering"}'] * 3
    assert list(store.replies("sha256:none")) == []


def test_replaced_claims_change_what_was_derived_and_nothing_else(tmp_path: Path) -> None:
    store = made(tmp_path, a_run("run1"), a_run("run2", minutes=1))
    one, two, three = (a_record(i) for i in range(1, 4))
    store.save("run1", [one, two, three], [done(one, task="old"), done(two, task="old"), failed(three)])
    store.save("run2", [], [done(two, minutes=1, task="newer")])
    untouched = "SELECT * EXCLUDE value FROM outcomes ORDER BY ALL", "SELECT * FROM attempts ORDER BY ALL"
    before = [rows(store.path, sql) for sql in untouched]

    # Derived an hour later, and that is not when the records ended.
    again = [replace(done(r, minutes=60, task="better"), evidence=done(r).evidence[:2]) for r in (one, two, three)]
    store.replace_claims("run1", again)

    assert [rows(store.path, sql) for sql in untouched] == before
    expected = [(one.record_id, "better", "run1"), (two.record_id, "newer", "run2")]
    assert rows(store.path, "SELECT record_id, task, run_id FROM papers ORDER BY 1") == expected
    assert rows(store.path, "SELECT record_id, run_id, count(*) FROM evidence GROUP BY ALL ORDER BY ALL") == [
        (one.record_id, "run1", 2),
        (two.record_id, "run1", 2),
        (two.record_id, "run2", 5),
    ]
    store.rebuild()
    assert rows(store.path, "SELECT record_id, task, run_id FROM papers ORDER BY 1") == expected


def test_times_are_utc_wherever_the_run_is(tmp_path: Path) -> None:
    from datetime import timedelta, timezone

    there = timezone(timedelta(hours=9))
    store = made(tmp_path, replace(a_run(), started_at=NOON.astimezone(there)))
    assert rows(store.path, "SELECT started_at FROM runs") == [(NOON.replace(tzinfo=None),)]
    assert store.runs()[0].run.started_at == NOON
    assert store.runs()[0].run.started_at.tzinfo is UTC
