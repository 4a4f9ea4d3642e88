"""`online_attention`: a few keys at a time, with a running maximum and a running sum (Milakov and Gimelshein 2018)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import torch
from torch import Tensor

from grader.exercises.lesson_03.shared import usual
from grader.exercises.lesson_09 import shared
from grader.sentences import say, together
from grader.spec import compare, diagnose, parts
from grader.spec.cases import tensors
from grader.spec.draw import Draw
from grader.spec.exclusions import FUSED_ATTENTION
from grader.spec.exercise import Case, Finding, Part, not_judged
from grader.spec.session import Session
from grader.spec.spec import Spec, When, by_id
from grader.subject.values import tensors_in
from grader.tolerance import FLOAT64

spec = Spec(__name__)

# --- wrong on purpose: attentions that walk over blocks of keys, or should --------------------------------------------


class State(NamedTuple):
    """What is carried from block to block for each query: `top`, the largest score so far, (..., Tq, 1); `total`, the
    sum of the exponentials, (..., Tq, 1); `mixed`, the values weighed by them, (..., Tq, d_v)."""

    top: Tensor
    total: Tensor
    mixed: Tensor


Step = Callable[[State, Tensor, Tensor], State]


def walk(step: Step, divide: bool = True) -> shared.Attend:
    """An attention, (..., Tq, d_v), that applies `step` to one block of keys after another. Unless `divide` is False,
    `mixed` is divided by `total` at the end."""

    def attend(query: Tensor, key: Tensor, value: Tensor, block_size: int) -> Tensor:
        rows = query.new_zeros(*query.shape[:-1], 1)
        state = State(rows - math.inf, rows, rows * value[..., :1, :])
        for k, v in zip(key.split(block_size, -2), value.split(block_size, -2), strict=True):
            state = step(state, query @ k.mT / math.sqrt(query.shape[-1]), v)
        return state.mixed / state.total if divide else state.mixed

    return attend


def step(rescale_total: bool = True, rescale_mixed: bool = True, running: bool = True) -> Step:
    """A step that takes in a block, right unless something is False: whether the sum so far, and the values mixed so
    far, are rescaled to the new maximum, and whether it is that of all blocks so far (`running`), not only of this
    one."""

    def take_block(state: State, scores: Tensor, value: Tensor) -> State:
        top = scores.amax(-1, keepdim=True)
        if running:
            top = torch.maximum(state.top, top)
        counts, factor = (scores - top).exp(), (state.top - top).exp()
        total = state.total * (factor if rescale_total else 1.0) + counts.sum(-1, keepdim=True)
        return State(top, total, state.mixed * (factor if rescale_mixed else 1.0) + counts @ value)

    return take_block


def first_keys(lost: Callable[[int, int], int], empty: float) -> shared.Attend:
    """A wrong attention to the first `lost(Tk, block_size)` keys only, as when the last block is left out. Where none
    are left it is filled with `empty`."""

    def wrong(query: Tensor, key: Tensor, value: Tensor, block_size: int) -> Tensor:
        kept = lost(key.shape[-2], block_size)
        if kept <= 0:
            return query.new_full((*query.shape[:-1], value.shape[-1]), empty)
        return shared.attention(query, key[..., :kept, :], value[..., :kept, :])

    return wrong


def one_top(axes: int) -> shared.Attend:
    """A wrong attention with one maximum for the scores of the last `axes` axes, in place of one for each row. A row
    far below it has only zeros, and 0 / 0 is NaN."""

    def wrong(query: Tensor, key: Tensor, value: Tensor, block_size: int) -> Tensor:
        scores = query @ key.mT / math.sqrt(query.shape[-1])
        counts = torch.exp(scores - scores.amax(tuple(range(-min(axes, scores.dim()), 0)), keepdim=True))
        return counts @ value / counts.sum(-1, keepdim=True)

    return wrong


def _divides_in_loop(query: Tensor, key: Tensor, value: Tensor, block_size: int) -> Tensor:
    def take(state: State, scores: Tensor, v: Tensor) -> State:
        new = step()(state, scores, v)
        return new._replace(mixed=new.mixed / new.total)

    return walk(take, divide=False)(query, key, value, block_size)


def _forgets_top(state: State, scores: Tensor, value: Tensor) -> State:
    return step()(state, scores, value)._replace(top=state.top)


def _inverted(state: State, scores: Tensor, value: Tensor) -> State:
    """A wrong step whose factor for what was summed so far is exp(new - old) of the maxima, in place of exp(old -
    new)."""
    top = torch.maximum(state.top, scores.amax(-1, keepdim=True))
    counts, factor = (scores - top).exp(), (top - state.top).exp()
    return State(top, state.total * factor + counts.sum(-1, keepdim=True), state.mixed * factor + counts @ value)


def _inverted_from_second(query: Tensor, key: Tensor, value: Tensor, block_size: int) -> Tensor:
    """A wrong attention that starts with the maximum of the first block, and takes exp(new - old) as the factor from
    the second block on."""

    def take(state: State, scores: Tensor, v: Tensor) -> State:
        first = bool(torch.isinf(state.top).all())
        return step()(state, scores, v) if first else _inverted(state, scores, v)

    return walk(take)(query, key, value, block_size)


def _all_nan(session: Session) -> bool:
    """Whether all results are NaN throughout, as from a wrong factor that begins with a maximum of minus infinity."""
    values = [outcome.value for _, outcome in session.called() if outcome.ok]
    return bool(values) and all(isinstance(v, Tensor) and v.numel() > 0 and bool(v.isnan().all()) for v in values)


def _first_values(query: Tensor, key: Tensor, value: Tensor, block_size: int) -> Tensor:
    first = [value[..., : k.shape[-2], :] for k in key.split(block_size, -2)]
    return shared.attention(query, key, torch.cat(first, -2))


def _until_queries_end(query: Tensor, key: Tensor, value: Tensor, block_size: int) -> Tensor:
    upto = math.ceil(query.shape[-2] / block_size) * block_size
    return shared.attention(query, key[..., :upto, :], value[..., :upto, :])


def _softmax_in_walk(query: Tensor, key: Tensor, value: Tensor, block_size: int) -> Tensor:
    """A wrong attention that takes the softmax of each block, and rescales it as if it held exponentials."""

    def take(state: State, scores: Tensor, v: Tensor) -> State:
        top = torch.maximum(state.top, scores.amax(-1, keepdim=True))
        return State(top, state.total, state.mixed * (state.top - top).exp() + scores.softmax(-1) @ v)

    return walk(take, divide=False)(query, key, value, block_size)


LOST = (lambda length, size: length // size * size, lambda length, size: (length - 1) // size * size)


# --- cases ------------------------------------------------------------------------------------------------------------

FEW, FEW_LONGER = "few queries, many keys", "few queries, more keys"
ONE_BLOCK = "few queries, all keys in one block"
WIDE = "wide keys, narrow values"  # nearly all of the work is in the scores


def _offset_cases(draw: Draw, name: str) -> list[Case]:
    """Two cases in float64 whose scores are all near 1000, or near -1000, so that exponentials overflow or vanish.
    `name` is the argument with the block's size."""
    sizes = draw.sizes("Tq", "d_v", Tk=5, D=3)
    strong = math.sqrt(1000 * math.sqrt(sizes["D"]))  # 41.6: entries up to 50 are promised

    def make(sign: int) -> Case:
        case = tensors(draw, shared.OFFSET if sign > 0 else shared.NEGATIVE, shared.ATTEND, sizes, dtype=torch.float64)
        case.args["query"][:, -1] = sign * strong
        case.args["key"][:, -1] = strong
        return shared.cut_into(case, name, 2)

    return [make(1), make(-1)]


