"""What a reviewer sees and writes, how reviewers agree, and what comes of it: gold, the gate, the methods report."""

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from extract.gold import read_gold
from extract.readers.text import record_id
from extract.review import editing
from extract.review.abstracts import Abstract, abstract, kind_of
from extract.review.agreement import agreements, kappa
from extract.review.editing import Unfit, made
from extract.review.judging import judgement
from extract.review.reasons import reasons_for
from schemas.quantity import scan
from store import reading, review_queues, reviewing, session
from store.db import Store
from store.rows import Outcome, Record
from tests import store_samples
from tests.conftest import Command
from tests.store_samples import PAPER, PROMPT, a_run, done, rows
from tests.store_samples import made as a_database

TEXT = (
    "We propose Lantern, which cuts the error of Candle by 12.5% on MarbleQA, from 40 to 35 points of TER. "
    "It is $3.1\\times$ faster than Candle, and reads 1,200 books; an ablation takes 12.5% more time."
)


def a_record(i: int) -> Record:
    """An abstract with the id that a reader gives it, by which gold finds it again."""
    record = store_samples.a_record(i)
    return replace(record, record_id=record_id(record.text))


def number(**written: str) -> dict[str, Any]:
    return dict(made("headline_numbers", TEXT, {"quote": "12.5%", "role": "gain", **written}))


# --- what a person writes


def test_the_code_computes_the_value_the_unit_the_place_and_the_qualifier() -> None:
    found = number(quote="$3.1\\times$", direction="increase", baseline="candle")
    at = TEXT.index("$3.1")
    assert found == {
        **{"quote": "$3.1\\times$", "value": 3.1, "unit": "x", "role": "gain", "direction": "increase"},
        **{"qualifier": "exact", "metric": None, "dataset": None, "baseline": "Candle"},
        **{"start": at, "end": at + len("$3.1\\times$"), "match": "exact", "note": None},
    }


def test_a_selection_says_which_of_two_equal_quotes_is_meant() -> None:
    first, second = TEXT.index("12.5%"), TEXT.rindex("12.5%")
    assert number()["start"] == first
    assert number(start=str(second), end=str(second + 5))["start"] == second
    assert number(start=str(second - 1), end=str(second + 6))["start"] == second
    assert (
        made("headline_numbers", TEXT, {"quote": "12.5%", "role": "gain"}, near=(second, second + 5))["start"] == second
    )


@pytest.mark.parametrize(("start", "end"), [("", ""), ("x", "3"), ("-4", "1"), ("5", "5"), ("0", "99999")])
def test_a_selection_that_is_none_is_passed_over(start: str, end: str) -> None:
    assert number(start=start, end=end)["start"] == TEXT.index("12.5%")


def test_a_person_may_overrule_the_value_and_the_unit() -> None:
    found = number(value="1,250", unit="pp", qualifier="up_to")
    assert (found["value"], found["unit"], found["qualifier"]) == (1250.0, "pp", "up_to")
    assert number(unit="none")["unit"] == ""


@pytest.mark.parametrize(
    ("path", "written", "why"),
    [
        ("headline_numbers", {"quote": ""}, "a quote is missing"),
        ("headline_numbers", {"quote": "13.5%", "role": "gain"}, "no quote of this abstract"),
        ("headline_numbers", {"quote": "Lantern", "role": "gain"}, "holds no number"),
        ("headline_numbers", {"quote": "12.5%", "role": "loss"}, "expected one of score, gain, scale"),
        ("headline_numbers", {"quote": "12.5%", "role": "gain", "metric": "speed"}, "the metric 'speed' is no quote"),
        ("headline_numbers", {"quote": "12.5%", "role": "gain", "value": "many"}, "is no number"),
        ("datasets", {"quote": "SlateQA"}, "no quote of this abstract"),
        ("task", {"quote": " "}, "a task is missing"),
        ("contribution", {"quote": "poem"}, "expected one of method"),
        ("title", {"quote": "x"}, "can't be written here"),
    ],
)
def test_what_the_text_does_not_hold_is_no_claim(path: str, written: dict[str, str], why: str) -> None:
    with pytest.raises(Unfit, match=why):
        made(path, TEXT, written)


