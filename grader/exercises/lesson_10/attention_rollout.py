"""`attention_rollout` (Abnar and Zuidema 2020): what attention adds up to over several layers, residuals included."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from grader.exercises.lesson_10.shared import LESSON
from grader.spec import parts
from grader.spec.draw import Draw
from grader.spec.exercise import Case, Exercise, Finding, Mistake, Output, Part
from grader.spec.session import Session
from grader.tolerance import FLOAT32

SEVERAL, TWO, ONE, DOUBLE = "several layers", "two layers", "one layer", "float64"
TOKEN = "one token"
CUT = "`.detach()`, `.item()`, `.numpy()`, `.tolist()` and `torch.tensor(...)` of a tensor cut them."


def with_residual(weights: Tensor) -> Tensor:
    """Half of a token comes from where it attends, half from itself."""
    mixed = (weights + torch.eye(weights.shape[-1], dtype=weights.dtype)) / 2
    return mixed / mixed.sum(-1, keepdim=True)


def rollout(layers: Tensor) -> Tensor:
    """Layer by layer, the last one leftmost."""
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
    """The rollout of these layers; of none, the identity."""
    return rollout(layers) if len(layers) else torch.eye(layers.shape[-1], dtype=layers.dtype)


def _plain(layers: Tensor) -> Tensor:
    return layers


def _added(layers: Tensor) -> Tensor:
    return layers + torch.eye(layers.shape[-1], dtype=layers.dtype)


def _columns(layers: Tensor) -> Tensor:
    return _added(layers) / _added(layers).sum(-2, keepdim=True)


def _whole_ones(layers: Tensor) -> Tensor:
    return (layers + 1) / 2


MISTAKES = (
    Mistake(
        "identity-forgotten",
        "the weights are multiplied as they are: what a token keeps of itself is missing.",
        (
            "Around every attention goes a residual: x + attention(x). Which matrix plays the part of x?",
            "Try it on one layer: half of what a token has comes from itself.",
        ),
        (_product(_plain), _product(_plain, backwards=True)),
    ),
    Mistake(
        "order-reversed",
        "the layers are multiplied in the wrong order.",
        (
            "A product of matrices is read from the right: what happens first is the rightmost factor.",
            "Which layer works on the tokens first? Go through two layers by hand.",
        ),
        (_product(with_residual, backwards=True),),
    ),
    Mistake(
        "averaged-instead",
        "the layers are averaged or added up; but one works on what the other has made.",
        (
            "A token attends to its neighbour in each of two layers. From how far does content arrive after both?",
            "Layer 1 attends to weighted sums that layer 0 made. Which operation applies one weighted sum to another?",
        ),
        tuple(
            lambda layers, prepare=prepare, mean=mean: prepare(layers).mean(0) if mean else prepare(layers).sum(0)
            for prepare in (with_residual, _plain)
            for mean in (True, False)
        ),
    ),
    Mistake(
        "first-layer-without-identity",
        "the product starts from the first layer's weights as they are: its residual is missing.",
        (
            "Try it on a single layer: half of what a token has comes from itself.",
            "What is done to each layer inside your loop, and what to the one before the loop?",
        ),
        (lambda layers: _product(_plain)(torch.cat([layers[:1], with_residual(layers[1:])])),),
    ),
    Mistake(
        "first-layer-twice",
        "the first layer is multiplied in twice.",
        (
            "Try it on a single layer. What should come out?",
            "With what does your product start, and which layer does the loop begin with?",
        ),
        (
            lambda layers: _product(with_residual)(torch.cat([layers[:1], layers])),
            lambda layers: _product(_plain)(torch.cat([layers[:1], with_residual(layers)])),
        ),
    ),
    Mistake(
        "layer-lost",
        "one layer, the first or the last, has no effect.",
        (
            "Change the first layer of your input, then the last. Does the result change each time?",
            "With what does your product start, and over which layers does the loop run?",
        ),
        tuple(lambda layers, cut=cut: _rolled(layers[cut]) for cut in (slice(1, None), slice(None, -1))),
    ),
    Mistake(
        "start-not-identity",
        "the product starts from zeros or from ones, so every row comes out alike.",
        (
            "Multiply any matrix by one of zeros, and by one of ones. What is left of it?",
            "Which matrix changes nothing when it is multiplied?",
        ),
        (
            lambda layers: torch.zeros_like(layers[0]),
            lambda layers: torch.ones_like(layers[0]),
            lambda layers: torch.full_like(layers[0], 1 / layers.shape[-1]),
        ),
    ),
    Mistake(
        "half-misplaced",
        "only one of the two, the weights or the identity, is halved.",
        (
            "Add up the rows of your result for a single layer. What should they give?",
            "Python divides before it adds. What is `3 + 4 / 2`, and what is `(3 + 4) / 2`?",
        ),
        (
            _product(lambda a: a + torch.eye(a.shape[-1]).to(a) / 2),
            _product(lambda a: a / 2 + torch.eye(a.shape[-1]).to(a)),
        ),
    ),
    Mistake(
        "identity-at-the-end",
        "the identity is added once, to the product (or to one layer); every layer has a residual of its own.",
        (
            "How many residuals does a token pass through on its way through three layers?",
            "Where does your code add the identity: inside the loop or outside?",
        ),
        (
            lambda layers: with_residual(_product(_plain)(layers)),
            lambda layers: _product(_plain)(torch.cat([with_residual(layers[:1]), layers[1:]])),
        ),
    ),
    Mistake(
        "weights-transposed",
        "the weights are transposed: rows and columns are swapped.",
        (
            "Add up the rows of your result. What should they give?",
            "A row holds the weights that one token gives. Does anything in your code swap the two axes?",
        ),
        (
            _product(lambda a: with_residual(a.mT.contiguous())),
            _product(lambda a: (a.mT + torch.eye(a.shape[-1]).to(a)) / 2),
        ),
    ),
    Mistake(
        "not-halved",
        "the identity is added, but rows then sum to two, and to more with every layer.",
        (
            "Add up the rows of your result. What should they give?",
            "The rows of A sum to one, those of I too. And those of A + I?",
        ),
        (_product(_added), _product(_added, backwards=True)),
    ),
    Mistake(
        "columns-normalised",
        "the columns are made to sum to one, and it should be the rows.",
        (
            "Add up the rows of your result, and the columns. Which should be 1?",
            "A row holds the weights that one token gives. Along which axis does your sum go?",
        ),
        (_product(_columns),),
    ),
    Mistake(
        "ones-for-identity",
        "1 is added to every entry, where only the diagonal should gain.",
        (
            "Print what you add to the weights.",
            "A token keeps something of *itself*: which entries of the matrix are that?",
        ),
        (_product(_whole_ones), _product(lambda a: (a + 1) / (a + 1).sum(-1, keepdim=True))),
    ),
    Mistake(
        "one-layer-only",
        "only one of the layers has any effect.",
        (
            "Change the first layer of your input, then the last. Does the result change each time?",
            "What becomes of the product of one round in the next round of your loop?",
        ),
        tuple(lambda a, i=i, f=f: f(a)[i] for i in (0, -1) for f in (with_residual, _plain)),
    ),
    Mistake(
        "entries-multiplied",
        "the layers are multiplied entry by entry.",
        (
            "Add up the rows of your result. What should they give?",
            "`*` and `prod` multiply entries; a weighted sum of weighted sums is a product of matrices.",
        ),
        (lambda a: with_residual(a).prod(0), lambda a: a.prod(0), lambda a: with_residual(a).prod(0).diag().diag()),
    ),
)


# --- the exercise -----------------------------------------------------------------------------------------------------


def _gradients() -> Part:
    """Compares gradients without the mean of each row. Rows keep their sum, and normalising by a division instead of by
    the factor one half changes only that mean."""

    def judge(session: Session) -> Finding | None:
        case = session.cases[SEVERAL]
        finding = parts.inspect_call(session, case, FLOAT32) or parts.inspect_call(session, case, None, gradients=True)
        if finding is not None:
            return finding
        outcome = session.call(case, gradients=True)
        got = (outcome.gradients or {}).get("0")
        if got is None:
            return Finding("gradient-cut", f"No gradient reaches `layers`. {CUT}")
        got, right = (
            gradient - gradient.mean(-1, keepdim=True) for gradient in (got, session.expected_gradients(case)["0"])
        )
        if got.shape == right.shape and bool(FLOAT32.close(got, right).all()):
            return None
        return Finding("wrong-gradient", f"The gradient of `layers` is wrong, though the values are right. {CUT}")

    return Part("lets gradients flow", 0.5, judge)


EXERCISE = Exercise(
    name="attention_rollout",
    lesson=LESSON,
    points=3,
    signature=("layers",),
    outputs=(Output("rolled", "T T"),),
    cases=_cases,
    reference=rollout,
    parts=(
        parts.shape(SEVERAL),
        parts.values("follows the weights through several layers", 4, SEVERAL),
        parts.values("works for any number of layers", 1.5, SEVERAL, TWO, ONE, TOKEN),
        parts.float64(DOUBLE, SEVERAL, weight=0.5),
        parts.unchanged(SEVERAL, weight=0.5),
        _gradients(),
    ),
    mistakes=MISTAKES,
)
