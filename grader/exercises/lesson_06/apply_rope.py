"""`apply_rope`: rotary positions (Su et al. 2021, section 3.2), pairs of neighbouring columns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import torch
from torch import Tensor

from grader.exercises.lesson_06.shared import LESSON
from grader.spec import parts
from grader.spec.cases import LENGTH_ONE, length_one, tensors
from grader.spec.draw import Draw
from grader.spec.exercise import Case, Exercise, Mistake, Output
from grader.spec.session import Session

X = {"x": "... T D"}
Variant = Callable[..., Tensor]
Angles = Callable[[Tensor, Tensor, float], Tensor]


def reference(x: Tensor, positions: Tensor, base: float = 10000.0) -> Tensor:
    """As complex numbers: turning is multiplying by e^(i theta)."""
    width = x.shape[-1]
    rates = torch.tensor([base ** (-2 * i / width) for i in range(width // 2)], dtype=torch.float64)
    angles = torch.outer(positions.double(), rates)
    turned = torch.view_as_complex(x.double().unflatten(-1, (-1, 2)).contiguous()) * torch.polar(
        torch.ones_like(angles), angles
    )
    return torch.view_as_real(turned).flatten(-2).to(x.dtype)


# --- wrong on purpose -------------------------------------------------------------------------------------------------


def _angles(exponent: Callable[[int, int], float] = lambda i, d: 2 * i / d) -> Angles:
    """(T, D / 2): the angle of every pair."""

    def angles(x: Tensor, positions: Tensor, base: float) -> Tensor:
        width = x.shape[-1]
        rates = torch.tensor([base ** -exponent(i, width) for i in range(width // 2)], dtype=x.dtype)
        return positions.to(x.dtype).unsqueeze(-1) * rates

    return angles


RIGHT = _angles()


def _turned(angles: Angles = RIGHT, reverse: bool = False, positions_used: bool = True) -> Variant:
    def variant(x: Tensor, positions: Tensor, base: float = 10000.0) -> Tensor:
        places = positions if positions_used else torch.arange(x.shape[-2])
        theta = angles(x, places, base)
        cos, sin = theta.cos(), -theta.sin() if reverse else theta.sin()
        a, b = x[..., 0::2], x[..., 1::2]
        return torch.stack((a * cos - b * sin, a * sin + b * cos), -1).flatten(-2)

    return variant


def _halves_turned(x: Tensor, positions: Tensor, base: float = 10000.0) -> Tensor:
    """Columns i and i + D / 2 are a pair, as in Llama's code."""
    theta = RIGHT(x, positions, base)
    a, b = x.chunk(2, -1)
    return torch.cat((a * theta.cos() - b * theta.sin(), a * theta.sin() + b * theta.cos()), -1)


def _halves_returned(x: Tensor, positions: Tensor, base: float = 10000.0) -> Tensor:
    """Neighbours turned, and put back as halves."""
    right = _turned()(x, positions, base)
    return torch.cat((right[..., 0::2], right[..., 1::2]), -1)


def _halves_read(x: Tensor, positions: Tensor, base: float = 10000.0) -> Tensor:
    """Halves turned, and put back as neighbours."""
    return torch.stack(_halves_turned(x, positions, base).chunk(2, -1), -1).flatten(-2)


def _halves_across(x: Tensor, positions: Tensor, base: float = 10000.0) -> Tensor:
    """The angles of neighbours with Llama's `rotate_half`: two conventions mixed."""
    theta = RIGHT(x, positions, base).repeat_interleave(2, -1)
    a, b = x.chunk(2, -1)
    return x * theta.cos() + torch.cat((-b, a), -1) * theta.sin()


def _by_column(exponent: Callable[[int, int], float]) -> Variant:
    """Every column has an angle of its own."""

    def variant(x: Tensor, positions: Tensor, base: float = 10000.0) -> Tensor:
        width = x.shape[-1]
        rates = torch.tensor([base ** -exponent(j, width) for j in range(width)], dtype=x.dtype)
        theta = positions.to(x.dtype).unsqueeze(-1) * rates
        across = torch.stack((-x[..., 1::2], x[..., 0::2]), -1).flatten(-2)
        return x * theta.cos() + across * theta.sin()

    return variant


