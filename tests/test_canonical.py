import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas.canonical import fold, fold_text

FRAGMENTS = st.sampled_from(
    ["\\", "\\textbf{", "}", "{", "$", "\\%", "%", "\\times", "~", "--", "-\n", "\n", " ", "\r\n", "\u00ad", "ﬁ",
     "e\u0301", "é", "\u200f", "\x00", "\ud800", "½", "10⁻⁴", "×", "x", "3", "a", "B", "İ", "ß", "\\'e", "\\frac{1}{2}",
     "``", "``x''", "}{", "&lt;", "<sup>", "**", "\\,", "\u2009", "\\cite{a}", "中", "\U0001d7cf"]
)  # fmt: skip
TEXTS = st.one_of(st.text(max_size=60), st.lists(FRAGMENTS, max_size=25).map("".join))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (r"\textbf{17.06\%}", "17.06%"),
        (r"$\mathbf{3.01\times}$", "3.01×"),
        (r"1.3 $\times$ faster", "1.3x faster"),
        ("17.06 %", "17.06%"),
        ("10{,}000", "10,000"),
        (r"10\,000", "10,000"),
        ("10\u2009000", "10,000"),
        (r"5\times10^{-4}", "5 × 10⁻⁴"),
        ("64 ×\n 64 pixels", "64x64 pixels"),
        (r"\frac{1}{2}", "½"),
        ("1½", "1 1/2"),
        ("eﬃcient ﬂow", "efficient flow"),
        ("Go\u0308del", "Gödel"),
        (r"G\"odel", r"G\"{o}del"),
        (r"\'Etude", "Étude"),
        ("a  long\r\n line", "a long line"),
        ("soft\u00adware", "software"),
        ("multi-\ntask", "multi-task"),
        ("multi-\ntask", "multitask"),
        ("state-of-the-\n  art", "state-of-the-art"),
        ("GPT-\n4", "GPT-4"),
        ("pre-\nand post", "pre- and post"),
        ("1--5", "1–5"),
        ("so---and", "so—and"),
        ("“so” ‘it’", "``so'' `it'"),
        ("“so”", '"so"'),
        (r"\emph{We} use~it", "We use it"),
        (r"{\bf We} use", "We use"),
        (r"\(x\)", "$x$"),
        (r"$\tau$-bench", "τ-bench"),
        (r"$\tau$-bench", "tau-bench"),
        (r"$\lambda$", "λ"),
        (r"\ours\ wins", "ours wins"),
        (r"method~\cite{some2020} wins", "method wins"),
        (r"\textcolor{red}{bold}", "bold"),
        ("p &lt; 0.05", "p < 0.05"),
        ("10<sup>5</sup>", "10^5"),
        ("**Name** wins", "Name wins"),
        ("𝟏𝟕", "17"),
        ("a\u200bb\ufeff", "ab"),
        (r"\$5 million", "$5 million"),
        (r"R\&D", "R&D"),
    ],
)
def test_two_ways_of_writing_the_same_are_equal(one: str, other: str) -> None:
    assert fold_text(one) == fold_text(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("GPT-4", "GPT4"),
        ("7-9B", "79B"),
        ("10^5", "105"),
        ("10²", "102"),
        ("there fore", "therefore"),
        ("the-rapist", "the rapist"),
        ("-5", "5"),
        ("+5", "5"),
        ("1.5", "15"),
        ("$5", "5"),
        ("résumé", "resume"),
        ("Name", "name"),
        ("5%", "5"),
    ],
)
def test_what_differs_stays_different(one: str, other: str) -> None:
    assert fold_text(one) != fold_text(other)


def test_a_dollar_is_money_or_math() -> None:
    assert fold_text("between $5 and $6") == "between $5 and $6"
    assert fold_text(r"a $5\times$ gain and $k$ more, $\sim$7") == "a 5x gain and k more, 7"


def test_case_is_folded_only_when_told() -> None:
    assert fold_text("ImageNet ÉCOLE", case=True) == fold_text("imagenet école", case=True)
    assert fold_text("straße", case=True) == fold_text("STRASSE", case=True)


def test_the_span_of_folded_text_leads_back() -> None:
    text = r"We gain \textbf{17.06\%} in eﬃciency."
    folded = fold(text)
    for words, said in (("17.06%", r"17.06\%"), ("efficiency", "eﬃciency"), ("gain 17", r"gain \textbf{17")):
        at = folded.text.index(words)
        span = folded.span(at, at + len(words))
        assert span is not None
        assert text[slice(*span)] == said


def test_half_of_one_piece_has_no_span() -> None:
    folded = fold("eﬃcient é")
    assert folded.text.startswith("efficient e")
    assert folded.span(0, 2) is None  # half of the ligature
    assert folded.span(3, 9) is None
    assert folded.span(10, 11) is None  # the letter without its accent
    assert folded.span(0, 4) == (0, 2)


@settings(deadline=None, max_examples=300)
@given(TEXTS, st.booleans())
def test_any_text_is_folded_and_every_character_leads_back(text: str, case: bool) -> None:
    folded = fold(text, case)
    previous = (0, 0)
    for at in range(len(folded.text)):
        start, end = folded.origin(at)
        assert 0 <= start < end <= len(text)
        assert start >= previous[0] and end >= previous[1]
        assert folded.origin(folded.position(start))[0] >= start
        previous = start, end


@settings(deadline=None)
@given(st.text(alphabet=st.sampled_from("abcXYZ .,;:0123456789"), max_size=40))
def test_plain_text_keeps_its_characters(text: str) -> None:
    assert fold(text).text.replace(" ", "") == text.replace(" ", "")


@pytest.mark.parametrize(
    "piece", ["a", " ", "{", "$x", "-\n", "\\", "\\frac{", "}{", "`", "é", "~~", "\\cite{", "<s", "3 x"]
)
def test_folding_takes_linear_time(piece: str) -> None:
    begun = time.process_time()
    fold((piece * 100_000)[:100_000])
    assert time.process_time() - begun < 2
