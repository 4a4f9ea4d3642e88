"""`layer_norm` (Ba, Kiros and Hinton 2016, section 3)."""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor

from grader.exercises.lesson_05.mistakes import (
    all_but_first,
    all_but_last,
    bare,
    inside,
    norm_mistakes,
    norm_variants,
    outside,
    over_axes,
)
from grader.exercises.lesson_05.shared import norm_parts, square, with_leading_axes
from grader.sentences import say
from grader.spec.cases import LENGTH_ONE
from grader.spec.exclusions import NORMALISATION_KERNELS
from grader.spec.spec import Spec, by_id

spec = Spec(__name__)

INPUTS = {"x": "... E", "gamma": "E", "beta": "E"}


def reference(x: Tensor, gamma: Tensor, beta: Tensor, eps: float = 1e-5) -> Tensor:
    """(…, E) → (…, E): PyTorch's own LayerNorm, over the last axis; gamma and beta are (E,)."""
    return F.layer_norm(x, x.shape[-1:], gamma, beta, eps)


EXERCISE = spec.exercise(
    reference,
    points=3,
    signature=(*INPUTS, "eps=1e-5"),
    outputs={"result": "... E"},
    cases=lambda draw: [*with_leading_axes(draw, INPUTS), square(draw, INPUTS, "E")],
    parts=norm_parts(
        "normalises every token of one sequence",
        "one sequence",
        "takes any leading axes, or none",
        "a batch",
        "three leading axes",
        "a single token",
        *LENGTH_ONE,
        offset="is unaffected by a common offset of 1000",
    ),
    mistakes={
        "over-whole-tensor": (
            *norm_variants([None, (-2, -1), all_but_first], (inside, outside, bare)),
            *norm_variants([None], variance_axis=(-1,)),
            *norm_variants([(-1,)], variance_axis=None),
        ),
        "wrong-axis": over_axes((-2,), (0,), (1,), all_but_last),
        "keepdim-forgotten": tuple(
            variant
            for keepdim in ((False, False), (False, True), (True, False))
            for variant in norm_variants([(-1,)], keepdim=keepdim)
        ),
        **by_id(*norm_mistakes((-1,), "one sequence", say("row"))),
    },
    excluded=(NORMALISATION_KERNELS,),
)
