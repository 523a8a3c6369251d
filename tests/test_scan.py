"""What `scan` lists and what it leaves out: names, years, citations, labels, math."""

import pytest

from schemas.quantity import scan


def quotes(text: str) -> list[str]:
    return [text[span.start : span.end] for span in scan(text)]


LEFT_OUT = [
    "On CIFAR-10, CIFAR-100 and ResNet-32,44 we follow GPT-4 and GPT-3.5-Turbo.",
    "We adapt Llama 2, Qwen2.5-VL 7B, Mixtral 8x7B and T5-11B.",
    "Parsing on MultiWOZ 2.0 and CoNLL 2003 with an RTX 4090.",
    "A 3D scene, 2-D maps, the 2nd and 19th place.",
    "Sequence models such as seq2seq, BM25 and word2vec report F1, P@20 and pass@1.",
    r"The rate is $K(\sigma^2+U^2)$, at most $O(1/\epsilon^2)$ and $\mathcal{O}(d^{3/2})$.",
    r"Let $x_1, x_2 \in [0,1]$ and $k=3$, $\epsilon = 0$, with $n \geq 2$.",
    r"\[ f(x) = 2x + 1 \]",
    "Since 2019 (Smith et al., 2020; Jones, 2021), in 1998 [12], [3, 4-6] and [J. Examples 1998, 28, 11].",
    "Code is at https://github.com/abc/v2 and www.example.org/x?y=3 (doi:10.1145/12345.678).",
    "See Section 3, Table 2, Fig. 4 and Theorem 1.",
    "We (1) train, (2) test. It has: 1) speed; 2) size.",
    "Inputs of 256×256 and 224 x 224 pixels.",
    "A two-stage, zero-shot, 5-shot and one-hot design with three-way joints.",
    "No one can; the latter one is better. One observes it, and one of them does.",
    "In half-precision, the first half, with double descent and 5-fold cross-validation.",
    "Contributions are threefold: speed, size and cost.",
    "Beyond 10^{9999} of them.",
    "In the early 1990s, Jones (2018b) extracts relation triples by Successive Halving of twice-differentiable maps.",
]

LISTED = [
    ("78.3 ± 0.4 points", ["78.3"]),
    ("with $p=0.013$ and r = 0.67", ["0.013", "0.67"]),
    ("AUROC=0.86 and Kappa 0.71", ["0.86", "0.71"]),
    ("from 4x–11.6x and 2B-13B weights", ["4x", "11.6x", "2B", "13B"]),
    ("Using 200 samples, on 2000 images", ["200", "2000"]),
    ("in 12 out of 60 (20%) cases", ["12", "60", "20%"]),
    ("one English and two German sets", ["one", "two"]),
    ("it doubles the speed of the next best", ["doubles"]),
    ("half of the data, two thirds of it", ["half", "two thirds"]),
    ("scores 61.0→63.5 here", ["61.0", "63.5"]),
    ("beats CODEC 2000 and is 2.4 times smaller, on Sets 2.0 and 8.5% of it", ["2.4", "8.5%"]),
    ("speed-ups of 2.7x 3.4x", ["2.7x", "3.4x"]),
    ("doubling the speed, halving the error", ["doubling", "halving"]),
    ("it scores 88.3±0.2% (3.5), for one million images", ["88.3", "3.5", "one million"]),
    ("drops from 95% to12%", ["95%", "12%"]),
    ("costs \\$0.31 - \\$0.36 a page", [r"\$0.31", r"\$0.36"]),
    ("we use a 7B model on one hundred tasks", ["7B", "one hundred"]),
    ("runs at 1.5m/s over 0.6m steps", ["1.5m/s", "0.6m"]),
]


@pytest.mark.parametrize("text", LEFT_OUT)
def test_what_is_no_quantity(text: str) -> None:
    assert quotes(text) == []


@pytest.mark.parametrize(("text", "expected"), LISTED)
def test_what_is_one(text: str, expected: list[str]) -> None:
    assert quotes(text) == expected


@pytest.mark.parametrize("text", ["sİx tasks", "ſix tasks", "3 sıx 4", "5 \u212a", "tWo mİllion"])
def test_letters_that_only_look_alike_without_case_are_no_fault(text: str) -> None:
    for span in scan(text):
        assert text[span.start : span.end].strip()
