"""Compares what a student's code returned with what is right, in a helpful order: did it run, structure, shape, dtype,
finite, values."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from grader.sentences import Several, from_json, say, together
from grader.spec.exercise import Case, Exercise, Finding, Output, axes_in_words, not_judged, shape_of
from grader.spec.raised import finding_of, is_unwritten, not_defined
from grader.subject import Opaque, Outcome
from grader.tolerance import Tolerance


def leaves(value: object, count: int) -> list[Tensor] | None:
    """The `count` tensors of a returned value (a tuple or list if several), or None if it has another structure, or if
    one is of complex numbers: no exercise asks for those, and a comparison would see the real parts only."""
    values = [value] if count == 1 else value
    if isinstance(values, tuple | list) and len(values) == count and all(_is_real(v) for v in values):
        return list(values)
    return None


def _is_real(value: object) -> bool:
    return isinstance(value, Tensor) and not value.is_complex()


def run_error(outcome: Outcome, exercise: Exercise) -> Finding | None:
    """The finding on why a call gave no value; None if it gave one."""
    name = exercise.name
    if outcome.status == "missing":
        return not_defined(str(outcome.value))
    if outcome.status == "misbuilt":
        return Finding("misbuilt", from_json(str(outcome.value)))
    if outcome.status == "too-large":
        what = from_json(str(outcome.value))
        return Finding(
            "too-large", say("`{name}` returned more than the check can look at: {what}.", name=name, what=what)
        )
    if outcome.status == "time-limit":
        said = say("`{name}` did not finish in time and was stopped. Look for a loop that never ends.", name=name)
        return Finding("time-limit", said)
    if outcome.status == "waited":
        return not_judged("waited")
    if outcome.status == "died":
        return Finding("died", say("The process that ran `{name}` ended in the middle of the call.", name=name))
    if outcome.status == "not-run":
        return not_judged("not-run")
    if outcome.raised is not None:
        return finding_of(outcome.raised, name)
    return None


# Where a call raises as it should, and only the message lacks something.
MESSAGE_ONLY = (
    "Your code notices that the input is wrong, so only the text of the message has to change.",
    'An f-string puts values into a text: in `f"got {size}"` the value of `size` takes the place of the braces.',
)


def refused(outcome: Outcome, call: str, numbers: Sequence[int] = (), hints: tuple[str, ...] = ()) -> Finding | None:
    """The finding on why a call that has to raise a ValueError with `numbers` in its message did something else; None
    if it did raise it.

    `call` is the call in words, a whole sentence. `hints` go with what is found.
    """

    def wrong(message: str, hints: tuple[str, ...] = hints) -> Finding:
        return Finding("wrong-error", together(call, message), hints=hints)

    raised = outcome.raised
    if raised is None:
        got = wrong(say("Expected a ValueError, got a result."))
        return got if outcome.ok else not_judged("runs-first")
    if is_unwritten(raised):
        return not_judged("written-first")
    said = raised.message[:120]
    if "AssertionError" in raised.types and raised.deliberate:
        return wrong(
            say("Expected a ValueError, got {error} (`assert` raises that): {message}", error=raised.name, message=said)
        )
    if "ValueError" not in raised.types:
        return wrong(say("Expected a ValueError, got {error}: {message}", error=raised.name, message=said))
    if {str(number) for number in numbers} <= set(re.findall(r"\d+", raised.message)):
        return None
    if not raised.deliberate:
        return wrong(
            say("Expected a ValueError that your code raises, got one of Python's own: {message}", message=said)
        )
    named = Several(str(number) for number in numbers)
    return wrong(
        say("The message should name both numbers, {numbers}, but it reads: {message}", numbers=named, message=said),
        MESSAGE_ONLY,
    )


def returned_none(exercise: Exercise) -> Finding:
    """The finding of a call that returned nothing."""
    said = say("`{name}` returned None. Does it end with a `return` line?", name=exercise.name)
    return Finding("returns-nothing", said)


def no_value(outcome: Outcome, exercise: Exercise) -> Finding | None:
    """The finding if a call raised or ended otherwise, or returned None; None if there is a value."""
    return run_error(outcome, exercise) or (returned_none(exercise) if outcome.value is None else None)


def structure(value: object, exercise: Exercise) -> Finding | None:
    """The finding if the wrong number of tensors came back, or something else; None if it is right."""
    outputs, name = exercise.outputs, exercise.name
    if value is None:
        return returned_none(exercise)
    if leaves(value, len(outputs)) is not None:
        return None
    if len(outputs) == 1:
        said = say("`{name}` returned {what}, expected one tensor.", name=name, what=in_words(value))
    else:
        wanted = "({})".format(", ".join(output.name for output in outputs))
        said = say(
            "`{name}` returned {what}, expected a tuple of {count} tensors: {names}.",
            name=name,
            what=in_words(value),
            count=len(outputs),
            names=wanted,
        )
    return Finding("wrong-type", said)


def in_words(value: object) -> str:
    """What a student's function returned, in words that can be said again: a noun for the middle of a sentence."""
    if isinstance(value, Tensor):
        template = (
            "one tensor of complex numbers, shape {shape}" if value.is_complex() else "one tensor of shape {shape}"
        )
        return say(template, shape=tuple(value.shape))
    if isinstance(value, tuple | list):
        return _sequence_in_words(value)
    if isinstance(value, Opaque):
        if value.type_name == "ndarray":
            return say("a NumPy array (which also cuts the gradient)")
        return say("a value of type {type}", type=value.type_name)
    if isinstance(value, bool):
        return str(value)
    if isinstance(value, int | float):
        return say("the plain number {number}", number=value)
    if isinstance(value, str):
        return say("the string {text}", text=repr(value if len(value) <= 40 else value[:40] + "…"))
    return say("a value of type {type}", type=type(value).__name__)


