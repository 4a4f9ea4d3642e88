"""`split_heads`: from (T, E) to (H, T, D) (Vaswani et al. 2017, section 3.2.2)."""

from __future__ import annotations

import torch
from torch import Tensor

from grader.exercises.lesson_01.shared import BATCH_ONLY, TWO_AXES_ONLY
from grader.exercises.lesson_03.shared import numbered, split_by_view, two_head_sizes, usual, with_leading_axes
from grader.sentences import say
from grader.spec import compare, parts
from grader.spec.draw import Draw
from grader.spec.exercise import Case, Finding, Part
from grader.spec.session import Session
from grader.spec.spec import Spec, by_id
from grader.subject import Request

spec = Spec(__name__)


def reference(x: Tensor, num_heads: int) -> Tensor:
    """(…, T, H*D) → (…, H, T, D): head h is a run of columns, so cut, then stack."""
    return torch.stack(x.chunk(num_heads, -1), -3)


def _heads_last(x: Tensor, num_heads: int) -> Tensor:
    return x.reshape(*x.shape[:-1], x.shape[-1] // num_heads, num_heads)


def _cases(draw: Draw) -> list[Case]:
    sizes = two_head_sizes(draw, "T")
    return with_leading_axes(draw, {"x": "... T E"}, sizes, first=numbered, numbers={"num_heads": "H"})


# d_model and num_heads that don't fit, and a sequence length that is neither.
MISFITS = ((10, 4, 3), (15, 6, 7), (7, 2, 5), (5, 10, 8))


def _refuses_misfits(session: Session) -> Finding | None:
    for width, heads, length in MISFITS:
        outcome = session.ask(Request("call", "split_heads", (session.draw.normal((length, width)), heads)))
        asked = say(
            "`split_heads` was called with x of shape {shape} and num_heads = {heads}, which does not divide {width}.",
            shape=(length, width),
            heads=heads,
            width=width,
        )
        finding = compare.refused(outcome, asked, (width, heads))
        if finding is not None:
            return finding
    return None


EXERCISE = spec.exercise(
    reference,
    points=2,
    outputs={"heads": "... H T D"},
    cases=_cases,
    parts=(
        *usual("splits one sequence", 3, finite=False),
        parts.after_values(
            Part(
                "raises ValueError where num_heads does not divide d_model", 1, _refuses_misfits, compares_values=False
            )
        ),
    ),
    mistakes={
        "view-without-transpose": split_by_view,
        "heads-last": (
            lambda x, n: _heads_last(x, n).movedim(-1, -3),
            _heads_last,
            lambda x, n: _heads_last(x, n).transpose(-3, -2),
            lambda x, n: _heads_last(x, n).transpose(-3, -1),
            lambda x, n: _heads_last(x, n).movedim(-1, -3).mT,
            lambda x, n: _heads_last(x, n).mT,
        ),
        "head-dim-first": lambda x, n: reference(x, n).mT,
        "transpose-forgotten": lambda x, n: reference(x, n).transpose(-3, -2),
        **by_id(TWO_AXES_ONLY, BATCH_ONLY),
    },
)
