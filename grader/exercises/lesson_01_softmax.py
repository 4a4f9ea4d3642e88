"""`stable_softmax`: the softmax of every row, whatever the row's size."""

from __future__ import annotations

import torch
from torch import Tensor

from grader import compare, parts
from grader.cases import Make, standard, tensors
from grader.draw import Draw
from grader.exclusions import SOFTMAX_FAMILY
from grader.session import Session
from grader.spec import Case, Exercise, Mistake, Output

SCORES = {"scores": "... Tq Tk"}
FAR_APART = "rows far apart"
HUGE = "entries up to 10000"


def reference(scores: Tensor) -> Tensor:
    """PyTorch's own."""
    return torch.softmax(scores, dim=-1)


def _cases(draw: Draw) -> list[Case]:
    cases = standard(draw, SCORES)
    sizes = cases[0].sizes

    def far_apart(draw: Draw, _name: str, shape: tuple[int, ...]) -> Tensor:
        """A common offset of +1000 or -1000 for every row."""
        offsets = torch.tensor([1000.0, -1000.0]).repeat(shape[-2])[: shape[-2]]
        return draw.normal(shape) + offsets.unsqueeze(-1)

    def huge(draw: Draw, _name: str, shape: tuple[int, ...]) -> Tensor:
        """A row near +10000, rows near -10000 and one over the whole range."""
        level = torch.full(shape[-2:], -9990.0)
        level[0] = 9990.0
        scores = draw.normal(shape) + level
        scores[..., -1, :] = draw.uniform((*shape[:-2], shape[-1]), -10000, 10000)
        return scores

    def more(name: str, make: Make) -> Case:
        return tensors(draw, name, SCORES, sizes, (sizes["B"],), make)

    return [*cases, more(FAR_APART, far_apart), more(HUGE, huge)]


def _huge_rows(session: Session) -> tuple[Tensor, Tensor] | None:
    """On the case of huge entries, for every row: is it right, and does it hold NaN or inf? None where values are wrong
    on small entries already, or nothing of the right shape came back."""
    if parts.inspect_call(session, session.cases["one sequence"], compare.FLOAT32) is not None:
        return None
    case = session.cases[HUGE]
    value = session.call(case).value
    if not isinstance(value, Tensor) or value.shape != case.args["scores"].shape:
        return None
    right = compare.COARSE.close(value, session.expected(case)[0]).all(-1)
    return right, ~torch.isfinite(value).all(-1)


def _overflows(session: Session) -> bool:
    found = _huge_rows(session)
    return found is not None and bool(found[1][..., 0].all())


def _underflows(session: Session) -> bool:
    """The row with the largest entry of all is right, the rows far below it are not."""
    found = _huge_rows(session)
    return found is not None and bool(found[0][..., 0].any()) and not bool(found[0][..., 1:-1].any())


def _over_all(scores: Tensor) -> Tensor:
    return torch.softmax(scores.flatten(), 0).reshape(scores.shape)


def _over_matrix(scores: Tensor) -> Tensor:
    return torch.softmax(scores.flatten(-2), -1).reshape(scores.shape)


def _rows_by_total(scores: Tensor) -> Tensor:
    raised = (scores - scores.amax(-1, keepdim=True)).exp()
    return raised / raised.sum()


STABLE_SOFTMAX = Exercise(
    name="stable_softmax",
    lesson="01_self_attention",
    points=3,
    signature=tuple(SCORES),
    outputs=(Output("weights", "... Tq Tk"),),
    cases=_cases,
    reference=reference,
    parts=(
        *parts.usual("turns every row of one matrix into weights", 3)[:-3],
        parts.values("does not mind a large common offset", 1, FAR_APART, tolerance=compare.COARSE),
        parts.values("is finite and right up to 10000", 1.5, HUGE, tolerance=compare.COARSE),
        *parts.usual("", 0)[-3:],
    ),
    mistakes=(
        Mistake(
            "softmax-over-queries",
            "the weights are shared out along the wrong axis: a row does not sum to one.",
            (
                "Sum your result over the last axis. What should every row give?",
                "Count the axis from the end: -1 is the last one, whatever comes before.",
            ),
            tuple(lambda scores, d=d: torch.softmax(scores, d) for d in (-2, 0, 1)),
        ),
        Mistake(
            "softmax-over-all",
            "the whole tensor sums to one; every single row should.",
            (
                "Over what does your `sum` add up if it is told no axis?",
                "A sum along one axis that keeps that axis (`keepdim=True`) can be divided by, row for row.",
            ),
            (_over_all, _over_matrix, _rows_by_total),
        ),
        Mistake(
            "overflow",
            "large scores overflow: `exp` of them is inf, and inf divided by inf is NaN.",
            (
                "Try `torch.exp(torch.tensor(100.0))`. What comes out?",
                "Softmax stays the same if a whole row loses the same number. Which number makes `exp` harmless?",
            ),
            recognise=_overflows,
        ),
        Mistake(
            "not-exponentiated",
            "the scores are divided by their sum as they are; the exponential is missing.",
            (
                "A weight may not be negative. Can yours be?",
                "Softmax raises e to every score before it divides by the sum.",
            ),
            (
                lambda scores: scores / scores.sum(-1, keepdim=True),
                lambda scores: scores.abs() / scores.abs().sum(-1, keepdim=True),
                lambda scores: _shared(scores - scores.amax(-1, keepdim=True)),
                lambda scores: _shared(scores - scores.amin(-1, keepdim=True)),
                lambda scores: _shared(scores.relu()),
            ),
        ),
        Mistake(
            "global-max-underflow",
            "one maximum is taken of everything, so rows far below it underflow: every exponential in them is 0.",
            (
                "Think of two rows, one near 0 and one near 1000. What is left of the first if you take 1000 away?",
                "Every row needs a maximum of its own: take it along the last axis and keep that axis.",
            ),
            recognise=_underflows,
        ),
    ),
    excluded=(SOFTMAX_FAMILY,),
)


def _shared(scores: Tensor) -> Tensor:
    return scores / scores.sum(-1, keepdim=True)