def test_names_and_plain_fields_are_written_as_the_text_has_them() -> None:
    at = TEXT.index("MarbleQA")
    assert made("datasets", TEXT, {"quote": "marbleqa"}) == {
        **{"name": "MarbleQA", "start": at, "end": at + 8, "match": "folded"}
    }
    assert made("method", TEXT, {"quote": "Lantern"}) == "Lantern"
    assert made("method", TEXT, {"quote": ""}) is None
    assert made("task", TEXT, {"quote": " question answering "}) == "question answering"
    assert made("contribution", TEXT, {"quote": "method"}) == "method"


@settings(deadline=None, max_examples=60)
@given(st.text(max_size=60), st.integers(-3, 70), st.integers(-3, 70))
def test_whatever_is_selected_the_claim_is_what_stands_there(text: str, start: int, end: int) -> None:
    quote = text[max(0, start) : max(0, end)].strip()
    try:
        found = made("datasets", text, {"quote": quote, "start": str(start), "end": str(end)})
    except Unfit:
        return
    assert text[found["start"] : found["end"]] == found["name"] and found["name"]


# --- what a reviewer sees


@pytest.fixture
def store(tmp_path: Path) -> Store:
    store = a_database(tmp_path, a_run())
    store.save("run1", [a_record(1), a_record(2)], [done(a_record(1)), done(a_record(2))])
    return store


def seen(store: Store, reviewer: str = "Anna", i: int = 1) -> Abstract:
    with session.reading(store.path) as con:
        record = reading.find_record(con, a_record(i).record_id)
        return abstract(con, reviewing.subject_of(con, "paper"), record, reviewer)


def write(store: Store, reviewer: str = "Anna", i: int = 1, **form: str) -> None:
    with session.writing(store.path) as con:
        record = reading.find_record(con, a_record(i).record_id)
        found = abstract(con, reviewing.subject_of(con, "paper"), record, reviewer)
        if "path" in form and "claim" not in form and form["verdict"] != "added":
            form["claim"] = next(entry.claim for entry in found.entries if entry.path == form["path"])
        reviewing.append(con, judgement(con, found, reviewer, form))


def write_all(store: Store, reviewer: str = "Anna", i: int = 1) -> None:
    """Accept what is open, and say that nothing is missing."""
    for entry in seen(store, reviewer, i).entries:
        if not entry.judged:
            write(store, reviewer, i, verdict="accepted", path=entry.path, claim=entry.claim)
    write(store, reviewer, i, verdict="complete")


def test_the_claims_stand_in_the_order_of_the_text_and_its_pieces_are_the_text(store: Store) -> None:
    found = seen(store)
    assert [entry.kind for entry in found.entries] == [
        *("method", "dataset", "number", "baseline"),
        *("contribution", "task"),
    ]
    assert "".join(piece.text for piece in found.segments) == found.record.text
    marked = {piece.text: found.entries[piece.entries[0]].kind for piece in found.segments if piece.entries}
    assert marked == {"Lantern": "method", "MarbleQA": "dataset", "1.5\\%": "number", "Candle": "baseline"}
    assert [entry.quote for entry in found.entries] == ["Lantern", "MarbleQA", "1.5\\%", "Candle", None, None]
    assert [found.record.text[n.start : n.end] for n in found.unclaimed] == [
        found.record.text[n.start : n.end]
        for n in scan(found.record.text)
        if found.record.text[n.start : n.end] != "1.5\\%"
    ]