def _divided_by(axis: int) -> Angles:
    """The exponents divided by the size of an axis of x."""
    return lambda x, positions, base: _angles(lambda i, _: 2 * i / x.shape[axis])(x, positions, base)


def _mixed(mix: Callable[..., tuple[Tensor, Tensor]]) -> Variant:
    """The two numbers of a pair mixed in another way."""

    def variant(x: Tensor, positions: Tensor, base: float = 10000.0) -> Tensor:
        theta = RIGHT(x, positions, base)
        return torch.stack(mix(x[..., 0::2], x[..., 1::2], theta.cos(), theta.sin()), -1).flatten(-2)

    return variant


def _turns_faster(session: Session) -> bool:
    """Positions 0 and 1 only: later angles are too large for float32."""
    case = session.cases["one sequence"]
    got = session.call(case).value
    if not isinstance(got, Tensor) or got.shape != case.args["x"].shape:
        return False
    faster, right = (session.evaluate(case, f)[:2] for f in (_turned(_angles(lambda i, d: -2 * i / d)), reference))
    start = got[:2].to(faster.dtype)
    return torch.allclose(start, faster, atol=1e-3) and not torch.allclose(start, right, atol=1e-3)


def _no_table_of_angles(session: Session) -> bool:
    """Torch could not broadcast as many positions with as many frequencies."""
    case = session.cases["one sequence"]
    raised = session.call(case).raised
    length, pairs = case.sizes["T"], case.sizes["D"] // 2
    sizes = (
        f"size of tensor a ({length}) must match the size of tensor b ({pairs})",
        f"size of tensor a ({pairs}) must match the size of tensor b ({length})",
    )
    return raised is not None and any(text in raised.message for text in sizes)


def _overwritten(x: Tensor, positions: Tensor, base: float = 10000.0) -> Tensor:
    """The second column of a pair is made from the new first one."""
    theta = RIGHT(x, positions, base)
    a, b = x[..., 0::2], x[..., 1::2]
    a = a * theta.cos() - b * theta.sin()
    return torch.stack((a, a * theta.sin() + b * theta.cos()), -1).flatten(-2)


def _from_first(x: Tensor, positions: Tensor, base: float = 10000.0) -> Tensor:
    return _turned()(x, positions - positions[0], base)


def _base_ignored(x: Tensor, positions: Tensor, base: float = 10000.0) -> Tensor:
    return _turned()(x, positions, 10000.0)


# --- the exercise -----------------------------------------------------------------------------------------------------

PLACES, LEADING = "positions with gaps", ("a batch", "two leading axes", *LENGTH_ONE)


def _cases(draw: Draw) -> list[Case]:
    def case(name: str, sizes: dict[str, int], *leading: str, dtype: torch.dtype = torch.float32) -> Case:
        return tensors(draw, name, X, sizes, tuple(sizes[axis] for axis in leading), dtype=dtype)

    def at(made: Case, positions: Tensor, **more: float) -> Case:
        return replace(made, args={**made.args, "positions": positions, **more})

    def gaps(length: int, highest: int) -> Tensor:
        """Distinct positions with gaps, unsorted and without 0."""
        return torch.randperm(highest, generator=draw.generator)[:length] + 1

    first = draw.sizes("T", B=2, H=3, D=(6, 10)[draw.integer(0, 2)])
    second = draw.sizes("T", B=3, H=2, D=(8, 12)[draw.integer(0, 2)])
    fifty = case("entries up to 50", second)
    large = replace(fifty, args={"x": draw.uniform(fifty.args["x"].shape, -50, 50)}, comparable=False)
    return [
        at(case("one sequence", first), torch.arange(first["T"])),
        at(case(PLACES, first), gaps(first["T"], 40)),
        at(case("a batch", second, "B"), gaps(second["T"], 25)),
        at(case("two leading axes", first, "B", "H"), torch.arange(first["T"])),
        at(case("another base", second), gaps(second["T"], 25), base=100.0 + draw.integer(0, 50)),
        # So near the start that angles in float32 are accurate enough.
        at(case("float64", {**first, "T": 5}, "B", dtype=torch.float64), gaps(5, 6)),
        *(at(one, gaps(one.sizes["T"], 25)) for one in length_one(draw, X, first)),
        at(large, gaps(second["T"], 40)),
    ]


