"""What a right answer doesn't notice: that an input isn't contiguous, and that there was a call before."""

from __future__ import annotations

import pytest
import torch

from grader.spec.evaluate import evaluate
from grader.spec.exercise import Finding
from grader.subject.values import strided
from tests.spec.toy import TOYS

IMPORTS = "import torch\nfrom torch import nn\n"
RIGHT = "def product(left, right):\n    return torch.einsum('...td,de->...te', left, right)\n"


@pytest.fixture
def checked(subject_of):
    def checked(source, name="product"):
        return evaluate(TOYS[name], subject_of(IMPORTS + source), exercises=TOYS)

    return checked


def first(report) -> Finding:
    assert report.first_failure is not None, str(report)
    return report.first_failure


@pytest.mark.parametrize("shape", [(2, 3, 4), (1, 3, 4), (3, 1, 4), (2, 3), (1, 3), (3, 1), (4,), (1, 1, 2), (2, 1, 1)])
def test_a_strided_copy_has_the_same_numbers_and_is_not_contiguous(shape):
    tensor = torch.randn(shape)
    assert torch.equal(strided(tensor), tensor)
    assert not strided(tensor).is_contiguous()


def test_a_view_that_needs_contiguous_inputs_is_told_and_costs_little(checked):
    report = checked(
        "def product(left, right):\n"
        "    flat = left.view(-1, left.shape[-1])\n"
        "    return (flat @ right).view(*left.shape[:-1], right.shape[1])\n"
    )
    assert report.diagnosis == "not-contiguous"
    assert 0.9 < report.score < 1
    assert "`product` is right where its inputs are contiguous in memory" in first(report).message
    assert "view size is not compatible" in first(report).message
    assert ".reshape" in report.hints[-1]


def test_other_numbers_for_what_is_not_contiguous_are_told(checked):
    report = checked(
        "def product(left, right):\n"
        "    flat = left.as_strided((left.numel(),), (1,)) if left.numel() else left\n"
        "    return flat.reshape(left.shape) @ right\n"
    )
    assert report.diagnosis == "not-contiguous"


def test_an_answer_that_is_wrong_anyway_is_told_for_what_it_is(checked):
    report = checked(
        "def product(left, right):\n    return 2 * (left.view(-1, left.shape[-1]) @ right).view(*left.shape[:-1], -1)\n"
    )
    assert report.diagnosis == "doubled"


def test_results_remembered_by_shape_are_told(checked):
    report = checked(
        RIGHT + "right_product, known = product, {}\n"
        "def product(left, right):\n"
        "    key = left.shape, right.shape, left.dtype, left.requires_grad\n"
        "    if key not in known:\n"
        "        known[key] = right_product(left, right)\n"
        "    return known[key]\n"
    )
    assert report.diagnosis == "later-call"
    assert first(report).message.endswith("was wrong. It returned the result of the earlier call.")
    assert 0.8 < report.score < 1


def test_a_second_call_that_gives_something_else_is_told(checked):
    report = checked(
        RIGHT + "right_product, met = product, []\n"
        "def product(left, right):\n"
        "    result = right_product(left, right)\n"
        "    again = any(torch.equal(left, other) for other in met if other.shape == left.shape)\n"
        "    met.append(left.detach())\n"
        "    return result + 1 if again and not left.requires_grad else result\n"
    )
    assert report.diagnosis == "later-call"
    assert "with the same arguments, was wrong" in first(report).message


def test_a_buffer_that_every_call_fills_is_told(checked):
    report = checked(
        RIGHT + "right_product, buffers = product, {}\n"
        "def product(left, right):\n"
        "    result = right_product(left, right)\n"
        "    if result.requires_grad:\n"
        "        return result\n"
        "    return buffers.setdefault((result.shape, result.dtype), result.clone()).copy_(result)\n"
    )
    assert report.diagnosis == "changes-earlier"


def test_a_module_that_keeps_what_its_first_call_was_given_is_told(checked):
    kept = (
        "class Affine(nn.Module):\n"
        "    def __init__(self, d_in, d_out):\n"
        "        super().__init__()\n"
        "        self.linear = nn.Linear(d_in, d_out)\n"
        "        self.kept = {}\n"
        "    def forward(self, x):\n"
        "        return self.linear(self.kept.setdefault((x.shape, x.dtype, x.requires_grad), x))\n"
    )
    report = checked(kept, "Affine")
    assert report.diagnosis == "later-call", str(report)
