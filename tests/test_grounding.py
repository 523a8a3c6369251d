import json
import time
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from extract.borders import is_whole
from extract.grounding import (
    Evidence,
    GroundedText,
    Kind,
    NumberClaim,
    ground,
    ground_number,
    nearest,
    place_numbers,
    reason,
)
from schemas import quantity
from schemas.canonical import fold_text

GOLD = Path(__file__).parents[1] / ".." / "shared" / "gold"

PIECES = st.sampled_from(
    ["\\", r"\textbf{", "}", "{", "$", r"\%", "%", r"\times", "~", "--", "-\n", "\n", " ", " ", "\u00ad", "ﬁ",
     "e\u0301", "é", "\u200f", "\x00", "\ud800", "½", "10⁻⁴", "×", "x", "3", "1.5", "-", "+", ",", ".", "word", "B",
     "million", "twice", "中"]
)  # fmt: skip
TEXTS = st.one_of(st.text(max_size=60), st.lists(PIECES, max_size=25).map("".join))
KINDS: st.SearchStrategy[Kind] = st.sampled_from(("text", "number"))


def said(text: str, found: Evidence | None) -> str | None:
    return None if found is None else text[found.start : found.end]


@pytest.mark.parametrize(
    ("quote", "text", "span", "match"),
    [
        ("Birch", "We call it Birch.", "Birch", "exact"),
        ("Birch", "Of Birches and Birchs: Birch-like", "Birch", "exact"),
        ("the Birch model", "It is the \\textbf{Birch}\nmodel.", "the \\textbf{Birch}\nmodel", "folded"),
        (r"\textbf{Birch}", "We call it Birch.", "Birch", "folded"),
        ("efficient search", "An eﬃcient search.", "eﬃcient search", "folded"),
        ("multi-task tests", "Our multi-\ntask tests.", "multi-\ntask tests", "folded"),
        ("Birch-2", "With Birch–2 we", "Birch–2", "folded"),
        ("Gödel", "As Go\u0308del said", "Go\u0308del", "folded"),
        ("by Birch", r"Led by \emph{Birch} here", r"by \emph{Birch}", "folded"),
        ("Birch here", r"Led by \emph{Birch} here", r"\emph{Birch} here", "folded"),
        ("白桦", "我们提出白桦模型", "白桦", "exact"),
    ],
)
def test_a_phrase_is_found_with_true_offsets(quote: str, text: str, span: str, match: str) -> None:
    found = ground(quote, text)
    assert said(text, found) == span
    assert found is not None
    assert found.match == match


@pytest.mark.parametrize(
    ("quote", "text"),
    [
        ("ISM", "a mechanISM"),
        ("Llama 3", "with Llama 3.1 only"),
        ("Birch", "with birch only"),
        ("cafe", "the cafe\u0301 opened"),
        ("text", r"a \text{b}"),
        ("we propose a quantum sampler", "Here we propose a new method"),
        ("", "anything"),
        (" \n", "any thing\n \n"),
        ("a", ""),
    ],
)
def test_what_is_not_there_is_absent(quote: str, text: str) -> None:
    assert ground(quote, text) is None


def test_case_is_folded_when_told() -> None:
    text = "with birch only"
    assert said(text, ground("BIRCH", text, case=True)) == "birch"


def test_an_exact_place_comes_before_a_folded_one_and_both_after_start() -> None:
    text = r"\emph{Birch Tree} or Birch  Tree or Birch Tree"
    assert ground("Birch Tree", text) == Evidence(6, 16, "exact")
    later = ground("Birch Tree", text, 7)
    assert later is not None
    assert (later.start, later.match) == (text.rindex("Birch"), "exact")
    assert ground("Birch Tree", text, len(text) - 3) is None
    assert [place.match for place in GroundedText(text).find_all("Birch Tree")] == ["exact", "folded", "exact"]


@pytest.mark.parametrize(
    ("quote", "text", "span"),
    [
        ("17.06%", r"better by \textbf{17.06\%} here", r"17.06\%"),
        ("17.06", r"better by \textbf{17.06\%} here", "17.06"),
        (r"\textbf{17.06\%}", "better by 17.06% here", "17.06%"),
        ("10,000", "on 10{,}000 images", "10{,}000"),
        ("3.01x", r"runs $\mathbf{3.01\times}$ faster", r"3.01\times"),
        ("3.01×", r"runs $\mathbf{3.01\times}$ faster", r"3.01\times"),
        ("1.3x", r"runs 1.3 $\times$ faster", r"1.3 $\times$"),
        ("5%", "a 5% drop", "5%"),
        ("5%", "from 1--5% here", "5%"),
        ("5%", "the pre-5% level", "5%"),
        ("5%", "gains—5% here—count", "5%"),
        ("-5%", "changed by −5% here", "−5%"),
        ("3.1", "a change of +3.1 points", "3.1"),
        ("0.46", "from 0.46 to 7.5 billion items", "0.46"),
        ("1.7–million", "a 1.7-million corpus", "1.7-million"),
        ("eight", "Eight tasks were used", "Eight"),
        ("two–thirds", "only two-thirds of it", "two-thirds"),
        ("5%", "fell from 9 to5% here", "5%"),
        ("an hour", "done in an hour or so", "an hour"),
    ],
)
def test_a_number_is_found_however_it_is_written(quote: str, text: str, span: str) -> None:
    assert said(text, ground_number(quote, text)) == span


