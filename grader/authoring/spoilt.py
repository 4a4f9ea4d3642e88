"""Right answers spoilt in systematic ways: each is right but for one thing, which a check has to notice.

`grader.authoring.mutants` changes a line of a model solution. Here the solution stays as it is, and something happens
around its calls: it keeps what an earlier call was given, can't take an input that isn't contiguous, computes in half
the precision.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from grader.authoring.wrappers import (
    Wrapper,
    changes,
    changes_earlier,
    content,
    given,
    gives,
    is_double,
    is_float,
    is_strided,
    keeps_first,
    later_calls,
    nothing,
    on_top_of_the_last,
    one_buffer,
    raises_where_strided,
    remembers,
    row,
    shape,
    squeezes,
    through,
    with_axes,
    wrong_where,
)
from grader.spec.cases import TOKENS
from grader.spec.draw import Draw
from grader.spec.exercise import Exercise
from grader.spec.session import Session
from grader.subject.local import LocalSubject
from grader.subject.values import tensors_in

# The axes of a result in which a batch or a sequence may have length one.
MAY_BE_ONE = ("B", *TOKENS)


@dataclass(frozen=True)
class Occasion:
    """What an exercise's calls give occasion for."""

    args: dict[str, Any]  # by name
    axes: tuple[str, ...]  # of its results, in letters
    results: tuple[Tensor, ...]  # the right ones of the cases that are called
    unknown: bool  # it has no cases, so nobody knows
    is_module: bool  # results have a gradient, that of its parameters

    def takes(self, fits: Callable[[Tensor], bool]) -> bool:
        return self.unknown or any(map(fits, tensors_in(list(self.args.values()))))

    def gives(self, fits: Callable[[Tensor], bool]) -> bool:
        return any(map(fits, self.results))


@dataclass(frozen=True)
class Way:
    """One way to spoil an answer. `make` gives the wrapper for one function, or for one instance of a module. It takes
    one of `places`, if that isn't None: the position of an argument or an axis, each with its name. `needs`: whether
    the way makes a difference at all."""

    title: str
    make: Callable[..., Wrapper]
    needs: Callable[[Occasion], bool] = lambda _occasion: True
    places: Callable[[Occasion], Iterable[tuple[str, int]]] | None = None


def spoilt(right: Any, title: str, *place: int) -> Any:
    """A function or a class as the right one, spoilt in the way of this title, at an argument's position if it needs
    one."""
    way = next(way for way in WAYS if way.title == title)
    if not isinstance(right, type):
        wrapper = way.make(*place)
        return lambda *args, **named: wrapper(lambda *given: right(*given, **named), *args)

    class Spoilt(right):
        def __init__(self, *args: Any, **named: Any) -> None:
            super().__init__(*args, **named)
            self.__dict__["wrapper"] = way.make(*place)

        def forward(self, *args: Any, **named: Any) -> Any:
            return self.wrapper(lambda *given: super(Spoilt, self).forward(*given, **named), *args)

    return Spoilt


def ways(exercise: Exercise) -> Iterator[tuple[str, str]]:
    """Every way to spoil an exercise's answers that makes a difference in its calls: what it is called, and the Python
    that spoils, a call of `spoilt`."""
    occasion = _occasion(exercise)
    for way in WAYS:
        if not way.needs(occasion):
            continue
        for name, *place in [("",)] if way.places is None else way.places(occasion):
            given = ", ".join([exercise.name, repr(way.title), *map(str, place)])
            yield f"{way.title} {name}".strip(), f"spoilt({given})"


def _occasion(exercise: Exercise) -> Occasion:
    session = Session(exercise, LocalSubject({}), Draw(f"practice{exercise.name}"), 0)
    args: dict[str, Any] = {}
    for case in session.cases.values():
        args |= {name: value for name, value in case.args.items() if args.get(name) is None}
    known = session.real_cases() if exercise.reference is not None and exercise.outputs else []
    results = tuple(result for case in known for result in session.expected(case))
    return Occasion(
        args, tuple(output.axes for output in exercise.outputs), results, not session.cases, exercise.kind == "module"
    )


def _has_axes(value: Tensor) -> bool:
    return value.dim() > 0