def test_a_reviewer_sees_their_own_verdicts_alone(store: Store) -> None:
    write(store, verdict="accepted", path="datasets")
    write(store, verdict="deferred", path="baselines")
    write(store, verdict="noted", path="datasets", note="see the appendix")
    anna, ben = seen(store), seen(store, "Ben")
    assert [entry.judged for entry in anna.entries] == [False, True, False, False, False, False]
    assert anna.left == 5 and ben.left == 6
    assert anna.next_open(1) == 2 and anna.next_open(5) == 0
    assert [note.said.note for note in ben.entries[1].notes] == ["see the appendix"]


def test_an_abstract_is_done_once_all_is_judged(store: Store) -> None:
    with pytest.raises(Unfit, match="6 claims have no verdict yet"):
        write(store, verdict="complete")
    write_all(store)
    assert seen(store).complete and seen(store).next_open() is None and not seen(store, "Ben").complete


@pytest.mark.parametrize(
    ("form", "why"),
    [
        ({"verdict": "rejected", "path": "datasets", "reason": "I say so"}, "reason 'I say so' is none of"),
        ({"verdict": "accepted", "path": "datasets", "claim": '{"name":"Other"}'}, "no more what it was"),
        ({"verdict": "praised", "path": "datasets"}, "'praised' is no verdict"),
        ({"verdict": "noted", "path": "datasets", "note": "  "}, "the note is empty"),
        ({"verdict": "added", "path": "method", "quote": "Lantern"}, "there already"),
        ({"verdict": "added", "path": "datasets", "quote": "MarbleQA"}, "there already, just so"),
        ({"verdict": "kept", "path": "datasets", "claim": "{}"}, "not among those that are gone"),
    ],
)
def test_a_form_that_says_nothing_fit_is_refused(store: Store, form: dict[str, Any], why: str) -> None:
    with pytest.raises(Unfit, match=why):
        write(store, "Anna", 1, **form)
    assert rows(store.path, "SELECT count(*) FROM reviews") == [(0,)]


def test_an_added_claim_is_one_more_and_can_be_corrected_and_taken_out(store: Store) -> None:
    write(store, verdict="added", path="baselines", quote="abstract")
    added = next(entry for entry in seen(store).entries if entry.added)
    assert (added.kind, added.quote, added.judged) == ("baseline", "abstract", True)
    write(store, verdict="corrected", path="baselines", claim=added.claim, quote="№1")
    assert rows(store.path, "SELECT name FROM reviewed_baselines WHERE origin = 'added'") == [("№1",)]
    write(store, verdict="rejected", path="baselines", claim=added.claim, reason="wrong name")
    assert not any(entry.added for entry in seen(store).entries)
    assert rows(store.path, "SELECT count(*) FROM reviewed_baselines") == [(2,)]


def test_a_changed_claim_is_shown_with_what_it_was_and_a_lost_one_can_be_kept(store: Store) -> None:
    write_all(store)
    later = done(a_record(1), minutes=9)
    value = json.loads(later.value or "")
    value["headline_numbers"][0]["role"] = "score"
    value["datasets"] = []
    store.begin_run(a_run("run2", minutes=8), PAPER, PROMPT)
    store.save("run2", [], [_with_value(later, value)])
    found = seen(store)
    [changed] = [entry for entry in found.entries if not entry.judged]
    assert changed.kind == "number" and changed.earlier is not None
    assert json.loads(str(changed.earlier.said.claim))["role"] == "gain"
    assert [review.said.path for review in found.gone] == ["datasets"]
    write(store, verdict="kept", path="datasets", claim=str(found.gone[0].said.claim))
    assert rows(store.path, "SELECT name, origin FROM reviewed_datasets ORDER BY origin") == [
        ("MarbleQA", "added"),
        ("MarbleQA", "model"),
    ]
    assert seen(store).gone == []


def _with_value(outcome: Outcome, value: object) -> Outcome:
    return replace(outcome, value=json.dumps(value))


