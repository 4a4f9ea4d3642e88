"""`causal_mask`: no token attends to a later one (Vaswani et al. 2017, section 3.2.3)."""

from __future__ import annotations

import torch
from torch import Tensor

from grader.exercises.lesson_04.shared import NOT_BOOL, causal, is_bool, triangle
from grader.exercises.lesson_04.shared import mistake as shared_mistake
from grader.spec import parts
from grader.spec.diagnose import right
from grader.spec.draw import Draw
from grader.spec.exercise import Case
from grader.spec.session import Session
from grader.spec.spec import Spec, When, by_id

spec = Spec(__name__, shared_mistake)


def _lengths(draw: Draw) -> list[Case]:
    sizes = draw.sizes("T", "other", B=2)  # a length of 2 can't tell one hidden token from two
    sizes["other"] += 128  # longer than a table that a mask may be cut from
    return [
        Case("one length", {"seq_len": sizes["T"]}, {"T": sizes["T"]}),
        Case("another length", {"seq_len": sizes["other"]}, {"T": sizes["other"]}),
        Case("a single token", {"seq_len": 1}, {"T": 1}),
    ]


def _fixed_size(session: Session) -> bool:
    """Whether short lengths are right, and a long one raises or gets a smaller mask."""
    return right(session, session.cases["one length"]) and _smaller(session.call(session.cases["another length"]).value)


def _smaller(value: object) -> bool:
    return not isinstance(value, Tensor) or value.shape[-1] < 128


EXERCISE = spec.exercise(
    causal,
    points=2,
    outputs={"mask": "T T"},
    cases=_lengths,
    parts=(
        parts.shape("one length"),
        parts.values("is True on and below the diagonal", 3, "one length"),
        parts.values("works for other lengths", 2, "one length", "another length", "a single token"),
        is_bool("one length"),
    ),
    mistakes={
        "mask-inverted": tuple(triangle(d, upper=True) for d in (1, 0, 2)),
        "diagonal-hidden": triangle(-1),
        "one-future-token-visible": triangle(1),
        **by_id(NOT_BOOL),
        "everything-visible": lambda seq_len: torch.ones(seq_len, seq_len, dtype=torch.bool),
        "table-of-a-fixed-size": When(_fixed_size),
        "only-itself": lambda seq_len: torch.eye(seq_len, dtype=torch.bool),
    },
)
