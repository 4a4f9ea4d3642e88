"""Lesson 04 prints the figures of its source documents: what the executed notebook printed is compared with them.

A printed tensor is known by the line above it ("weights"), so that a right figure under a wrong name fails too.
"""

import pytest

from tests.lessons.printed import printed_tensors, printed_text

HIDDEN = -1e999  # as ast reads it: minus infinity

# Masked multi-head attention on three tokens with two heads: every tensor that the document prints, with its digits.
# Its two heads have the same scores, so the same weights.
HEAD_SCORES = [[2, 4, 4], [4, 8, 8], [4, 8, 8]]
HEAD_MASKED = [[2, HIDDEN, HIDDEN], [4, 8, HIDDEN], [4, 8, 8]]
HEAD_WEIGHTS = [[1, 0, 0], [0.0558, 0.9442, 0], [0.0287, 0.4856, 0.4856]]
MASKED_MULTI_HEAD_ATTENTION = {
    "queries": [[1, 1, 2, 0], [2, 2, 0, 4], [2, 2, 2, 2]],
    "keys": [[0, 2, 1, 1], [4, 0, 2, 2], [2, 2, 2, 2]],
    "values": [[2, 0, 2, 1], [0, 4, 2, 4], [2, 2, 3, 3]],
    "query heads": [[[1, 1], [2, 0]], [[2, 2], [0, 4]], [[2, 2], [2, 2]]],
    "key heads": [[[0, 2], [1, 1]], [[4, 0], [2, 2]], [[2, 2], [2, 2]]],
    "value heads": [[[2, 0], [2, 1]], [[0, 4], [2, 4]], [[2, 2], [3, 3]]],
    "scores": [HEAD_SCORES, HEAD_SCORES],
    "mask, True = hide": [[False, True, True], [False, False, True], [False, False, False]],
    "masked scores": [HEAD_MASKED, HEAD_MASKED],
    "weights": [HEAD_WEIGHTS, HEAD_WEIGHTS],
    "mixed values": [
        [[2.0000, 0.0000], [2.0000, 1.0000]],
        [[0.1116, 3.7768], [2.0000, 3.8326]],
        [[1.0287, 2.9139], [2.4856, 3.4282]],
    ],
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
}
# The causal mask of the page with one head, as it draws it.
DRAWN = {
    "the mask as the tutorial draws it": [
        [0, HIDDEN, HIDDEN, HIDDEN],
        [0, 0, HIDDEN, HIDDEN],
        [0, 0, 0, HIDDEN],
        [0, 0, 0, 0],
    ]
}
# The shapes of the page with a whole Transformer, and what the lesson prints to show the truth about the slips.
LINES = [
    "src (128, 28)  src_mask (128, 1, 1, 28)\ntrg (128, 29)  trg_mask (128, 1, 29, 29)",
    "energy (128, 8, 28, 28) -> masked (128, 8, 28, 28)",
    "[8, 2, 1, 1]  query 1 (token  ) gives padding 0.00\n[8, 2, 1, 1]  query 2 (padding) gives padding 0.33",
    "[1, 1, 8, 2]  query 2 (token  ) gives padding 0.67",
    "fill -inf      float16  nan, nan, nan",
    "fill -inf      float32  nan, nan, nan",
    "fill -inf      float64  nan, nan, nan",
    "subtract 1e10  float16  nan, nan, nan",
    "subtract 1e10  float32  0.3333, 0.3333, 0.3333",
    "subtract 1e10  float64  0.0091, 0.4955, 0.4955",
    "fill -1e20     float16  RuntimeError: value cannot be converted …",
    "fill -1e20     float32  0.3333, 0.3333, 0.3333\nfill -1e20     float64  0.3333, 0.3333, 0.3333",
    "without a mask          0.0091, 0.4955, 0.4955",
    "from 1e10 to the next number in float32: 1024.0",
    "last row of nn.MultiheadAttention: [nan, nan, nan]",
    "the hidden score is   104:  tensor([0., 1., 0.])\nthe hidden score is   120:  tensor([nan, nan, nan])",
    # A model without a mask and one with it.
    "right answers: 93.6%, and 99.8% without a mask\nthe malt that lay in the house that jack built",
]


@pytest.fixture(scope="module")
def text():
    return printed_text("04_masking")


@pytest.mark.parametrize("label", MASKED_MULTI_HEAD_ATTENTION)
def test_masked_attention_prints_what_its_source_prints(text, label):
    figures = MASKED_MULTI_HEAD_ATTENTION[label]
    # "weights" is also the label of a later example.
    assert printed_tensors(text).get(label, [])[:1] == [figures]


@pytest.mark.parametrize("label", DRAWN)
def test_causal_mask_is_drawn_as_in_its_source(text, label):
    assert printed_tensors(text).get(label) == [DRAWN[label]]


@pytest.mark.parametrize("line", LINES, ids=lambda line: line.splitlines()[-1])
def test_truth_about_a_slip_is_printed(text, line):
    assert f"\n{line}\n" in f"\n{text}\n"


def test_both_conventions_stand_side_by_side(text):
    shown = printed_tensors(text)
    (hide,) = shown["mask, True = hide"]
    for may_attend, hidden in zip(shown["True = may attend"][0], hide, strict=True):
        assert may_attend == [not one for one in hidden]
    assert shown["True = hide"][0] == hide
