"""Compares what a student's code returned with what is right, in a helpful order: did it run, structure, shape, dtype,
finite, values."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from grader.report.words import first_fix
from grader.spec.exercise import Case, Exercise, Finding, Output, axes_in_words, not_judged, shape_of
from grader.subject import Opaque, Outcome, Place, Raised
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
        return Finding("missing", f"`{outcome.value}` is not defined. Run the cell that defines it, then check again.")
    if outcome.status == "misbuilt":
        return Finding("misbuilt", str(outcome.value))
    if outcome.status == "too-large":
        return Finding("too-large", f"`{name}` returned more than the check can look at: {outcome.value}.")
    if outcome.status == "time-limit":
        return Finding(
            "time-limit",
            f"`{name}` did not finish in time and was stopped. Look for a loop that never ends.",
        )
    if outcome.status == "waited":
        return not_judged("waited")
    if outcome.status == "died":
        return Finding("died", f"The process that ran `{name}` ended in the middle of the call.")
    if outcome.status == "not-run":
        return not_judged("not-run")
    if outcome.raised is not None:
        return _raised(outcome, name)
    return None


def _raised(outcome: Outcome, name: str) -> Finding:
    raised = outcome.raised
    assert raised is not None
    if is_unwritten(raised):
        helper = helper_of(raised, name)
        if helper:
            return Finding("helper-not-written", first_fix(name, helper, "is not written yet"))
        method = short(raised.function).partition(".")[2]
        part = f"`{name}`" if method in ("", "__init__") else f"The `{method}` of `{name}`"
        return Finding(
            "not-written",
            f"{part} is not written yet: replace `raise NotImplementedError()` with your code, run the cell, and check "
            "again.",
        )
    if raised.name == "KeyboardInterrupt":
        return Finding("interrupted", "The check was interrupted before it had finished.")
    message = f": {raised.message}" if raised.message else ""
    return Finding("raised", f"`{name}` raised {raised.name}{place(raised, name)}{message}")


def is_unwritten(raised: Raised) -> bool:
    """Whether starter code raised the error, and not a part of torch that isn't implemented."""
    return raised.name == "NotImplementedError" and (not raised.line or "NotImplementedError" in raised.line)


def helper_of(raised: Raised, name: str) -> str:
    """The function of the student's that raised; empty if it is the one that was called or the exercise `name`
    itself."""
    inner, called = (short(function).partition(".")[0] for function in (raised.function, raised.called))
    return "" if inner in ("", called, name) or inner.startswith("<") else inner


def short(function: str) -> str:
    """A function's qualified name without the functions that it is defined in.

    >>> short("Encoder.forward"), short("outer.<locals>.inner")
    ('Encoder.forward', 'inner')
    """
    return function.rpartition("<locals>.")[2]


def place(line: Raised | Place | None, name: str) -> str:
    """Where in a student's code something happened, for a message: the function, unless it is the exercise `name`, the
    line of its cell or file, and the line itself; "" if it was no line of the student's."""
    if line is None or not line.line:
        return ""
    function = short(line.function)
    inside = "" if function == name or function.startswith("<") else f" in `{function}`,"
    cell = f"`{line.file}`" if line.file else "its cell"
    return f"{inside} at line {line.line_number} of {cell}: `{line.line}`"


# Where a call raises as it should, and only the message lacks something.
MESSAGE_ONLY = (
    "Your code notices that the input is wrong, so only the text of the message has to change.",
    'An f-string puts values into a text: in `f"got {size}"` the value of `size` takes the place of the braces.',
)


def refused(outcome: Outcome, call: str, numbers: Sequence[int] = (), hints: tuple[str, ...] = ()) -> Finding | None:
    """The finding on why a call that has to raise a ValueError with `numbers` in its message did something else; None
    if it did raise it.

    `call` is the call in words, a sentence without its full stop. `hints` go with what is found.
    """

    def wrong(message: str, hints: tuple[str, ...] = hints) -> Finding:
        return Finding("wrong-error", f"{call}. {message}", hints=hints)

    raised = outcome.raised
    if raised is None:
        got = wrong("Expected a ValueError, got a result.")
        return got if outcome.ok else not_judged("runs-first")
    if is_unwritten(raised):
        return not_judged("written-first")
    said = raised.message[:120]
    if "ValueError" not in raised.types:
        by_assert = " (`assert` raises that)" if "AssertionError" in raised.types and raised.deliberate else ""
        return wrong(f"Expected a ValueError, got {raised.name}{by_assert}: {said}")
    if {str(number) for number in numbers} <= set(re.findall(r"\d+", raised.message)):
        return None
    if not raised.deliberate:
        return wrong(f"Expected a ValueError that your code raises, got one of Python's own: {said}")
    named = " and ".join(str(number) for number in numbers)
    return wrong(f"The message should name both numbers, {named}, but it reads: {said}", MESSAGE_ONLY)


def returned_none(exercise: Exercise) -> Finding:
    """The finding of a call that returned nothing."""
    return Finding("returns-nothing", f"`{exercise.name}` returned None. Does it end with a `return` line?")


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
        return Finding("wrong-type", f"`{name}` returned {in_words(value)}, expected one tensor.")
    wanted = ", ".join(output.name for output in outputs)
    return Finding(
        "wrong-type",
        f"`{name}` returned {in_words(value)}, expected a tuple of {len(outputs)} tensors: ({wanted}).",
    )


