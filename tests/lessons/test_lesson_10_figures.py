"""Lesson 10 prints the patterns of its source document, its slip among them, and the facts that its text rests on."""

import pytest

from tests.lessons.printed import printed_tensors, printed_text

# Section 6 of the document, for five tokens: itself, uniform, and the neighbours with their ends as they stand there.
THIRD = 0.3333
PATTERNS = {
    "to itself": [[float(i == j) for j in range(5)] for i in range(5)],
    "to everybody": [[0.2] * 5] * 5,
    "neighbours, as on the page": [[THIRD if abs(i - j) <= 1 else 0.0 for j in range(5)] for i in range(5)],
    "sums of its rows": [0.6667, 1.0, 1.0, 1.0, 0.6667],
}
# What the text says about broken tables, the trained model and the probes.
LINES = [
    "right                     accepted",
    "mask = 0 · infinity       attention weights must be finite",
    "divided by their sum      attention weights must lie within [0, 1]",
    "softmax down the columns  each row of attention weights must sum to one",
    "masked after the softmax  each row of attention weights must sum to one",
    "mask forgotten            accepted\nnot scaled                accepted",
    "the one before    0.00    0.12    0.25    1.00",
    "largest difference, entry by entry: 0.05",
    "this is the course's model",
    "at least 99 % right: True",
    "6 August 1939 -> 1939-08-06  written right: True",
    "encoder  (L, H, Tq, Tk) = (2, 4, 13, 13)\ndecoder  (L, H, Tq, Tk) = (2, 4, 11, 11)",
    "cross    (L, H, Tq, Tk) = (2, 4, 11, 13)",
    "layer 1 · layer 0, row of token 2: [1.0, 0.0, 0.0]",
    "with residuals, row of token 2: [0.25, 0.5, 0.25]",
    "largest difference of the weights: 0.9\nthe outputs are the same: True",
    "spoilt one at a time, at least 4 of 5 dates still right: 24",
    "without it at least 95 % right: True",
    "the decoder's own attention in its last layer spoilt, at least 95 % right: True",
    "both cross-attentions spoilt, fewer than one in ten right: True",
    "of its own character: 0.31   of all others together: 0.69",
    "output 0 moves with token 0 - - - -",
    "another w_v changes  output: True   weights: False",
]


@pytest.fixture(scope="module")
def text():
    return printed_text("10_reading_attention")


@pytest.mark.parametrize("label", PATTERNS)
def test_patterns_are_those_of_the_document(text, label):
    assert printed_tensors(text).get(label, [])[:1] == [PATTERNS[label]]


@pytest.mark.parametrize("line", LINES, ids=lambda line: line.splitlines()[0][:50])
def test_what_the_text_rests_on_is_printed(text, line):
    assert f"\n{line}\n" in f"\n{text}\n"


def test_five_broken_tables_are_caught_and_two_are_not(text):
    told = text.partition("right                     accepted\n")[2].splitlines()[:7]
    assert [line.endswith("accepted") for line in told] == [False] * 5 + [True] * 2
