"""`FeedForward` (Vaswani et al. 2017, section 3.3): the two layers of step 14."""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

from grader.exercises.lesson_07.shared import (
    EXCLUDED,
    LESSON,
    feed_forward,
    feed_forward_state,
    named,
    two_sizes,
    with_setup,
)
from grader.exercises.lesson_07.variants import linear
from grader.spec import parts
from grader.spec.cases import LENGTH_ONE, length_one_sizes
from grader.spec.draw import Draw
from grader.spec.exercise import Case, Exercise, Mistake, Output, Setup, shape_of
from grader.spec.session import Session


def _cases(draw: Draw) -> list[Case]:
    sizes, others = two_sizes(draw, "T")

    def case(name: str, sizes: dict[str, int], double: bool = False, spread: float = 1.0) -> Case:
        state = feed_forward_state(draw, "", sizes["E"], sizes["F"])
        args = {"x": draw.normal(shape_of("B T E", sizes), spread)}
        return with_setup(name, args, sizes, Setup((sizes["E"], sizes["F"]), state), double)

    # Wide apart in one case, where what ends at 6 shows.
    return [
        case("a batch", sizes),
        case("other sizes", others, spread=8.0),
        case("float64", sizes, double=True),
        *(case(name, one) for name, one in length_one_sizes(sizes).items()),
    ]


Activation = Callable[[Tensor], Tensor]


def _network(inner: Activation | None = None, outer: Activation | None = None) -> Callable[..., Tensor]:
    def forward(setup: Setup, x: Tensor) -> Tensor:
        hidden = linear(setup.state, "linear1", x)
        output = linear(setup.state, "linear2", hidden if inner is None else inner(hidden))
        return output if outer is None else outer(output)

    return forward


OTHERS: tuple[Activation, ...] = (
    F.gelu,
    lambda x: F.gelu(x, approximate="tanh"),
    F.silu,
    torch.sigmoid,
    torch.tanh,
    F.leaky_relu,
    F.elu,
    F.relu6,
    lambda x: F.leaky_relu(x, 0.1),
    lambda x: F.leaky_relu(x, 0.2),
    lambda x: F.softmax(x, -1),
    F.softplus,
    torch.abs,
)


def _raises(*words: str) -> Callable[[Session], bool]:
    """Whether a call raised an error with all these words in its message."""

    def recognise(session: Session) -> bool:
        raised = [session.call(case).raised for case in session.real_cases()]
        return any(error is not None and all(word in error.message for word in words) for error in raised)

    return recognise


EXERCISE = Exercise(
    name="FeedForward",
    lesson=LESSON,
    points=2,
    kind="module",
    signature=("d_model", "d_ff"),
    outputs=(Output("output", "B T E"),),
    cases=_cases,
    reference=feed_forward,
    parts=(
        named("step 14: gives back the shape that it got", parts.shape("a batch")),
        parts.values("step 14: wider, ReLU, back again", 3, "a batch", "other sizes", *LENGTH_ONE),
        parts.float64(single="a batch", weight=0.5),
        parts.unchanged("a batch", weight=0.5),
        parts.gradients("a batch"),
    ),
    mistakes=(
        Mistake(
            "no-activation",
            "there is nothing between the two layers, so together they are no more than one layer.",
            (
                "Can the result of your module bend, or is it a straight line in every direction of its input?",
                "`self.linear2(self.linear1(x))` is one matrix product in disguise. What belongs between the two?",
            ),
            (_network(),),
        ),
        Mistake(
            "activation-at-the-end",
            "ReLU acts on the result, which then holds no negative number.",
            (
                "Look for negative numbers in your result. Should a layer that is added to its input only ever add?",
                "In which of the two widths does ReLU act, d_ff or d_model?",
            ),
            (_network(None, F.relu), _network(F.relu, F.relu)),
        ),
        Mistake(
            "another-activation",
            "the activation is another one than ReLU.",
            (
                "What does your activation make of -1, of 0, of 2 and of 10?",
                "ReLU leaves positive numbers as they are and makes zeros of the others.",
            ),
            tuple(_network(activation) for activation in OTHERS),
        ),
        Mistake(
            "residual-inside",
            "the input is added inside already; the block does that.",
            (
                "What would the module give if all its parameters were zero?",
                "The block adds and normalises. Does your `forward` do one of them?",
            ),
            (lambda setup, x: x + feed_forward(setup, x), lambda setup, x: x + _network()(setup, x)),
        ),
        Mistake(
            "norm-inside",
            "the result is normalised already; the block does that.",
            (
                "Look at the mean of a token's numbers in your result. Does anything in step 14 make it 0 here?",
                "The block adds and normalises. Does your `forward` do one of them?",
            ),
            (
                lambda setup, x: F.layer_norm(feed_forward(setup, x), x.shape[-1:]),
                lambda setup, x: F.layer_norm(x + feed_forward(setup, x), x.shape[-1:]),
                lambda setup, x: feed_forward(setup, F.layer_norm(x, x.shape[-1:])),
            ),
        ),
        Mistake(
            "relu-in-front",
            "ReLU acts on what comes in, before the first layer.",
            (
                "Give it a token of negative numbers, then zeros. Should the results be the same?",
                "In which of the two widths does ReLU act, d_ff or d_model?",
            ),
            (
                lambda setup, x: feed_forward(setup, F.relu(x)),
                lambda setup, x: _network()(setup, F.relu(x)),
            ),
        ),
        Mistake(
            "second-layer-forgotten",
            "the result is as wide as d_ff: the second layer is not applied.",
            (
                "Print the shapes of what goes in and of what comes out. Which of the two widths has the result?",
                "Follow the numbers through `forward`: is each of the two layers called?",
            ),
            (
                lambda setup, x: linear(setup.state, "linear1", x),
                lambda setup, x: F.relu(linear(setup.state, "linear1", x)),
            ),
        ),
        Mistake(
            "layers-in-wrong-order",
            "a layer gets numbers of the wrong width: `linear1` takes d_model of them, `linear2` takes d_ff.",
            (
                "Print the shape of what goes into each of the two layers.",
                "Which layer makes the token wider, and which one comes first?",
            ),
            recognise=_raises("shapes cannot be multiplied"),
        ),
        Mistake(
            "relu-not-made",
            "`nn.ReLU` is a class: it is made first, with empty parentheses, and called then.",
            (
                "How do you use `nn.Linear`: in one step or in two? `nn.ReLU` works the same way.",
                "A tensor has a method of that name, too, which needs nothing to be made.",
            ),
            recognise=_raises("must be Tensor, not ReLU"),
        ),
    ),
    excluded=EXCLUDED,
)