def _cases(draw: Draw) -> list[Case]:
    sizes = draw.sizes(Tq=shared.one_of(draw, 67, 71, 79), Tk=shared.one_of(draw, 83, 89, 97), D=3, d_v=2)
    short = draw.sizes(Tq=shared.one_of(draw, 17, 19), Tk=shared.one_of(draw, 43, 47), D=2, d_v=3)
    few = draw.sizes(Tq=shared.one_of(draw, 13, 14), Tk=shared.one_of(draw, 61, 67), D=2, d_v=3)
    return [
        *shared.piece_cases(draw, "Tk", "block_size"),
        *_offset_cases(draw, "block_size"),
        shared.long_case(draw, shared.LONG, "block_size", sizes, shared.one_of(draw, 18, 20)),
        shared.long_case(draw, shared.LONG_BATCH, "block_size", short, shared.one_of(draw, 11, 12), (2, 3)),
        # Fewer queries than a block has keys: code that cuts the queries instead of the keys makes the whole matrix.
        shared.long_case(draw, FEW, "block_size", few, 17),
        shared.long_case(draw, FEW_LONGER, "block_size", {**few, "Tk": few["Tk"] + 34}, 17),
        shared.long_case(
            draw,
            WIDE,
            "block_size",
            {"Tq": 6, "Tk": 3 * (size := shared.one_of(draw, 14, 16)), "D": 23, "d_v": 2},
            size,
        ),
        replace(shared.long_case(draw, ONE_BLOCK, "block_size", few, few["Tk"]), comparable=False),
    ]


