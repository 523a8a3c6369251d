"""The number in a quote: every way of writing one, read alone and in its place, and no error but NotANumber."""

import json
import math
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas.quantity import NotANumber, NumberSpan, Quantity, parse, parse_at, scan, units_agree

GOLD = Path(__file__).parents[1] / ".." / "shared" / "gold" / "train.jsonl"

ALONE = [
    # LaTeX
    (r"\textbf{17.06\%}", 17.06, "%"),
    (r"$\mathbf{3.01\times}$", 3.01, "x"),
    (r"1.3$\times$", 1.3, "x"),
    (r"357{\texttimes}", 357, "x"),
    ("$3.28$x", 3.28, "x"),
    ("10{,}000", 10_000, ""),
    (r"10\,000", 10_000, ""),
    (r"$5\times10^{-4}$", 5e-4, ""),
    ("10^{5}", 1e5, ""),
    ("2^{10}", 1024, ""),
    (r"\SI{3}{\ms}", 3, "ms"),
    (r"\SI{12}{\giga\byte}", 12, "GB"),
    (r"\qty{40}{\percent}", 40, "%"),
    (r"\num{1.2e-3}", 1.2e-3, ""),
    (r"\frac{1}{4}", 0.25, ""),
    (r"$\tfrac12$", 0.5, ""),
    (r"$\approx 30\%$", 30, "%"),
    (r"$\sim$30", 30, ""),
    (r"78.3 $\pm$ 0.4", 78.3, ""),
    (r"$78.3_{\pm 0.4}$", 78.3, ""),
    (r"37^\circ", 37, "°"),
    # Unicode and HTML
    ("2.57✕", 2.57, "x"),
    ("41 ×", 41, "x"),
    ("×3", 3, "x"),
    ("3·10⁴", 3e4, ""),
    ("3 × 10⁻⁴", 3e-4, ""),
    ("10<sup>5</sup>", 1e5, ""),
    ("1\u2009234", 1234, ""),
    ("1\u00a0234\u00a0567", 1_234_567, ""),
    ("1.7\u2011million", 1.7e6, "count"),
    ("½", 0.5, ""),
    ("2½", 2.5, ""),
    ("≈ 40", 40, ""),
    ("～40%", 40, "%"),
    ("17.06％", 17.06, "%"),
    ("１７%", 17, "%"),
    ("𝟏𝟕.𝟎𝟔%", 17.06, "%"),
    ("٣٤%", 34, "%"),
    ("ﬁve", 5, ""),
    # separators
    ("1,010", 1010, ""),
    ("7,02,945", 702_945, ""),
    ("1'000'000", 1e6, ""),
    ("1 600", 1600, ""),
    ("0,85", 0.85, ""),
    ("12,5 %", 12.5, "%"),
    ("1.234,56", 1234.56, ""),
    ("1.000", 1, ""),
    (".95", 0.95, ""),
    # magnitudes
    ("1.2M", 1.2e6, "count"),
    ("137 billion", 137e9, "count"),
    ("7B", 7e9, "count"),
    ("128k", 128e3, "count"),
    ("100K+", 1e5, "count"),
    ("90+%", 90, "%"),
    # signs
    ("+3.1", 3.1, ""),
    ("−2.5", -2.5, ""),
    ("–2.5", -2.5, ""),
    ("-12.8%", 12.8, "%"),
    ("-5 dB", -5, "dB"),
    # words and fractions
    ("eight", 8, ""),
    ("Twenty-one", 21, ""),
    ("one hundred and five", 105, ""),
    ("half a million", 5e5, "count"),
    ("a dozen", 12, ""),
    ("two thirds", 2 / 3, ""),
    ("one-fifth", 0.2, ""),
    ("half", 0.5, ""),
    ("1/5", 0.2, ""),
    ("twice", 2, "x"),
    ("threefold", 3, "x"),
    ("3-fold", 3, "x"),
    ("an order of magnitude", 10, "x"),
    ("two orders of magnitude", 100, "x"),
    ("doubling", 2, "x"),
    ("a factor of 3", 3, "x"),
    # money, time, bytes, points
    ("$15", 15, "USD"),
    (r"\$5.2K", 5200, "USD"),
    ("€3.5M", 3.5e6, "EUR"),
    ("20 dollars", 20, "USD"),
    ("15ms", 15, "ms"),
    ("0.5 s", 0.5, "s"),
    ("30 GPU hours", 30, "h"),
    ("24GB", 24, "GB"),
    ("1.19 bits/character", 1.19, "bits/character"),
    ("30 frames per second", 30, "FPS"),
    ("1.8m/s", 1.8, "m/s"),
    ("3 percentage points", 3, "pp"),
    ("3 pp", 3, "pp"),
    ("5% points", 5, "pp"),
    ("2.1 per cent", 2.1, "%"),
    # quotes with a word too many
    ("24 times", 24, "x"),
    ("up to 3x", 3, "x"),
    ("93% top-5 accuracy", 93, "%"),
]

