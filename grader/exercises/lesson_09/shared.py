"""What the exercises of lesson 09 share: sizes, long cases, the largest tensor made, and numbers of bytes."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace

import torch
import torch.nn.functional as F
from torch import Tensor

from grader.exercises.lesson_03.shared import TWO_LEADING, with_leading_axes
from grader.exercises.lesson_08.shared import plain_number
from grader.sentences import say, together
from grader.spec import compare, parts
from grader.spec.cases import Axes, tensors
from grader.spec.draw import Draw
from grader.spec.exercise import Case, Finding, Mistake, Part, not_judged
from grader.spec.session import Session
from grader.spec.words import Words
from grader.subject import Request
from grader.subject.values import tensors_in
from grader.tolerance import FLOAT32

mistake = Words(__file__)

ATTEND = {"query": "... Tq D", "key": "... Tk D", "value": "... Tk d_v"}
LARGER = "one piece holds it all"
ONES = "pieces of one"
LONG, LONG_BATCH = "a long sequence", "a batch of long sequences"
OFFSET, NEGATIVE = "scores near 1000", "scores near -1000"
Attend = Callable[..., Tensor]


def attention(query: Tensor, key: Tensor, value: Tensor, _size: int = 0) -> Tensor:
    """The right attention, by PyTorch: query (..., Tq, D), key (..., Tk, D) and value (..., Tk, d_v) give (..., Tq,
    d_v). The size of a piece, which a student's function takes, makes no difference."""
    return F.scaled_dot_product_attention(query, key, value)


def one_of(draw: Draw, *numbers: int) -> int:
    """One of these numbers, drawn."""
    return numbers[draw.integer(0, len(numbers))]


def piece_cases(draw: Draw, cut: str, name: str) -> list[Case]:
    """Ordinary cases of an attention that cuts axis `cut`, "Tq" or "Tk", into pieces as long as its argument `name`
    says, such as "chunk_size": with and without a shorter last piece, one piece for all, and pieces of one."""
    length = one_of(draw, 7, 11, 13)
    uneven = draw.sizes(*_axes(cut), "B", "G", **{cut: length, "c": one_of(draw, 3, 5)})
    size = one_of(draw, 3, 5)
    even = draw.sizes(*_axes(cut), B=size + 1, G=2, **{cut: 2 * size, "c": size})
    usual_cases = with_leading_axes(draw, ATTEND, (uneven, even), numbers={name: "c"})
    # More queries than keys; the long cases have fewer.
    short = draw.sizes(Tq=one_of(draw, 17, 19), Tk=6 if cut == "Tk" else one_of(draw, 13, 14), D=2, d_v=3)
    return [
        *usual_cases,
        cut_into(tensors(draw, LARGER, ATTEND, uneven), name, length + 3),
        cut_into(tensors(draw, ONES, ATTEND, short), name, 1),
    ]


def _axes(cut: str) -> tuple[str, ...]:
    return tuple(axis for axis in ("Tq", "Tk", "D", "d_v") if axis != cut)


def cut_into(case: Case, name: str, size: int) -> Case:
    """The case with its argument `name`, the length of a piece, set to `size`."""
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
    """A case whose whole matrix of scores is far larger than any tensor that has to be made. `name` is the argument
    with the length of a piece, `piece` its value; `leading` are the sizes of the leading axes."""
    return cut_into(tensors(draw, title, inputs, sizes, leading), name, piece)


# --- the largest tensor made ------------------------------------------------------------------------------------------


def table_size(case: Case) -> int:
    """The number of scores of all queries with all keys."""
    return math.prod(case.leading) * case.sizes["Tq"] * case.sizes["Tk"]


def full_table(session: Session, name: str) -> bool:
    """Whether the call of the case `name` made a tensor as large as the whole matrix of scores."""
    case = session.cases[name]
    outcome = session.call(case)
    return outcome.ok and outcome.largest >= table_size(case)


