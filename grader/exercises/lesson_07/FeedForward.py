"""`FeedForward` (Vaswani et al. 2017, section 3.3): the two layers of step 14."""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

from grader.exercises.lesson_07.shared import EXCLUDED, feed_forward, feed_forward_state, named, two_sizes, with_setup
from grader.exercises.lesson_07.variants import linear
from grader.spec import parts
from grader.spec.cases import LENGTH_ONE, length_one_sizes
from grader.spec.draw import Draw
from grader.spec.exercise import Case, Setup, shape_of
from grader.spec.session import Session
from grader.spec.spec import Spec, When

spec = Spec(__name__)


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


EXERCISE = spec.exercise(
    feed_forward,
    points=2,
    signature=("d_model", "d_ff"),
    outputs={"output": "B T E"},
    cases=_cases,
    parts=(
        named("step 14: gives back the shape that it got", parts.shape("a batch")),
        parts.values("step 14: widens, applies ReLU and narrows again", 3, "a batch", "other sizes", *LENGTH_ONE),
        parts.float64(single="a batch", weight=0.5),
        parts.unchanged("a batch", weight=0.5),
        parts.gradients("a batch"),
    ),
    mistakes={
        "no-activation": _network(),
        "activation-at-the-end": (_network(None, F.relu), _network(F.relu, F.relu)),
        "another-activation": tuple(_network(activation) for activation in OTHERS),
        "residual-inside": (lambda setup, x: x + feed_forward(setup, x), lambda setup, x: x + _network()(setup, x)),
        "norm-inside": (
            lambda setup, x: F.layer_norm(feed_forward(setup, x), x.shape[-1:]),
            lambda setup, x: F.layer_norm(x + feed_forward(setup, x), x.shape[-1:]),
            lambda setup, x: feed_forward(setup, F.layer_norm(x, x.shape[-1:])),
        ),
        "relu-in-front": (
            lambda setup, x: feed_forward(setup, F.relu(x)),
            lambda setup, x: _network()(setup, F.relu(x)),
        ),
        "second-layer-forgotten": (
            lambda setup, x: linear(setup.state, "linear1", x),
            lambda setup, x: F.relu(linear(setup.state, "linear1", x)),
        ),
        "layers-in-wrong-order": When(_raises("shapes cannot be multiplied")),
        "relu-not-made": When(_raises("must be Tensor, not ReLU")),
    },
    excluded=EXCLUDED,
)
