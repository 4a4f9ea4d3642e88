"""Right numbers in another form than the one asked for: results swapped, an axis kept or moved, tensors for numbers.

The same slip costs the same in every exercise. Where a check's calls would be right in another form, they are judged
once more in that form, and half of what they earn there stays.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import combinations, permutations
from typing import Any

import torch
from torch import Tensor

from grader.report import PartReport, Report
from grader.sentences import say, together
from grader.spec.session import Session
from grader.subject import Opaque
from grader.subject.forms import Form, reformed
from grader.subject.values import tensors_in
from grader.tolerance import Tolerance

TITLE = "returns the numbers in the form asked for"
SHARE = 0.5  # of the points: what stays where only the form is wrong
MOST = 4  # results in a tuple, and axes that may have changed places
ENOUGH = 0.82  # of the points, in another form: with less the numbers aren't right either, in some cases at least
TRIES = 12  # forms for one check
CLOSE = Tolerance(relative=1e-4, absolute=1e-5)
Judge = Callable[[Session], tuple[PartReport, ...]]


def right_but_for_form(
    session: Session, report: Report, begin: Callable[[Form], Session], judge: Judge
) -> Report | None:
    """The report with the points that stay where the calls are right in another form; None where they aren't, or where
    it has as many already.

    `begin` gives a session like `session` whose calls are put into a form, and `judge` judges its parts.
    """
    if report.forfeited or session.stopped is not None or report.score >= SHARE or session.exercise.kind == "answers":
        return None
    best, first = report, report.first_failure
    assert first is not None
    for form in _forms(session):
        again = begin(form)
        if not _values_right(again):
            continue
        parts = judge(again)
        if again.stopped is not None or again.excluded_call is not None:
            continue
        total = sum(part.weight for part in parts)
        if sum(part.weight for part in parts if part.passed) < ENOUGH * total:
            continue
        weight = total * (1 - SHARE) / SHARE
        told = PartReport(TITLE, False, weight, first.kind, _said(session, form, first))
        found = report.with_parts((told, *parts))
        best = found if found.score > best.score else best
        if all(part.passed for part in parts):
            break
    return best if best is not report else None


def _values_right(session: Session) -> bool:
    """Whether the first part that compares values passes."""
    part = next((part for part in session.exercise.parts if part.compares_values), None)
    return part is not None and part.judge(session) is None


def _forms(session: Session) -> Iterator[Form]:
    """The forms in which the calls may be right, the likeliest first."""
    exercise = session.exercise
    if not exercise.outputs or exercise.reference is None:
        yield from _by_type(session.first_value)
        return
    called = [(outcome.value, session.expected(case)) for case, outcome in session.called() if outcome.ok]
    found = dict.fromkeys(form for value, expected in called for form in _by_values(value, expected))
    if found or (called and isinstance(session.first_value, Tensor)):  # no form of a tensor has escaped `_by_values`
        yield from list(found)[:TRIES]
    else:
        yield from _by_type(session.first_value)


# --- where the right tensors are known --------------------------------------------------------------------------------


def _by_values(value: object, expected: Sequence[Tensor]) -> Iterator[Form]:
    """The forms in which a returned value has the right tensors."""
    for start in _structures(value, len(expected)):
        found = reformed(value, start)
        tensors, paths = tensors_in(found), list(_paths(found))
        if len(tensors) != len(expected):
            continue
        axes = [_arrangements(got, right) for got, right in zip(tensors, expected, strict=True)]
        if not all(axes) or (not start and all(() in ways for ways in axes)):
            continue
        for n in range(
            max(len(ways) for ways in axes)
        ):  # alike in all outputs: counted from the front, or from the end
            steps = [ways[min(n, len(ways) - 1)] for ways in axes]
            yield (*start, *((*path, *step) for path, way in zip(paths, steps, strict=True) for step in way))


def _paths(value: object) -> Iterator[tuple[Any, ...]]:
    """What begins a step for each tensor in a value, in the order of `tensors_in`: () for a tensor alone."""
    if isinstance(value, Tensor):
        yield ()
    elif isinstance(value, tuple | list):
        yield from (("at", i, *path) for i, item in enumerate(value) for path in _paths(item))


def _structures(value: object, count: int) -> Iterator[Form]:
    """Forms in which a value may become one tensor (`count` 1) or a tuple of `count`."""
    yield ()
    if isinstance(value, dict):
        yield from ((("values",), *form) for form in _structures(list(value.values()), count))
    elif isinstance(value, Tensor) and count > 1:
        yield from ((("unbind", axis),) for axis in (0, -1))
    elif isinstance(value, tuple | list):
        items = len(value)
        if items == 1 and count > 1:
            yield from ((("only", 0), *form) for form in _structures(value[0], count))
        elif count == 1:
            yield from ((("only", i),) for i in range(min(items, MOST)))
            yield from ((("stack", axis),) for axis in range(-MOST, MOST))
            yield from ((("cat", axis),) for axis in range(-MOST, MOST))
            yield (("tensor",),)
        elif any(isinstance(item, tuple | list) for item in value):
            yield from ((("pick", *order),) for order in permutations(range(items)) if items <= MOST)
        elif items <= MOST:
            yield from ((("pick", *order),) for order in permutations(range(items), count) if order != (*range(count),))
            yield (("pick", *range(count)),)
    elif isinstance(value, Opaque | int | float):
        yield (("tensor",),)


def _arrangements(got: Tensor, right: Tensor) -> list[Form]:
    """The forms in which a tensor is the right one: nothing to do; axes of length 1 dropped or added; or its axes in
    another order. Empty if there is none."""
    if got.is_complex() or got.layout is not torch.strided:
        return []
    if got.shape == right.shape:
        return [()] if CLOSE.all_close(got, right) else []
    return [form for form in _axes(got, right) if _is(reformed(got, form), right)]


def _axes(got: Tensor, right: Tensor) -> Iterator[Form]:
    more = got.dim() - right.dim()
    if more > 0:
        single = [axis for axis in range(got.dim()) if got.shape[axis] == 1]
        for axes in combinations(single, more):
            yield tuple(("drop", axis) for axis in reversed(axes))
            yield tuple(("drop", axis - got.dim()) for axis in axes)
    elif more < 0:
        single = [axis for axis in range(right.dim()) if right.shape[axis] == 1]
        for axes in combinations(single, -more):
            yield tuple(("add", axis) for axis in axes)
            yield tuple(("add", axis - right.dim()) for axis in reversed(axes))
    elif sorted(got.shape) == sorted(right.shape) and got.dim() <= MOST + 1:
        for order in permutations(range(got.dim())):
            if tuple(got.shape[axis] for axis in order) == right.shape:
                first = next(i for i, axis in enumerate(order) if axis != i)
                yield (("permute", *(axis - got.dim() for axis in order[first:])),)


def _is(got: object, right: Tensor) -> bool:
    return isinstance(got, Tensor) and got.shape == right.shape and CLOSE.all_close(got, right)


# --- where only the check itself can tell -----------------------------------------------------------------------------


def _by_type(value: object) -> Iterator[Form]:
    """Forms of a value that an exercise with a judgement of its own may ask for."""
    if isinstance(value, dict):
        yield from ((("values",), *form) for form in ((), *_by_type(list(value.values()))))
    elif isinstance(value, Tensor):
        yield from _of_tensor(value)
    elif isinstance(value, tuple | list) and value:
        yield from _of_sequence(value)
    elif isinstance(value, Opaque):
        yield (("tensor",),)


def _of_tensor(tensor: Tensor) -> Iterator[Form]:
    if tensor.numel() == 1 or tensor.dim() == 1:
        yield (("numbers",),)
    yield from ((("drop", axis),) for axis in (0, -1) if tensor.dim() > 1 and tensor.shape[axis] == 1)
    if tensor.dim() == 2 and tensor.shape[0] != tensor.shape[1]:
        yield (("permute", -1, -2),)


def _of_sequence(value: Sequence[object]) -> Iterator[Form]:
    tensors = [item for item in value if isinstance(item, Tensor)]
    if tensors:
        yield (("numbers",),)
    if len(value) == 2:
        yield (("pick", 1, 0),)
        yield (("pick", 1, 0), ("numbers",))
        if isinstance(value[1], Tensor):
            yield (("at", 1, "unbind", 0),)
    if len(value) < MOST:
        yield from ((("only", i),) for i in range(len(value)))
        yield from ((("only", i), ("numbers",)) for i, item in enumerate(value) if isinstance(item, Tensor))
    if len(tensors) == len(value):
        yield from ((("stack", 0),), (("stack", -1),), (("cat", -1),))
    elif isinstance(value[0], tuple | list):
        yield (("tensor",),)


# --- in words ---------------------------------------------------------------------------------------------------------


def _said(session: Session, form: Form, first: PartReport) -> str:
    """Sentences on a form that isn't the one asked for; `first` is the first part that failed."""
    found, outputs = first.message, session.exercise.outputs
    if any("pick" in step for step in form):
        names = ", ".join(output.name for output in outputs)
        order = say("Expected ({names}).", names=names) if outputs else ""
        found = together(say("`{name}` returned its results in another order.", name=session.exercise.name), order)
    return together(say("The numbers are right, but not the form in which they come back."), found)
