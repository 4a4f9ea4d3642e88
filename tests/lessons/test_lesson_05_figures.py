"""Lesson 05 prints the figures of its source document: what the executed notebook printed is compared with them.

A printed tensor is known by the line above it, so that a right figure under a wrong name fails too.
"""

import re

import pytest

from tests.lessons.printed import printed_tensors, printed_text

# Every tensor that the document prints on LayerNorm and BatchNorm, with its digits.
LAYER_NORM = {
    "numbers": [[1, 2, 3], [1, 1, 1]],
    "LayerNorm output": [[-1.2247, 0, 1.2247], [0, 0, 0]],
    "LayerNorm weight": [1, 1, 1],
    "LayerNorm bias": [0, 0, 0],
    "means of the rows": [2, 1],
    "standard deviations of the rows": [0.8165, 0],
    "the tutorial's line, rows": [[-1.2247, 0, 1.2247], [0, 0, 0]],
}
BATCH_NORM = {
    "BatchNorm output": [[0, 1, 1], [0, -1, -1]],
    "BatchNorm weight": [1, 1, 1],
    "BatchNorm bias": [0, 0, 0],
    "means of the columns": [1, 1.5, 2],
    "standard deviations of the columns": [0, 0.5, 1],
    "the tutorial's line, columns": [[0, 1, 1], [0, -1, -1]],
}

# What the lesson prints to show the truth about the document's slips, and what it adds.
LINES = [
    "eps 0.1   inside  tensor([-1.1421,  0.0000,  1.1421])\n          outside tensor([-1.0911,  0.0000,  1.0911])",
    "[1, 2, 3] normalised with d - 1: tensor([-1.,  0.,  1.])",
    "mean tensor(4.)  variance with N tensor(6.8000)  variance with N - 1 tensor(8.5000)\n"
    "running_mean tensor([0.4000])  running_var tensor([1.7500])\n"
    "output's variance with N tensor(1.)",
    "ValueError: Expected more than 1 value per channel when training, got input size torch.Size([1, 3])",
    "eval mode, alone: tensor([1.0755])",
    "LayerNorm: the first token moves by 0.0000",
    "RMSNorm                tensor([0.4629, 0.9258, 1.3887])",
    "without a norm loss   0.09 (size 0.5)   9e+01 (size 1)   2e+06 (size 2)",
    "with a norm    size 1: this is the cat that killed the rat that ate the malt that",
    "BatchNorm, eval mode, in company:  this is the cat that killed the rat that ate the malt that",
    "LayerNorm, train mode, in company: this is the cat that killed the rat that ate the malt that",
]


@pytest.fixture(scope="module")
def text():
    return printed_text("05_normalization")


@pytest.mark.parametrize("label", LAYER_NORM)
def test_layer_norm_prints_what_its_source_prints(text, label):
    assert printed_tensors(text).get(label) == [LAYER_NORM[label]]


@pytest.mark.parametrize("label", BATCH_NORM)
def test_batch_norm_prints_what_its_source_prints(text, label):
    assert printed_tensors(text).get(label) == [BATCH_NORM[label]]


@pytest.mark.parametrize("line", LINES, ids=lambda line: line.splitlines()[-1])
def test_truth_about_a_slip_is_printed(text, line):
    assert f"\n{line}\n" in f"\n{text}\n"


def gradients(text, place, branch):
    """The lengths of the gradient at the first, the middle and the last layer, from the lesson's table."""
    [numbers] = re.findall(rf"^{place} +{branch} {{2,}}(\S+) +(\S+) +(\S+)$", text, re.MULTILINE)
    return [float(number) for number in numbers]


def test_gradient_explodes_and_vanishes_in_post_norm_stacks_only(text):
    first, _, last = gradients(text, "post", "strong tanh")
    assert first > 100 * last
    first, _, last = gradients(text, "post", "ReLU and a bias")
    assert first < last / 1000
    for branch in ("ReLU", "ReLU and a bias", "strong tanh"):
        found = gradients(text, "pre", branch)
        assert max(found) < 30 * min(found)


def test_padding_moves_batch_norm_and_not_layer_norm(text):
    found = re.findall(r"^ *\d+ padding tokens   BatchNorm (.+?)   LayerNorm (.+)$", text, re.MULTILINE)
    assert len(found) == 3
    assert len({batch for batch, _ in found}) == 3
    assert len({layer for _, layer in found}) == 1