def makes_full_table(*names: str) -> Callable[[Session], bool]:
    """A recogniser that says whether the output is right, and the whole matrix of scores was made in one of the named
    cases."""

    def recognise(session: Session) -> bool:
        right = right_on(session, "one sequence", "a batch", TWO_LEADING, "float64", LONG)
        return right and any(full_table(session, name) for name in names)

    return recognise


def small_tensors(title: str, weight: float, *names: str) -> Part:
    """A part that passes if no tensor as large as the whole matrix of scores is made in the named cases. It waits until
    their values are right."""

    def judge(session: Session) -> Finding | None:
        for name in names:
            case = session.cases[name]
            if parts.inspect_call(session, case, FLOAT32) is not None:
                return not_judged("values-first")
            if full_table(session, name):
                return Finding("full-matrix", _size_finding(session, case))
        return _out_of_memory(session) if session.draw.larger else None

    return Part(title, weight, judge)


# How large the largest tensor is a student's own process says. A judge need not believe it: the scores of this case,
# four bytes each, don't fit into the memory that the process has there. There are leading axes, so that right code that
# walks over small tiles in Python takes few steps.
MEMORY = 48 * 2**20
LEADING, BEYOND, PIECE = (4, 4), 900, 50
ROWS = 50  # that are compared, of each matrix


def _out_of_memory(session: Session) -> Finding | None:
    """Why a call whose matrix of scores doesn't fit into memory isn't right, None if it is. Only some rows of its
    output are compared."""
    name, draw = session.exercise.name, session.draw
    query, key, value = (draw.normal((*LEADING, BEYOND, 1)) for _ in range(3))
    outcome = session.ask(Request("call", name, (query, key, value, PIECE)))
    if outcome.raised is not None or outcome.status == "died":
        said = say("`{name}` runs out of memory with {count} queries and keys.", name=name, count=BEYOND)
        return Finding("full-matrix", said)
    finding = compare.run_error(outcome, session.exercise)
    if finding is not None:
        return finding
    rows = draw.integers((ROWS,), 0, BEYOND)
    tensors = compare.leaves(outcome.value, 1)
    right = attention(query[..., rows, :].double(), key.double(), value.double())
    if tensors is None or tensors[0].shape != query.shape or not FLOAT32.all_close(tensors[0][..., rows, :], right):
        said = say("`{name}` is not right with {count} queries and keys.", name=name, count=BEYOND)
        return Finding("wrong-values", said)
    return None


def _size_finding(session: Session, case: Case) -> str:
    outcome = session.call(case)
    shape, total = outcome.largest_shape, table_size(case)
    made = (
        "Your code made a tensor of shape {shape}: {count} numbers at once."
        if math.prod(shape) == outcome.largest
        else "Your code made a tensor of shape {shape} (seen through a view): {count} numbers at once."
    )
    product = "·".join(map(str, (*case.leading, case.sizes["Tq"], case.sizes["Tk"])))
    return together(
        say(made, shape=shape, count=f"{outcome.largest:,}"),
        say(
            "All queries with all keys make {product} = {total} scores. Every tensor should stay smaller than that.",
            product=product,
            total=f"{total:,}",
        ),
        compare.arguments_in_words(case, session.exercise),
    )


# --- recognised by more than their values -----------------------------------------------------------------------------


def right_on(session: Session, *names: str) -> bool:
    """Whether the values are right on each of these cases."""
    return all(parts.inspect_call(session, session.cases[name], FLOAT32) is None for name in names)


def finite_on(session: Session, name: str) -> bool:
    """Whether the call of the case `name` returned tensors without NaN and inf."""
    outcome = session.call(session.cases[name])
    return outcome.ok and all(bool(torch.isfinite(tensor).all()) for tensor in tensors_in(outcome.value))


def overflow(*names: str) -> Mistake:
    """The mistake of being right at ordinary entries, and NaN or inf on one of the named cases."""

    def recognise(session: Session) -> bool:
        returned = all(session.call(session.cases[name]).ok for name in names)
        return returned and right_on(session, "one sequence") and not all(finite_on(session, name) for name in names)

    return mistake("overflow", recognise=recognise)


