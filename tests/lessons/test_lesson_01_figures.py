"""Lesson 01 prints the figures of its source documents: what the executed notebook printed is compared with them.

A printed table or tensor is known by its title ("queries"), so that a right figure under a wrong name fails too. Where
the lesson prints a digit less than its source (the last one depends on the processor), the source's number is to round
to the printed one.
"""

import pytest

from tests.lessons.printed import cells_of, labelled, named_rows, named_tables, printed_text, rounds_to

# Eight words in an embedding of width 16 and four of width 3, attention without parameters.
WITHOUT_PARAMETERS = {
    "sentence": [0, 7, 1, 2, 5, 6, 4, 3],
    "scores of robot": [2, 1, 1, 1],
    "weights of robot": [0.4754, 0.1749, 0.1749, 0.1749],
    "mixture  robot": [0.6502, 0.3498, 0.8251],
    "sums of the rows": [1.0000, 1.0000, 1.0000, 1.0000, 1.0000, 1.0000, 1.0000, 1.0000],
    "context vector of you": [
        *(-9.3975e-01, -4.6856e-01, 1.0311e00, -2.8192e-01, 4.9373e-01, -1.2896e-02, -2.7327e-01, -7.6358e-01),
        *(1.3958e00, -9.9543e-01, -7.1287e-04, 1.2449e00, -7.8077e-02, 1.2765e00, -1.4589e00, -2.1601e00),
    ],
    "root of d_k": 1.7321,
}

# Self-attention on three tokens of four numbers: every tensor that the document prints, with its digits.
SELF_ATTENTION = {
    "queries": [[1, 0, 2], [2, 2, 2], [2, 1, 3]],
    "keys": [[0, 1, 1], [4, 4, 0], [2, 3, 1]],
    "values": [[1, 2, 3], [2, 8, 0], [2, 6, 3]],
    "scores": [[2, 4, 4], [4, 16, 12], [4, 12, 10]],
    "weights": [
        [1.3613e-01, 4.3194e-01, 4.3194e-01],
        [8.9045e-04, 9.0884e-01, 9.0267e-02],
        [7.4449e-03, 7.5471e-01, 2.3785e-01],
    ],
    "weighted values": [[1.8639, 6.3194, 1.7042], [1.9991, 7.8141, 0.2735], [1.9926, 7.4796, 0.7359]],
}

# What its prose points at.
LINES = [
    "shape of the embedded sentence: (8, 16)",
    "shape of the attention weights: (8, 8)",
    "robot over crate: 1.0000",
    "2 · 4 = 8\n2 · 4 = 8\n2 · 0 = 0\nscore of build for build: 16",
    "input shape: (4, 8)\noutput shape: (4, 4)\nattention weights shape: (4, 4)",
    "largest difference: 0.0000",  # from the tutorial's function in NumPy
]


@pytest.fixture(scope="module")
def text():
    return printed_text("01_self_attention")


def rows_of(text, title):
    """The rows of the tables of a title, or all that look like one."""
    lines = text.splitlines()
    return [row for table in named_rows(text, title, rows=4) for row in table] if title else map(cells_of, lines)


@pytest.mark.parametrize("label", WITHOUT_PARAMETERS)
def test_attention_without_parameters_rounds_to_what_is_printed(text, label):
    title, _, row = label.rpartition("  ")
    in_tables = [" ".join(cells) for name, *cells in rows_of(text, title) if name == row]
    printed = [*labelled(text).get(label, []), *in_tables]
    assert any(rounds_to(numbers, WITHOUT_PARAMETERS[label]) for numbers in printed), printed


@pytest.mark.parametrize("label", SELF_ATTENTION)
def test_self_attention_prints_what_its_source_prints(text, label):
    tables = named_tables(text, label, rows=3)
    assert SELF_ATTENTION[label] in [[list(map(float, row)) for row in table] for table in tables if len(table) == 3]


@pytest.mark.parametrize("line", LINES, ids=lambda line: line.splitlines()[-1])
def test_line_is_printed(text, line):
    assert f"\n{line}\n" in f"\n{text}\n"


def test_rounded_weights_agree_with_those_in_scientific_notation(text):
    (rounded,) = named_tables(text, "weights, rounded", rows=3)
    for row, expected in zip(rounded, SELF_ATTENTION["weights"], strict=True):
        assert [float(number) for number in row] == pytest.approx(expected, abs=5.1e-5)
