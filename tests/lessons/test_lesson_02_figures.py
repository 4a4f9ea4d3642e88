"""Lesson 02 prints the figures of its two source documents: what the executed notebook printed is compared with them.

A printed table or tensor is known by its title. Where the lesson prints a digit less than its source (the last one
depends on the processor), the source's number is to round to the printed one.
"""

import pytest

from tests.lessons.printed import labelled, named_tables, printed_text, rounds_to

# Eight words in an embedding of width 16, with three random matrices.
TRAINABLE = {
    "you": [
        *(-9.4053e-01, -4.6806e-01, 1.0322e00, -2.8300e-01, 4.9275e-01, -1.4078e-02, -2.7466e-01, -7.6409e-01),
        *(1.3966e00, -9.9491e-01, -1.5822e-03, 1.2471e00, -7.7105e-02, 1.2774e00, -1.4596e00, -2.1595e00),
    ],
    "omega_2": [-25.1623, 9.3602, 14.3667, 32.1482, 53.8976, 46.6626, -1.2131, -32.9392],
    "weights": [
        *(2.2317e-09, 1.2499e-05, 4.3696e-05, 3.7242e-03, 8.5596e-01, 1.4026e-01, 8.8897e-07, 3.1935e-10),
    ],
    "trainable context vector of you": [
        *(-1.2226, -3.4387, -4.3928, -5.2125, -1.1249, -3.3041, -1.4316, -3.2765),
        *(-2.5114, -2.6105, -1.5793, -2.8433, -2.4142, -0.3998, -1.9917, -3.3499),
    ],
}

# Three tokens in a batch of one, with linear layers: every digit as printed.
WITH_LINEAR_LAYERS = {
    "Q": [[[0.1149, 0.3946, -0.5309, 0.0528], [-1.3997, -0.4482, 0.2062, 0.2142], [-0.5850, 0.1705, -0.4278, 0.1599]]],
    "K": [
        [[-0.7800, -0.3942, 0.2269, -0.4064], [1.3707, -0.5877, 0.0672, 0.4835], [-0.0946, -0.6880, 0.2605, -0.1646]]
    ],
    "V": [[[0.3892, 0.7641, -0.5828, 0.3151], [0.8578, -0.6832, 0.6244, -1.3132], [0.8181, 0.4225, -0.2706, -0.3415]]],
    "scaled scores": [[[-0.1935, -0.0423, -0.2146], [0.6141, -0.7689, 0.2296], [0.1135, -0.4267, -0.0998]]],
    "weights": [[[0.3182, 0.3702, 0.3116], [0.5177, 0.1299, 0.3525], [0.4183, 0.2437, 0.3380]]],
    "output": [
        [[0.6963, 0.1219, -0.0386, -0.4923], [0.6012, 0.4558, -0.3160, -0.1278], [0.6483, 0.2959, -0.1830, -0.3037]]
    ],
}

# "The cat sat": the input, and the scores and weights that the document prints as if one gave the other.
THE_CAT_SAT = {
    "The cat sat": [[0.1, 0.2, 0.3, 0.4], [0.5, 0.6, 0.7, 0.8], [0.9, 1.0, 1.1, 1.2]],
    "the tutorial's scores": [[2.0, 1.5, 0.8], [1.5, 3.0, 2.1], [0.8, 2.1, 2.5]],
    "the tutorial's weights": [[0.50, 0.30, 0.20], [0.20, 0.60, 0.20], [0.15, 0.35, 0.50]],
}

# What the lesson prints to show the truth about a slip, and what its prose points at.
LINES = [
    "x_2 (16,)  U_query (16, 16)  query_2 (16,)",
    "keys   (8, 16) True\nvalues (8, 16) True",
    "omega_23, you for help: 14.367",
    "input x (1, 3, 4)",
    "shape of all context vectors: (8, 16)\nTrue\nTrue",
    "wrong against itself:   True\nwrong against the loop: False\nright against the loop: True",
    "row cat, sat over The: score gap 0.6, log of ratio 0.00, factor 0.00",
    "rank of the input 2",
    "printed rank 3",
    "real rank 2",
    "[10, 1, 1]  -> 0.99975, 0.00012, 0.00012",
    "[100, 1, 1] -> 1, 1e-43, 1e-43",
    "NaN              sum   nan   a row does not sum to one",
    "infinity         sum   inf   a row does not sum to one",
]


@pytest.fixture(scope="module")
def text():
    return printed_text("02_trainable_attention")


@pytest.mark.parametrize("label", TRAINABLE)
def test_figures_of_the_eight_words_round_to_what_is_printed(text, label):
    printed = [*labelled(text).get(label, []), *(" ".join(row) for table in named_tables(text, label) for row in table)]
    assert any(rounds_to(numbers, TRAINABLE[label]) for numbers in printed), printed


@pytest.mark.parametrize("label", THE_CAT_SAT)
def test_the_cat_sat_is_shown_as_printed_in_its_source(text, label):
    (table,) = named_tables(text, label, rows=3)
    assert [list(map(float, row)) for row in table] == THE_CAT_SAT[label]


@pytest.mark.parametrize("label", WITH_LINEAR_LAYERS)
def test_linear_layers_print_what_their_source_prints(text, label):
    tables = [[list(map(float, row)) for row in table] for table in named_tables(text, label, rows=3)]
    assert WITH_LINEAR_LAYERS[label][0] in tables


@pytest.mark.parametrize("line", LINES, ids=lambda line: line.splitlines()[0])
def test_line_is_printed(text, line):
    assert f"\n{line}\n" in f"\n{text}\n"


def test_a_changed_digit_or_another_label_is_noticed():
    shown = "omega_23\ntensor(14.367)\nweights\ntensor([2.232e-09, 1.403e-01])\n"
    found = labelled(shown)
    assert rounds_to(found["omega_23"][0], 14.3667)
    assert rounds_to(found["weights"][0], [2.2317e-09, 1.4026e-01])
    assert not rounds_to("14.366", 14.3667)
    assert not rounds_to("[2.233e-09, 1.403e-01]", [2.2317e-09, 1.4026e-01])
    assert not rounds_to("[2.232e-09, 1.402e-01]", [2.2317e-09, 1.4026e-01])
    assert not rounds_to("[2.232e-09]", [2.2317e-09, 1.4026e-01])
    assert rounds_to("[1., 1.]", [1.0000, 1.0000])
    assert not rounds_to("[1., 1.]", [1.0000, 0.9998])
    assert "omega_23" not in labelled(shown.replace("omega_23", "omega_2"))
