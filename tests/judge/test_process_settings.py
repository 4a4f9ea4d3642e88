"""What cells set for the whole process decides no check, and the cells after it run under it."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from tests.exercises.process_settings import settings
from tests.judge.conftest import AFFINE_RIGHT, IMPORTS, LIMITS, RIGHT
from tools import notebooks as nb

ALONE = (
    *('set_default_device("meta")', "set_default_dtype(torch.float16)", "set_grad_enabled(False)", "inference_mode()"),
    *('set_float32_matmul_precision("medium")', "TorchFunctionMode()", "seterr", "simplefilter", "class Mode"),
)
STILL_SET = """
assert torch.get_default_dtype() is torch.float64
assert torch.ones(1).device.type == "meta"
assert not torch.is_grad_enabled()
assert torch.initial_seed() == 5
"""


@pytest.fixture
def judge(judge):
    """With more time than honest code takes, however busy the machine is."""
    return partial(judge, limits=replace(LIMITS, check_seconds=20, cell_seconds=20, submission_seconds=120))


def notebook(lines: list[str], before_affine: str = "") -> list[dict[str, Any]]:
    return [
        nb.code(IMPORTS, "example", id="imports"),
        *(nb.code(line) for line in lines),
        nb.code(RIGHT, "solution", "product"),
        nb.code("check(product)", "check", "product"),
        nb.code(before_affine + AFFINE_RIGHT, "solution", "Affine"),
        nb.code("check(Affine)", "check", "Affine"),
    ]


def test_all_settings_together_cost_nothing(judge):
    result = judge(notebook(list(settings())))
    assert [exercise.score for exercise in result.exercises] == [1, 1]


@pytest.mark.parametrize("known", ALONE)
def test_each_costs_nothing(judge, known):
    code = next(code for code in settings() if known in code)
    result = judge(notebook([code]))
    assert [exercise.score for exercise in result.exercises] == [1, 1]


def test_later_cells_run_under_what_earlier_ones_have_set(judge):
    made = ["torch.manual_seed(5)", "torch.set_default_device('meta'); torch.set_default_dtype(torch.float64)"]
    made += ["torch.set_grad_enabled(False)"]
    result = judge(notebook(made, STILL_SET))
    assert [exercise.score for exercise in result.exercises] == [1, 1]
    assert result["Affine"].output == ""
