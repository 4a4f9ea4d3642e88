"""`attention_entropy`: how widely every query spreads its attention (Shannon 1948, section 6), in nats."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor

from grader.exercises.lesson_01.shared import BATCH_ONLY, OTHER_SIZES, TWO_AXES_ONLY, cases
from grader.sentences import say
from grader.spec import parts
from grader.spec.cases import LENGTH_ONE, tensors
from grader.spec.draw import Draw
from grader.spec.exercise import Case, Finding, Part
from grader.spec.session import Session
from grader.spec.spec import Spec, When, by_id
from grader.tolerance import FLOAT32, Tolerance

spec = Spec(__name__)

WEIGHTS = {"weights": "... Tq Tk"}
ZEROS = "rows with zeros"
TINY = "weights down to 1e-40"

# An epsilon of up to 1e-6 in the logarithm counts as right, in float64 too.
DOUBLE = Tolerance(relative=1e-5, absolute=1e-5)


def reference(weights: Tensor) -> Tensor:
    """(…, Tq, Tk) → (…, Tq): the sum of PyTorch's own -w ln w, which is 0 at 0, over each row; in nats."""
    return torch.special.entr(weights).sum(-1)


def _soft(draw: Draw, _name: str, shape: tuple[int, ...]) -> Tensor:
    return torch.softmax(draw.normal(shape, 2.0), -1)


def _with_zeros(draw: Draw, _name: str, shape: tuple[int, ...]) -> Tensor:
    """Weights, (…, Tq, Tk), with zeros: a one-hot row, a uniform one, and rows in which one or more keys are hidden."""
    scores = draw.normal(shape, 2.0)
    hidden = draw.uniform(shape) < 0.3
    hidden[..., :2] = False
    hidden[..., 2] = True
    weights = torch.softmax(scores.masked_fill(hidden, -math.inf), -1)
    weights[..., 0, :] = 0.0
    weights[..., 0, 1] = 1.0
    weights[..., 1, :] = 1 / shape[-1]
    return weights


def _tiny(draw: Draw, _name: str, shape: tuple[int, ...]) -> Tensor:
    """Weights, (…, Tq, Tk), in rows that are nearly one-hot: the other weights are too small for `1 - w` to show
    them."""
    scores = -draw.uniform(shape, 10, 90)
    scores[..., 0] = 0.0
    return torch.softmax(scores, -1)


def _cases(draw: Draw) -> list[Case]:
    sizes = {"Tq": 0, "Tk": 0}
    while min(sizes["Tq"], sizes["Tk"]) < 3:  # with two keys ln Tk is ln 2; and three kinds of rows are needed
        # Without entries up to 50: weights lie in [0, 1].
        usual = [case for case in cases(draw, WEIGHTS, _soft) if case.name != "entries up to 50"]
        sizes = dict(usual[0].sizes)
    more = ((ZEROS, _with_zeros, (sizes["B"],)), (TINY, _tiny, ()))
    return usual + [tensors(draw, name, WEIGHTS, sizes, leading, make) for name, make, leading in more]


# --- parts ------------------------------------------------------------------------------------------------------------


def _zeros_judged(session: Session) -> Finding | None:
    """Judges rows with zeros; None if their entropies are right. For NaN or inf the message says which weights cause
    it."""
    case = session.cases[ZEROS]
    finding = parts.inspect_call(session, case, FLOAT32)
    if finding is None or finding.kind != "not-finite":
        return finding
    value = session.call(case).value
    assert isinstance(value, Tensor)
    bad = int((~torch.isfinite(value)).sum())
    said = say(
        "NaN or inf among the entropies: {bad} of {total}, in rows where a weight is exactly 0.",
        bad=bad,
        total=value.numel(),
    )
    return Finding("not-finite", said)


def _unchanged(session: Session) -> Finding | None:
    """Judges whether the argument is left as it was, with zeros in it too: replacing zeros in place is one way to avoid
    log(0)."""
    finding = parts.unchanged(ZEROS).judge(session)
    return finding if finding is not None and finding.kind == "changes-argument" else parts.unchanged().judge(session)


