"""Lesson 01 prints the figures of its two source documents: what the executed notebook printed is compared with them.

A printed tensor is known by the line above it ("queries"), so that a right figure under a wrong name fails too.
"""

import ast
import json
import re
from pathlib import Path

import pytest

NOTEBOOK = Path(__file__).parents[2] / "solutions" / "01_self_attention.ipynb"
# A label on a line of its own, then a tensor of plain numbers; the dtype may follow.
LABELLED = re.compile(r"^([^\n]+)\ntensor\(([\[\]\d\s.,e+-]+?)(?:, dtype=torch\.\w+)?\)$", re.MULTILINE)

# Self-attention on three tokens of four numbers: every tensor that the document prints, with its digits.
SELF_ATTENTION = {
    "queries": [[1, 0, 2], [2, 2, 2], [2, 1, 3]],
    "keys": [[0, 1, 1], [4, 4, 0], [2, 3, 1]],
    "values": [[1, 2, 3], [2, 8, 0], [2, 6, 3]],
    "scores": [[2, 4, 4], [4, 16, 12], [4, 12, 10]],
    "root of d_k": 1.7321,
    "weights": [
        [1.3613e-01, 4.3194e-01, 4.3194e-01],
        [8.9045e-04, 9.0884e-01, 9.0267e-02],
        [7.4449e-03, 7.5471e-01, 2.3785e-01],
    ],
    "weighted values": [[1.8639, 6.3194, 1.7042], [1.9991, 7.8141, 0.2735], [1.9926, 7.4796, 0.7359]],
}

# "The cat sat": the input, and the scores and weights that the document prints as if one gave the other.
THE_CAT_SAT = {
    "The cat sat": [[0.1, 0.2, 0.3, 0.4], [0.5, 0.6, 0.7, 0.8], [0.9, 1.0, 1.1, 1.2]],
    "the page's scores": [[2.0, 1.5, 0.8], [1.5, 3.0, 2.1], [0.8, 2.1, 2.5]],
    "the page's weights": [[0.50, 0.30, 0.20], [0.20, 0.60, 0.20], [0.15, 0.35, 0.50]],
}

# What the lesson prints to show the truth about the documents' slips, and the sizes of the complete example.
LINES = [
    "2 · 4 = 8\n2 · 4 = 8\n2 · 0 = 0\nscore of token 1 for token 1:  tensor(16.)",
    "[10, 1, 1]  -> 0.99975, 0.00012, 0.00012",
    "[100, 1, 1] -> 1, 1e-43, 1e-43",
    "row cat, sat over The: score gap 0.6, log of ratio 0.00, scale 0.00",
    "rank of the input         2\nrank of the page's scores 3",
    "rank of the scores 2",
    "input shape: (4, 8)\noutput shape: (4, 4)\nattention weights shape: (4, 4)",
    "NaN              sum   nan   a row does not sum to one",
    "infinity         sum   inf   a row does not sum to one",
]


def printed_text(path):
    """What the cells printed, in order. One cell's output may have come in several pieces."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    streams = [[o for o in cell["outputs"] if o["output_type"] == "stream"] for cell in code]
    return "\n".join("".join("".join(output["text"]) for output in pieces) for pieces in streams)


def printed_tensors(text):
    """The tensors printed under each label, as nested lists."""
    found = {}
    for label, numbers in LABELLED.findall(text):
        found.setdefault(label, []).append(ast.literal_eval(numbers))
    return found


@pytest.fixture(scope="module")
def text():
    return printed_text(NOTEBOOK)


@pytest.mark.parametrize("label", SELF_ATTENTION)
def test_self_attention_prints_what_its_source_prints(text, label):
    assert printed_tensors(text).get(label) == [SELF_ATTENTION[label]]


@pytest.mark.parametrize("label", THE_CAT_SAT)
def test_the_cat_sat_is_shown_as_printed_in_its_source(text, label):
    assert printed_tensors(text).get(label) == [THE_CAT_SAT[label]]


@pytest.mark.parametrize("line", LINES, ids=lambda line: line.splitlines()[-1])
def test_truth_about_a_slip_is_printed(text, line):
    assert f"\n{line}\n" in f"\n{text}\n"


def test_rounded_weights_agree_with_those_in_scientific_notation(text):
    (rounded,) = printed_tensors(text)["weights, rounded"]
    for row, expected in zip(rounded, SELF_ATTENTION["weights"], strict=True):
        assert row == pytest.approx(expected, abs=5.1e-5)


def test_a_changed_digit_or_another_label_is_noticed():
    shown = "scores\ntensor([[ 2.,  4.],\n        [ 4., 16.]])\nroot of d_k\ntensor(1.7321)\n"
    assert printed_tensors(shown) == {"scores": [[[2, 4], [4, 16]]], "root of d_k": [1.7321]}
    assert printed_tensors(shown.replace("16.", "12."))["scores"] != [[[2, 4], [4, 16]]]
    assert "scores" not in printed_tensors(shown.replace("scores", "keys"))
