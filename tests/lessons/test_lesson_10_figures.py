"""Lesson 10 prints the patterns of its source document, its slip among them, and the facts that its text rests on."""

import pytest

from tests.lessons.printed import named_tables, printed_text

# Section 6 of the document, for five tokens: itself, uniform, and the neighbours with their ends as they stand there,
# beside the sums of the rows.
THIRD, SUMS = 0.3333, (0.6667, 1.0, 1.0, 1.0, 0.6667)
PATTERNS = {
    "to itself": [[float(i == j) for j in range(5)] for i in range(5)],
    "to all alike": [[0.2] * 5] * 5,
    "tutorial": [[*(THIRD if abs(i - j) <= 1 else 0.0 for j in range(5)), SUMS[i]] for i in range(5)],
}
# What the text says about broken weights, the trained model and the probes.
LINES = [
    "right                     accepted",
    "mask = 0 · infinity       attention weights must be finite",
    "divided by their sum      attention weights must lie within [0, 1]",
    "softmax down the columns  each row of attention weights must sum to one",
    "masked after the softmax  each row of attention weights must sum to one",
    "mask forgotten            accepted\nnot scaled                accepted",
    "the one before     0.00    0.12   0.25  1.00",
    "largest distance from the pattern 'itself': 0.05",
    "this is the course's model",
    "200 dates: loss 0.002 nats",
    "encoder  (L, H, Tq, Tk) = (2, 4, 13, 13)\ndecoder  (L, H, Tq, Tk) = (2, 4, 11, 11)",
    "cross    (L, H, Tq, Tk) = (2, 4, 11, 13)",
    "layer 1 · layer 0  token 0  token 1  token 2\ntoken 0                  1        0        0",
    "token 2                  1        0        0",
    "token 2            0.25     0.50     0.25",
    "the head with the largest (kind, layer, head): ('cross', 0, 2)",
    "all heads          1939-08-06   loss of the 6: 0.003 nats",
    "without that head  1939-08-06   loss of the 6: 0.003 nats",
    "cross 0      1939-04-06              0.569\nfeed 0       1939-04-06              0.305",
    "own 1        1939-08-06              0.317\ncross 1      1939-08-06              0.033",
    "largest difference of the weights: 0.9\nlargest difference of the outputs: 0.0",
    "loss of the whole model: 0.002 nats\nmost: encoder, layer 0, head 0",
    "uniform over the past, mean largest weight: 0.27",
    "of its own character: 0.31   of all others: 0.69",
    "output 0 changes with token 0 - - - -",
    "another w_v changes  the output by 5.24  the weights by 0.00",
    "forgets_the_mask: alone and in a batch, the outputs differ by 0.00",
    "one at a time    0.053    0.002  0.030\nall at once      0.431    0.059  1.951",
]


@pytest.fixture(scope="module")
def text():
    return printed_text("10_reading_attention")


@pytest.mark.parametrize("label", PATTERNS)
def test_patterns_are_those_of_the_document(text, label):
    (table,) = named_tables(text, label, rows=5)
    assert [[float(number) for number in row] for row in table] == PATTERNS[label]


@pytest.mark.parametrize("line", LINES, ids=lambda line: line.splitlines()[0][:50])
def test_what_the_text_rests_on_is_printed(text, line):
    assert f"\n{line}\n" in f"\n{text}\n"


def test_five_suspects_are_refused_and_two_are_not(text):
    told = text.partition("right                     accepted\n")[2].splitlines()[:7]
    assert [line.endswith("accepted") for line in told] == [False] * 5 + [True] * 2