def _gradients(session: Session) -> Finding | None:
    """Compares gradients without the mean of each row. Rows sum to one, so a constant added to a row's gradient means
    nothing; right answers that divide by the sum first differ by such a constant."""
    case = session.cases["one sequence"]
    finding = parts.gradients().judge(session)
    if finding is None or finding.kind != "wrong-gradient":
        return finding
    got = (session.call(case, gradients=True).gradients or {}).get("0")
    right = session.expected_gradients(case)["0"]
    if got is None or got.shape != right.shape:
        return finding
    return None if bool(FLOAT32.close(_centred(got), _centred(right)).all()) else finding


def _centred(gradient: Tensor) -> Tensor:
    gradient = gradient.to(torch.float64)
    return gradient - gradient.mean(-1, keepdim=True)


# --- wrong on purpose -------------------------------------------------------------------------------------------------


def _bare(weights: Tensor) -> Tensor:
    """-w ln w, NaN at a weight of 0, as in most first attempts."""
    return -weights * weights.log()


def _both(finish: Callable[[Tensor], Tensor]) -> tuple[Callable[[Tensor], Tensor], ...]:
    """Two variants of a mistake: `finish` makes the result of the terms -w ln w, (…, Tq, Tk), which at a weight of 0
    are 0 in the first variant and NaN in the second."""
    return (lambda weights: finish(torch.special.entr(weights)), lambda weights: finish(_bare(weights)))


def _log_of_zero(session: Session) -> bool:
    """Whether rows of positive weights are right, and NaN or inf comes out in rows with a zero and in no others."""
    if parts.inspect_call(session, session.cases["one sequence"], FLOAT32) is not None:
        return False
    case = session.cases[ZEROS]
    value, weights = session.call(case).value, case.args["weights"]
    if not isinstance(value, Tensor) or value.shape != weights.shape[:-1] or not value.is_floating_point():
        return False
    bad = ~torch.isfinite(value)
    return bool(bad.any()) and not bool((bad & (weights > 0).all(-1)).any())


EXERCISE = spec.exercise(
    reference,
    points=3,
    outputs={"entropy": "... Tq"},
    cases=_cases,
    parts=(
        parts.shape(),
        parts.values("gives the entropy of every row of one matrix", 3, "one sequence", OTHER_SIZES),
        parts.values("takes any leading axes", 1, "a batch", "batch and heads", *LENGTH_ONE),
        Part("gives 0 for a one-hot row, and no NaN where a weight is 0", 2, _zeros_judged),
        parts.values("is right where weights are tiny", 0.5, TINY),
        parts.float64(weight=0.5, tolerance=DOUBLE),
        Part("leaves its arguments as they were", 0.5, _unchanged, compares_values=False),
        Part("lets gradients flow", 1.5, _gradients),  # where no weight is 0: there the slope is infinite
    ),
    mistakes={
        "bits-instead-of-nats": (
            *_both(lambda terms: terms.sum(-1) / math.log(2)),
            *_both(lambda terms: terms.sum(-1) / math.log(10)),
        ),
        "sign-flipped": _both(lambda terms: -terms.sum(-1)),
        "averaged-not-summed": _both(lambda terms: terms.mean(-1)),
        "summed-over-queries": (
            *_both(lambda terms: terms.sum(-2)),
            *_both(lambda terms: terms.sum(0)),
            *_both(lambda terms: terms.sum(1)),
        ),
        "one-number-for-all": (
            *_both(lambda terms: terms.sum()),
            *_both(lambda terms: terms.sum(-1).mean()),
            *_both(lambda terms: terms.mean()),
            *_both(lambda terms: terms.sum((-2, -1))),
            *_both(lambda terms: terms.sum(-1).mean(-1)),
        ),
        "log-of-zero": When(_log_of_zero),
        "not-summed": _both(lambda terms: terms),
        "axis-kept": _both(lambda terms: terms.sum(-1, keepdim=True)),
        "weights-forgotten": (lambda w: -w.log().sum(-1), lambda w: -w.clamp(min=1e-30).log().sum(-1)),
        "softmax-again": lambda w: torch.special.entr(torch.softmax(w, -1)).sum(-1),
        "exponentiated": _both(lambda terms: terms.sum(-1).exp()),
        "epsilon-too-large": tuple(lambda w, e=e: -(w * (w + e).log()).sum(-1) for e in (1e-1, 1e-2, 1e-3, 1e-4, 1e-5)),
        **by_id(TWO_AXES_ONLY, BATCH_ONLY),
    },
)
