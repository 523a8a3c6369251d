"""The benchmark of numbers: it finds a quote where it stands by itself, and says when there is nothing to measure."""

import json
from pathlib import Path

import pytest

from bench.numbers import locate, main, measure_file, same_value


@pytest.mark.parametrize(
    ("text", "quote", "start", "expected"),
    [
        ("a network of two parts", "two", 0, 13),
        ("from 72.41% by 1%", "1%", 0, 15),
        ("10,000 and 10", "10", 0, 11),
        ("CIFAR-10 in 10 runs", "10", 0, 12),
        ("5 then 5", "5", 1, 7),
        ("only 5 here", "5", 8, 5),
    ],
)
def test_a_quote_is_found_where_it_stands_by_itself(text: str, quote: str, start: int, expected: int) -> None:
    assert locate(text, quote, start) == expected


def test_values_are_compared_as_exactly_as_the_gold_writes_them() -> None:
    assert same_value(1 / 3, 0.333)
    assert not same_value(0.34, 0.333)
    assert not same_value(17.07, 17.06)


def test_a_file_is_measured(tmp_path: Path) -> None:
    numbers = [{"quote": "41%", "value": 41, "unit": "%"}, {"quote": "8", "value": 9, "unit": "count"}]
    record = {"id": "a", "abstract": "It gains 41% on 8 tasks.", "gold": {"numbers": numbers}}
    path = tmp_path / "train.jsonl"
    path.write_text(json.dumps(record) + "\n", encoding="utf-8")
    tally = measure_file(path)
    assert (tally.numbers, tally.values, tally.units, tally.found, tally.same_span) == (2, 1, 2, 1, 2)
    assert "value 9, read 8" in tally.misses[0]


def test_absent_gold_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--gold", str(tmp_path)]) == 0
    assert "nothing measured" in capsys.readouterr().out
