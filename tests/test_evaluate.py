"""Evaluation: strict rules, one to one, failures apart from errors."""

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extract.errors import InputError, MistakeError
from extract.evaluate import as_rows, evaluate, misses, table
from extract.gold import GoldRow, read_gold
from extract.readers.text import make_record
from extract.scoring import FIELDS, Count, matched, score, token_f1
from schemas.registry import load_schema
from store.db import Store
from store.rows import Outcome, Prompt, Run, Schema

TEXT = "We propose Otter (ON), a sampler. On RiverBench, ON is 12% better than Beaver; it is 12% smaller, on 9 tasks."
NOW = datetime(2026, 1, 2, tzinfo=UTC)


def number(quote: str, value: float, **rest: Any) -> dict[str, Any]:
    usual: dict[str, Any] = {"unit": "%", "role": "gain", "direction": "increase", "qualifier": "exact"}
    return {"quote": quote, "value": value, **usual, "metric": None, "dataset": None, "baseline": None, **rest}


GOLD: dict[str, Any] = {
    "contribution": "method",
    "task": ["sampling from rivers", "river sampling"],
    "method": ["ON", "Otter"],
    "datasets": [["RiverBench", "river bench"]],
    "baselines": [["Beaver"]],
    "numbers": [
        number("12%", 12, baseline="Beaver"),
        number("12%", 12, direction="decrease"),
        number("9", 9, unit="count", role="scale", direction=None, metric="tasks"),
    ],
}


def gold_file(folder: Path, *rows: dict[str, Any]) -> Path:
    path = folder / "gold.jsonl"
    path.write_text("\n".join(json.dumps(row) for row in rows), encoding="utf-8")
    return path


@pytest.fixture
def row(tmp_path: Path) -> GoldRow:
    return next(read_gold(gold_file(tmp_path, {"id": "a", "abstract": TEXT, "gold": GOLD})))


def named(*names: str) -> list[dict[str, Any]]:
    return [{"name": name, "start": 0, "end": 1, "match": "exact"} for name in names]


def placed(*numbers: dict[str, Any]) -> list[dict[str, Any]]:
    """Give each number the next place of its quote in the text, as claims have it."""
    at, made = 0, []
    for n in numbers:
        start = TEXT.index(n["quote"], at)
        at = start + 1
        made.append({**n, "start": start, "end": start + len(n["quote"]), "match": "exact", "note": None})
    return made


def perfect(**changed: Any) -> dict[str, Any]:
    right = {
        "contribution": "method",
        "task": "river sampling",
        "method": "Otter",
        "datasets": named("riverbench"),
        "baselines": named("Beaver"),
        "headline_numbers": placed(*GOLD["numbers"]),
    }
    return {**right, **changed}


def test_gold_numbers_are_placed_in_order_of_appearance(row: GoldRow) -> None:
    first, second, third = row.places
    assert first == (TEXT.index("12%"), TEXT.index("12%") + 3)
    assert second is not None and second[0] == TEXT.rindex("12%")
    assert third is not None and TEXT[slice(*third)] == "9"


def test_a_right_answer_is_right_everywhere(row: GoldRow) -> None:
    scored = score(row, perfect())
    assert set(scored.counts) == set(FIELDS)
    assert all(count.perfect for count in scored.counts.values()) and scored.whole and not scored.misses
    assert scored.counts["number: value"] == Count(right=3)


@pytest.mark.parametrize(
    ("field", "said", "count"),
    [
        ("method", None, Count(missed=1)),
        ("method", "Ott", Count(wrong=1, missed=1)),
        ("method", "otter", Count(right=1)),
        ("task", "sampling", Count(right=1)),
        ("task", "sampling of beavers and otters in winter", Count(wrong=1, missed=1)),
        ("contribution", "theory", Count(wrong=1, missed=1)),
        ("datasets", named(), Count(missed=1)),
        ("datasets", named("RiverBench", "river bench"), Count(right=1, wrong=1)),
        ("datasets", named("River"), Count(wrong=1, missed=1)),
        ("baselines", named("Beaver", "Otter"), Count(right=1, wrong=1)),
    ],
)
def test_a_field_is_right_or_it_is_not(row: GoldRow, field: str, said: object, count: Count) -> None:
    scored = score(row, perfect(**{field: said}))
    assert scored.counts[field] == count
    assert bool(scored.misses) == (not count.perfect)


def test_a_part_of_a_number_is_no_number(row: GoldRow) -> None:
    said = placed(number("2%", 2), *GOLD["numbers"][1:])
    scored = score(row, perfect(headline_numbers=said))
    assert scored.counts["number: value"] == Count(right=2, wrong=1, missed=1)
    assert scored.counts["number: place"].right == 3, "it stands where a number is, but isn't that number"
    assert not scored.whole


def test_each_key_asks_for_more(row: GoldRow) -> None:
    said = placed(
        number("12%", 12, unit="x"),
        number("12%", 12, direction="decrease", baseline="Beaver"),
        number("9", 9, unit="count", role="score", direction=None, metric="tasks"),
    )
    counts = {name: score(row, perfect(headline_numbers=said)).counts[f"number: {name}"].right for name in (
        "place", "value", "value, unit", "value, unit, role, metric", "value, unit, direction", "value, unit, baseline",
    )}  # fmt: skip
    assert counts == {
        "place": 3,
        "value": 3,
        "value, unit": 2,
        "value, unit, role, metric": 1,
        "value, unit, direction": 2,
        "value, unit, baseline": 2,
    }