# --- recognised by more than their values -----------------------------------------------------------------------------

ORDINARY = ("one sequence", "a batch", shared.ONES)
FIFTY = "entries up to 50"


def _last_lost(session: Session) -> bool:
    """Whether the last block is left out. The case in which one block holds all keys isn't compared: no block is left
    there, and the result may be anything."""
    cases = [case for case in session.real_cases() if case.comparable and case.name != shared.LARGER]
    variants = [first_keys(lost, empty) for lost in LOST for empty in (math.nan, 0.0)]
    return any(diagnose.matches(session, variant, cases) for variant in variants)


def _global_top(session: Session) -> bool:
    """Whether the output is right at ordinary scores, while at large ones NaN fills just the rows that one maximum for
    all rows turns into zeros."""
    case = session.cases[FIFTY]
    if not shared.right_on(session, *ORDINARY) or not session.call(case).ok or shared.finite_on(session, FIFTY):
        return False
    missing = torch.isnan(tensors_in(session.call(case).value)[0])
    lost_rows = (torch.isnan(session.evaluate(case, one_top(axes))) for axes in (2, 9))
    return any(missing.shape == rows.shape and bool((missing == rows).all()) for rows in lost_rows)


def _overflows_as(*ways: shared.Attend) -> Callable[[Session], bool]:
    """A recogniser that says whether the output is right where all blocks have scores of about the same size, and at
    large scores isn't finite in just the places where that of one way isn't."""

    def recognise(session: Session) -> bool:
        case = session.cases[FIFTY]
        right = shared.right_on(session, *ORDINARY) and session.call(case).ok
        if not right or shared.finite_on(session, FIFTY):
            return False
        lost = ~torch.isfinite(tensors_in(session.call(case).value)[0])
        patterns = (~torch.isfinite(session.evaluate(case, way)) for way in ways)
        return any(lost.shape == pattern.shape and bool((lost == pattern).all()) for pattern in patterns)

    return recognise


def _first_top(state: State, scores: Tensor, value: Tensor) -> State:
    """A wrong step that keeps the maximum of the first block."""
    top = torch.where(torch.isinf(state.top), scores.amax(-1, keepdim=True), state.top)
    counts = (scores - top).exp()
    return State(top, state.total + counts.sum(-1, keepdim=True), state.mixed + counts @ value)


def _underflow(session: Session) -> bool:
    """Whether the output is right at ordinary and at large scores, and wrong at large negative ones."""
    finite = session.call(session.cases[shared.NEGATIVE]).ok and shared.finite_on(session, shared.OFFSET)
    close = parts.inspect_call(session, session.cases[shared.OFFSET], FLOAT64) is None
    return finite and close and shared.right_on(session, *ORDINARY) and not shared.right_on(session, shared.NEGATIVE)


def _operations(session: Session) -> tuple[int, int]:
    outcomes = [session.call(session.cases[name]) for name in (FEW, FEW_LONGER)]
    return outcomes[0].operations, outcomes[1].operations


def _same_work(session: Session) -> bool:
    """Whether the output is right, but more keys don't take more operations, so that the loop doesn't run over the
    keys."""
    short, long = _operations(session)
    return shared.right_on(session, FEW, FEW_LONGER) and short >= long


def _queries_instead(session: Session) -> bool:
    """Whether the loop runs over chunks of queries: all is right and the whole matrix is made only where block_size is
    more than the queries, or they come one at a time."""
    cut = shared.full_table(session, FEW) or not shared.full_table(session, shared.ONES)
    return (
        _same_work(session)
        and shared.right_on(session, shared.LONG)
        and not shared.full_table(session, shared.LONG)
        and cut
    )


def _count(session: Session) -> bool:
    """Whether block_size is taken as the number of blocks, so that with a block_size of 1 one block holds the whole
    matrix."""
    return _same_work(session) and shared.full_table(session, shared.ONES) and not shared.full_table(session, FEW)


def _products(session: Session) -> tuple[int, int]:
    """How many multiplications the call with wide keys takes, and how many one pass over the keys needs."""
    sizes = session.cases[WIDE].sizes
    needed = sizes["Tq"] * sizes["Tk"] * (sizes["D"] + sizes["d_v"])
    return session.call(session.cases[WIDE]).products, needed


