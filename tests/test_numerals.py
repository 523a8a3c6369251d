"""The grammar of numerals: where each starts and ends, and what it is worth."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.numerals import numerals


def read(text: str) -> list[tuple[str, float]]:
    return [(text[numeral.start : numeral.end], numeral.value) for numeral in numerals(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1,010 of 7,02,945", [("1,010", 1010), ("7,02,945", 702945)]),
        ("ResNet-32,44,56", [("32", 32), ("44", 44), ("56", 56)]),
        ("28, 000 cases", [("28, 000", 28000)]),
        ("scores 1.5/0.7", [("1.5", 1.5), ("0.7", 0.7)]),
        ("7/10 datasets", [("7", 7), ("10", 10)]),
        ("about 2/3 of them", [("2/3", 2 / 3)]),
        ("5×10^-4 or 1e-4", [("5×10^-4", 5e-4), ("1e-4", 1e-4)]),
        ("2.5×10^3", [("2.5×10^3", 2500)]),
        ("It took 10^5. Then 1e-4.", [("10^5", 1e5), ("1e-4", 1e-4)]),
        ("1e5x, 10^3x", [("1e5", 1e5), ("10^3", 1000)]),
        ("0.0000001×10^3", [("0.0000001×10^3", 1e-4)]),
        ("twenty-one and thirty five", [("twenty-one", 21), ("thirty five", 35)]),
        ("two hundred and ten", [("two hundred and ten", 210)]),
        ("a third of it", [("a third", 1 / 3)]),
        ("a third approach", []),
        ("a second stage", []),
        ("half a million", [("half a million", 500_000)]),
        ("up to a billion", [("billion", 1e9)]),
        ("threefold, tenfold", [("threefold", 3), ("tenfold", 10)]),
        ("networks, someone, often, tent", []),
        ("v.2 and e.g.5", [("2", 2), ("5", 5)]),
        ("ends.25 times, r = .25", [("25", 25), (".25", 0.25)]),
    ],
)
def test_numerals_of_a_text(text: str, expected: list[tuple[str, float]]) -> None:
    found = read(text)
    assert [quote for quote, _ in found] == [quote for quote, _ in expected]
    assert [value for _, value in found] == pytest.approx([value for _, value in expected])


@pytest.mark.parametrize(
    "text", ["10^9999", "9" * 400, "9" * 400 + "½", "9" * 400 + "e5", "1e-999", "3×10^" + "9" * 5000]
)
def test_what_no_float_holds_is_nan(text: str) -> None:
    (numeral,) = list(numerals(text))[:1]
    assert math.isnan(numeral.value)


@given(st.integers(1, 999_999_999))
def test_thousands_separators_change_nothing(number: int) -> None:
    for text in (f"{number}", f"{number:,}", f"{number:,}".replace(",", "\u2009"), f"{number:,}.0"):
        assert [value for _, value in read(text)] == [number]
