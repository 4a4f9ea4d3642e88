"""What the exercises of lesson 09 share: sizes with a piece to cut, long cases, a look at the largest tensor made."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import torch
import torch.nn.functional as F
from torch import Tensor

from grader.exercises.lesson_03.shared import with_leading_axes
from grader.spec import compare, parts
from grader.spec.cases import Axes, tensors
from grader.spec.draw import Draw
from grader.spec.exercise import Case, Finding, Mistake, Part
from grader.spec.session import Session
from grader.subject.values import tensors_in
from grader.tolerance import FLOAT32

LESSON = "09_efficient_attention"
ATTEND = {"query": "... Tq D", "key": "... Tk D", "value": "... Tk d_v"}
LARGER = "one piece holds it all"
ONES = "pieces of one"
LONG, LONG_BATCH = "a long sequence", "a batch of long sequences"
OFFSET, NEGATIVE = "scores near 1000", "scores near -1000"
Attend = Callable[..., Tensor]


def attention(query: Tensor, key: Tensor, value: Tensor, _size: int = 0) -> Tensor:
    """PyTorch's own."""
    return F.scaled_dot_product_attention(query, key, value)


def one_of(draw: Draw, *numbers: int) -> int:
    """One of some numbers."""
    return numbers[draw.integer(0, len(numbers))]


def piece_cases(draw: Draw, cut: str, name: str) -> list[Case]:
    """Ordinary cases of an attention that cuts axis `cut` ("Tq" or "Tk") into pieces of `name` ("chunk_size"): with a
    last piece that is shorter, without one, with one piece for all, with pieces of one."""
    length = one_of(draw, 7, 11, 13)
    uneven = draw.sizes(*_axes(cut), "B", "G", **{cut: length, "c": one_of(draw, 3, 5)})
    size = one_of(draw, 3, 5)
    even = draw.sizes(*_axes(cut), B=size + 1, G=2, **{cut: 2 * size, "c": size})
    usual = with_leading_axes(draw, ATTEND, (uneven, even), numbers={name: "c"})
    short = draw.sizes(Tq=one_of(draw, 13, 14), Tk=one_of(draw, 17, 19), D=2, d_v=3)
    if cut == "Tk":
        short |= {"Tq": short["Tk"], "Tk": 6}
    return [
        *usual,
        _cut(tensors(draw, LARGER, ATTEND, uneven), name, length + 3),
        _cut(tensors(draw, ONES, ATTEND, short), name, 1),
    ]


def _axes(cut: str) -> tuple[str, ...]:
    return tuple(axis for axis in ("Tq", "Tk", "D", "d_v") if axis != cut)


def _cut(case: Case, name: str, size: int) -> Case:
    return replace(case, args={**case.args, name: size})


def long_case(
    draw: Draw,
    title: str,
    name: str,
    sizes: dict[str, int],
    piece: int,
    leading: tuple[int, ...] = (),
    inputs: Axes = ATTEND,
) -> Case:
    """A case in which the whole table is far larger than everything that has to be made."""
    return _cut(tensors(draw, title, inputs, sizes, leading), name, piece)


def offset_cases(draw: Draw, name: str) -> list[Case]:
    """Rows of scores that share an offset of 1000 or of -1000, in float64: exponentials overflow there or vanish."""
    sizes = draw.sizes("Tq", "d_v", Tk=5, D=3)
    strong = math.sqrt(1000 * math.sqrt(sizes["D"]))  # 41.6: entries up to 50 are promised

    def make(sign: int) -> Case:
        case = tensors(draw, OFFSET if sign > 0 else NEGATIVE, ATTEND, sizes, dtype=torch.float64)
        case.args["query"][:, -1] = sign * strong
        case.args["key"][:, -1] = strong
        return _cut(case, name, 2)

    return [make(1), make(-1)]


# --- the largest tensor made ------------------------------------------------------------------------------------------


def table_size(case: Case) -> int:
    """How many scores all queries with all keys would be."""
    return math.prod(case.leading) * case.sizes["Tq"] * case.sizes["Tk"]


def full_table(session: Session, name: str) -> bool:
    """Whether a call made a tensor as large as the whole table."""
    case = session.cases[name]
    outcome = session.call(case)
    return outcome.ok and outcome.largest >= table_size(case)


def small_tensors(title: str, weight: float, *names: str) -> Part:
    """No tensor as large as the whole table is made; asked once the values are right."""

    def judge(session: Session) -> Finding | None:
        for name in names:
            case = session.cases[name]
            if parts.inspect_call(session, case, FLOAT32) is not None:
                return Finding("values-first", "Not judged yet: the values come first.")
            if full_table(session, name):
                return Finding("full-matrix", _told(session, case))
        return None

    return Part(title, weight, judge)


def _told(session: Session, case: Case) -> str:
    outcome = session.call(case)
    shape, total = outcome.largest_shape, table_size(case)
    held = "" if math.prod(shape) == outcome.largest else " (seen through a view)"
    lead = "·".join(str(n) for n in case.leading)
    return (
        f"Your code made a tensor of shape {shape}{held}: {outcome.largest:,} numbers at once. All queries with all "
        f"keys are {lead + '·' if lead else ''}{case.sizes['Tq']}·{case.sizes['Tk']} = {total:,}. Every tensor should "
        f"stay smaller than that. {compare.arguments_in_words(case, session.exercise)}"
    )


# --- recognised by more than their values -----------------------------------------------------------------------------


def right_on(session: Session, *names: str) -> bool:
    """Whether the values are right on each of these cases."""
    return all(parts.inspect_call(session, session.cases[name], FLOAT32) is None for name in names)


def finite_on(session: Session, name: str) -> bool:
    """Whether a call gave tensors without NaN and inf."""
    outcome = session.call(session.cases[name])
    return outcome.ok and all(bool(torch.isfinite(tensor).all()) for tensor in tensors_in(outcome.value))


def overflow(*names: str) -> Mistake:
    """Right at ordinary entries, NaN or inf on one of the named cases."""

    def recognise(session: Session) -> bool:
        ran = all(session.call(session.cases[name]).ok for name in names)
        return ran and right_on(session, "one sequence") and not all(finite_on(session, name) for name in names)

    return Mistake(
        "overflow",
        "large scores overflow: `exp` of them is inf, and inf divided by inf is NaN.",
        (
            "Do you exponentiate the scores as they are? Try `torch.exp(torch.tensor(100.0))`.",
            "What did lesson 01's softmax take away from every row before it exponentiated?",
        ),
        recognise=recognise,
    )


def no_scaling(*variants: Attend) -> Mistake:
    """Scores that are not divided."""
    return Mistake(
        "no-scaling",
        "the scores go into the softmax without being divided by the square root of their vectors' width.",
        (
            "Compare with the formula of lesson 01, factor by factor: what stands under the fraction line?",
            "Cutting the work into pieces changes nothing about a score. Which step turns a dot product into one?",
        ),
        variants,
    )
