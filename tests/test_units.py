"""Units: one way to write each, and when a model's word for one may stand."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.quantity import scan
from schemas.units import canonical_unit, units_agree


@pytest.mark.parametrize(
    ("said", "unit"),
    [
        ("percent", "%"),
        ("percentage points", "pp"),
        ("% points", "pp"),
        ("times", "x"),
        ("×", "x"),
        ("Fold", "x"),
        ("seconds", "s"),
        ("GPU hours", "h"),
        ("GPU days", "days"),
        ("GB", "GB"),
        ("gigabytes", "GB"),
        ("mW", "mW"),
        ("$", "USD"),
        ("bits per character", "bits/character"),
        ("words-per-minute", "words/min"),
        ("points", ""),
        (" none ", ""),
        ("questions", "questions"),
    ],
)
def test_one_way_to_write_a_unit(said: str, unit: str) -> None:
    assert canonical_unit(said) == unit


@pytest.mark.parametrize(
    ("said", "read"),
    [
        ("percent", "%"),
        ("times", "x"),
        ("hours", "h"),
        ("count", ""),
        ("", "count"),
        ("x", ""),
        ("questions", "count"),
        ("BLEU points", ""),
        ("points", ""),
    ],
)
def test_units_that_may_stand(said: str, read: str) -> None:
    assert units_agree(said, read)


@pytest.mark.parametrize(
    ("said", "read"),
    [
        ("x", "%"),
        ("", "%"),
        ("pp", "%"),
        ("%", "pp"),
        ("%", ""),
        ("%", "count"),
        ("x", "count"),
        ("s", ""),
        ("s", "ms"),
        ("GB", "MB"),
        ("bits/character", ""),
        ("count", "x"),
    ],
)
def test_units_that_contradict_the_text(said: str, read: str) -> None:
    assert not units_agree(said, read)


@given(st.text())
def test_a_unit_agrees_with_itself_and_is_stable(said: str) -> None:
    unit = canonical_unit(said)
    assert canonical_unit(unit) == unit
    assert units_agree(said, unit)


@pytest.mark.parametrize(
    ("text", "value", "unit"),
    [
        ("stable up to 300 K, and brittle above", 300.0, "K"),
        ("from 300 K to 780 K.", 300.0, "K"),
        ("trained on 300 K images", 300_000.0, "count"),
        ("trained on 300K, then tuned", 300_000.0, "count"),
        ("a hardness of 31 GPa at rest", 31.0, "GPa"),
        ("a band gap of 4.9 eV.", 4.9, "eV"),
        ("an odds ratio of 0.82, 95% confidence interval 0.74 to 0.91", 0.82, ""),
        ("accuracies of 82, 95% on both sets", 82.0, "%"),
    ],
)
def test_a_unit_is_read_from_what_stands_around(text: str, value: float, unit: str) -> None:
    first = scan(text)[0]
    assert (first.value, first.unit) == (value, unit)
