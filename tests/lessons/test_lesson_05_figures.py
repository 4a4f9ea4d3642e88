"""Lesson 05 prints the figures of its source document: what the executed notebook printed is compared with them.

A printed table is known by its title, so that a right figure under a wrong name fails too.
"""

import pytest

from tests.lessons.printed import named_tables, printed_text

# Every tensor that the document prints on LayerNorm and BatchNorm, with its digits, by the title of its table.
OF_THE_SOURCE = {
    "numbers": [[1, 2, 3], [1, 1, 1]],
    "nn.LayerNorm": [[-1.2247, 0, 1.2247], [0, 0, 0], [1, 1, 1], [0, 0, 0]],  # output, weight, bias
    "of the row": [[2, 0.8165], [1, 0]],
    "the tutorial's line, rows": [[-1.2247, 0, 1.2247], [0, 0, 0]],
    "nn.BatchNorm1d": [[0, 1, 1], [0, -1, -1], [1, 1, 1], [0, 0, 0]],
    "of the column": [[1, 1.5, 2], [0, 0.5, 1]],
    "the tutorial's line, columns": [[0, 1, 1], [0, -1, -1]],
}

# Rows of tables that show the truth about a slip, and what the lesson adds: a word, and what is behind it.
KNOWN = "this is the cat that killed the rat that ate the malt that"
ROWS = [
    ("cat, ε = 0.1, formula", "-1.1421 0.0000 1.1421"),
    ("cat, ε = 0.1, line", "-1.0911 0.0000 1.0911"),
    ("cat, with d − 1", "-1.0000 0.0000 1.0000"),
    ("eval mode, one sample", "1.0755 5.0773"),
    ("RMSNorm of cat", "0.4629 0.9258 1.3887"),
    ("with norms", f"0.07 {KNOWN}"),
    ("eval mode, in company", KNOWN),
    ("LayerNorm, train mode", KNOWN),
    ("given to the sub-layer", "1000.0000 2000.0000 6000.0000"),
    ("given to the sub-layer", "-0.9258 -0.4629 1.3887"),
    ("from the block", "1000.0000 2000.0000 6000.0000"),
    ("from the block", "-0.9258 -0.4629 1.3887"),
    ("pre-norm", f"0.06 {KNOWN}"),
    ("post-norm", "0.19 1.85 2.52 2.52 2.52"),  # at five rates
    ("a heavier x", f"0.06 {KNOWN}"),
    ("your RMSNorm", f"0.06 {KNOWN}"),
]
LINES = [
    "mean 4.00, variance with N 6.80, with N − 1 8.50",
    "running_mean 0.40, running_var 1.75\nremembered: 8.50\nthe output's variance with N: 1.00",
    "train mode, one sample: ValueError: "
    "Expected more than 1 value per channel when training, got input size torch.Size([1, 1])",
    "who doesn't read: 2.52",
]


@pytest.fixture(scope="module")
def text():
    return printed_text("05_normalization")


def table(text, title, rows):
    """The numbers of the table with that title, of which there is one."""
    [numbers] = named_tables(text, title, rows)
    return [[float(number) for number in row] for row in numbers]


@pytest.mark.parametrize("title", OF_THE_SOURCE)
def test_a_table_prints_what_its_source_prints(text, title):
    assert table(text, title, len(OF_THE_SOURCE[title])) == OF_THE_SOURCE[title]


@pytest.mark.parametrize(("word", "behind"), ROWS)
def test_a_row_holds_what_the_prose_speaks_of(text, word, behind):
    assert f"{word} {behind}" in [" ".join(line.split()) for line in text.splitlines()]


@pytest.mark.parametrize("line", LINES, ids=lambda line: line.splitlines()[-1])
def test_a_line_is_printed(text, line):
    assert f"\n{line}\n" in f"\n{text}\n"


def test_gradient_explodes_and_vanishes_in_post_norm_stacks_only(text):
    post, pre = table(text, "gradient", 6)[:3], table(text, "gradient", 6)[3:]
    _, with_a_bias, strong_tanh = post
    assert strong_tanh[0] > 100 * strong_tanh[-1]
    assert with_a_bias[0] < with_a_bias[-1] / 1000
    assert all(max(lengths) < 60 * min(lengths) for lengths in pre)


def test_padding_and_the_future_move_batch_norm_and_not_layer_norm(text):
    by_batch, by_layer = (table(text, f"first token, {norm}", 4) for norm in ("BatchNorm", "LayerNorm"))
    assert len({tuple(token) for token in by_batch}) == 4
    assert len({tuple(token) for token in by_layer}) == 1
