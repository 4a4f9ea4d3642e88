"""`attention_rollout` (Abnar and Zuidema 2020): what attention adds up to over several layers, residuals included."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from grader.sentences import say, together
from grader.spec import parts
from grader.spec.draw import Draw
from grader.spec.exercise import Case, Finding, Part
from grader.spec.session import Session
from grader.spec.spec import Spec
from grader.tolerance import FLOAT32

spec = Spec(__name__)

SEVERAL, TWO, ONE, DOUBLE = "several layers", "two layers", "one layer", "float64"
TOKEN = "one token"
CUT = say("`.detach()`, `.item()`, `.numpy()`, `.tolist()` and `torch.tensor(...)` of a tensor cut gradients.")


def with_residual(weights: Tensor) -> Tensor:
    """Weights (..., T, T) with the residual: half of a token comes from where it attends, half from itself. Each row
    sums to one."""
    mixed = (weights + torch.eye(weights.shape[-1], dtype=weights.dtype)) / 2
    return mixed / mixed.sum(-1, keepdim=True)


def rollout(layers: Tensor) -> Tensor:
    """The right rollout of `layers` (L, T, T), in their order: a matrix (T, T), with the last layer's matrix
    leftmost."""
    mixed = with_residual(layers)
    rolled = torch.eye(layers.shape[-1], dtype=layers.dtype)
    for layer in range(len(layers)):
        rolled = torch.einsum("ij,jk->ik", mixed[layer], rolled)
    return rolled


def _cases(draw: Draw) -> list[Case]:
    def weights(count: int, seq_len: int, causal: bool = False) -> Tensor:
        scores = draw.normal((count, seq_len, seq_len), 2.0)
        hidden = torch.ones(seq_len, seq_len, dtype=torch.bool).triu(1) if causal else None
        return (scores if hidden is None else scores.masked_fill(hidden, -torch.inf)).softmax(-1)

    sizes = draw.sizes("T", "other", L=3, two=2)
    shapes = {
        SEVERAL: (3, sizes["T"]),
        TWO: (2, sizes["other"]),
        ONE: (1, sizes["T"]),
        TOKEN: (2, 1),
        DOUBLE: (5, sizes["other"]),
    }
    weights_of = {name: weights(*shape, causal=name == TWO) for name, shape in shapes.items()}
    weights_of[DOUBLE] = draw.normal(weights_of[DOUBLE].shape, 2.0).double().softmax(-1)
    return [
        Case(n, {"layers": layers}, dict(zip("LT", layers.shape, strict=False)), comparable=n != TOKEN)
        for n, layers in weights_of.items()
    ]


# --- wrong on purpose -------------------------------------------------------------------------------------------------

Prepare = Callable[[Tensor], Tensor]


def _product(prepare: Prepare, backwards: bool = False) -> Callable[[Tensor], Tensor]:
    def multiplied(layers: Tensor) -> Tensor:
        prepared = prepare(layers)
        order = list(prepared) if backwards else list(prepared.flip(0))
        return order[0] if len(order) == 1 else torch.linalg.multi_dot(order)

    return multiplied


def _rolled(layers: Tensor) -> Tensor:
    """The rollout (T, T) of `layers` (L, T, T); the identity if there are none."""
    return rollout(layers) if len(layers) else torch.eye(layers.shape[-1], dtype=layers.dtype)


def _plain(layers: Tensor) -> Tensor:
    return layers


def _added(layers: Tensor) -> Tensor:
    return layers + torch.eye(layers.shape[-1], dtype=layers.dtype)


def _columns(layers: Tensor) -> Tensor:
    return _added(layers) / _added(layers).sum(-2, keepdim=True)


def _whole_ones(layers: Tensor) -> Tensor:
    return (layers + 1) / 2


# --- the exercise -----------------------------------------------------------------------------------------------------


def _gradients() -> Part:
    """A part that compares gradients without the mean of each row. Rows keep their sum, and only that mean changes
    where rows are normalised by a division in place of the factor one half."""

    def judge(session: Session) -> Finding | None:
        case = session.cases[SEVERAL]
        finding = parts.inspect_call(session, case, FLOAT32) or parts.inspect_call(session, case, None, gradients=True)
        if finding is not None:
            return finding
        outcome = session.call(case, gradients=True)
        got = (outcome.gradients or {}).get("0")
        if got is None:
            return Finding("gradient-cut", together(say("No gradient reaches `layers`."), CUT))
        got, right = (
            gradient - gradient.mean(-1, keepdim=True) for gradient in (got, session.expected_gradients(case)["0"])
        )
        if got.shape == right.shape and bool(FLOAT32.close(got, right).all()):
            return None
        wrong = say("The gradient of `layers` is wrong, though the values are right.")
        return Finding("wrong-gradient", together(wrong, CUT))

    return Part("lets gradients flow", 0.5, judge)


EXERCISE = spec.exercise(
    rollout,
    points=3,
    outputs={"rolled": "T T"},
    cases=_cases,
    parts=(
        parts.shape(SEVERAL),
        parts.values("follows the weights through several layers", 4, SEVERAL),
        parts.values("works for any number of layers", 1.5, SEVERAL, TWO, ONE, TOKEN),
        parts.float64(DOUBLE, SEVERAL, weight=0.5),
        parts.unchanged(SEVERAL, weight=0.5),
        _gradients(),
    ),
    mistakes={
        "identity-forgotten": (_product(_plain), _product(_plain, backwards=True)),
        "order-reversed": _product(with_residual, backwards=True),
        "averaged-instead": tuple(
            lambda layers, prepare=prepare, mean=mean: prepare(layers).mean(0) if mean else prepare(layers).sum(0)
            for prepare in (with_residual, _plain)
            for mean in (True, False)
        ),
        "first-layer-without-identity": lambda layers: _product(_plain)(
            torch.cat([layers[:1], with_residual(layers[1:])])
        ),
        "first-layer-twice": (
            lambda layers: _product(with_residual)(torch.cat([layers[:1], layers])),
            lambda layers: _product(_plain)(torch.cat([layers[:1], with_residual(layers)])),
        ),
        "layer-lost": (
            *(lambda layers, cut=cut: _rolled(layers[cut]) for cut in (slice(1, None), slice(None, -1))),
            lambda layers: _rolled(layers[:-1] if len(layers) > 1 else layers),  # whose product begins with the first
        ),
        "start-not-identity": (
            lambda layers: torch.zeros_like(layers[0]),
            lambda layers: torch.ones_like(layers[0]),
            lambda layers: torch.full_like(layers[0], 1 / layers.shape[-1]),
        ),
        "half-misplaced": (
            _product(lambda a: a + torch.eye(a.shape[-1]).to(a) / 2),
            _product(lambda a: a / 2 + torch.eye(a.shape[-1]).to(a)),
        ),
        "identity-at-the-end": (
            lambda layers: with_residual(_product(_plain)(layers)),
            lambda layers: _product(_plain)(torch.cat([with_residual(layers[:1]), layers[1:]])),
        ),
        "weights-transposed": (
            _product(lambda a: with_residual(a.mT.contiguous())),
            _product(lambda a: (a.mT + torch.eye(a.shape[-1]).to(a)) / 2),
        ),
        "not-halved": (_product(_added), _product(_added, backwards=True)),
        "columns-normalised": _product(_columns),
        "ones-for-identity": (_product(_whole_ones), _product(lambda a: (a + 1) / (a + 1).sum(-1, keepdim=True))),
        "one-layer-only": tuple(lambda a, i=i, f=f: f(a)[i] for i in (0, -1) for f in (with_residual, _plain)),
        "entries-multiplied": (
            lambda a: with_residual(a).prod(0),
            lambda a: a.prod(0),
            lambda a: with_residual(a).prod(0).diag().diag(),
        ),
    },
)
