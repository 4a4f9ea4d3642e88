"""`batch_norm` (Ioffe and Szegedy 2015, algorithm 1)."""

from __future__ import annotations

from dataclasses import replace

import torch.nn.functional as F
from torch import Tensor

from grader.exercises.lesson_05.mistakes import bare, inside, norm_mistakes, norm_variants, outside, over_axes
from grader.exercises.lesson_05.shared import ONE_FEATURE, batch_sizes, norm_parts, special_cases, square
from grader.sentences import say
from grader.spec.cases import tensors
from grader.spec.draw import Draw
from grader.spec.exclusions import NORMALISATION_KERNELS
from grader.spec.exercise import Case
from grader.spec.spec import Spec, by_id

spec = Spec(__name__)

INPUTS = {"x": "B E", "gamma": "E", "beta": "E"}


def reference(x: Tensor, gamma: Tensor, beta: Tensor, eps: float = 1e-5) -> Tensor:
    """(B, E) → (B, E): PyTorch's own BatchNorm, with the batch's statistics; gamma and beta are (E,)."""
    return F.batch_norm(x, None, None, gamma, beta, True, 0.0, eps)


def _cases(draw: Draw) -> list[Case]:
    sizes = batch_sizes(draw)

    def fifty(draw: Draw, name: str, shape: tuple[int, ...]) -> Tensor:
        return draw.uniform(shape, -50, 50) if name == "x" else draw.normal(shape)

    double = tensors(draw, "float64", INPUTS, sizes)
    return [
        tensors(draw, "one batch", INPUTS, sizes),
        tensors(draw, "a batch of two", INPUTS, {**sizes, "B": 2, "E": sizes["E"] + 1}),
        tensors(draw, "fewer rows than columns", INPUTS, {"B": sizes["E"], "E": sizes["B"]}),
        replace(double, args={name: arg.double() for name, arg in double.args.items()}),
        tensors(draw, "entries up to 50", INPUTS, sizes, make=fifty, comparable=False),
        tensors(draw, ONE_FEATURE, INPUTS, {**sizes, "E": 1}, comparable=False),
        *special_cases(draw, INPUTS, sizes, 0),
        square(draw, INPUTS, "E", "B"),
    ]


EXERCISE = spec.exercise(
    reference,
    points=3,
    signature=(*INPUTS, "eps=1e-5"),
    outputs={"result": "B E"},
    cases=_cases,
    parts=norm_parts(
        "normalises every feature over the batch",
        "one batch",
        "takes a batch of two, and fewer rows than columns",
        "a batch of two",
        "fewer rows than columns",
        ONE_FEATURE,
        offset="is unaffected by a common offset of 1000",
    ),
    mistakes={
        "over-whole-tensor": (
            *norm_variants([None], (inside, outside, bare)),
            *norm_variants([None], variance_axis=(0,)),
            *norm_variants([(0,)], variance_axis=None),
        ),
        "wrong-axis": over_axes((-1,), lost=(-1,)),
        **by_id(*norm_mistakes((0,), "one batch", say("column"))),
    },
    excluded=(NORMALISATION_KERNELS,),
)