def no_scaling(*variants: Attend) -> Mistake:
    """The mistake of scores that aren't divided, as in `variants`."""
    return mistake("no-scaling", variants)


def unscaled(query: Tensor, key: Tensor, value: Tensor, _size: int) -> Tensor:
    """A wrong attention, (..., Tq, d_v), whose scores are not divided by the root of D."""
    return attention(query * math.sqrt(query.shape[-1]), key, value)


def by_hand(
    divisor: Callable[[Tensor, Tensor, int], float] = lambda query, key, size: math.sqrt(query.shape[-1]),
    softmax: Callable[[Tensor], Tensor] = lambda scores: scores.softmax(-1),
) -> Attend:
    """An attention without pieces, (..., Tq, d_v), right unless a part is changed. `divisor` makes what scores are
    divided by from query, key and the size of a piece; `softmax` makes weights of scores (..., Tq, Tk)."""

    def wrong(query: Tensor, key: Tensor, value: Tensor, size: int) -> Tensor:
        return softmax(query @ key.mT / divisor(query, key, size)) @ value

    return wrong


def wrong_scales(*more: Callable[[Tensor, Tensor, int], float]) -> tuple[Mistake, ...]:
    """The mistakes with the number that scores are divided by, and that of no softmax. `more` are further wrong
    divisors, made from query, key and the size of a piece."""
    others: tuple[Callable[[Tensor, Tensor, int], float], ...] = (
        lambda query, key, size: float(query.shape[-1]),
        lambda query, key, size: math.sqrt(size),
        lambda query, key, size: math.sqrt(query.shape[-2]),
        lambda query, key, size: math.sqrt(key.shape[-2]),
    )
    return (
        mistake(
            "scaled-by-another-size",
            (*(by_hand(divisor) for divisor in (*others, *more)), _by_rows_of_piece, _by_width_of_values),
        ),
        mistake("scale-multiplied", (by_hand(lambda query, key, size: query.shape[-1] ** -0.5),)),
        mistake("softmax-forgotten", (by_hand(softmax=lambda scores: scores),)),
    )


def _by_rows_of_piece(query: Tensor, key: Tensor, value: Tensor, size: int) -> Tensor:
    """A wrong attention whose scores are divided by the root of the number of queries in their chunk, which is smaller
    in a shorter last one."""
    pieces = query.split(size, -2)
    return torch.cat([by_hand(lambda q, k, n: math.sqrt(q.shape[-2]))(piece, key, value, size) for piece in pieces], -2)


def _by_width_of_values(query: Tensor, key: Tensor, value: Tensor, size: int) -> Tensor:
    return by_hand(lambda q, k, n: math.sqrt(value.shape[-1]))(query, key, value, size)


def blocks_apart(mean: bool) -> Attend:
    """A wrong attention with a softmax for each block of keys of its own. The results are averaged if `mean`, else
    added up."""

    def wrong(query: Tensor, key: Tensor, value: Tensor, size: int) -> Tensor:
        pairs = zip(key.split(size, -2), value.split(size, -2), strict=True)
        outputs = torch.stack([attention(query, k, v) for k, v in pairs])
        return outputs.mean(0) if mean else outputs.sum(0)

    return wrong


# --- numbers of bytes -------------------------------------------------------------------------------------------------

DTYPES = {1: torch.int8, 2: torch.float16, 4: torch.float32, 8: torch.float64}
Count = Callable[..., float]


def bytes_of(bytes_per_element: int, *shape: int) -> int:
    """The bytes of a tensor of this shape, as torch counts them. It is on the meta device, so nothing is allocated."""
    return torch.empty(shape, dtype=DTYPES[bytes_per_element], device="meta").nbytes


def number(session: Session, name: str) -> float | None:
    """The number that the call of the case `name` returned, int or float; None for anything else."""
    return plain_number(session.call(session.cases[name]).value)


def _right(session: Session, case: Case) -> int:
    assert session.exercise.reference is not None
    return int(session.evaluate(case, session.exercise.reference))