def _takes_tensors(occasion: Occasion) -> bool:
    return occasion.takes(_has_axes)


def _computes(occasion: Occasion) -> bool:
    """Whether numbers come out of numbers."""
    return occasion.takes(is_float) and occasion.gives(is_float)


def _arguments(fits: Callable[[Any], bool]) -> Callable[[Occasion], Iterator[tuple[str, int]]]:
    """The arguments that fit, with their positions."""
    return lambda o: ((f"`{name}`", i) for i, (name, value) in enumerate(o.args.items()) if fits(value))


def _single_axes(occasion: Occasion) -> Iterator[tuple[str, int]]:
    """The axes of results that may have length one, counted from the last one."""
    found = {letter: i for axes in occasion.axes for i, letter in enumerate(reversed(axes.split()), 1)}
    yield from ((letter, -i) for letter, i in found.items() if letter in MAY_BE_ONE)
    if any("..." in axes for axes in occasion.axes):
        yield "...", 0


def _leading(occasion: Occasion) -> Iterator[tuple[str, int]]:
    """The number of axes of the first result with none, one and two leading ones."""
    axes = occasion.axes[0].split() if occasion.axes else []
    return ((f"{n} leading", len(axes) - 1 + n) for n in range(3) if "..." in axes)


def _long(axis: int) -> Callable[[Occasion], bool]:
    return lambda o: o.gives(lambda result: result.dim() > axis and result.shape[axis] > 1)


TENSORS = _arguments(lambda value: bool(tensors_in([value])))
FLOATS = _arguments(lambda value: any(map(is_float, tensors_in([value]))))
DATA = _arguments(lambda value: isinstance(value, Tensor | int | float))

# Not among them: what rounds float64 to float32 on the way. A right answer may hold a constant in float32, such as a
# square root in a tensor of its own, and its error is as large.
WAYS = (
    Way("wrong where an input isn't contiguous", wrong_where(is_strided), _takes_tensors),
    Way("raises where an input isn't contiguous", raises_where_strided, lambda o: o.takes(lambda t: t.dim() > 1)),
    Way("remembers results by shape", remembers(lambda args: tuple(map(shape, args))), _takes_tensors),
    Way("remembers the first result", remembers(lambda args: None)),
    Way("remembers results by", remembers(lambda args: tuple(map(shape, args))), lambda o: len(o.args) > 1, DATA),
    Way("keeps the first", keeps_first, places=DATA),
    Way("wrong on a second call of the same shape", later_calls(lambda args: tuple(map(shape, args)))),
    Way("wrong on a second call that is the same", later_calls(lambda args: tuple(map(content, args)))),
    Way("adds up over calls", on_top_of_the_last, lambda o: o.gives(is_float)),
    Way(
        "overwrites what it gave before",
        one_buffer,
        lambda o: bool(o.results) and not o.is_module and _takes_tensors(o),
    ),
    Way("changes in place", changes, places=TENSORS),
    Way("changes in place, a call later,", changes_earlier, places=TENSORS),
    Way("ignores", given(nothing), places=TENSORS),
    Way("rounds to bfloat16", given(through(torch.bfloat16)), _computes, FLOATS),
    Way("rounds to float16", given(through(torch.float16)), _computes, FLOATS),
    Way("rounds the result to float16", gives(through(torch.float16)), lambda o: o.gives(is_float)),
    Way("rounds the result to bfloat16", gives(through(torch.bfloat16)), lambda o: o.gives(is_float)),
    Way("cuts the gradient of", given(torch.detach), _computes, FLOATS),
    Way("cuts the gradient of the result", gives(torch.detach), _computes),
    Way("squeezes", squeezes, places=_single_axes),
    Way("does the first of a batch alone", gives(row(0, 0)), _long(0)),
    Way("gives the last of a batch what the first has", gives(row(0, 0, -1)), _long(0)),
    Way("leaves out the first of a batch", gives(row(0, 1, 0)), _long(0)),
    Way("does the first of the second axis alone", gives(row(1, 0)), _long(1)),
    Way("wrong for axes:", with_axes, places=_leading),
    Way("wrong in float64", wrong_where(is_double), _computes),
)