def test_a_field_that_the_model_left_empty_can_be_filled(store: Store) -> None:
    outcome = done(a_record(1), minutes=9)
    value = {**json.loads(outcome.value or ""), "method": None}
    store.begin_run(a_run("run2", minutes=8), PAPER, PROMPT)
    store.save("run2", [], [_with_value(outcome, value)])
    assert "method" not in [entry.path for entry in seen(store).entries]
    write(store, verdict="added", path="method", quote="Lantern")
    assert rows(store.path, "SELECT method, method_origin FROM reviewed_papers ORDER BY method_origin") == [
        ("Lantern", "added"),
        ("Lantern", "model"),
    ]
    assert next(entry for entry in seen(store).entries if entry.path == "method").added


def test_each_kind_of_claim_has_its_reasons() -> None:
    assert reasons_for("paper", "headline_numbers") == (
        *("wrong number", "wrong unit", "wrong metric", "wrong dataset", "wrong baseline", "not a result"),
    )
    for path in editing.EDITABLE:
        assert 1 <= len(reasons_for("paper", path)) <= 9
    assert reasons_for("trial", "datasets") == reasons_for("trial", "phase")
    assert [kind_of(path) for path in ("headline_numbers", "datasets", "a.studies")] == ["number", "dataset", "study"]


# --- agreement


def test_kappa_is_cohens() -> None:
    # Cohen 1960 by hand: 45 + 25 of 100 alike, by chance 0.6 * 0.6 + 0.4 * 0.4 = 0.52 with these margins.
    cells = Counter({("a", "a"): 45, ("a", "r"): 15, ("r", "a"): 15, ("r", "r"): 25})
    assert kappa(cells) == pytest.approx((0.70 - 0.52) / (1 - 0.52))
    assert kappa(Counter({("a", "a"): 9})) is None
    assert kappa(Counter()) is None
    assert kappa(Counter({("a", "r"): 5, ("r", "a"): 5})) == pytest.approx(-1)


@settings(deadline=None, max_examples=30)
@given(st.dictionaries(st.tuples(st.sampled_from("acr"), st.sampled_from("acr")), st.integers(1, 30), min_size=1))
def test_kappa_is_at_most_one_and_the_same_for_either_order(cells: dict[tuple[str, str], int]) -> None:
    one, other = kappa(Counter(cells)), kappa(Counter({(b, a): n for (a, b), n in cells.items()}))
    assert one == pytest.approx(other) if one is not None and other is not None else one is other
    assert one is None or -1 <= one <= 1 + 1e-12


def test_agreement_is_over_the_claims_that_both_judged() -> None:
    judged = [(f"r{i}", f"c{j}", who, "accepted") for i in range(12) for j in range(3) for who in ("Anna", "Ben")]
    judged = [(r, c, w, "rejected" if int(r[1:]) % 2 and c == "c0" else v) for r, c, w, v in judged]
    judged = [(r, c, w, "accepted" if (r, w) == ("r1", "Ben") else v) for r, c, w, v in judged]
    judged += [("r0", "c9", "Anna", "rejected"), ("r5", "c8", "Cleo", "accepted")]
    [pair] = agreements(judged)
    assert (pair.one, pair.other, pair.claims, pair.abstracts) == ("Anna", "Ben", 36, 12)
    assert pair.alike == pytest.approx(35 / 36)
    assert pair.kappa is not None and pair.low is not None and pair.high is not None
    assert pair.low < pair.kappa < pair.high <= 1
    assert agreements(judged) == [pair]


def test_one_difference_gives_no_interval() -> None:
    judged = [(f"r{i}", "c", who, "accepted") for i in range(5) for who in ("Anna", "Ben")]
    [pair] = agreements([*judged, ("r9", "c", "Anna", "accepted"), ("r9", "c", "Ben", "rejected")])
    assert pair.kappa == pytest.approx(0) and pair.low is None


# --- what comes of it