def test_a_number_is_listed_once_with_all_that_is_wrong(row: GoldRow) -> None:
    said = placed(number("12%", 12, unit="x", metric="ON"), *GOLD["numbers"][1:])
    (miss,) = score(row, perfect(headline_numbers=said)).misses
    assert miss.field == "number 12%"
    assert miss.gold == "unit '%', metric None, baseline 'Beaver'"
    assert miss.said == "unit 'x', metric 'ON', baseline None"
    assert "ON is 12% better" in miss.around


def test_nothing_where_gold_has_nothing_counts_nowhere(tmp_path: Path) -> None:
    bare = {**GOLD, "method": [], "datasets": [], "baselines": [], "numbers": []}
    row = next(read_gold(gold_file(tmp_path, {"id": "a", "abstract": TEXT, "gold": bare})))
    said = perfect(method=None, datasets=[], baselines=[], headline_numbers=[])
    scored = score(row, said)
    assert scored.whole and scored.counts["method"] == Count() == scored.counts["number: value"]
    assert score(row, perfect(method="ON", datasets=[], headline_numbers=[])).counts["method"] == Count(wrong=1)


@given(st.lists(st.lists(st.booleans(), min_size=4, max_size=4), max_size=5))
def test_pairs_are_one_to_one_fit_and_as_many_as_can_be(fits: list[list[bool]]) -> None:
    pairs = matched(fits)
    assert len(set(pairs.values())) == len(pairs) and all(fits[r][c] for r, c in pairs.items())

    def most(row: int, free: frozenset[int]) -> int:
        if row == len(fits):
            return 0
        taken = [1 + most(row + 1, free - {c}) for c in free if fits[row][c]]
        return max([most(row + 1, free), *taken])

    assert len(pairs) == most(0, frozenset(range(4)))


def test_token_f1() -> None:
    assert token_f1("River sampling", "sampling rivers") == 0.5
    assert token_f1("few-shot learning", "few shot learning") == 1.0
    assert token_f1("a", "b") == 0.0 == token_f1("", "")


def filled(folder: Path, values: Sequence[tuple[str, dict[str, Any] | None]]) -> Path:
    """Make a database with one run: a text and its claims each, None for one that failed."""
    loaded = load_schema("paper")
    store = Store(folder / "e.duckdb")
    store.create()
    schema = Schema(loaded.hash, loaded.name, loaded.json_schema, json.dumps(loaded.structure))
    run = Run("run-1", NOW, "scripted", "e", loaded.hash, "p1", "q1", "{}", "0", "host", 1)
    store.begin_run(run, schema, Prompt("p1", "paper", 1, "x"))
    records = [make_record(text, "f", "line 1") for text, _ in values]
    outcomes = [
        Outcome(r.record_id, "failed", "refusal", "no", None, NOW)
        if value is None
        else Outcome(r.record_id, "done", None, None, json.dumps(value), NOW)
        for r, (_, value) in zip(records, values, strict=True)
    ]
    store.save("run-1", records, outcomes)
    return store.path


@pytest.mark.parametrize("run", ["latest", "run"])
def test_a_run_is_measured_and_failures_are_counted_apart(tmp_path: Path, run: str) -> None:
    other = TEXT.replace("Otter", "Mink")
    wrong = perfect(method="Beaver", headline_numbers=placed(*GOLD["numbers"][:1]))
    db = filled(tmp_path, [(TEXT, perfect()), (other, wrong), ("It failed.", None)])
    texts = [TEXT, other, "It failed.", "Never asked."]
    gold = gold_file(tmp_path, *({"id": str(i), "abstract": t, "gold": GOLD} for i, t in enumerate(texts)))
    (e,) = evaluate(db, gold, [run])
    assert (e.done, e.missing, e.whole) == (2, ["3"] if run == "run" else ["2", "3"], 1)
    assert e.failed == (["2"] if run == "run" else [])
    numbers = e.fields["number: value"]
    assert (numbers.right, numbers.wrong, numbers.missed) == (4, 0, 2)
    assert (numbers.precision, numbers.recall) == (1.0, 4 / 6)
    assert numbers.f1 is not None and numbers.f1.value == pytest.approx(0.8)
    assert numbers.f1.low <= numbers.f1.value <= numbers.f1.high
    assert e.fields["method"].f1 == evaluate(db, gold, [run])[0].fields["method"].f1, "the interval is reproducible"
    assert "| method | 0.50 | 0.50 | 0.50" in "\n".join(table([e]))
    assert any("method: gold 'ON', said 'Beaver'" in line for line in misses([e]))
    assert json.loads(json.dumps(as_rows([e])))[0]["fields"]["number: value"]["right"] == 4


def test_an_unknown_run_names_those_that_are(tmp_path: Path) -> None:
    gold = gold_file(tmp_path, {"id": "a", "abstract": TEXT, "gold": GOLD})
    with pytest.raises(MistakeError, match="no run 'x'; give one of run-1"):
        evaluate(filled(tmp_path, [(TEXT, perfect())]), gold, ["x"])


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{", "not a row of gold"),
        ('{"id": "a", "gold": {}}', "not a row of gold"),
        ('{"abstract": "x", "gold": {"task": []}}', "gold.contribution: Field required"),
    ],
)
def test_gold_out_of_form_names_the_line(tmp_path: Path, line: str, said: str) -> None:
    path = tmp_path / "gold.jsonl"
    path.write_text(json.dumps({"id": "a", "abstract": TEXT, "gold": GOLD}) + "\n" + line, encoding="utf-8")
    with pytest.raises(InputError) as raised:
        list(read_gold(path))
    assert "line 2" in str(raised.value) and said in str(raised.value)
