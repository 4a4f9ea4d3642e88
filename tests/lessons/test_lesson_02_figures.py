"""Lesson 02 prints the figures of its two source documents: what the executed notebook printed is compared with them.

A printed tensor is known by the line above it. Where the lesson prints a digit less than its source (the last one
depends on the processor), the source's number is to round to the printed one.
"""

import re

import pytest

from tests.lessons.printed import labelled, printed_tensors, printed_text

# In units of the last digit printed: 0.5 for its rounding, 0.05 for that of the source's one digit more.
TOLERANCE = 0.56

# Eight tokens in an embedding of width 16, attention without parameters.
EIGHT_TOKENS = {
    "sentence": [0, 7, 1, 2, 5, 6, 4, 3],
    "you": [
        *(-9.4053e-01, -4.6806e-01, 1.0322e00, -2.8300e-01, 4.9275e-01, -1.4078e-02, -2.7466e-01, -7.6409e-01),
        *(1.3966e00, -9.9491e-01, -1.5822e-03, 1.2471e00, -7.7105e-02, 1.2774e00, -1.4596e00, -2.1595e00),
    ],
    "scores of token 0": [2, 1, 1, 1],
    "weights of token 0": [0.4754, 0.1749, 0.1749, 0.1749],
    "mixture for token 0": [0.6502, 0.3498, 0.8251],
    "sums of the rows": [1.0000, 1.0000, 1.0000, 1.0000, 1.0000, 1.0000, 1.0000, 1.0000],
    "context vector of you": [
        *(-9.3975e-01, -4.6856e-01, 1.0311e00, -2.8192e-01, 4.9373e-01, -1.2896e-02, -2.7327e-01, -7.6358e-01),
        *(1.3958e00, -9.9543e-01, -7.1287e-04, 1.2449e00, -7.8077e-02, 1.2765e00, -1.4589e00, -2.1601e00),
    ],
}

# The same tokens with three random matrices.
TRAINABLE = {
    "omega_23": 14.3667,
    "omega_2": [-25.1623, 9.3602, 14.3667, 32.1482, 53.8976, 46.6626, -1.2131, -32.9392],
    "attention weights of you": [
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

# What the lesson prints to show the truth about a slip, and what its prose points at.
LINES = [
    "shape of the embedded sentence: (8, 16)",
    "shape of the attention weights: (8, 8)",
    "shape of all context vectors: (8, 16)\nTrue\nTrue",
    "wrong against itself:   True\nwrong against the loop: False\nright against the loop: True",
    "x_2 (16,)  U_query (16, 16)  query_2 (16,)",
    "keys   (8, 16) True\nvalues (8, 16) True",
    "input x (1, 3, 4)\n"
    "the tutorial's first query: [0.1149, 0.3946, -0.5309, 0.0528]\n"
    "two runs here agree:        False",
]


def unit(number):
    """The worth of a printed number's last digit: 1e-07 for "-7.129e-04". Torch drops the decimals of whole numbers."""
    mantissa, _, exponent = number.partition("e")
    decimals = len(mantissa.partition(".")[2]) or 4
    return float(f"1e{int(exponent or 0) - decimals}")


def rounds_to(printed, source):
    """Whether each of the source's numbers rounds to the one printed in its place."""
    numbers = re.findall(r"-?\d+\.?\d*(?:e[+-]\d+)?", printed)
    flat = source if isinstance(source, list) else [source]
    return len(numbers) == len(flat) and all(
        abs(float(number) - right) <= TOLERANCE * unit(number) for number, right in zip(numbers, flat, strict=True)
    )


@pytest.fixture(scope="module")
def text():
    return printed_text("02_trainable_attention")


@pytest.mark.parametrize("label", EIGHT_TOKENS | TRAINABLE)
def test_figures_of_the_eight_tokens_round_to_what_is_printed(text, label):
    (printed,) = labelled(text)[label]
    assert rounds_to(printed, (EIGHT_TOKENS | TRAINABLE)[label])


@pytest.mark.parametrize("label", WITH_LINEAR_LAYERS)
def test_linear_layers_print_what_their_source_prints(text, label):
    assert printed_tensors(text)[label] == [WITH_LINEAR_LAYERS[label]]


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
