"""Lesson 04 prints the figures of its source documents: what the executed notebook printed is compared with them.

A table is known by its title ("weights"), so that a right figure under a wrong name fails too. What lesson 03 prints of
the example with two heads (queries, keys, values, and each cut into heads) is compared there.
"""

import re
from collections import Counter, defaultdict

import pytest

from grader.models.rhyme import RHYME
from tests.lessons.printed import named_tables, printed_text

HIDDEN = float("-inf")

# Masked multi-head attention on three tokens with two heads: the tensors that the document prints, with its digits. Its
# two heads have the same scores, so the same weights, and one table shows both.
MASKED_MULTI_HEAD_ATTENTION = {
    "scores": [[2, 4, 4], [4, 8, 8], [4, 8, 8]],
    "masked scores": [[2, HIDDEN, HIDDEN], [4, 8, HIDDEN], [4, 8, 8]],
    "weights": [[1, 0, 0], [0.0558, 0.9442, 0], [0.0287, 0.4856, 0.4856]],
    "joined heads": [
        [2.0000, 0.0000, 2.0000, 1.0000],
        [0.1116, 3.7768, 2.0000, 3.8326],
        [1.0287, 2.9139, 2.4856, 3.4282],
    ],
    "output": [
        [3.0000, 0.5000, 3.0000, 1.0000],
        [1.1116, 5.6931, 2.0558, 5.7210],
        [2.2715, 4.6280, 3.0000, 4.8852],
    ],
    # The causal mask of the page with one head, as it draws it.
    "the mask as it is drawn": [
        [0, HIDDEN, HIDDEN, HIDDEN],
        [0, 0, HIDDEN, HIDDEN],
        [0, 0, 0, HIDDEN],
        [0, 0, 0, 0],
    ],
}
# The shapes of the page with a whole Transformer, and what the lesson prints to show the truth about the slips. Two
# spaces stand between the cells of a table.
LINES = [
    "src (128, 28)  src_mask (128, 1, 1, 28)",
    "trg (128, 29)  trg_mask (128, 1, 29, 29)",
    "energy (128, 8, 28, 28) -> masked (128, 8, 28, 28)",
    "padded at the end  jack 0.00  built 0.00  pad 0.33  pad 0.50",
    "padded at the front  pad 1.00  pad 1.00  jack 0.67  built 0.50",
    "fill -inf, float16  nan  nan  nan",
    "fill -inf, float32  nan  nan  nan",
    "fill -inf, float64  nan  nan  nan",
    "subtract 1e10, float16  nan  nan  nan",
    "subtract 1e10, float32  0.3333  0.3333  0.3333",
    "subtract 1e10, float64  0.0091  0.4955  0.4955",
    "fill -1e20, float16  error  error  error",
    "fill -1e20, float32  0.3333  0.3333  0.3333",
    "fill -1e20, float64  0.3333  0.3333  0.3333",
    "no mask  0.0091  0.4955  0.4955",
    "float32  3.403e+38  1024  0",
    "F.scaled_dot_product_attention  0.00  0.00  0.00",
    "nn.MultiheadAttention  nan  nan  nan",
    # Hidden after the softmax and normalised again.
    "hidden score 90  0.2689  0.7311  0.0000",
    "hidden score 104  0.0000  1.0000  0.0000",
    "hidden score 120  nan  nan  nan",
    # A model without a mask and one with it: the first writes from a long start only.
    "2 words given: the malt lay lay house lay house lay in the",
    "12 words given: this is the house that jack built . this is the malt that lay in the house that jack built",
    "right answers: 94.5%, and 99.8% without a mask",
    "the malt that lay in the house that jack built",
]


@pytest.fixture(scope="module")
def text():
    return printed_text("04_masking")


@pytest.mark.parametrize("title", MASKED_MULTI_HEAD_ATTENTION)
def test_masked_attention_prints_what_its_source_prints(text, title):
    figures = MASKED_MULTI_HEAD_ATTENTION[title]
    tables = named_tables(text, title, rows=len(figures))
    # "scores" and "weights" are titles of other examples, too.
    assert figures in [[list(map(float, row)) for row in table] for table in tables if _numbers(table)]


@pytest.mark.parametrize("line", LINES)
def test_truth_about_a_slip_is_printed(text, line):
    printed = {re.sub(r" {2,}", "  ", one.strip()) for one in text.splitlines()}
    assert line in printed


def test_both_conventions_stand_side_by_side(text):
    may_attend, hide = (named_tables(text, f"True = {meaning}", rows=3)[0] for meaning in ("may attend", "hide"))
    assert hide == [["False", "True", "True"], ["False", "False", "True"], ["False", "False", "False"]]
    opposite = {"True": "False", "False": "True"}
    assert may_attend == [[opposite[cell] for cell in row] for row in hide]


def test_nobody_gets_more_of_the_rhyme_right_from_the_words_so_far(text):
    words = RHYME.split()
    next_words = defaultdict(Counter)
    for start in range(len(words) - 12):
        for end in range(start + 1, start + 13):
            next_words[tuple(words[start:end])][words[end]] += 1
    best = sum(max(counted.values()) for counted in next_words.values())
    assert f"right answers: {best / ((len(words) - 12) * 12):.1%}, and" in text


def _numbers(table):
    return all(re.fullmatch(r"-?(\d.*|inf)", cell) for row in table for cell in row)
