"""`multi_head_attention` (Vaswani et al. 2017, section 3.2.2)."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from grader.exercises.lesson_01.shared import BATCH_ONLY, TWO_AXES_ONLY
from grader.exercises.lesson_03 import shared
from grader.spec.draw import Draw
from grader.spec.exercise import Case
from grader.spec.session import Session
from grader.spec.spec import Spec, When, by_id

spec = Spec(__name__)


def reference(x: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor, w_o: Tensor, num_heads: int) -> shared.Pair:
    """The output, (…, T, E), and the weights, (…, H, T, T), of PyTorch's own attention, with all leading axes as one
    batch. Its weight matrices are the transposes of ours, (E, E)."""
    batch = x.reshape(-1, *x.shape[-2:])
    no_bias = x.new_zeros(4 * x.shape[-1])
    stacked = torch.cat([w.mT for w in (w_q, w_k, w_v)])
    output, weights = shared.pytorch_attention(
        (batch, batch, batch), stacked, no_bias[: len(stacked)], w_o.mT, no_bias[len(stacked) :], num_heads
    )
    return output.reshape(x.shape), weights.reshape(*x.shape[:-2], *weights.shape[1:])


# --- wrong on purpose -------------------------------------------------------------------------------------------------


def of_function(attend: shared.Core) -> Callable[..., shared.Pair]:
    """A variant of `multi_head_attention` that attends by `attend` between its right projections."""
    return lambda x, w_q, w_k, w_v, w_o, num_heads: attend(
        x @ w_q, x @ w_k, x @ w_v, lambda mixed: mixed @ w_o, num_heads, None
    )


def _from_weights(*order: int, turned: tuple[int, ...] = ()) -> Callable[..., shared.Pair]:
    """A variant whose query, key, value and output are made with these weights (0 w_q, 1 w_k, 2 w_v, 3 w_o), of which
    those in `turned` are transposed."""

    def wrong(x: Tensor, *weights_and_heads: Any) -> shared.Pair:
        weights = [w.mT if i in turned else w for i, w in enumerate(weights_and_heads[:4])]
        return of_function(shared.core())(x, *(weights[i] for i in order), weights_and_heads[4])

    return wrong


def _values_are_x(x: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor, w_o: Tensor, num_heads: int) -> shared.Pair:
    return shared.core()(x @ w_q, x @ w_k, x, lambda mixed: mixed @ w_o, num_heads, None)


PROJECTION_MISTAKES = (
    spec.mistake(
        "weights-transposed",
        tuple(_from_weights(0, 1, 2, 3, turned=turned) for turned in ((0, 1, 2, 3), (0, 1, 2), (3,), (0,), (1,), (2,))),
    ),
    spec.mistake("value-from-key", (_from_weights(0, 1, 1, 3),)),
    spec.mistake(
        "same-projection", tuple(_from_weights(*order, 3) for order in ((0, 0, 0), (0, 0, 2), (1, 1, 2), (0, 1, 0)))
    ),
    spec.mistake("no-value-projection", (_values_are_x,)),
)


def _split_first(session: Session) -> bool:
    """Whether every call fails, and torch names a product of pieces as wide as a head with a weight of d_model rows."""
    case = session.cases["one sequence"]
    if any(session.call(each).ok for each in session.real_cases()):
        return False
    raised, (width, head) = session.call(case).raised, (case.sizes[name] for name in "ED")
    meet = rf"x{head} and {width}x{width}\)|, {head}\] but got: \[\d+, {width}\]"
    return raised is not None and re.search(meet, raised.message) is not None


# --- the exercise -----------------------------------------------------------------------------------------------------

INPUTS = {"x": "... T E", "w_q": "E E", "w_k": "E E", "w_v": "E E", "w_o": "E E"}


def _gentle(draw: Draw, name: str, shape: tuple[int, ...]) -> Tensor:
    """Standard normal entries for x, and weights small enough that attention spreads over several keys and a mistake
    shows everywhere."""
    return draw.normal(shape, 1.0 if name == "x" else 1.2 * shape[0] ** -0.5)


def _cases(draw: Draw) -> list[Case]:
    return shared.with_leading_axes(
        draw, INPUTS, shared.two_head_sizes(draw, "T"), _gentle, numbers={"num_heads": "H"}, square=True
    )


EXERCISE = spec.exercise(
    reference,
    points=4,
    outputs={"output": "... T E", "weights": "... H T T"},
    cases=_cases,
    parts=shared.usual("attends in one sequence", 4, leading=1.5),
    mistakes={
        **by_id(
            *shared.wrapped(
                of_function,
                shared.SCALED_BY_D_MODEL,
                shared.NO_OUTPUT_PROJECTION,
                shared.VIEW_WITHOUT_TRANSPOSE,
                shared.MERGE_WITHOUT_TRANSPOSE,
                shared.ONE_HEAD_ONLY,
                shared.NO_SCALING,
                *shared.FURTHER,
            ),
            *PROJECTION_MISTAKES,
            shared.VIEW_WITHOUT_CONTIGUOUS,
            TWO_AXES_ONLY,
            BATCH_ONLY,
        ),
        "split-before-projection": When(_split_first),
    },
    builds_on=("split_heads", "merge_heads", "multi_head_scores"),
)