NOT_NUMBERS = [
    "",
    "accuracy",
    "CIFAR-10",
    "GPT-4",
    "3D",
    "F1",
    "2nd",
    "[12]",
    "https://example.org/5",
    r"$K(\sigma^2+U^2)$",
    "7-9B",
    "3 and 5",
    "one in five",
    "10x-4^",
    "10^{9999}",
    "10^{-9999}",
    "1e999",
    "9" * 400,
    "0^-1",
    "\ud800",
]

# the text, with the quote between | and |
IN_PLACE = [
    ("models of |7|-9B parameters", 7e9, "count"),
    ("from |0.46| to 7.5 billion weights", 460e6, "count"),
    ("over |3| billion tokens", 3e9, "count"),
    ("scores of |80.1|, 79.2 and 77.3\\%", 80.1, "%"),
    ("a |5|-10$\\times$ smaller model", 5, "x"),
    ("we gain $|1.5|-2\\times$ here", 1.5, "x"),
    ("it is |24| times faster", 24, "x"),
    ("runs |2|-3 orders of magnitude faster", 100, "x"),
    ("errors within |1|-2 mm of it", 1, "mm"),
    ("costs $|15|-20 a page", 15, "USD"),
    ("costs $15-|20| a page", 20, "USD"),
    ("|1.5|/0.7 BLEU points more", 1.5, ""),
    ("takes |384| GPU hours in all", 384, "h"),
    ("a |40|-hour recording", 40, "h"),
    ("a drop of |30| percentage points", 30, "pp"),
    ("from 54% it falls by |2.4| points", 2.4, "pp"),
    ("from 54% it gains |2.4| F1 points", 2.4, ""),
    ("a gain of |2.4| points", 2.4, ""),
    ("log-likelihood near |-2|.", -2, ""),
    ("a loss of (|-3.4%|) overall", 3.4, "%"),
    ("on |8,890| annotated sentences", 8890, "count"),
    ("cut by a factor of |3| at most", 3, "x"),
    ("a |12|m wide corridor", 12, "m"),
    ("some |12|m parameters", 12e6, "count"),
    ("scores |88.3| $\\pm$ 0.2\\% here", 88.3, "%"),
    ("a |three|- to five-fold speed-up", 3, "x"),
    ("at |1/10th| the cost", 0.1, ""),
    ("on |10| GPUs", 10, "count"),
    ("|half| as many epochs", 0.5, "x"),
    ("|1/4| as many edges", 0.25, "x"),
    ("it takes |an| hour", 1, "h"),
]


@pytest.mark.parametrize(("text", "value", "unit"), ALONE)
def test_a_quote_alone(text: str, value: float, unit: str) -> None:
    read = parse(text)
    assert read.value == pytest.approx(value, rel=1e-12)
    assert read.unit == unit


@pytest.mark.parametrize("text", NOT_NUMBERS)
def test_what_is_not_a_number(text: str) -> None:
    with pytest.raises(NotANumber, match="expected"):
        parse(text)


@pytest.mark.parametrize(("marked", "value", "unit"), IN_PLACE)
def test_a_quote_in_its_place(marked: str, value: float, unit: str) -> None:
    before, quote, after = marked.split("|")
    text = before + quote + after
    assert parse_at(text, len(before), len(before) + len(quote)) == Quantity(value, unit)


