"""`stable_softmax`: the softmax of every row, whatever the row's size."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import torch
from torch import Tensor

from grader.exercises.lesson_01.shared import BATCH_ONLY, TWO_AXES_ONLY, cases, usual
from grader.spec import parts
from grader.spec.cases import Make, equal_sizes, tensors
from grader.spec.draw import Draw
from grader.spec.exclusions import SOFTMAX_FAMILY
from grader.spec.exercise import Case, Part
from grader.spec.session import Session
from grader.spec.spec import Spec, When, by_id
from grader.tolerance import COARSE, FLOAT32

spec = Spec(__name__)

SCORES = {"scores": "... Tq Tk"}
FAR_APART = "rows far apart"
MIXED = "rows near 10000, near -10000 and in between"
HIGH = "all rows near 10000"
LOW = "all rows near -10000"


def reference(scores: Tensor) -> Tensor:
    """(…, Tq, Tk) → (…, Tq, Tk): PyTorch's own softmax of every row."""
    return torch.softmax(scores, dim=-1)


def _far_apart(draw: Draw, _name: str, shape: tuple[int, ...]) -> Tensor:
    """Rows with a common offset each, +1000 and -1000 in turn."""
    offsets = torch.tensor([1000.0, -1000.0]).repeat(shape[-2])[: shape[-2]]
    return draw.normal(shape) + offsets.unsqueeze(-1)


def _near(level: float) -> Make:
    return lambda draw, _name, shape: (draw.normal(shape) + level).clamp(-1e4, 1e4)


def _mixed(draw: Draw, name: str, shape: tuple[int, ...]) -> Tensor:
    """Scores within ±10000: the first row near 10000, the last over the whole range, those between them near -10000."""
    scores = _near(-9995.0)(draw, name, shape)
    scores[..., 0, :] += 19990
    scores[..., -1, :] = draw.uniform((*shape[:-2], shape[-1]), -10000, 10000)
    return scores.clamp(-1e4, 1e4)


def _cases(draw: Draw) -> list[Case]:
    """The usual cases, and four with scores far from zero. These are not comparable: a wrong function may overflow
    there instead of giving its variant's values."""
    usual_cases = cases(draw, SCORES)
    sizes = {**usual_cases[0].sizes, "Tq": 4}
    for name, make in ((FAR_APART, _far_apart), (HIGH, _near(9995.0)), (LOW, _near(-9995.0)), (MIXED, _mixed)):
        usual_cases.append(replace(tensors(draw, name, SCORES, sizes, (sizes["B"],), make), comparable=False))
    return usual_cases + equal_sizes(draw, SCORES, ("Tq", "Tk"))


# --- recognised by where it fails -------------------------------------------------------------------------------------


def _rows(session: Session, name: str) -> tuple[Tensor, Tensor] | None:
    """Two bool tensors, (…, Tq): which rows of a case are right, and which are lost, that is, hold NaN or inf or
    nothing but zeros, as when `exp` leaves its range. None if the call gave no tensor of the right shape."""
    case = session.cases[name]
    value = session.call(case).value
    if not isinstance(value, Tensor) or value.shape != case.args["scores"].shape:
        return None
    right = COARSE.close(value, session.expected(case)[0]).all(-1)
    return right, ~torch.isfinite(value).all(-1) | (value == 0).all(-1)


def _extremes(session: Session) -> tuple[Tensor, ...] | None:
    """The right and the lost rows (see `_rows`) of HIGH, of LOW and of MIXED, six tensors; None if small scores are
    wrong already or one of these calls gave no tensor of the right shape."""
    if parts.inspect_call(session, session.cases["one sequence"], FLOAT32) is not None:
        return None
    pairs = [_rows(session, name) for name in (HIGH, LOW, MIXED)]
    return tuple(tensor for pair in pairs if pair is not None for tensor in pair) if None not in pairs else None


def _lost_as(session: Session, shifted: Callable[[Tensor], Tensor]) -> bool:
    """Whether the lost rows, of which there are some, are just those in which every exponential of the `shifted` scores
    is 0, and all other scores are right."""
    if parts.inspect_call(session, session.cases["one sequence"], FLOAT32) is not None:
        return False
    lost = False
    for name in (HIGH, LOW, MIXED):
        rows, zero = _rows(session, name), (shifted(session.cases[name].args["scores"]).exp() == 0).all(-1)
        if rows is None or not torch.equal(rows[1], zero) or not bool(rows[0][~zero].all()):
            return False
        lost = lost or bool(zero.any())
    return lost


def _row_of_every_matrix(scores: Tensor) -> Tensor:
    """The scores less a maximum that is wrongly shared by a row and the rows of the same number in the other matrices,
    as `scores[..., i, :].max()` gives it."""
    return scores - scores.amax((*range(scores.dim() - 2), -1), keepdim=True)