def number_in_words(value: object) -> str:
    """What a function returned that should return a plain number, in words."""
    is_number = isinstance(value, Tensor) and value.numel() == 1
    return say("a tensor with one number") if is_number else in_words(value)


def with_dtype(value: object) -> str:
    """What a function returned, in words, a tensor with its dtype."""
    if not isinstance(value, Tensor):
        return in_words(value)
    return say("{what}, dtype {dtype}", what=in_words(value), dtype=str(value.dtype).removeprefix("torch."))


def _sequence_in_words(value: tuple[object, ...] | list[object]) -> str:
    kind, count = type(value).__name__, len(value)
    if not value:
        return say("an empty {kind}", kind=kind)
    alone = count == 1
    if all(_is_real(item) for item in value):
        return (
            say("a {kind} of one tensor", kind=kind)
            if alone
            else say("a {kind} of {count} tensors", kind=kind, count=count)
        )
    if any(isinstance(item, tuple | list) for item in value):
        if alone:
            return say("a {kind} of one item, which is a tuple or a list itself", kind=kind)
        return say("a {kind} of {count} items, with tuples or lists among them", kind=kind, count=count)
    items = Several([*(in_words(item) for item in list(value)[:4]), *([say("others")] if count > 4 else [])])
    if alone:
        return say("a {kind} of one item ({items})", kind=kind, items=items)
    return say("a {kind} of {count} items ({items})", kind=kind, count=count, items=items)


def shapes(values: Sequence[Tensor], exercise: Exercise, case: Case) -> Finding | None:
    """The finding on the first output whose shape is wrong; None if all are right."""
    for value, output in zip(values, exercise.outputs, strict=True):
        expected = shape_of(output.axes, case.sizes, case.leading)
        if tuple(value.shape) != expected:
            said = say(
                "{what} has shape {got}, expected {expected}, which is {axes}.",
                what=called(exercise, output),
                got=tuple(value.shape),
                expected=expected,
                axes=axes_in_words(output.axes, case.leading),
            )
            return Finding("wrong-shape", together(said, arguments_in_words(case, exercise)))
    return None


def arguments_in_words(case: Case, exercise: Exercise) -> str:
    """The shapes and numbers of a call, as sentences; for a module also those of its constructor."""
    shown = [f"{name} {tuple(arg.shape)}" for name, arg in case.args.items() if isinstance(arg, Tensor)]
    shown += [f"{name} = {arg}" for name, arg in case.args.items() if type(arg) in (int, float)]
    arguments, constructed, called = ", ".join(shown), "", ""
    if case.setup is not None:
        names = (argument.partition("=")[0] for argument in exercise.signature)
        # Arguments left out have their defaults.
        values = ", ".join(f"{name} = {arg}" for name, arg in zip(names, case.setup.init, strict=False))
        constructed = say("`{name}` was made with {arguments}.", name=exercise.name, arguments=values)
    if shown and constructed:
        called = say("It was called with {arguments}.", arguments=arguments)
    elif shown:
        called = say("`{name}` was called with {arguments}.", name=exercise.name, arguments=arguments)
    return together(constructed, called)


def dtypes(values: Sequence[Tensor], exercise: Exercise, dtype: torch.dtype) -> Finding | None:
    """The finding on the first output whose dtype isn't `dtype`, that of the input; None if all are."""
    for value, output in zip(values, exercise.outputs, strict=False):
        if value.dtype != dtype:
            short, got = str(dtype).removeprefix("torch."), str(value.dtype).removeprefix("torch.")
            cause = say("`.float()`, `.double()` or a tensor made without `dtype=` can cause that.")
            if not value.is_floating_point():
                cause = say("`argmax`, `.long()` and counts give whole numbers, and comparisons give bool.")
            what = called(exercise, output)
            said = say(
                "{what} has dtype {got}, expected {expected} like the input.", what=what, got=got, expected=short
            )
            return Finding("dtype-changed", together(said, cause))
    return None


