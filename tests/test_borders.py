import pytest

from extract.borders import balanced, is_whole


@pytest.mark.parametrize(
    ("text", "quote", "whole"),
    [
        ("the mechanISM", "ISM", False),
        ("two ISMs here", "ISM", True),
        ("an ISM's cost", "ISM", True),
        ("the ISM-based", "ISM", True),
        ("ISMSx", "ISM", False),
        ("ISMsx", "ISM", False),
        ("as it is", "a", False),
        ("Llama 3.1 wins", "Llama 3", False),
        ("Llama 3. It", "Llama 3", True),
        ("on CIFAR-100", "CIFAR-10", False),
        ("GPT-4o wins", "GPT-4", False),
        ("RoBERTa", "BERT", False),
        ("用BERT模型", "BERT", True),
        ("8xH100 GPUs", "H100", True),
        (r"\textbf{x}", "text", False),
        (r"\textbf{x}", "textbf", False),
        (r"line\\Name", "Name", True),
        ("17.06 here", "06", False),
        ("is .5 of", "5", False),
        ("the end.5 is", "5", True),
        ("10,000 of", "10", False),
        ("10,000 of", "000", False),
        ("cafe\u0301s", "cafe", False),
        ("7x more", "7", False),
        (r"\textbf{Foo}Net", "Foo", False),
        (r"\textbf{Foo}Net", "Net", False),
        (r"\textsc{Birch}s", "Birch", True),
        (r"the $k$-Birch", "Birch", True),
        (r"a \emph{Birch}$^2$", "Birch", True),
    ],
)
def test_a_quote_is_not_cut_out_of_something_longer(text: str, quote: str, whole: bool) -> None:
    start = text.index(quote)
    assert is_whole(text, start, start + len(quote)) is whole


def test_letters_may_touch_the_digits_of_a_number() -> None:
    assert is_whole("7x more", 0, 1, number=True)
    assert is_whole("from 4 to7%", 9, 11, number=True)
    assert is_whole("1,2,3", 2, 3, number=True)
    assert not is_whole("7.5", 0, 1, number=True)
    assert not is_whole("75", 0, 1, number=True)


@pytest.mark.parametrize(
    ("text", "span", "grown"),
    [
        (r"by \textbf{5} more", r"by \textbf{5", r"by \textbf{5}"),
        (r"by $\mathbf{5}$ more", r"by $\mathbf{5", r"by $\mathbf{5}$"),
        (r"by \textbf{5} more", "5} more", r"\textbf{5} more"),
        (r"by $5$ more", "5$ more", "$5$ more"),
        (r"by \textbf{5 or 6} more", r"by \textbf{5", r"by \textbf{5"),
        (r"by \textbf{5}", "5", "5"),
        (r"a \{5\} b", r"\{5", r"\{5"),
    ],
)
def test_a_span_takes_in_the_other_end_of_mark_up(text: str, span: str, grown: str) -> None:
    start = text.index(span)
    first, last = balanced(text, start, start + len(span), 0, len(text))
    assert text[first:last] == grown
