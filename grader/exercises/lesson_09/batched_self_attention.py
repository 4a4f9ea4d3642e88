"""`batched_self_attention`: a whole batch in one go (Vaswani et al. 2017, equation 1, with one axis more)."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

from grader.exercises.lesson_09.shared import Attend, no_scaling
from grader.exercises.lesson_09.shared import mistake as shared_mistake
from grader.spec import parts
from grader.spec.cases import LENGTH_ONE, equal_sizes, length_one_sizes, tensors
from grader.spec.draw import Draw
from grader.spec.exercise import Case
from grader.spec.loops import loops, two_lengths, without_loop
from grader.spec.session import Session
from grader.spec.spec import Spec, When, by_id
from grader.tolerance import FLOAT32

spec = Spec(__name__, shared_mistake)

INPUTS = {"x": "B T E", "w_query": "E d_k", "w_key": "E d_k", "w_value": "E d_v"}


def reference(x: Tensor, w_query: Tensor, w_key: Tensor, w_value: Tensor) -> Tensor:
    """The right `batched_self_attention`, by PyTorch: `x` (B, T, E) and the matrices (E, d_k), (E, d_k) and (E, d_v)
    give (B, T, d_v)."""
    return F.scaled_dot_product_attention(x @ w_query, x @ w_key, x @ w_value)


def _gentle(draw: Draw, name: str, shape: tuple[int, ...]) -> Tensor:
    """Normal entries of this shape for the argument `name`; those of the matrices are so small that attention spreads
    over several keys and a mistake shows everywhere."""
    return draw.normal(shape, 1.0 if name == "x" else 1.3 * shape[0] ** -0.5)


def _fifty(draw: Draw, name: str, shape: tuple[int, ...]) -> Tensor:
    return draw.uniform(shape, -50, 50)


def _cases(draw: Draw) -> list[Case]:
    axes = ("T", "E", "d_k", "d_v")
    first, second = draw.sizes(*axes, B=3), draw.sizes(*axes, B=2)
    return [
        tensors(draw, "a batch", INPUTS, first, make=_gentle),
        tensors(draw, "a batch of other sizes", INPUTS, second, make=_gentle),
        tensors(draw, "float64", INPUTS, second, make=_gentle, dtype=torch.float64),
        tensors(draw, "entries up to 50", INPUTS, first, make=_fifty, comparable=False),
        *(
            tensors(draw, name, INPUTS, one, make=_gentle, comparable=False)
            for name, one in length_one_sizes(second).items()
        ),
        *two_lengths(draw, INPUTS, "B"),
        *equal_sizes(draw, INPUTS, ("B", "T", "d_k"), make=_gentle)[:1],
        *equal_sizes(draw, INPUTS, ("E", "d_k", "d_v"), make=_gentle)[:1],
    ]


# --- wrong on purpose -------------------------------------------------------------------------------------------------

Table = Callable[[Tensor, Tensor], Tensor]


def _table(query: Tensor, key: Tensor) -> Tensor:
    return query @ key.mT


def _softmax(scores: Tensor) -> Tensor:
    return torch.softmax(scores, -1)


def _mix(weights: Tensor, value: Tensor) -> Tensor:
    return weights @ value


def variant(
    scores: Table = _table,
    divisor: Callable[[Tensor, Tensor], float] = lambda x, query: math.sqrt(query.shape[-1]),
    softmax: Callable[[Tensor], Tensor] = _softmax,
    mix: Table = _mix,
    use: Callable[..., tuple[Tensor, ...]] = lambda *weights: weights,
) -> Attend:
    """A batched attention, right unless a part is changed. `scores`: from query and key; `divisor`: of the scores, from
    `x` and query; `softmax`: makes the weights; `mix`: the output from weights and value; `use`: the matrices that make
    query, key and value."""

    def wrong(x: Tensor, *weights: Tensor) -> Tensor:
        query, key, value = (x @ w for w in use(*weights))
        return mix(softmax(scores(query, key) / divisor(x, query)), value)

    return wrong


def _one_long_sequence(x: Tensor, *weights: Tensor) -> Tensor:
    return reference(x.flatten(0, 1), *weights).unflatten(0, x.shape[:2])


def _across_the_batch(x: Tensor, *weights: Tensor) -> Tensor:
    return reference(x.transpose(0, 1), *weights).transpose(0, 1)


MIXED = (
    _one_long_sequence,
    _across_the_batch,
    *(variant(softmax=lambda scores, axes=axes: _over(scores, axes)) for axes in ((0,), (0, -1), (0, 1, 2))),  # type: ignore[misc]
    variant(scores=lambda q, k: torch.einsum("btd,csd->bts", q, k)),
    variant(scores=lambda q, k: torch.einsum("btd,csd->bts", q, k) / len(q)),
    variant(scores=lambda q, k: torch.einsum("btd,bsd->ts", q, k)),
    variant(scores=lambda q, k: torch.einsum("btd,bsd->ts", q, k) / len(q)),
    variant(scores=lambda q, k: q @ k[0].mT),
    variant(scores=lambda q, k: q[0] @ k[0].mT, mix=lambda w, v: w @ v),
    variant(scores=lambda q, k: q @ k[0].mT, mix=lambda w, v: w @ v[0]),
    variant(scores=lambda q, k: q @ k.transpose(0, 1).transpose(1, 2)),
    variant(scores=lambda q, k: q @ k.permute(2, 1, 0)),
    variant(scores=lambda q, k: q @ k.transpose(0, 1)),
    variant(mix=lambda w, v: w @ v[0]),
    variant(mix=lambda w, v: w.mean(0) @ v),
    variant(mix=lambda w, v: w @ v.mean(0)),
    variant(mix=lambda w, v: torch.einsum("bts,csd->btd", w, v)),
)


def _over(scores: Tensor, axes: tuple[int, ...]) -> Tensor:
    shifted = (scores - scores.amax(axes, keepdim=True)).exp()
    return shifted / shifted.sum(axes, keepdim=True)


def _loops_and_is_right(session: Session) -> bool:
    return parts.inspect_call(session, session.cases["a batch"], FLOAT32) is None and loops(session)


def _two_axes_only(session: Session) -> bool:
    raised = session.call(session.cases["a batch"]).raised
    words = ("self must be a matrix", "must be a 3D tensor", "expects a tensor with <= 2 dimensions")
    return raised is not None and any(word in raised.message for word in words)


def _scaled_after_softmax(x: Tensor, w_query: Tensor, w_key: Tensor, w_value: Tensor) -> Tensor:
    return variant(divisor=lambda x, q: 1.0)(x, w_query, w_key, w_value) / math.sqrt(w_query.shape[-1])


EXERCISE = spec.exercise(
    reference,
    points=2,
    outputs={"output": "B T d_v"},
    cases=_cases,
    parts=(
        parts.shape("a batch"),
        parts.values("attends in every sequence by itself", 4, "a batch", "a batch of other sizes", *LENGTH_ONE),
        parts.finite("stays finite with large entries", 0.5, "entries up to 50", after="a batch"),
        parts.float64(single="a batch", weight=0.5),
        parts.unchanged("a batch", weight=0.5),
        parts.gradients("a batch"),
        without_loop("sequences", 2, after="a batch"),
    ),
    mistakes={
        "batch-mixed": MIXED,
        **by_id(no_scaling(variant(divisor=lambda x, q: 1.0))),
        "scaled-by-another-size": (
            variant(divisor=lambda x, q: math.sqrt(x.shape[-1])),
            *(variant(divisor=lambda x, q, axis=axis: math.sqrt(q.shape[axis])) for axis in (0, 1)),  # type: ignore[misc]
            variant(divisor=lambda x, q: q.shape[-1]),
        ),
        "scale-multiplied": (
            variant(divisor=lambda x, q: q.shape[-1] ** -0.5),
            variant(divisor=lambda x, q: 1 / q.shape[-1]),
        ),
        "scaled-after-softmax": _scaled_after_softmax,
        "softmax-forgotten": (variant(softmax=lambda s: s), variant(softmax=lambda s: s, divisor=lambda x, q: 1.0)),
        "scores-transposed": variant(scores=lambda q, k: k @ q.mT),
        "attention-transposed": variant(mix=lambda w, v: w.mT @ v),
        "same-projection": (variant(use=lambda q, k, v: (k, k, v)), variant(use=lambda q, k, v: (q, q, v))),
        "value-from-another-matrix": (
            variant(use=lambda q, k, v: (q, k, k)),
            variant(use=lambda q, k, v: (q, k, q)),
            lambda x, q, k, v: F.scaled_dot_product_attention(x @ q, x @ k, x),
        ),
        "weights-transposed": variant(use=lambda *weights: tuple(w.mT for w in weights)),
        "two-axes-only": When(_two_axes_only),
        "softmax-over-queries": variant(softmax=lambda scores: torch.softmax(scores, -2)),
        "reshaped-instead-of-transposed": variant(
            scores=lambda q, k: q @ k.reshape(k.shape[0], k.shape[2], k.shape[1])
        ),
        "loop-over-sequences": When(_loops_and_is_right),
    },
)
