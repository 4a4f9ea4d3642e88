"""What the parts of `attend_with_cache` look at: an output and a cache, which is a pair of tensors itself."""

from __future__ import annotations

from torch import Tensor

from grader.exercises.lesson_09.shared import LESSON
from grader.spec import compare
from grader.spec.exercise import Case, Exercise, Finding, Output, Part
from grader.spec.session import Session
from grader.subject.values import place_in_words, tensors_in
from grader.tolerance import FLOAT32, FLOAT64, Tolerance

PROMPT, ONE, SEVERAL = "a prompt", "one token behind a cache", "several tokens behind a cache"
OUTPUTS = (
    Output("output", "B H T D"),
    Output("the key of the cache", "B H S D"),
    Output("the value of the cache", "B H S D"),
)


def _came_back(session: Session, case: Case) -> list[Tensor] | Finding:
    """The output and the cache's two tensors, or why they can't be had."""
    outcome = session.call(case)
    finding = compare.run_error(outcome, session.exercise)
    if finding is not None:
        return _with_arguments(finding, session, case)
    value, name = outcome.value, session.exercise.name
    if value is None:
        return Finding("returns-nothing", f"`{name}` returned None. Does it end with a `return` line?")
    wanted = "expected (output, (key, value)): the output and the cache, which is a tuple of two tensors itself."
    if not _is_pair(value) or not isinstance(value[0], Tensor):
        return Finding("wrong-type", f"`{name}` returned {compare.in_words(value)}, {wanted}")
    if not _is_pair(value[1]) or not all(isinstance(tensor, Tensor) for tensor in value[1]):
        held = "None" if value[1] is None else compare.in_words(value[1])
        return Finding("wrong-type", f"The cache that `{name}` returned is {held}, {wanted}")
    return [value[0], *value[1]]


def _is_pair(value: object) -> bool:
    return isinstance(value, tuple | list) and len(value) == 2


def _with_arguments(finding: Finding, session: Session, case: Case) -> Finding:
    if finding.kind != "raised":
        return finding
    return Finding("raised", f"{finding.message.rstrip('.')}. {_arguments(session, case)}")


def _arguments(session: Session, case: Case) -> str:
    cache = case.args["cache"]
    held = "None" if cache is None else f"two tensors {tuple(cache[0].shape)}"
    return f"{compare.arguments_in_words(case, session.exercise).rstrip('.')}, cache {held}."


def inspect(session: Session, name: str, which: slice, tolerance: Tolerance | None) -> Finding | None:
    """The first thing wrong with some of the three tensors."""
    case = session.cases[name]
    found = _came_back(session, case)
    if isinstance(found, Finding):
        return found
    right = session.expected(case)
    for value, expected, output in list(zip(found, right, OUTPUTS, strict=True))[which]:
        one = Exercise(session.exercise.name, LESSON, 0, (), outputs=(output,))
        shown = f"`{output.name}`" if output is OUTPUTS[0] else output.name.capitalize()
        if value.shape != expected.shape:
            shape, wanted = tuple(value.shape), tuple(expected.shape)
            return Finding("wrong-shape", f"{shown} has shape {shape}, expected {wanted}. {_arguments(session, case)}")
        finding = None if tolerance is None else compare.values_close([value], [expected], one, case, tolerance)
        if finding is not None:
            said = finding.message.replace(f"The result of `{session.exercise.name}`", shown)
            return Finding(finding.kind, said, finding.got, finding.expected)
    return None


OUTPUT, KEPT, ALL = slice(0, 1), slice(1, 3), slice(0, 3)


def part(title: str, weight: float, which: slice, *names: str, tolerance: Tolerance | None = FLOAT32) -> Part:
    def judge(session: Session) -> Finding | None:
        return next((f for name in names if (f := inspect(session, name, which, tolerance))), None)

    return Part(title, weight, judge, compares_values=tolerance is not None)


def finite(session: Session) -> Finding | None:
    finding = inspect(session, "entries up to 50", OUTPUT, None)
    if finding is not None:
        return finding
    if inspect(session, PROMPT, OUTPUT, FLOAT32) is not None:
        return Finding("values-first", "Not judged yet: the values come first.")
    output = tensors_in(session.call(session.cases["entries up to 50"]).value)[0]
    return compare.not_finite(output, None, "`output`", "entries up to 50")


def float64(session: Session) -> Finding | None:
    for name in (PROMPT, ONE, "float64"):
        found = _came_back(session, session.cases[name])
        if isinstance(found, Finding):
            return found
        finding = compare.dtypes(found, session.exercise, session.dtype(session.cases[name]))
        if finding is not None:
            return finding
    return inspect(session, "float64", ALL, FLOAT64)


def unchanged(session: Session) -> Finding | None:
    case = session.cases[SEVERAL]
    changed = session.call(case).changed
    if changed:
        return Finding(
            "changes-argument",
            f"`{session.exercise.name}` changed its argument `{list(case.args)[changed[0]]}` in place. What was handed "
            "over may still be needed: make new tensors instead.",
        )
    wrong = inspect(session, SEVERAL, ALL, FLOAT32)
    return None if wrong is None else Finding("values-first", "Not judged yet: the values come first.")


def gradients(session: Session) -> Finding | None:
    """Of query, key, value and what is in the cache."""
    case = session.cases[SEVERAL]
    if inspect(session, SEVERAL, ALL, FLOAT32) is not None:
        return Finding("values-first", "Not judged yet: the values come first.")
    outcome = session.call(case, gradients=True)
    if not outcome.ok:
        session.expected_gradients(case)  # where torch can't differentiate the reference, the fault is not theirs
        said = compare.run_error(outcome, session.exercise)
        return Finding("gradient-cut", f"{said.message if said else ''} It runs only where no gradients are wanted.")
    for at, right in session.expected_gradients(case).items():
        found = (outcome.gradients or {}).get(at)
        name = place_in_words(at, list(case.args))
        if found is None:
            return Finding("gradient-cut", f"No gradient reaches `{name}`. {_CUT}")
        if not bool(FLOAT32.close(found, right).all()):
            return Finding("wrong-gradient", f"The gradient of `{name}` is wrong, though the values are right. {_CUT}")
    return None


_CUT = "`.detach()`, `.item()`, `.numpy()`, `torch.tensor(...)` of a tensor and `torch.no_grad()` cut gradients."
