"""How sure a claim is: which tokens said it, and what their probabilities come to."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extract.certainty import Certainties, Certainty, confidence

REPLY = '{"task":"parsing","datasets":["A","Bé"],"numbers":[{"quote":"5\\\\%","unit":"%"}]}'


def logprobs(tokens: list[tuple[str, float]]) -> str:
    return " ".join(f"{len(token.encode())}:{logprob}" for token, logprob in tokens)


def letters(reply: str, **sure: float) -> str:
    """A token a character, each certain but those named: the n-th token of the reply as `t<n>`."""
    return logprobs([(c, sure.get(f"t{n}", 0.0)) for n, c in enumerate(reply)])


def test_each_value_has_the_tokens_that_said_it() -> None:
    at = REPLY.index("parsing")
    found = Certainties.of(REPLY, letters(REPLY, **{f"t{at}": -0.5, f"t{at + 3}": -0.25}))
    assert found is not None
    assert found.get("task") == Certainty(-0.75, -0.5)
    assert found.get("datasets[0]") == Certainty(0.0, 0.0)
    assert found.get("") == Certainty(-0.75, -0.5)
    assert found.get("numbers[0].quote") == found.get("numbers[0]") == Certainty(0.0, 0.0)
    assert found.get("numbers[1]") is None


def test_a_token_that_reaches_into_a_value_counts() -> None:
    """The token that ends one value often begins the next: it was a choice of both."""
    reply = '{"a":[{"b":"x"}]}'
    said = [('{"a":', -0.125), ('[{"', -0.25), ('b":"', -0.5), ('x"}', -1.0), ("]}", -2.0)]
    found = Certainties.of(reply, logprobs(said))
    assert found is not None
    assert found.get("a[0]") == Certainty(-1.75, -1.0)
    assert found.get("a[0].b") == Certainty(-1.5, -1.0)


def test_letters_of_several_bytes_count_as_bytes() -> None:
    at = REPLY.index("é")
    found = Certainties.of(REPLY, letters(REPLY, **{f"t{at}": -2.0}))
    assert found is not None and found.get("datasets[1]") == Certainty(-2.0, -2.0)
    assert found.get("numbers[0]") == Certainty(0.0, 0.0)


@pytest.mark.parametrize(
    ("reply", "said"),
    [(REPLY, None), (REPLY, ""), (REPLY, "3:0 4:0"), ("no object", "9:0"), ('{"a":', "5:0"), ('{"a" 1}', "7:0")],
)
def test_what_does_not_fit_the_reply_says_nothing(reply: str, said: str | None) -> None:
    assert Certainties.of(reply, said) is None


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)


@given(value=st.dictionaries(st.text(max_size=4), JSON_VALUES, max_size=4), indent=st.sampled_from([None, 2]))
def test_any_reply_is_read_and_the_whole_is_all_tokens(value: dict[str, object], indent: int | None) -> None:
    reply = json.dumps(value, ensure_ascii=False, indent=indent).encode("utf-8", "replace").decode()
    said = logprobs([(c, -0.5) for c in reply])
    found = Certainties.of(reply, said)
    assert found is not None
    whole = found.get("")
    assert whole is not None and math.isclose(whole.total, -0.5 * len(reply))


def test_confidence_is_the_probability_until_it_is_calibrated() -> None:
    sure = Certainty(math.log(0.8), math.log(0.9))
    assert confidence(None, "datasets", {}) is None
    assert confidence(sure, "datasets", {}) == 0.8
    assert confidence(sure, "datasets", {"other": (9.0, 0.0, 0.0)}) == 0.8
    assert confidence(sure, "datasets", {"datasets": (0.0, 0.0, 0.0), "*": (9.0, 0.0, 0.0)}) == 0.5
    assert confidence(sure, "datasets", {"other": (9.0, 0.0, 0.0), "*": (0.0, 0.0, 0.0)}) == 0.5
    assert confidence(Certainty(-1e9, -1e9), "datasets", {"datasets": (1.0, 1.0, 1.0)}) == 0.0


@given(total=st.floats(-30, 0), least=st.floats(-30, 0), bias=st.floats(-5, 5), a=st.floats(0, 5), b=st.floats(0, 5))
def test_confidence_is_a_share(total: float, least: float, bias: float, a: float, b: float) -> None:
    said = confidence(Certainty(total, least), "kind", {"kind": (bias, a, b)})
    assert said is not None and 0.0 <= said <= 1.0