def _two_passes(session: Session) -> bool:
    """Whether the output is right, but the scores are computed twice. Scaling and masking take some multiplications,
    too, but far fewer than half a pass."""
    done, needed = _products(session)
    return shared.right_on(session, FEW, WIDE) and done > 1.5 * needed


def _walks(weight: float) -> Part:
    def judge(session: Session) -> Finding | None:
        if not shared.right_on(session, FEW, FEW_LONGER):
            return not_judged("values-first")
        short, long = (session.cases[name] for name in (FEW, FEW_LONGER))
        if not _same_work(session):
            cut, whole = (session.call(session.cases[name]).operations for name in (FEW, ONE_BLOCK))
            if whole < cut:
                return None
            said = say(
                "Your code runs {cut} torch operations in blocks of {block} keys, and {whole} where one block holds "
                "all {keys}. Fewer blocks would need fewer operations, so your blocks don't have `block_size` keys.",
                cut=cut,
                block=short.args["block_size"],
                whole=whole,
                keys=short.sizes["Tk"],
            )
            return Finding("blocks-of-another-size", said)
        said = say(
            "Your code runs {few} torch operations with {short} keys and {many} with {long}, in blocks of {block}. "
            "More keys make more blocks, so a loop over blocks of keys would need more operations.",
            few=_operations(session)[0],
            short=short.sizes["Tk"],
            many=_operations(session)[1],
            long=long.sizes["Tk"],
            block=short.args["block_size"],
        )
        return Finding("one-go", said)

    return Part("walks over blocks of keys", weight, judge)


def _once(weight: float) -> Part:
    """A part that passes if each score is computed once. It waits until keys are cut into blocks."""

    def judge(session: Session) -> Finding | None:
        walks = not shared.full_table(session, FEW) and not _queries_instead(session)
        if not shared.right_on(session, FEW, FEW_LONGER, WIDE) or not walks:
            return not_judged("values-first")
        if not _two_passes(session):
            return None
        (done, needed), case = _products(session), session.cases[WIDE]
        said = say(
            "Your code multiplies {done} pairs of numbers, but one pass over the keys needs about {needed}. So it "
            "computes the scores more than once.",
            done=f"{done:,}",
            needed=f"{needed:,}",
        )
        return Finding("two-passes", together(said, compare.arguments_in_words(case, session.exercise)))

    return Part("reads the keys once", weight, judge)


EXERCISE = spec.exercise(
    shared.attention,
    points=5,
    signature=(*shared.ATTEND, "block_size"),
    outputs={"output": "... Tq d_v"},
    cases=_cases,
    parts=(
        *usual("gives the same as attention to all keys at once", 4, leading=1.5),
        parts.values("works for blocks of any size", 1.5, shared.LARGER, shared.ONES, shared.LONG),
        parts.values("avoids overflow and underflow in rows of large scores", 4, shared.OFFSET, shared.NEGATIVE),
        shared.small_tensors("makes no tensor as large as Tq × Tk", 8, shared.LONG, shared.LONG_BATCH, FEW),
        _walks(6),
        _once(28),  # half of all: the idea of the exercise
    ),
    mistakes={
        "no-rescaling": tuple(
            walk(step(total, mixed, running))
            for total, mixed, running in (
                (False, False, True),
                (True, False, True),
                (False, True, True),
                (False, False, False),
            )
        ),
        "last-block-lost": When(_last_lost),
        "blocks-normalised-apart": (shared.blocks_apart(False), shared.blocks_apart(True), _softmax_in_walk),
        "never-divided": walk(step(), divide=False),
        "divided-too-early": _divides_in_loop,
        "maximum-not-kept": walk(_forgets_top),
        "factor-inverted": _inverted_from_second,
        "nan-from-the-first-block": When(_all_nan),
        "values-not-cut": _first_values,
        "query-length-instead": _until_queries_end,
        **by_id(shared.no_scaling(shared.unscaled), *shared.wrong_scales()),
        "underflow": When(_underflow),
        "global-max-underflow": When(_global_top),
        "block-maximum": When(_overflows_as(walk(step(running=False)))),
        "first-maximum-kept": When(_overflows_as(walk(_first_top))),
        **by_id(shared.overflow(FIFTY, shared.OFFSET)),
        "queries-cut-instead": When(_queries_instead),
        "number-of-blocks": When(_count),
        "two-passes": When(_two_passes),
        "full-matrix-made": When(shared.makes_full_table(shared.LONG, shared.LONG_BATCH, FEW)),
    },
    excluded=(FUSED_ATTENTION,),
    seconds=20,  # the largest case takes code that walks over small tiles a while
    memory=shared.MEMORY,
)