@pytest.mark.parametrize(
    ("text", "start", "end"), [("scores 72.41% here", 10, 13), ("some 1,010 pages", 7, 10), ("10^5 steps", 0, 2)]
)
def test_a_part_of_a_number_is_refused(text: str, start: int, end: int) -> None:
    with pytest.raises(NotANumber, match="cut from"):
        parse_at(text, start, end)


def test_the_error_names_a_long_text_in_short() -> None:
    with pytest.raises(NotANumber) as caught:
        parse("no digits at all " * 100)
    assert len(str(caught.value)) < 200


def test_scan_lists_quotes_as_the_guidelines_write_them() -> None:
    text = (
        r"On eight datasets, our 7B model is $\mathbf{3.01\times}$ faster, gains \textbf{17.06\%} and +3.1 points "
        "and costs $5.2K for 100K+ pages."
    )
    spans = scan(text)
    quotes = ["eight", "7B", r"$\mathbf{3.01\times}$", r"17.06\%", "+3.1", "$5.2K", "100K+"]
    assert [text[span.start : span.end] for span in spans] == quotes
    assert spans[2] == NumberSpan(text.index("$"), text.index("$") + 21, 3.01, "x")


@pytest.mark.skipif(not GOLD.exists(), reason="no ../shared/gold")
def test_the_gold_numbers_are_read_right() -> None:
    from bench.numbers import measure_file

    tally = measure_file(GOLD)
    assert tally.values >= 0.995 * tally.numbers
    assert tally.units >= 0.98 * tally.numbers
    assert tally.found >= 0.99 * tally.numbers


PIECES = st.sampled_from([*(text for text, _, _ in ALONE), *NOT_NUMBERS[:-1], *" -/${}\\^_±", " to ", ", ", " and "])
TEXTS = st.one_of(
    st.text(), st.text(alphabet=st.characters(exclude_categories=())), st.lists(PIECES, max_size=30).map("".join)
)


@settings(deadline=None, max_examples=300)
@given(TEXTS)
def test_parse_gives_a_finite_value_or_its_own_error(text: str) -> None:
    try:
        read = parse(text)
    except NotANumber:
        return
    assert math.isfinite(read.value)


@settings(deadline=None, max_examples=300)
@given(TEXTS)
def test_scan_gives_spans_in_order_that_read_the_same_in_place(text: str) -> None:
    last = 0
    for span in scan(text):
        assert last <= span.start < span.end <= len(text)
        assert math.isfinite(span.value)
        last = span.end


@settings(deadline=None, max_examples=200)
@given(TEXTS, st.data())
def test_any_place_may_be_asked_for(text: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    try:
        read = parse_at(text, start, end)
    except NotANumber:
        return
    assert math.isfinite(read.value)


@given(st.floats(0.001, 9e6).map(lambda value: round(value, 3)), st.sampled_from(["%", "\\%", "x", "$\\times$", ""]))
def test_a_plain_number_keeps_its_value(value: float, unit: str) -> None:
    assert parse(f"{value:,.3f}{unit}").value == value


@pytest.mark.parametrize(
    "piece", ["a 3.5% ", "1,111", "1/", "two ", "10^", "$3", "½", "\\frac{1}{2}", "A1-", "1 to ", "{"]
)
def test_scan_is_linear(piece: str) -> None:
    started = time.process_time()
    scan(piece * (50_000 // len(piece)))
    assert time.process_time() - started < 5  # 1 s at most on an idle core; a quadratic one takes minutes


def test_a_disagreement_of_units_is_seen() -> None:
    read = parse_at("reaches 41% accuracy", 8, 11)
    assert units_agree("percent", read.unit)
    assert not units_agree("times", read.unit)
    assert json.dumps(read.unit) == '"%"'


@pytest.mark.parametrize("text", ["1/0", "0/0", r"\frac{3}{0}", r"$\frac{0}{0}$"])
def test_a_fraction_over_nothing_is_no_number(text: str) -> None:
    with pytest.raises(NotANumber):
        parse(text)
    assert all(math.isfinite(span.value) for span in scan(f"It gains {text} in all."))
