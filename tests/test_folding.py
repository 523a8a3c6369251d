"""The plain view of a text: what LaTeX and Unicode become, and that every character keeps its origin."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas.folding import SYMBOL, THIN, fold

VIEWS = [
    (r"\textbf{17.06\%}", "17.06%"),
    (r"$\mathbf{3.01\times}$", "3.01×"),
    ("10{,}000", "10,000"),
    (r"10\,000", f"10{THIN}000"),
    (r"\SI{3}{\milli\second}", "3 ms"),
    (r"\frac{1}{3}", "1/3"),
    (r"$\sigma^2$", f"{SYMBOL}^2"),
    (r"37^\circ", "37°"),
    ("10⁻⁴", "10^-4"),
    ("10<sup>5</sup>", "10^5"),
    ("3&nbsp;&times;", f"3{THIN}×"),
    ("5--7 and 5−7", "5–7 and 5-7"),
    ("Table~1, ~30%", f"Table{THIN}1, ≈30%"),
    ("ﬁve", "five"),
    ("1\u200b0", "10"),
    ("a  line\n  break", "a line break"),
    (r"see \cite{smith2020} and \url{a.b/1}", "see   and  "),
    ("**3x**", "3x"),
]


@pytest.mark.parametrize(("text", "view"), VIEWS)
def test_what_the_view_shows(text: str, view: str) -> None:
    assert fold(text).text == view


@pytest.mark.parametrize(
    ("text", "stretches"),
    [
        ("we pay $15 or $20 a page", []),
        ("between $15-$20 a page", []),
        ("we pay $5.2K USD, which is more than $3", []),
        (r"for $k=3$ it costs \$5", ["k=3"]),
        ("$$x+1$$ and \\(y\\)", ["x+1", "y"]),
        ("$12000$ models", ["12000"]),
    ],
)
def test_a_dollar_is_math_or_money(text: str, stretches: list[str]) -> None:
    folded = fold(text)
    assert [folded.text[start:end] for start, end, _, _ in folded.math] == stretches
    for _, _, start, end in folded.math:
        assert text[start] in "$\\"
        assert text[end - 1] in "$)"


@pytest.mark.parametrize(
    ("text", "found", "quote"),
    [
        (r"up to $\mathbf{3.01\times}$ faster", "3.01×", r"$\mathbf{3.01\times}$"),
        (r"a $<1\%$ loss", "1%", r"1\%"),
        (r"a 10$\times$ gain", "10×", r"10$\times$"),
        (r"some 357{\texttimes} more", "357×", r"357{\texttimes}"),
        (r"at \textbf{41\%} now", "41%", r"41\%"),
        (r"at \textbf{41}\% now", "41%", r"\textbf{41}\%"),
        (r"in $\sim400$ ms all", "400 ms", r"$\sim400$ ms"),
    ],
)
def test_a_quote_takes_the_mark_up_that_belongs_to_it(text: str, found: str, quote: str) -> None:
    folded = fold(text)
    at = folded.text.index(found)
    start, end = folded.quote_span(at, at + len(found))
    assert text[start:end] == quote


@settings(deadline=None)
@given(st.one_of(st.text(), st.text(alphabet="$\\{}^_~- \n0129.,x%½⁵×"), st.text(alphabet=st.characters())))
def test_every_character_keeps_its_origin(text: str) -> None:
    folded = fold(text)
    assert len(folded.text) == len(folded.starts) == len(folded.ends)
    assert folded.starts == sorted(folded.starts)
    assert folded.ends == sorted(folded.ends)
    for start, end in zip(folded.starts, folded.ends, strict=True):
        assert 0 <= start < end <= len(text)
    for place in range(len(folded.text)):
        start, end = folded.quote_span(place, place + 1)
        assert 0 <= start < end <= len(text)


@given(st.text(alphabet=st.characters(min_codepoint=0x20, max_codepoint=0x7E, exclude_characters="\\$~{}&<^*-")))
def test_plain_text_is_its_own_view(text: str) -> None:
    assert fold(text).text.replace(" ", "") == text.replace(" ", "")
