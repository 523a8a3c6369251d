"""Each benchmark at a tiny size: it runs to its end and prints its table. The figures mean nothing here."""

import pytest

from bench import cost, engine, measuring, samples, start, store
from bench.engine import Case
from tests.scripted import answer_from_gold


def test_a_median_is_shown_with_its_spread() -> None:
    assert measuring.spread([1.25, 1.0, 3.0]) == "1.25 (1.00-3.00)"
    assert measuring.spread([1234.5], 1) == "1,234.5"
    assert measuring.spread([]) == "-"


def test_a_table_is_markdown() -> None:
    assert measuring.table(("", "s"), [["a", "1.0"]]).splitlines() == ["|   | s   |", "|---|-----|", "| a | 1.0 |"]


def test_a_command_is_measured_from_outside() -> None:
    busy = "import time\nwhile time.process_time() < 0.1: pass\nprint('{\"done\": 1}')"
    measured = measuring.measure([measuring.PYTHON, "-c", busy])
    assert measured.last_line() == {"done": 1}
    assert measured.cpu_s >= 0.1 and measured.wall_s >= 0.1 and measured.peak_mb > 1


def test_a_command_that_fails_gives_no_figures() -> None:
    with pytest.raises(measuring.BenchError, match="exit 3"):
        measuring.measure([measuring.PYTHON, "-c", "raise SystemExit(3)"])


def test_no_two_abstracts_are_alike_and_each_has_its_answer() -> None:
    texts = list(samples.abstracts(40))
    assert len(set(texts)) == 40
    answers = samples.paper_answers(40)
    assert all(samples.marker(n) in text for n, text in enumerate(texts))
    assert answers[samples.marker(20)] == answer_from_gold(samples.seeds()[1])


def test_langextracts_answers_are_the_same_claims() -> None:
    answer = samples.paper_answers(1)[samples.marker(0)]
    found = samples.langextract_answer(answer)["extractions"]
    assert isinstance(found, list)
    quotes = [one["number"] for one in found if "number" in one]
    numbers = answer["headline_numbers"]
    assert isinstance(numbers, list) and quotes == [number["quote"] for number in numbers]


def test_the_engine_is_measured() -> None:
    case = Case("small", 6, (5, 5), 3)
    assert case.ideal_s == pytest.approx(0.01)
    taken = engine.measure_case(case, ["claimbase"], 1)
    said = engine.report(case, taken)
    assert "| claimbase |" in said
    (run,) = taken["claimbase"]
    assert run.stats.requests == 6 and run.stats.unmatched == 0


def test_the_store_is_measured(capsys: pytest.CaptureFixture[str]) -> None:
    assert store.main(["--outcomes", "40", "--numbers", "60", "--batch", "20"]) == 0
    said = capsys.readouterr().out
    assert "saved 40 outcomes" in said and "40 finished records" in said and "| a GROUP BY " in said


def test_starts_are_measured(capsys: pytest.CaptureFixture[str]) -> None:
    assert start.main(["--repeats", "0"]) == 0
    assert "| claimbase --help " in capsys.readouterr().out


def test_requests_are_recorded_for_their_cost() -> None:
    requests = cost.recorded("claimbase")
    assert len(requests) == len(samples.seeds())
    assert cost.compact(requests[0]["response_format"]).startswith('{"type":"json_schema"')