@pytest.mark.parametrize(
    ("quote", "text"),
    [
        ("7.06", r"by 17.06\% here"),
        ("17.0", r"by 17.06\% here"),
        ("17.6%", r"by 17.06\% here"),
        ("17.06x", r"by 17.06\% here"),
        ("5%", "a score of -5% here"),
        ("-5%", "from 1-5% here"),
        ("-5%", "the pre-5% level"),
        ("-5%", "a 5% drop"),
        ("1.2", "with 1.2M images"),
        ("1.2", "with 1.2 million images"),
        ("1.2B", "with 1.2M images"),
        ("1.2 billion", "with 1.2 million images"),
        ("10", "on 10,000 images"),
        ("000", "on 10,000 images"),
        ("5", "is 5.0 now"),
        ("5", "at a rate of $10^5$"),
        ("10", "at a rate of $10^5$"),
        ("1", "about 1/5 of it"),
        ("10", "tested on CIFAR-10 only"),
        ("3", "seen in 3D"),
        ("$5", r"a $5\times$ gain"),
        ("twenty", "over twenty-one tasks"),
        ("two", "about two thirds of it"),
        ("two", "in a network"),
    ],
)
def test_a_number_that_differs_is_absent(quote: str, text: str) -> None:
    assert ground_number(quote, text) is None


def test_equal_numbers_get_a_place_each_in_order() -> None:
    text = "Birch wins on 21 tasks, Elm on 21 games, Oak on 9."
    claims = [NumberClaim("21"), NumberClaim("21"), NumberClaim("9")]
    placed = place_numbers(claims, GroundedText(text))
    assert [place and place.start for place in placed] == [14, 31, 48]


def test_a_number_goes_where_its_metric_is() -> None:
    text = "Our method has two stages of training. In the end it is evaluated on two public datasets."
    (placed,) = place_numbers([NumberClaim("two", ("datasets",))], GroundedText(text))
    assert placed is not None
    assert text[placed.start :].startswith("two public")


def test_numbers_in_another_order_go_to_what_they_are_said_of() -> None:
    text = "On Elm, accuracy rises by 5%. " + "Much else is told of it here. " * 12 + "On Oak, recall rises by 5%."
    claims = [NumberClaim("5%", ("recall", "Oak")), NumberClaim("5%", ("accuracy", "Elm"))]
    placed = place_numbers(claims, GroundedText(text))
    assert [place and place.start for place in placed] == [text.rindex("5%"), text.index("5%")]


def test_one_absent_number_costs_the_others_nothing() -> None:
    text = "Accuracy and recall rise by 5%, speed by 7x."
    placed = place_numbers(
        [NumberClaim("5%"), NumberClaim("6%"), NumberClaim("5%"), NumberClaim("7x")], GroundedText(text)
    )
    assert [said(text, place) for place in placed] == ["5%", None, "5%", "7x"]


def test_the_nearest_metric_is_that_of_the_same_sentence() -> None:
    text = "We measure accuracy. It is 5% higher on a set where, at last, accuracy counts."
    at = text.index("5%")
    found = nearest("accuracy", GroundedText(text), at, at + 2)
    assert found is not None
    assert found.start == text.rindex("accuracy")
    assert nearest("recall", GroundedText(text), at, at + 2) is None


@pytest.mark.parametrize(
    ("quote", "text", "kind", "words"),
    [
        ("17.6%", r"by 17.06\% here", "number", r"the abstract has '17.06\%', not '17.6%'"),
        ("93 GB", "nothing of the kind", "number", "not in the abstract"),
        ("we propose a sampler", "Here we propose a method", "text", "only 'we propose a' of it is in the abstract"),
        ("Birch", "an elm", "text", "not in the abstract"),
        ("birch", "a Birch", "text", "the abstract writes it 'Birch'"),
        ("ISM", "one mechanISM here", "text", "only part of a longer word or number in the abstract: 'mechanISM'"),
        (" ", "an elm", "text", "empty"),
    ],
)
def test_the_reason_says_what_the_text_has(quote: str, text: str, kind: Kind, words: str) -> None:
    assert reason(quote, GroundedText(text), kind) == words