def values_close(
    values: Sequence[Tensor], expected: Sequence[Tensor], exercise: Exercise, case: Case, tolerance: Tolerance
) -> Finding | None:
    """The finding on the first output whose values are wrong: NaN and inf first, then how many differ, and the first
    place; None if all are close. A single number is shown with the expected one."""
    for value, right, output in zip(values, expected, exercise.outputs, strict=True):
        finding = tensor_close(value, right, called(exercise, output), case, tolerance)
        if finding is not None:
            return finding
    return None


def tensor_close(value: Tensor, right: Tensor, what: str, case: Case, tolerance: Tolerance) -> Finding | None:
    """The same for one tensor, which the message calls `what`, at its beginning."""
    if tolerance.all_close(value, right):
        return None
    finding = not_finite(value, right, what, case.name)
    if finding is not None:
        return finding
    if value.numel() == 1:
        got, wanted = apart(value.item(), right.item())
        return Finding("wrong-values", _one_number(value, what, got, wanted, case.name))
    wrong = (~tolerance.close(value, right)).nonzero()
    first = tuple(int(i) for i in wrong[0])
    said = say(
        "{what}: {wrong} of {total} values differ ({case}), the first at index {index}.",
        what=what,
        wrong=len(wrong),
        total=value.numel(),
        case=say(case.name),
        index=list(first),
    )
    shown = right.to(value.dtype) if value.is_floating_point() else right
    return Finding("wrong-values", said, got=_window(value, first), expected=_window(shown, first))


def not_finite(value: Tensor, right: Tensor | None, name: str, case: str) -> Finding | None:
    """The finding if `value` holds NaN or inf where `right` (all finite if None) doesn't; None if not. The message
    names the output `name` and the case `case`."""
    finite = torch.isfinite(value)
    if right is not None:
        finite |= ~torch.isfinite(right)
    if bool(finite.all()):
        return None
    bad = ~finite
    if value.numel() == 1:
        wanted = say("a finite number") if right is None else in_digits(right.item())
        return Finding("not-finite", _one_number(value, name, in_digits(value.item()), wanted, case))
    first = tuple(int(i) for i in bad.nonzero()[0])
    said = say(
        "{what} contains {kind} in {bad} of {total} places, first at {index} ({case}).",
        what=name,
        kind="NaN" if bool(torch.isnan(value[first])) else "inf",
        bad=int(bad.sum()),
        total=bad.numel(),
        index=list(first),
        case=say(case),
    )
    return Finding("not-finite", said)


def _one_number(value: Tensor, name: str, got: str, wanted: str, case: str) -> str:
    """The sentence on a wrong tensor of one entry, with axes or without."""
    template = (
        "{what} holds {got}, expected {wanted} ({case})."
        if value.dim()
        else "{what} is {got}, expected {wanted} ({case})."
    )
    return say(template, what=name, got=got, wanted=wanted, case=say(case))


def apart(got: float, expected: float) -> tuple[str, str]:
    """Two numbers in as few digits as make them differ, at least four.

    >>> apart(2.31049, 1.87), apart(0.123456, 0.123457), apart(5.0, 4.00001)
    (('2.31', '1.87'), ('0.123456', '0.123457'), ('5', '4'))
    """
    for digits in range(4, 17):
        if in_digits(got, digits) != in_digits(expected, digits):
            break
    return in_digits(got, digits), in_digits(expected, digits)


def in_digits(number: Any, digits: int = 4) -> str:
    """A float to `digits` significant digits; whole numbers, True and False unchanged.

    >>> in_digits(1234.567), in_digits(0.00012), in_digits(float("nan")), in_digits(3221225472), in_digits(True)
    ('1235', '0.00012', 'NaN', '3,221,225,472', 'True')
    """
    if isinstance(number, float):
        return "NaN" if math.isnan(number) else f"{number:.{digits}g}"
    return f"{number:,}" if type(number) is int else str(number)


def called(exercise: Exercise, output: Output) -> str:
    """An output in the words of a message: by its name if the exercise has several, else as the result."""
    return f"`{output.name}`" if len(exercise.outputs) > 1 else say("The result of `{name}`", name=exercise.name)


def _window(value: Tensor, place: tuple[int, ...], size: int = 6) -> Tensor:
    """The matrix of the last two axes that holds `place`, an index of the tensor, cut to at most `size` rows and
    columns around it."""
    for index in place[:-2]:
        value = value[index]
    for axis, index in enumerate(place[-2:]):
        start = max(0, index - size + 1)
        value = value.narrow(axis, start, min(size, value.shape[axis] - start))
    return value.clone()


def expected_leaves(value: Any, count: int) -> list[Tensor]:
    """The tensors that a reference returned, `count` of them. Anything else is a fault of ours: TypeError."""
    tensors = leaves(value, count)
    if tensors is None:
        raise TypeError(f"a reference gave {in_words(value)}, expected {count} tensor{'s' if count != 1 else ''}")
    return tensors