def _overflows(session: Session) -> bool:
    """Whether high rows are lost, alone or next to others, or a row over the whole range is, though low rows are
    right."""
    extremes = _extremes(session)
    if extremes is None or _lost_as(session, _row_of_every_matrix):
        return False
    _, high_lost, low_right, _, mixed_right, mixed_lost = extremes
    if bool(high_lost.all()):
        return True
    wide = bool(mixed_lost[..., -1].any()) and bool(mixed_right[..., 1:-1].all())
    return bool(low_right.all()) and (bool(mixed_lost[..., 0].any()) or wide)


def _underflows(session: Session) -> bool:
    """Whether rows on one level are right, high or low, and low rows next to high ones are lost."""
    if _lost_as(session, _row_of_every_matrix):
        return True
    extremes = _extremes(session)
    if extremes is None:
        return False
    high_right, _, low_right, _, _, mixed_lost = extremes
    return bool(high_right.all()) and bool(low_right.all()) and bool(mixed_lost[..., 1:-1].all())


def _cut_off(session: Session) -> bool:
    """Whether small scores are right, and rows near 10000 get equal weights, though their scores differ."""
    if parts.inspect_call(session, session.cases["one sequence"], FLOAT32) is not None:
        return False
    value, scores = session.call(session.cases[HIGH]).value, session.cases[HIGH].args["scores"]
    if not isinstance(value, Tensor) or value.shape != scores.shape:
        return False
    return FLOAT32.all_close(value, torch.full_like(scores, 1 / scores.shape[-1]))


# --- recognised by its values -----------------------------------------------------------------------------------------


def _raised(scores: Tensor) -> Tensor:
    return (scores - scores.amax(-1, keepdim=True)).exp()


def _over_all(scores: Tensor) -> Tensor:
    return torch.softmax(scores.flatten(), 0).reshape(scores.shape)


def _over_matrix(scores: Tensor) -> Tensor:
    return torch.softmax(scores.flatten(-2), -1).reshape(scores.shape)


def _shared(scores: Tensor) -> Tensor:
    return scores / scores.sum(-1, keepdim=True)


def _max_without_keepdim(scores: Tensor) -> Tensor:
    return (scores - scores.amax(-1)).exp()


def _added_to_divisor(session: Session) -> bool:
    """Whether each row is divided by the right sum plus one and the same positive number."""
    case = session.cases["one sequence"]
    value, scores = session.call(case).value, case.args["scores"].double()
    if not isinstance(value, Tensor) or value.shape != scores.shape:
        return False
    total = _raised(scores).sum(-1)
    added = total / value.double().sum(-1) - total
    return float(added.min()) > 1e-5 and float(added.max() - added.min()) < 0.05 * float(added.max())


def _pair_of_max(session: Session) -> bool:
    outcomes = (session.call(case) for case in session.real_cases())
    return any(o.raised is not None and "return_types.max" in o.raised.message for o in outcomes)


def _parts() -> tuple[Part, ...]:
    shape, values, leading, finite, *rest = usual("turns every row of one matrix into weights", 3)
    return (
        shape,
        values,
        leading,
        finite,
        parts.offsets("is unaffected by a large common offset", 1.5, FAR_APART),
        parts.offsets("is finite and right for scores up to 10000", 2, HIGH, LOW, MIXED),
        *rest,
    )


EXERCISE = spec.exercise(
    reference,
    points=3,
    outputs={"weights": "... Tq Tk"},
    cases=_cases,
    parts=_parts(),
    mistakes={
        "softmax-over-queries": tuple(lambda scores, d=d: torch.softmax(scores, d) for d in (-2, 0, 1)),
        "softmax-over-all": (
            _over_all,
            _over_matrix,
            lambda scores: torch.softmax(scores.flatten(1), -1).reshape(scores.shape),  # for row in scores: …
            lambda scores: _raised(scores) / _raised(scores).sum(),
            lambda scores: _raised(scores) / _raised(scores).sum((-2, -1), keepdim=True),
        ),
        "overflow": When(_overflows),
        "scores-cut-off": When(_cut_off),
        "not-exponentiated": (
            _shared,
            lambda scores: scores.abs() / scores.abs().sum(-1, keepdim=True),
            lambda scores: scores / scores.abs().sum(-1, keepdim=True),
            lambda scores: _shared(scores - scores.amax(-1, keepdim=True)),
            lambda scores: _shared(scores - scores.amin(-1, keepdim=True)),
            lambda scores: _shared(scores.relu()),
        ),
        "global-max-underflow": When(_underflows),
        "keepdim-forgotten": (
            lambda scores: _raised(scores) / _raised(scores).sum(-1),
            lambda scores: _max_without_keepdim(scores) / _max_without_keepdim(scores).sum(-1, keepdim=True),
            lambda scores: _max_without_keepdim(scores) / _max_without_keepdim(scores).sum(-1),
        ),
        "not-divided": (_raised, torch.exp),
        "added-to-the-divisor": When(_added_to_divisor),
        "max-is-a-pair": When(_pair_of_max),
        "sign-flipped": lambda scores: torch.softmax(-scores, -1),
        "log-softmax": lambda scores: torch.log_softmax(scores, -1),
        **by_id(TWO_AXES_ONLY, BATCH_ONLY),
    },
    excluded=(SOFTMAX_FAMILY,),
)
