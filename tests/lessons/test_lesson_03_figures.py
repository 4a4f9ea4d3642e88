"""Lesson 03 prints the figures of its source documents: what the executed notebook printed is compared with them.

A printed table is known by its title ("queries"), so that a right figure under a wrong name fails too.
"""

import re

import pytest

from tests.lessons.printed import named_tables, printed_text

HEAD_SCORES = [[2, 4, 4], [4, 8, 8], [4, 8, 8]]
HEAD_WEIGHTS = [[0.1084, 0.4458, 0.4458], [0.0287, 0.4856, 0.4856], [0.0287, 0.4856, 0.4856]]
CONCATENATED = [
    [1.1084, 2.6748, 2.4458, 3.2290],
    [1.0287, 2.9139, 2.4856, 3.4282],
    [1.0287, 2.9139, 2.4856, 3.4282],
]

# Multi-head attention on three tokens, two heads: every tensor that the document prints, with its digits. Those
# with three axes are tables with a row for each token and head, or a table for each head.
TWO_HEADS = {
    "queries": [[1, 1, 2, 0], [2, 2, 0, 4], [2, 2, 2, 2]],
    "keys": [[0, 2, 1, 1], [4, 0, 2, 2], [2, 2, 2, 2]],
    "values": [[2, 0, 2, 1], [0, 4, 2, 4], [2, 2, 3, 3]],
    "query heads": [[1, 1], [2, 0], [2, 2], [0, 4], [2, 2], [2, 2]],
    "key heads": [[0, 2], [1, 1], [4, 0], [2, 2], [2, 2], [2, 2]],
    "value heads": [[2, 0], [2, 1], [0, 4], [2, 4], [2, 2], [3, 3]],
    "queries of head 1": [[2, 0], [0, 4], [2, 2]],
    "keys of head 1, transposed": [[1, 2, 2], [1, 2, 2]],
    "scores of head 1": HEAD_SCORES,
    "scores, head 0": HEAD_SCORES,
    "scores, head 1": HEAD_SCORES,
    "weights, head 0": HEAD_WEIGHTS,
    "weights, head 1": HEAD_WEIGHTS,
    "one after the other": CONCATENATED,
    "concatenated": CONCATENATED,
    "output": [
        [2.3313, 4.2894, 3.0000, 4.5665],
        [2.2715, 4.6280, 3.0000, 4.8852],
        [2.2715, 4.6280, 3.0000, 4.8852],
    ],
}

# The shapes that the second document prints on the way through four heads, those that finishing the third one gives
# (8 words of 16 numbers, 8 heads, d_k = 32, d_v = 64), and the comparisons with another way to compute the same.
LINES = [
    "embedded sentence           (8, 16)",
    "one head: query, key, value (8, 32) (8, 32) (8, 64)",
    "eight heads side by side    (8, 512)",
    "projected back              (8, 16)",
    "largest difference from the loops: 0",
    "output, largest difference: 0.0000\nweights, largest difference: 0.0000",  # from PyTorch's
]


ON_THE_WAY = {
    "Q, K, V": "(1, 3, 8)",
    "heads": "(1, 4, 3, 2)",
    "scores": "(1, 4, 3, 3)",
    "mixed": "(1, 4, 3, 2)",
    "swapped back": "(1, 3, 4, 2)",
    "joined": "(1, 3, 8)",
}


@pytest.fixture(scope="module")
def text():
    return printed_text("03_multi_head_attention")


@pytest.mark.parametrize("title", TWO_HEADS)
def test_two_heads_print_what_their_source_prints(text, title):
    (printed,) = named_tables(text, title, len(TWO_HEADS[title]))
    assert [[float(number) for number in row] for row in printed] == TWO_HEADS[title]


@pytest.mark.parametrize("step", ON_THE_WAY)
def test_shapes_on_the_way_through_four_heads(text, step):
    assert re.search(rf"(?m)^{step} +[BTEHD, ]+ {re.escape(ON_THE_WAY[step])}$", text)


@pytest.mark.parametrize("line", LINES, ids=lambda line: line.splitlines()[-1])
def test_shape_or_difference_is_printed(text, line):
    assert f"\n{line}\n" in f"\n{text}\n"


def test_wrong_root_gives_flatter_weights(text):
    entropies = {name: float(e) for name, e in re.findall(r"(?m)^(head_dim|d_model) = .* ([\d.]+)$", text)}
    (equal,) = re.findall(r"entropy of ten equal weights: ([\d.]+)", text)
    assert entropies["head_dim"] < entropies["d_model"] < float(equal)