def _wrong(session: Session, name: str) -> Finding | None:
    case = session.cases[name]
    outcome = session.call(case)
    finding = compare.no_value(outcome, session.exercise)
    if finding is not None:
        return finding
    got = number(session, name)
    if got is None:
        said = say(
            "`{name}` returned {what}, expected a whole number.",
            name=session.exercise.name,
            what=compare.number_in_words(outcome.value),
        )
        return Finding("wrong-type", said)
    if got != _right(session, case):
        said = say(
            "`{name}` returned {got}, expected {expected} bytes ({case}).",
            name=session.exercise.name,
            got=f"{got:,}",
            expected=f"{_right(session, case):,}",
            case=say(name),
        )
        return Finding("wrong-values", together(said, compare.arguments_in_words(case, session.exercise)))
    return None


def counts(title: str, weight: float, *names: str) -> Part:
    """A part that passes if the numbers of bytes are right in the named cases."""
    return Part(title, weight, lambda s: next((f for name in names if (f := _wrong(s, name))), None))


def is_whole(weight: float, *names: str) -> Part:
    """A part that passes if the number is an int in the named cases, not a float that happens to be whole. It waits
    until the numbers are right."""

    def judge(session: Session) -> Finding | None:
        for name in names:
            if _wrong(session, name) is not None:
                return not_judged("values-first")
            if not isinstance(number(session, name), int):
                said = say(
                    "`{name}` returned {got}, which is a float, but a number of bytes should be an int. `/`, `**` of "
                    "a float and `math.pow` give floats.",
                    name=session.exercise.name,
                    got=repr(number(session, name)),
                )
                return Finding("wrong-type", said)
        return None

    return Part("gives an int", weight, judge, compares_values=False)


def matches_any(*variants: Count) -> Callable[[Session], bool]:
    """A recogniser that says whether all numbers are right or those of one variant, and at least one is only the
    variant's."""

    def recognise(session: Session) -> bool:
        got = {name: number(session, name) for name in session.cases}
        if any(value is None for value in got.values()):
            return False
        right = {name: _right(session, case) for name, case in session.cases.items()}
        wrong = {name for name in got if got[name] != right[name]}

        def explains(variant: Count) -> bool:
            return all(math.isclose(got[n] or 0, variant(**session.cases[n].args), rel_tol=1e-9) for n in wrong)

        return bool(wrong) and any(explains(variant) for variant in variants)

    return recognise


def byte_cases(draw: Draw, names: tuple[str, ...], typical: Mapping[str, int]) -> list[Case]:
    """Cases with the arguments in `names`, of which the last is bytes_per_element: two of small sizes, one token, and
    the sizes of a real model, `typical`."""
    # Element sizes that the real models don't have, so that a fixed 2 or 4 is wrong more than once.
    small, other = ({**draw.sizes(*names[:-1]), names[-1]: size} for size in (8, 1))
    return [
        Case("small sizes", small),
        Case("other sizes", other),
        Case("one token", {**small, "seq_len": 1}),
        Case("a real model", dict(typical)),
    ]


def another_unit(reference: Count) -> Mistake:
    """The mistake of giving kilobytes, megabytes or gigabytes, by 1000 or by 1024, in place of the bytes that
    `reference` gives."""
    units = (1000, 1024, 10**6, 2**20, 10**9, 2**30)
    return mistake(
        "another-unit",
        recognise=matches_any(
            *(lambda unit=unit, **of: reference(**of) / unit for unit in units),
            *(lambda unit=unit, **of: reference(**of) // unit for unit in units),
        ),
    )


def bytes_fixed(reference: Count) -> Mistake:
    """The mistake of counting 2, 4 or 8 bytes for each element, whatever `bytes_per_element` says."""

    def fixed(size: int) -> Count:
        return lambda **of: reference(**{**of, "bytes_per_element": size})

    return mistake("bytes-fixed", recognise=matches_any(fixed(2), fixed(4), fixed(8)))
