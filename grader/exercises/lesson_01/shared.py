"""What the exercises of lesson 01 share: their cases, their parts, and a mistake that any of them can have."""

from __future__ import annotations

from torch import Tensor

from grader.spec import compare, parts
from grader.spec.cases import Axes, Make, normal_entries, primitive_axes, standard, tensors
from grader.spec.draw import Draw
from grader.spec.exercise import Case, Mistake, Part
from grader.spec.session import Session
from grader.subject.values import tensors_in
from grader.tolerance import FLOAT32

LESSON = "01_self_attention"
OTHER_SIZES = "one sequence of other sizes"
Pair = tuple[Tensor, Tensor]
Triple = tuple[Tensor, Tensor, Tensor]


def cases(draw: Draw, inputs: Axes, make: Make = normal_entries) -> list[Case]:
    """The standard cases and one more sequence with other sizes: a size written into the code fits only one of them."""
    first, *rest = standard(draw, inputs, make)
    names = primitive_axes(inputs)
    turned = {name: first.sizes[names[i - 1]] for i, name in enumerate(names)}
    return [first, tensors(draw, OTHER_SIZES, inputs, {**first.sizes, **turned}, (), make), *rest]


def usual(title: str, weight: float, leading: float = 1) -> tuple[Part, ...]:
    """The usual parts, with the values of `OTHER_SIZES` among those of one sequence."""
    shape, _values, *rest = parts.usual(title, weight, leading)
    return (shape, parts.values(title, weight, "one sequence", OTHER_SIZES), *rest)


def _two_axes_only(session: Session) -> bool:
    """Right on one sequence of any size; with leading axes every call raises or returns a wrong shape."""
    alone = (session.cases[name] for name in ("one sequence", OTHER_SIZES))
    if any(parts.inspect_call(session, case, FLOAT32) is not None for case in alone):
        return False
    findings = [parts.inspect_call(session, session.cases[name], None) for name in ("a batch", "batch and heads")]
    return all(finding is not None and finding.kind in ("raised", "wrong-shape") for finding in findings)


TWO_AXES_ONLY = Mistake(
    "two-axes-only",
    "it is right for one sequence, but not made for leading axes such as a batch.",
    (
        "Some operations are for matrices only. Which of yours does not know what to do with a third axis?",
        "`.T`, `.t()`, `torch.mm`, `transpose(0, 1)` and a fixed number of letters in `einsum` mean two axes; `@`, "
        "`.mT`, `transpose(-2, -1)` and `...` in `einsum` take any number of axes before the last two.",
    ),
    recognise=_two_axes_only,
)


def _overflows(session: Session) -> bool:
    """Right on small entries, NaN or inf on large ones."""
    small = (session.cases[name] for name in ("one sequence", OTHER_SIZES))
    if any(parts.inspect_call(session, case, FLOAT32) is not None for case in small):
        return False
    value = session.call(session.cases["entries up to 50"]).value
    return any(compare.not_finite(tensor, None, "", "") is not None for tensor in tensors_in(value))


OVERFLOW = Mistake(
    "overflow",
    "large scores overflow: `exp` of them is inf, and inf divided by inf is NaN.",
    (
        "Do you exponentiate the scores as they are? Try `torch.exp(torch.tensor(100.0))`.",
        "Look at what `stable_softmax` does before it exponentiates.",
    ),
    recognise=_overflows,
)