@settings(deadline=None, max_examples=300)
@given(TEXTS, st.data())
def test_any_whole_part_of_a_text_is_found_exactly(text: str, data: st.DataObject) -> None:
    assume(text.strip())
    start = data.draw(st.integers(0, len(text) - 1))
    end = data.draw(st.integers(start + 1, len(text)))
    quote = text[start:end]
    found = ground(quote, text)
    if is_whole(text, start, end) and quote.strip():
        assert found is not None
        assert found.match == "exact"
        assert found.start <= start
    if found is not None and found.match == "exact":
        assert text[found.start : found.end] == quote


@settings(deadline=None, max_examples=300)
@given(TEXTS, TEXTS, KINDS, st.booleans(), st.integers(-2, 70))
def test_folding_never_crosses(quote: str, text: str, kind: Kind, case: bool, start: int) -> None:
    grounded = GroundedText(text)
    found = grounded.find(quote, start, kind, case)
    places = grounded.find_all(quote, start, kind, case)
    if start <= 0:  # else the first may overlap one before `start`, which leaves it out of all
        assert (found is None) == (not places)
    for place in filter(None, [found, *places]):
        assert max(0, start) <= place.start < place.end <= len(text)
        span = text[place.start : place.end]
        assert fold_text(span, case=True) == fold_text(quote, case=True)
        assert (span == quote) == (place.match == "exact")
    assert all(one.end <= other.start for one, other in pairwise(places))
    assert reason(quote, grounded, kind)


@settings(deadline=None, max_examples=200)
@given(st.lists(st.tuples(PIECES, st.lists(PIECES, max_size=2).map(tuple)), max_size=5), TEXTS)
def test_numbers_are_placed_in_any_text(items: list[tuple[str, tuple[str, ...]]], text: str) -> None:
    grounded = GroundedText(text)
    placed = place_numbers([NumberClaim(quote, near) for quote, near in items], grounded)
    for (quote, _), place in zip(items, placed, strict=True):
        assert (place is None) == (grounded.find(quote, kind="number") is None)


@settings(deadline=None, max_examples=200)
@given(st.decimals(0, 9999, places=2), st.decimals(0, 9999, places=2), st.sampled_from(["%", "x", "", "M", " million"]))
def test_another_number_is_never_accepted(one: object, other: object, unit: str) -> None:
    assume(one != other)
    text = f"It rises by {one}{unit} in all."
    found = ground_number(f"{one}{unit}", text)
    assert said(text, found) == f"{one}{unit}"
    assert found is not None
    assert quantity.parse_at(text, found.start, found.end) == quantity.parse(f"{one}{unit}")
    assert ground_number(f"{other}{unit}", text) is None
    assert ground_number(f"-{one}{unit}", text) is None


@pytest.mark.parametrize("piece", ["a", "a ", "{", "$x", "-\n", "\\", "A-1 ", "(1) ", "-1 ", "ﬁ"])
@pytest.mark.parametrize("quote", ["a", "aaaa", "1", "-", "x 1.5%", "ab" * 5000, "- " * 5000 + "b"])
def test_a_text_made_to_be_slow_is_not(piece: str, quote: str) -> None:
    """Four times the text takes about four times as long: measured in processor time, and not by a bound on it."""

    def seconds(size: int) -> float:
        text = (piece * size)[:size]
        begun = time.process_time()
        grounded = GroundedText(text)
        grounded.find(quote)
        reason(quote, grounded)
        return time.process_time() - begun

    small, large = (min(seconds(size) for _ in range(3)) for size in (12_500, 50_000))
    assert large < 10 * small + 0.2


@pytest.mark.skipif(not GOLD.is_dir(), reason="the gold is not beside this checkout")
def test_every_quote_of_the_gold_is_found() -> None:
    absent: list[str] = []
    with (GOLD / "train.jsonl").open(encoding="utf-8") as lines:
        for line in lines:
            record = json.loads(line)
            grounded, gold = GroundedText(record["abstract"]), record["gold"]
            names = [*gold["method"], *(name for names in gold["datasets"] + gold["baselines"] for name in names)]
            absent += [name for name in names if grounded.find(name) is None]
            numbers = [number["quote"] for number in gold["numbers"]]
            absent += [number for number in numbers if grounded.find(number, kind="number") is None]
    assert len(absent) <= 1, absent  # one is glued to the word before it, as digits are in a name
