"""Lesson 10 prints the patterns of its source document, its slip among them, and the facts that its text rests on."""

import pytest

from tests.lessons.printed import printed_tensors, printed_text

# Section 6 of the document, for five tokens: itself, uniform, and the neighbours with their ends as they stand there.
THIRD = 0.3333
PATTERNS = {
    "to itself": [[float(i == j) for j in range(5)] for i in range(5)],
    "to all alike": [[0.2] * 5] * 5,
    "neighbours, as in the tutorial": [[THIRD if abs(i - j) <= 1 else 0.0 for j in range(5)] for i in range(5)],
    "sums of its rows": [0.6667, 1.0, 1.0, 1.0, 0.6667],
}
# What the text says about broken weights, the trained model and the probes.
LINES = [
    "right                     accepted",
    "mask = 0 · infinity       attention weights must be finite",
    "divided by their sum      attention weights must lie within [0, 1]",
    "softmax down the columns  each row of attention weights must sum to one",
    "masked after the softmax  each row of attention weights must sum to one",
    "mask forgotten            accepted\nnot scaled                accepted",
    "the one before    0.00    0.12    0.25    1.00",
    "largest distance from the diagonal pattern: 0.05",
    "this is the course's model",
    "200 dates: loss 0.001 nats, 100% right",
    "encoder  (L, H, Tq, Tk) = (2, 4, 13, 13)\ndecoder  (L, H, Tq, Tk) = (2, 4, 11, 11)",
    "cross    (L, H, Tq, Tk) = (2, 4, 11, 13)",
    "layer 1 · layer 0, row of token 2: [1.0, 0.0, 0.0]",
    "with residuals, row of token 2: [0.25, 0.5, 0.25]",
    "the head with the largest (kind, layer, head): ('cross', 1, 1)",
    "all heads          1939-08-06   probability of the last character 0.999",
    "without that head  1939-08-06   probability of the last character 0.996",
    "largest difference of the weights: 0.9\nlargest difference of the outputs: 0.0",
    "encoder  layer 0      23     8     1     1",
    "uniform over the past, mean largest weight:  0.27",
    "most needed encoder, layer 0, head 0: sharpness 0.47, loss 23 times as large",
    "of the 8 sharpest, 5 are among the 8 most needed; chance gives 4",
    "of its own character: 0.31   of all others together: 0.69",
    "output 0 changes with token 0 - - - -",
    "another w_v changes  the output by 5.24  the weights by 0.00",
    "forgets_the_mask: alone and in a batch, the outputs differ by 0.00",
    "the fewest dates right: 92%",
    "encoder  all eight at the same time: 0.473 nats more, the loss 495 times as large, 26% of the dates right",
    "decoder  all eight at the same time: 0.009 nats more, the loss 11 times as large, 99% of the dates right",
    "cross    all eight at the same time: 2.250 nats more, the loss 2349 times as large, 0% of the dates right",
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


def test_five_suspects_are_refused_and_two_are_not(text):
    told = text.partition("right                     accepted\n")[2].splitlines()[:7]
    assert [line.endswith("accepted") for line in told] == [False] * 5 + [True] * 2
