"""Qualifiers: how a number is meant, by the words beside it."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extract.gold import read_gold
from schemas.qualifiers import Qualifier, qualifier
from schemas.quantity import scan

GOLD = Path(__file__).parents[1] / ".." / "shared" / "gold"


def read(text: str) -> list[Qualifier]:
    """How each number in the text is meant, as `scan` lists them."""
    numbers = scan(text)
    return [qualifier(text, span.start, span.end, numbers) for span in numbers]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It gains 12\\% in accuracy.", ["exact"]),
        ("It gains up to 12\\% in accuracy.", ["up_to"]),
        ("It gains up to about $\\textbf{12\\%}$ in accuracy.", ["up_to"]),
        ("It is as much as $3\\times$ faster.", ["up_to"]),
        ("A peak gain of 7.5 points is seen.", ["up_to"]),
        ("It needs less than 40 MB of memory.", ["up_to"]),
        ("It holds at least 99.5% of the accuracy.", ["at_least"]),
        ("It is at no less than 70% throughout.", ["at_least"]),
        ("On more than \\textbf{15} datasets it wins.", ["more_than"]),
        ("It cuts cost by over 30%.", ["more_than"]),
        ("We label 100K+ images.", ["more_than"]),
        ("We test 40 or more languages.", ["at_least"]),
        ("It has nearly 2B parameters.", ["approx"]),
        ("It reaches $\\sim 80\\%$ and $\\approx$ 90\\% of it.", ["approx", "approx"]),
        ("It is an order of magnitude faster.", ["approx"]),
        ("It runs on three tasks over five datasets.", ["exact", "exact"]),
        ("It covers over 250 tasks.", ["more_than"]),
    ],
)
def test_words_beside_a_number(text: str, expected: list[Qualifier]) -> None:
    assert read(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It gains 3.1 to 18.9 points.", ["at_least", "up_to"]),
        ("It gains 5--10\\% more.", ["at_least", "up_to"]),
        ("It is 2-3x faster.", ["at_least", "up_to"]),
        ("Gains lie between 4% and 9%.", ["at_least", "up_to"]),
        ("Models range from 1B to 70B parameters.", ["at_least", "up_to"]),
        ("Accuracy rises from 71% to 84%.", ["exact", "exact"]),
        ("It gains 4% and 9%.", ["exact", "exact"]),
    ],
)
def test_the_ends_of_a_range(text: str, expected: list[Qualifier]) -> None:
    assert read(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It cuts cost by up to 93% and 50%, respectively.", ["up_to", "up_to"]),
        ("With peak gains of +13.6 on A, +9.0 on B, and +29.0 on C.", ["up_to"] * 3),
        ("It is up to 98x and 478x faster.", ["up_to", "up_to"]),
        ("It is up to 98x faster. It needs 40% less.", ["up_to", "exact"]),
        ("More than 15 datasets and 30 baselines.", ["more_than", "exact"]),
    ],
)
def test_what_a_list_shares(text: str, expected: list[Qualifier]) -> None:
    assert read(text) == expected


@given(st.text(alphabet="up to over 1234567890.,%x-–~ \\$and{}", max_size=200), st.integers(0, 200), st.integers(0, 9))
def test_any_place_of_any_text_has_one(text: str, start: int, length: int) -> None:
    found = qualifier(text, min(start, len(text)), min(start + length, len(text)), scan(text))
    assert found in ("exact", "approx", "up_to", "at_least", "more_than")


def test_a_long_list_is_read_without_recursion() -> None:
    text = "up to " + ", ".join(f"{n}.5%" for n in range(2_000))
    assert read(text)[:2] == ["up_to", "up_to"] and len(read(text)) == 2_000


@pytest.mark.skipif(not GOLD.is_dir(), reason="no ../shared/gold")
@pytest.mark.parametrize(("name", "least"), [("train.jsonl", 0.97), ("dev.jsonl", 0.92)])
def test_gold_is_read_as_annotated(name: str, least: float) -> None:
    right = every = 0
    for row in read_gold(GOLD / name):
        numbers = scan(row.text)
        for number, place in zip(row.claims.numbers, row.places, strict=True):
            if place is not None:
                every += 1
                right += qualifier(row.text, *place, numbers) == number.qualifier
    assert right / every >= least


def test_the_end_of_a_range_lends_nothing_to_what_is_listed_after_it() -> None:
    text = "It fell by 2.4 (interval 1.1 to 3.7, p = 0.0004)."
    assert [qualifier(text, n.start, n.end, scan(text)) for n in scan(text)] == ["exact", "at_least", "up_to", "exact"]
