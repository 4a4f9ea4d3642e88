"""Where the norm of a residual block stands: before its sub-layer or after the addition (Xiong et al. 2020, section 3).

The student's functions get a sub-layer and a norm as callables. The subject builds them from plain data, so gradients
flow through them; they keep no state, so it doesn't matter how often and in which order they are called.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import torch
from torch import Tensor

from grader.exercises.lesson_05.shared import LESSON, token_sizes
from grader.spec import parts
from grader.spec.cases import tensors
from grader.spec.draw import Draw
from grader.spec.exercise import Case, Exercise, Mistake, Output, Part
from grader.subject import Given

X = {"x": "... E"}
Block = Callable[[Tensor, Callable, Callable], Tensor]


def pre_norm(x: Tensor, sublayer: Callable, norm: Callable) -> Tensor:
    """By the definition."""
    return torch.add(x, sublayer(norm(x)))


def post_norm(x: Tensor, sublayer: Callable, norm: Callable) -> Tensor:
    """By the definition."""
    return norm(torch.add(x, sublayer(x)))


def _cases(draw: Draw) -> list[Case]:
    sizes = token_sizes(draw)
    width, hidden = sizes["E"], sizes["E"] + 1

    def case(name: str, *leading: str, dtype: torch.dtype = torch.float32, scale: float = 0.0) -> Case:
        """A feed-forward network and a LayerNorm of its own for every case."""
        sublayer = {
            "weight1": draw.normal((hidden, width), width**-0.5),
            "bias1": draw.normal((hidden,)),
            "weight2": draw.normal((width, hidden), 2 * hidden**-0.5),
            "bias2": draw.normal((width,)),
        }
        norm = {"weight": draw.normal((width,)), "bias": draw.normal((width,)), "eps": 1e-5}
        made = tensors(draw, name, X, sizes, tuple(sizes[axis] for axis in leading), dtype=dtype)
        x = draw.uniform(made.args["x"].shape, -scale, scale) if scale else made.args["x"]
        return replace(
            made,
            args={"x": x, "sublayer": Given("feed_forward", sublayer), "norm": Given("layer_norm", norm)},
            comparable=not scale,
        )

    return [
        case("one sequence", "T"),
        case("a batch", "B", "T"),
        case("a single token"),
        case("float64", "B", "T", dtype=torch.float64),
        case("entries up to 50", "B", "T", scale=50),
    ]


def _parts(title: str) -> tuple[Part, ...]:
    return (
        parts.shape(),
        parts.values(title, 3, "one sequence"),
        parts.values("takes any leading axes, none included", 1, "a batch", "a single token"),
        parts.finite("stays finite at large entries", 0.5, "entries up to 50"),
        parts.float64(weight=0.5),
        parts.unchanged(weight=0.5),
        parts.gradients(),
    )


NORM_FORGOTTEN = Mistake(
    "norm-forgotten",
    "the norm is never applied.",
    ("Are all arguments of the function used?",),
    (lambda x, f, n: x + f(x),),
)
NORMALISED_TWICE = Mistake(
    "normalised-twice",
    "the norm is applied twice; each block applies it once, before the sub-layer or at the very end.",
    ("Count how often `norm` is called for one block, and compare with the formula.",),
    (lambda x, f, n: n(x + f(n(x))), lambda x, f, n: x + f(n(n(x))), lambda x, f, n: n(n(x + f(x)))),
)

PRE_NORM = Exercise(
    name="pre_norm_residual",
    lesson=LESSON,
    points=2,
    signature=("x", "sublayer", "norm"),
    outputs=(Output("result", "... E"),),
    cases=_cases,
    reference=pre_norm,
    parts=_parts("adds the sub-layer of the normalised x to x"),
    mistakes=(
        Mistake(
            "residual-normalised",
            "what is added to the sub-layer's output is the normalised x, not x itself.",
            (
                "Follow x along the straight path from input to output: does anything happen to it on the way?",
                "A line that overwrites `x` by its norm loses the original. Give the normalised one a name of its own.",
            ),
            (lambda x, f, n: n(x) + f(n(x)), lambda x, f, n: n(x) + f(x)),
        ),
        Mistake(
            "residual-forgotten",
            "the sub-layer's output is returned alone: x is not added.",
            (
                "Suppose the sub-layer gives zeros. What should the block return?",
                "There are two paths to the output. One of them goes past the sub-layer.",
            ),
            (lambda x, f, n: f(n(x)), lambda x, f, n: f(x), lambda x, f, n: n(f(x)), lambda x, f, n: n(f(n(x)))),
        ),
        Mistake(
            "post-norm-instead",
            "the norm comes after the addition: that is post-norm.",
            (
                "Which of the two orders is asked for here? Compare the two diagrams.",
                "In pre-norm the sum is the last thing that happens; the norm sits in front of the sub-layer.",
            ),
            (lambda x, f, n: n(x + f(x)),),
        ),
        Mistake(
            "norm-after-sublayer",
            "the norm is applied to what the sub-layer gives; in pre-norm it is applied to what the sub-layer gets.",
            ("Read the formula from the inside out: what is done to x first?",),
            (lambda x, f, n: x + n(f(x)), lambda x, f, n: x + n(f(n(x)))),
        ),
        NORM_FORGOTTEN,
        NORMALISED_TWICE,
    ),
)

POST_NORM = Exercise(
    name="post_norm_residual",
    lesson=LESSON,
    points=2,
    signature=("x", "sublayer", "norm"),
    outputs=(Output("result", "... E"),),
    cases=_cases,
    reference=post_norm,
    parts=_parts("normalises the sum of x and the sub-layer's output"),
    mistakes=(
        Mistake(
            "pre-norm-instead",
            "the norm stands in front of the sub-layer: that is pre-norm.",
            (
                "Which of the two orders is asked for here? Compare the two diagrams.",
                "In post-norm the norm is the last thing that happens, and the sub-layer gets x as it is.",
            ),
            (lambda x, f, n: x + f(n(x)),),
        ),
        Mistake(
            "norm-before-addition",
            "the norm is applied to one of the two terms; it should be applied to their sum.",
            (
                "Take the mean of one token of your result, with gamma 1 and beta 0. It should be 0.",
                "First add, then normalise. Look at where the parentheses of `norm(...)` close.",
            ),
            (
                lambda x, f, n: x + n(f(x)),
                lambda x, f, n: n(x) + f(x),
                lambda x, f, n: n(x) + n(f(x)),
                lambda x, f, n: n(x) + f(n(x)),
            ),
        ),
        Mistake(
            "residual-forgotten",
            "the sub-layer's output is normalised alone: x is not added.",
            (
                "Suppose the sub-layer gives zeros. What should the block return?",
                "There are two paths to the sum. One of them goes past the sub-layer.",
            ),
            (lambda x, f, n: n(f(x)), lambda x, f, n: f(x), lambda x, f, n: f(n(x)), lambda x, f, n: n(f(n(x)))),
        ),
        NORM_FORGOTTEN,
        replace(NORMALISED_TWICE, variants=(*NORMALISED_TWICE.variants, lambda x, f, n: n(n(x) + f(n(x))))),
    ),
)
