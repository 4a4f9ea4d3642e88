"""Whether a learner's right answer can stand where the course's stands: later lessons call it, load stored parameters
into it and look at its parts, which a check of its results doesn't ask for."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from grader.sentences import say
from grader.spec.draw import Draw
from grader.spec.exercise import Case, Exercise

UNREAD = {"max_length"}  # no later lesson asks for it
Shapes = dict[str, list[list[tuple[int, ...]]]]


def difference(exercise: Exercise, own: Any, course: Any) -> str:
    """A sentence on the first thing in which `own` differs from the course's `course`; empty if there is none."""
    odd = _signatures(own, course)
    if odd or exercise.kind != "module":
        return odd
    case = next(case for case in exercise.cases(Draw(exercise.name)) if case.setup is not None)
    try:
        return _built(case, own, course)
    except Exception as error:  # what a learner's class does outside of its check
        return f"{type(error).__name__}: {error}".splitlines()[0]


def _signatures(own: Any, course: Any) -> str:
    """A sentence on an argument of the course's that `own` doesn't take by its name, or has no default for; empty if
    there is none."""
    mine, theirs = inspect.signature(own).parameters, inspect.signature(course).parameters
    if any(parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in mine.values()):
        return ""
    for name, parameter in theirs.items():
        if name not in mine:
            return say("yours has no argument `{name}`", name=name)
        if parameter.default is not parameter.empty and mine[name].default is parameter.empty:
            return say("yours has no default for `{name}`", name=name)
    return ""


def _built(case: Case, own: Callable[..., nn.Module], course: Callable[..., nn.Module]) -> str:
    """A sentence on what differs between two modules of the same sizes and parameters, run on the same arguments; empty
    if nothing does."""
    assert case.setup is not None
    mine, theirs = own(*case.setup.init), course(*case.setup.init)
    for name in sorted(vars(theirs).keys() - vars(mine).keys() - UNREAD):
        if not hasattr(mine, name):
            return say("yours has no `{name}`", name=name)
    stored, needed = mine.state_dict(), theirs.state_dict()
    for name in stored | needed:
        if name not in needed:
            return say("yours has a parameter or buffer `{name}`, which the course's doesn't have", name=name)
        if name not in stored:
            return say("yours has no parameter `{name}`", name=name)
    mine.load_state_dict(needed)
    shapes = _seen(mine, case)
    for name, seen in _seen(theirs, case).items():
        if shapes.get(name) != seen:
            return say(
                "yours calls its `{name}` differently, and later lessons look at what this part returns", name=name
            )
    return ""


@torch.no_grad()
def _seen(module: nn.Module, case: Case) -> Shapes:
    """The shapes of all outputs, in one call in eval mode, of each part of a module that has parts of its own, by the
    part's name."""
    seen: Shapes = {}
    parts = {name: part for name, part in module.named_modules() if name and any(True for _ in part.children())}
    with _hooked(parts, seen):
        module.eval()(*(arg.clone() if isinstance(arg, Tensor) else arg for arg in case.args.values()))
    return seen


@contextmanager
def _hooked(parts: dict[str, nn.Module], seen: Shapes) -> Iterator[None]:
    def keep(name: str) -> Callable[[nn.Module, Any, Any], None]:
        def note(_module: nn.Module, _inputs: Any, output: Any) -> None:
            outputs = output if isinstance(output, tuple) else (output,)
            seen.setdefault(name, []).append([tuple(output.shape) for output in outputs if isinstance(output, Tensor)])

        return note

    hooks = [part.register_forward_hook(keep(name)) for name, part in parts.items()]
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()