def in_words(value: object) -> str:
    """What a student's function returned, in words."""
    if isinstance(value, Tensor):
        return f"one tensor of {'complex numbers, ' if value.is_complex() else ''}shape {tuple(value.shape)}"
    if isinstance(value, tuple | list):
        kind = type(value).__name__
        if not value:
            return f"an empty {kind}"
        items = f"{len(value)} item{'s' if len(value) != 1 else ''}"
        if all(_is_real(item) for item in value):
            return f"a {kind} of {len(value)} tensor{'s' if len(value) != 1 else ''}"
        if any(isinstance(item, tuple | list) for item in value):
            return f"a {kind} of {items}, with tuples or lists among them"
        shown = ", ".join(in_words(item) for item in list(value)[:4])
        return f"a {kind} of {items} ({shown}{', …' if len(value) > 4 else ''})"
    if isinstance(value, Opaque):
        if value.type_name == "ndarray":
            return "a NumPy array (which also cuts the gradient)"
        return f"a value of type {value.type_name}"
    if isinstance(value, bool):
        return str(value)
    if isinstance(value, int | float):
        return f"the plain number {value!r}"
    if isinstance(value, str):
        return f"the string {value if len(value) <= 40 else value[:40] + '…'!r}"
    return f"a value of type {type(value).__name__}"


def shapes(values: Sequence[Tensor], exercise: Exercise, case: Case) -> Finding | None:
    """The finding on the first output whose shape is wrong; None if all are right."""
    for value, output in zip(values, exercise.outputs, strict=True):
        expected = shape_of(output.axes, case.sizes, case.leading)
        if tuple(value.shape) != expected:
            return Finding(
                "wrong-shape",
                f"{called(exercise, output)} has shape {tuple(value.shape)}, expected {expected}, which is "
                f"{axes_in_words(output.axes, case.leading)}. {arguments_in_words(case, exercise)}",
            )
    return None


def arguments_in_words(case: Case, exercise: Exercise) -> str:
    """The shapes and numbers of a call, for a message; for a module also those of its constructor."""
    shown = [f"{name} {tuple(arg.shape)}" for name, arg in case.args.items() if isinstance(arg, Tensor)]
    shown += [f"{name} = {arg}" for name, arg in case.args.items() if type(arg) in (int, float)]
    constructed = ""
    if case.setup is not None:
        names = (argument.partition("=")[0] for argument in exercise.signature)
        # Arguments left out have their defaults.
        values = ", ".join(f"{name} = {arg}" for name, arg in zip(names, case.setup.init, strict=False))
        constructed = f"`{exercise.name}` was made with {values}. "
    subject = "It" if constructed else f"`{exercise.name}`"
    return f"{constructed}{subject} was called with {', '.join(shown)}." if shown else constructed.strip()


def dtypes(values: Sequence[Tensor], exercise: Exercise, dtype: torch.dtype) -> Finding | None:
    """The finding on the first output whose dtype isn't `dtype`, that of the input; None if all are."""
    for value, output in zip(values, exercise.outputs, strict=False):
        if value.dtype != dtype:
            short, got = str(dtype).removeprefix("torch."), str(value.dtype).removeprefix("torch.")
            cause = "`.float()`, `.double()` or a tensor made without `dtype=` can cause that."
            if not value.is_floating_point():
                cause = "`argmax`, `.long()` and counts give whole numbers, and comparisons give bool."
            return Finding(
                "dtype-changed",
                f"{called(exercise, output)} has dtype {got}, expected {short} like the input. {cause}",
            )
    return None


def values_close(
    values: Sequence[Tensor], expected: Sequence[Tensor], exercise: Exercise, case: Case, tolerance: Tolerance
) -> Finding | None:
    """The finding on the first output whose values are wrong: NaN and inf first, then how many differ, and the first
    place; None if all are close. A single number is shown with the expected one."""
    for value, right, output in zip(values, expected, exercise.outputs, strict=True):
        if tolerance.all_close(value, right):
            continue
        name = called(exercise, output)
        finding = not_finite(value, right, name, case.name)
        if finding is not None:
            return finding
        if value.numel() == 1:
            got, wanted = apart(value.item(), right.item())
            return Finding("wrong-values", f"{name} {_IS[value.dim() > 0]} {got}, expected {wanted} ({case.name}).")
        wrong = (~tolerance.close(value, right)).nonzero()
        first = tuple(int(i) for i in wrong[0])
        return Finding(
            "wrong-values",
            f"{name}: {len(wrong)} of {value.numel()} values differ ({case.name}), the first at index {list(first)}.",
            got=_window(value, first),
            expected=_window(right.to(value.dtype) if value.is_floating_point() else right, first),
        )
    return None


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
        got, wanted = in_digits(value.item()), "a finite number" if right is None else in_digits(right.item())
        return Finding("not-finite", f"{name} {_IS[value.dim() > 0]} {got}, expected {wanted} ({case}).")
    first = tuple(int(i) for i in bad.nonzero()[0])
    kind = "NaN" if bool(torch.isnan(value[first])) else "inf"
    return Finding(
        "not-finite",
        f"{name} contains {kind} in {int(bad.sum())} of {bad.numel()} places, first at {list(first)} ({case}).",
    )


_IS = ("is", "holds")  # for a number, for a tensor with axes and one entry


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
    return f"`{output.name}`" if len(exercise.outputs) > 1 else f"The result of `{exercise.name}`"


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
