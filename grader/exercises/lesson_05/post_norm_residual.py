"""`post_norm_residual`: the norm after the addition (Xiong et al. 2020, section 3)."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from grader.exercises.lesson_05.mistakes import NORM_FORGOTTEN, NORMALISED_TWICE, OWN_NORM, SUBLAYER_FORGOTTEN
from grader.exercises.lesson_05.shared import residual_cases, residual_parts
from grader.spec.spec import Spec, by_id

spec = Spec(__name__)


def reference(x: Tensor, sublayer: Callable, norm: Callable) -> Tensor:
    """(…, E) → (…, E), by the definition: the norm of x plus the sub-layer's output."""
    return norm(torch.add(x, sublayer(x)))


EXERCISE = spec.exercise(
    reference,
    points=2,
    outputs={"result": "... E"},
    cases=residual_cases,
    parts=residual_parts("gives normal tokens, from x and a sub-layer that sees x itself"),
    mistakes={
        "pre-norm-instead": lambda x, f, n: x + f(n(x)),
        "added-before-sublayer": (
            lambda x, f, n: f(x + n(x)),
            lambda x, f, n: n(f(x + x)),
            lambda x, f, n: n(f(x + n(x))),
        ),
        "norm-before-addition": (
            lambda x, f, n: x + n(f(x)),
            lambda x, f, n: n(x) + f(x),
            lambda x, f, n: n(x) + n(f(x)),
            lambda x, f, n: n(x) + f(n(x)),
        ),
        "residual-forgotten": (
            lambda x, f, n: n(f(x)),
            lambda x, f, n: f(x),
            lambda x, f, n: f(n(x)),
            lambda x, f, n: n(f(n(x))),
        ),
        "added-after-norm": lambda x, f, n: x + n(x + f(x)),
        **by_id(NORM_FORGOTTEN, SUBLAYER_FORGOTTEN, NORMALISED_TWICE, OWN_NORM),
    },
)