EXERCISE = Exercise(
    name="apply_rope",
    lesson=LESSON,
    points=4,
    signature=("x", "positions", "base=10000.0"),
    outputs=(Output("turned", "... T D"),),
    cases=_cases,
    reference=reference,
    parts=(
        parts.shape(),
        parts.values("turns every pair of columns, positions 0, 1, 2, …", 3, "one sequence"),
        parts.values("takes any positions and any base", 1.5, PLACES, "another base"),
        parts.values("takes any leading axes", 1, *LEADING),
        parts.finite("stays finite at large entries", 0.5, "entries up to 50"),
        parts.float64(weight=0.5),
        parts.unchanged(weight=0.5),
        parts.gradients(),
    ),
    mistakes=(
        Mistake(
            "halves-instead-of-pairs",
            "columns i and i + D/2 are treated as a pair, in what goes in or in what comes out; here neighbours are, "
            "2i and 2i + 1. Both conventions are in use.",
            (
                "Turn [1, 0, 0, 0] at position 1: which column besides column 0 should become other than zero?",
                "`x[..., 0::2]` are the first columns of all pairs. The results have to go back to the same places.",
            ),
            (_halves_turned, _halves_returned, _halves_read, _halves_across),
        ),
        Mistake(
            "rotation-reversed",
            "the pairs are turned in the wrong direction.",
            (
                "Turn [1, 0] by a small angle: is the second number positive or negative in the formula?",
                "One sine has a minus in front of it, and only one. Which?",
            ),
            (_turned(reverse=True),),
        ),
        Mistake(
            "frequency-per-column",
            "every column has an angle of its own; the two columns of a pair should share one.",
            (
                "Compare the length of a pair before and after. Turning should keep it.",
                "There are D/2 angles for each position. How many speeds did you make?",
            ),
            (
                _by_column(lambda j, d: j / d),
                _by_column(lambda j, d: 2 * j / d),
                _by_column(lambda j, d: (j % (d // 2)) * 2 / d),
            ),
        ),
        Mistake(
            "positions-from-zero",
            "the first row is always turned as position 0, whatever the argument `positions` says.",
            (
                "Call it with `positions = torch.tensor([7])` and one row. Is the row turned?",
                "Rows need not be positions 0, 1, 2, …: a model that writes may pass its newest token alone.",
            ),
            (_turned(positions_used=False), _from_first),
        ),
        Mistake(
            "exponent-doubled",
            "the speeds fall too fast from pair to pair: the exponent is twice what it should be.",
            (
                "For D = 6 the three exponents are 0, 2/6 and 4/6. Print yours.",
                "`torch.arange(0, D, 2)` already counts 0, 2, 4, …: that is 2i, not i.",
            ),
            (_turned(_angles(lambda i, d: 4 * i / d)),),
        ),
        Mistake(
            "exponent-halved",
            "the speeds fall too slowly from pair to pair: the exponent is half of what it should be.",
            (
                "For D = 6 the three exponents are 0, 2/6 and 4/6. Print yours.",
                "The formula has 2i above the fraction line, and i counts the pairs.",
            ),
            (_turned(_angles(lambda i, d: i / d)),),
        ),
        Mistake(
            "overwritten-too-early",
            "the second number of a pair is computed from the new first number, not from the old one.",
            (
                "Both formulas use a and b as they were. Does your second line still have the old a?",
                "Give the results names of their own, and put them together at the end.",
            ),
            (_overwritten,),
        ),
        Mistake(
            "base-ignored",
            "the argument `base` is not used.",
            (
                "Call it twice with different bases. Should the results be equal?",
                "Look for 10000 in your lines. Which name belongs there?",
            ),
            (_base_ignored,),
        ),
        Mistake(
            "frequency-multiplied",
            "later pairs turn faster; they should turn more slowly.",
            (
                "Compare the angles of the first pair and of the last one. Which should be the larger one?",
                "The exponent of `base` has a sign. Which one?",
            ),
            recognise=_turns_faster,
        ),
        Mistake(
            "both-signs-alike",
            "both sines have the same sign, so pairs change their length.",
            (
                "Compare the length of a pair before and after. Turning should keep it.",
                "One sine has a minus in front of it, and only one. Which?",
            ),
            (
                _mixed(lambda a, b, cos, sin: (a * cos + b * sin, a * sin + b * cos)),
                _mixed(lambda a, b, cos, sin: (a * cos - b * sin, b * cos - a * sin)),
            ),
        ),
        Mistake(
            "sin-cos-swapped",
            "sine and cosine have changed places.",
            (
                "What should become of [1, 0] at position 0? What does?",
                "At angle 0 nothing turns. Which of sin(0) and cos(0) is 1?",
            ),
            (_mixed(lambda a, b, cos, sin: (a * sin - b * cos, a * cos + b * sin)),),
        ),
        Mistake(
            "added-instead-of-turned",
            "sine and cosine are added to x; rotary positions turn each pair, and leave its length as it is.",
            (
                "What should become of a row of zeros? What does?",
                "In the formula, what are cos θ and sin θ multiplied by?",
            ),
            (
                _mixed(lambda a, b, cos, sin: (a + sin, b + cos)),
                _mixed(lambda a, b, cos, sin: (a + cos, b + sin)),
            ),
        ),
        Mistake(
            "half-of-each",
            "each number is multiplied, but the two of a pair are never mixed.",
            (
                "What should become of [1, 0] when it is turned by a quarter?",
                "Each new number is made from both old ones. How many terms has the formula for each?",
            ),
            (_mixed(lambda a, b, cos, sin: (a * cos, b * sin)), _mixed(lambda a, b, cos, sin: (a * cos, b * cos))),
        ),
        Mistake(
            "one-frequency-for-all",
            "all pairs turn by the same angle.",
            (
                "Compare the angles of the first pair and of the last one. Should they be the same?",
                "Where does i come in?",
            ),
            (_turned(_angles(lambda i, d: 0.0)),),
        ),
        Mistake(
            "first-pair-only",
            "only the first pair is turned; the other columns are as they were.",
            (
                "Which columns of your result differ from x?",
                "How many pairs are there in D columns, and how many does your code turn?",
            ),
            (lambda x, positions, base=10000.0: torch.cat((_turned()(x, positions, base)[..., :2], x[..., 2:]), -1),),
        ),
        Mistake(
            "degrees-instead-of-radians",
            "the angles are taken for degrees; torch's sine takes radians.",
            (
                "Position 1 turns the first pair by the angle 1. What is cos(1)?",
                "Is there a conversion in your code that the formula doesn't have?",
            ),
            (_turned(lambda x, positions, base: torch.deg2rad(RIGHT(x, positions, base))),),
        ),
        Mistake(
            "width-of-another-axis",
            "the exponents are divided by another size than the number of columns.",
            (
                "Print the number that you divide 2i by, for an x with a batch in front.",
                "D is the last axis of x. Count it from the end.",
            ),
            (_turned(_divided_by(0)), _turned(_divided_by(1))),
        ),
        Mistake(
            "positions-without-axis",
            "positions and speeds meet in one axis; each position should meet each speed.",
            (
                "Print the shapes of the positions and of the speeds, one under the other, aligned on the right.",
                "A table of angles has a row for each position and a column for each pair. Which axis is missing?",
            ),
            recognise=_no_table_of_angles,
        ),
    ),
)