def test_reviewed_papers_are_gold(store: Store, claimbase: Command, tmp_path: Path) -> None:
    write(store, verdict="corrected", path="headline_numbers", quote="1.5\\%", role="score", unit="pp")
    write(store, verdict="rejected", path="baselines", reason="wrong name")
    write_all(store)
    to = tmp_path / "gold.jsonl"
    said = claimbase("export", "gold", "--to", to, "--db", store.path)
    assert (said.code, said.err) == (0, f"1 reviewed abstract written to {to}\n")
    [line] = [json.loads(line) for line in to.read_text(encoding="utf-8").splitlines()]
    assert (line["id"], line["abstract"], line["sampled"], line["reviewed_by"]) == (
        *("made.1", a_record(1).text, False, "Anna"),
    )
    assert line["gold"] == {
        **{"contribution": "method", "task": ["question answering"], "method": ["Lantern"]},
        **{"datasets": [["MarbleQA"]], "baselines": []},
        "numbers": [
            {
                **{"quote": "1.5\\%", "value": 1.5, "unit": "pp", "role": "score", "direction": None},
                **{"qualifier": "exact", "metric": None, "dataset": None, "baseline": None},
            }
        ],
    }
    [row] = read_gold(to)
    assert not row.sampled and row.places == [(55, 60)]
    said = claimbase("eval", to, "--db", store.path)
    assert said.code == 2 and "none of its abstracts was drawn at random" in said.err
    with to.open("a", encoding="utf-8") as file:
        file.write(json.dumps({**line, "id": "made.2", "abstract": a_record(2).text, "sampled": True}) + "\n")
    assert (
        "1 done, 0 failed, 0 missing, 1 not drawn at random and left out"
        in claimbase("eval", to, "--db", store.path).out
    )
    assert claimbase("export", "gold", "--to", to, "--db", store.path).code == 2
    assert claimbase("export", "gold", "--to", tmp_path / "gold.csv", "--db", store.path).code == 2


def test_the_gate_opens_once_all_is_reviewed_and_settled(store: Store, claimbase: Command) -> None:
    said = claimbase("check", "--all-reviewed", "--db", store.path)
    assert said.code == 3 and said.out.startswith("0 of 2 abstracts reviewed, 0 differences open\nnot reviewed: ")
    write_all(store)
    write_all(store, i=2)
    assert claimbase("check", "--all-reviewed", "--db", store.path).code == 0
    write(store, "Ben", verdict="rejected", path="task", reason="wrong task")
    said = claimbase("check", "--all-reviewed", "--db", store.path)
    assert (said.code, said.out) == (3, "2 of 2 abstracts reviewed, 1 difference open\n")
    assert claimbase("check", "--db", store.path).code == 2
    assert claimbase("check", "--all-reviewed", "--sample", "9", "--db", store.path).code == 2


def test_the_methods_report_says_who_by_what_and_how_often_wrong(store: Store, claimbase: Command) -> None:
    said = claimbase("report", "methods", "--db", store.path)
    assert said.code == 0
    assert "No claim was reviewed by a person." in said.out and "The error is not known" in said.out
    write(store, verdict="rejected", path="headline_numbers", reason="not a result")
    write_all(store)
    write_all(store, "Ben", 2)
    with session.writing(store.path) as con:
        review_queues.draw_sample(con, reviewing.subject_of(con, "paper"), "7", 2, "Anna")
    out = claimbase("report", "methods", "--db", store.path).out
    for part in (
        "extracted from 2 abstracts with claimbase 0.1.0, by the language model scripted",
        "2 people, each without sight of another's verdicts, (Anna, Ben) reviewed all claims of 2 of these 2 abstracts",
        "A random sample of 2 of 2 abstracts (seed 7)",
        "`sha256:prompt`",
        "| Anna | 1 | 5 | 0 | 1 | 0 |",
        "| number: value, unit | 0.500 | 1.000 | 0.667",
    ):
        assert part in out, out
    assert claimbase("report", "poem", "--db", store.path).code == 2
