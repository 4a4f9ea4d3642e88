"""`rms_norm` (Zhang and Sennrich 2019, section 4): divide by the root of the mean square, subtract nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import torch.nn.functional as F
from torch import Tensor

from grader.exercises.lesson_05.mistakes import (
    DEFAULTS,
    NO_ROOT,
    Axis,
    Divide,
    NormVariant,
    all_but_first,
    all_but_last,
    bare,
    fixed,
    inside,
    norm_variants,
    outside,
    uncentred,
)
from grader.exercises.lesson_05.mistakes import mistake as shared_mistake
from grader.exercises.lesson_05.shared import norm_parts, square, with_leading_axes
from grader.spec.cases import LENGTH_ONE
from grader.spec.exclusions import NORMALISATION_KERNELS
from grader.spec.spec import Spec

spec = Spec(__name__, shared_mistake)

RMS = {"x": "... E", "gamma": "E"}
DEFAULT = 1e-6


def reference(x: Tensor, gamma: Tensor, eps: float = DEFAULT) -> Tensor:
    """(…, E) → (…, E): PyTorch's own RMSNorm, over the last axis; gamma is (E,)."""
    return F.rms_norm(x, x.shape[-1:], gamma, eps)


def recipe(
    axis: Axis = (-1,),
    divide: Divide = inside,
    scaled: bool = True,
    centred: bool = False,
    total: bool = False,
    keepdim: bool = True,
) -> Callable[..., Tensor]:
    """An RMSNorm with the given parts changed. `axis`: what the squares run over (None: all axes). `divide` makes the
    divisor of mean square and eps. `scaled`: times gamma. `centred`: the mean is subtracted first, but not in the
    squares. `total`: the squares are added up, not averaged. `keepdim`: whether they keep their axis."""

    def wrong(x: Tensor, gamma: Tensor, eps: float = DEFAULT) -> Tensor:
        axes = axis(x) if callable(axis) else axis
        axes = tuple(range(x.dim())) if axes is None else axes
        squares = x.square().sum(axes, keepdim=keepdim) if total else x.square().mean(axes, keepdim=keepdim)
        normal = ((x - x.mean(axes, keepdim=True)) if centred else x) / divide(squares, eps)
        return normal * gamma if scaled else normal

    return wrong


def _each(axes: Iterable[Axis], divides: Iterable[Divide] = (inside, outside), **more: bool) -> tuple[Callable, ...]:
    return tuple(recipe(axis, divide, **more) for axis in axes for divide in tuple(divides))


def _without_beta(layer_norm: NormVariant) -> Callable[..., Tensor]:
    return lambda x, gamma, eps=DEFAULT: layer_norm(x, gamma, 0.0, eps)


def _default(number: float) -> Callable[..., Tensor]:
    return lambda x, gamma, eps=number: reference(x, gamma, eps)


LAST: tuple[Axis, ...] = ((-1,),)

EXERCISE = spec.exercise(
    reference,
    points=2,
    signature=(*RMS, "eps=1e-6"),
    outputs={"result": "... E"},
    cases=lambda draw: [*with_leading_axes(draw, RMS), square(draw, RMS, "E")],
    parts=norm_parts(
        "normalises every token of one sequence",
        "one sequence",
        "takes any leading axes, or none",
        "a batch",
        "three leading axes",
        "a single token",
        *LENGTH_ONE,
    ),
    mistakes={
        "over-whole-tensor": _each([None, (-2, -1), all_but_first], (inside, outside, bare)),
        "wrong-axis": _each([(-2,), (0,), (1,), all_but_last]),
        "keepdim-forgotten": _each(LAST, keepdim=False),
        "mean-subtracted": (
            *(_without_beta(r) for r in norm_variants(LAST, (inside, outside, bare))),
            *(_without_beta(r) for r in norm_variants(LAST, (inside, outside, bare), combines=(uncentred,))),
            *_each(LAST, (inside, outside, bare), centred=True),
        ),
        "root-forgotten": _each(LAST, NO_ROOT),
        "multiplied-instead": _each(LAST, [lambda v, eps: 1 / (v + eps).sqrt(), lambda v, eps: 1 / (v.sqrt() + eps)]),
        "mean-of-numbers": (
            lambda x, gamma, eps=DEFAULT: gamma * x / (x.mean(-1, keepdim=True) + eps).sqrt(),
            lambda x, gamma, eps=DEFAULT: gamma * x / (x.mean(-1, keepdim=True).square() + eps).sqrt(),
        ),
        "sum-instead-of-mean": _each(LAST, (inside, outside, bare, fixed(outside, 1e-12)), total=True),
        "no-gamma": _each(LAST, scaled=False),
        "wrong-default-eps": tuple(_default(eps) for eps in DEFAULTS if eps != DEFAULT),
        "eps-ignored": _each(LAST, [fixed(inside, eps) for eps in (1e-5, 1e-6, 1e-8)]),
        "eps-outside-root": _each(
            LAST,
            (
                outside,
                lambda v, eps: v.sqrt() + eps**0.5,
                lambda v, eps: v.sqrt().clamp(min=eps),
                *(fixed(outside, eps) for eps in (1e-5, 1e-6, 1e-7, 1e-8)),
            ),
        ),
        "eps-forgotten": _each(LAST, [bare]),
    },
    excluded=(NORMALISATION_KERNELS,),
)
