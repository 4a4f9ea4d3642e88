"""Lesson 01 prints the figures of its two source documents: what the executed notebook printed is compared with them.

A printed tensor is known by the line above it ("queries"), so that a right figure under a wrong name fails too.
"""

import pytest

from tests.lessons.printed import printed_tensors, printed_text

# Self-attention on three tokens of four numbers: every tensor that the document prints, with its digits.
SELF_ATTENTION = {
    "queries": [[1, 0, 2], [2, 2, 2], [2, 1, 3]],
    "keys": [[0, 1, 1], [4, 4, 0], [2, 3, 1]],
    "values": [[1, 2, 3], [2, 8, 0], [2, 6, 3]],
    "scores": [[2, 4, 4], [4, 16, 12], [4, 12, 10]],
    "root of d_k": 1.7321,
    "weights": [
        [1.3613e-01, 4.3194e-01, 4.3194e-01],
        [8.9045e-04, 9.0884e-01, 9.0267e-02],
        [7.4449e-03, 7.5471e-01, 2.3785e-01],
    ],
    "weighted values": [[1.8639, 6.3194, 1.7042], [1.9991, 7.8141, 0.2735], [1.9926, 7.4796, 0.7359]],
}

# "The cat sat": the input, and the scores and weights that the document prints as if one gave the other.
THE_CAT_SAT = {
    "The cat sat": [[0.1, 0.2, 0.3, 0.4], [0.5, 0.6, 0.7, 0.8], [0.9, 1.0, 1.1, 1.2]],
    "the tutorial's scores": [[2.0, 1.5, 0.8], [1.5, 3.0, 2.1], [0.8, 2.1, 2.5]],
    "the tutorial's weights": [[0.50, 0.30, 0.20], [0.20, 0.60, 0.20], [0.15, 0.35, 0.50]],
}

# What the lesson prints to show the truth about the documents' slips, and the sizes of the complete example.
LINES = [
    "2 · 4 = 8\n2 · 4 = 8\n2 · 0 = 0\nscore of token 1 for token 1:  tensor(16.)",
    "[10, 1, 1]  -> 0.99975, 0.00012, 0.00012",
    "[100, 1, 1] -> 1, 1e-43, 1e-43",
    "row cat, sat over The: score gap 0.6, log of ratio 0.00, factor 0.00",
    "rank of the input             2\nrank of the tutorial's scores 3",
    "rank of the scores 2",
    "largest difference: 0.0000",  # from the tutorial's function in NumPy
    "input shape: (4, 8)\noutput shape: (4, 4)\nattention weights shape: (4, 4)",
    "NaN              sum   nan   a row does not sum to one",
    "infinity         sum   inf   a row does not sum to one",
]


@pytest.fixture(scope="module")
def text():
    return printed_text("01_self_attention")


@pytest.mark.parametrize("label", SELF_ATTENTION)
def test_self_attention_prints_what_its_source_prints(text, label):
    assert printed_tensors(text).get(label) == [SELF_ATTENTION[label]]


@pytest.mark.parametrize("label", THE_CAT_SAT)
def test_the_cat_sat_is_shown_as_printed_in_its_source(text, label):
    assert printed_tensors(text).get(label) == [THE_CAT_SAT[label]]


@pytest.mark.parametrize("line", LINES, ids=lambda line: line.splitlines()[-1])
def test_truth_about_a_slip_is_printed(text, line):
    assert f"\n{line}\n" in f"\n{text}\n"


def test_rounded_weights_agree_with_those_in_scientific_notation(text):
    (rounded,) = printed_tensors(text)["weights, rounded"]
    for row, expected in zip(rounded, SELF_ATTENTION["weights"], strict=True):
        assert row == pytest.approx(expected, abs=5.1e-5)
