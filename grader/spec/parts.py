"""The parts that most exercises share. Each has a title for the learner and a share of the points."""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace

import torch
from torch import Tensor

from grader.sentences import say, together
from grader.spec import compare
from grader.spec.cases import LENGTH_ONE
from grader.spec.exercise import Case, Finding, Part, not_judged
from grader.spec.session import Session
from grader.subject import Outcome, Request
from grader.subject.values import place_in_words, same, tensors_in
from grader.tolerance import COARSE, FLOAT32, FLOAT64, Tolerance

Names = Sequence[str]


def inspect_call(session: Session, case: Case, tolerance: Tolerance | None, gradients: bool = False) -> Finding | None:
    """The first fault of a call: it raised, its structure, its shapes or (with a tolerance) its values; None if there
    is none. With `gradients` the call is one that asks for them."""
    key = "inspect", case.name, tolerance, gradients
    return session.once(key, lambda: _inspect(session, case, tolerance, gradients))


def _inspect(session: Session, case: Case, tolerance: Tolerance | None, gradients: bool) -> Finding | None:
    outcome = session.call(case, gradients)
    finding = compare.run_error(outcome, session.exercise) or compare.structure(outcome.value, session.exercise)
    if finding is not None and finding.kind == "raised":  # torch's message seldom names the arguments
        arguments = compare.arguments_in_words(case, session.exercise)
        return replace(finding, message=together(finding.message, arguments))
    if finding is not None:
        return finding
    values = compare.leaves(outcome.value, len(session.exercise.outputs)) or []
    finding = compare.shapes(values, session.exercise, case)
    if finding is not None or tolerance is None:
        return finding
    return compare.values_close(values, session.expected(case), session.exercise, case, tolerance)


def usual(title: str, weight: float, leading: float = 1) -> tuple[Part, ...]:
    """The parts of a function from tensors to tensors on the cases of `grader.spec.cases.standard`.

    `title` and `weight` are those of the part on the values of one sequence; `leading` is the weight of the part on
    leading axes.
    """
    return (
        shape(),
        values(title, weight, "one sequence"),
        values("takes any leading axes", leading, "a batch", "batch and heads", *LENGTH_ONE),
        finite("stays finite with large entries", 0.5, "entries up to 50"),
        float64(weight=0.5),
        unchanged(weight=0.5),  # before gradients, where autograd raises for a change in place
        gradients(),
    )


def _first(session: Session, cases: Names, tolerance: Tolerance | None) -> Finding | None:
    for name in cases:
        if name in LENGTH_ONE and name not in session.cases:
            continue  # a teacher's own exercise with cases of its own
        finding = inspect_call(session, session.cases[name], tolerance)
        if finding is not None:
            return finding
    return None


def shape(case: str = "one sequence", weight: float = 0.5) -> Part:
    """A part that passes if the call on `case` runs and returns the right number of tensors in the right shapes."""
    return Part("returns the right shape", weight, lambda s: _first(s, [case], None), compares_values=False)


def values(title: str, weight: float, *cases: str, tolerance: Tolerance = FLOAT32) -> Part:
    """A part that passes if the values on the named cases are right."""
    return Part(title, weight, lambda s: _first(s, cases, tolerance))


def offsets(title: str, weight: float, *cases: str) -> Part:
    """A part like that of `values`, with a tolerance of 1e-2, for rows with large common offsets."""
    return values(title, weight, *cases, tolerance=COARSE)


def finite(title: str, weight: float, case: str, after: str = "one sequence") -> Part:
    """A part that passes without NaN or inf on `case`, at large entries, where float32 is too coarse to compare values.
    It waits for the values on `after`."""

    def judge(session: Session) -> Finding | None:
        finding = _first(session, [case], None) or _wait_for(session, after)
        if finding is not None:
            return finding
        tensors = compare.leaves(session.call(session.cases[case]).value, len(session.exercise.outputs)) or []
        for value, output in zip(tensors, session.exercise.outputs, strict=True):
            finding = compare.not_finite(value, None, compare.called(session.exercise, output), case)
            if finding is not None:
                return finding
        return None

    return Part(title, weight, judge, compares_values=False)


def _wait_for(session: Session, case: str) -> Finding | None:
    """A finding while the values on `case` are wrong, else None: without it a constant would pass parts that ignore
    values."""
    if inspect_call(session, session.cases[case], FLOAT32) is None:
        return None
    return not_judged("values-first")


def after_values(part: Part, case: str = "one sequence") -> Part:
    """The given part, judged only once the values on `case` are right: for what garbage could do as well."""
    return replace(part, judge=lambda session: part.judge(session) or _wait_for(session, case))


def float64(
    case: str = "float64", single: str = "one sequence", weight: float = 1, tolerance: Tolerance = FLOAT64
) -> Part:
    """A part that passes if the output has the input's dtype on `single` (float32) and `case` (float64), and float64
    values have float64's precision."""

    def judge(session: Session) -> Finding | None:
        for each in (session.cases[single], session.cases[case]):
            tensors = compare.leaves(session.call(each).value, len(session.exercise.outputs)) or []
            finding = compare.dtypes(tensors, session.exercise, session.dtype(each))
            if finding is not None:
                return finding
        finding = _first(session, [case], tolerance)
        right_but_for_digits = finding is not None and _first(session, [case], FLOAT32) is None
        if right_but_for_digits and _rounds(session, session.cases[case]):
            return Finding("dtype-changed", say(_ROUNDS, name=session.exercise.name))
        return finding

    return Part("keeps the dtype, float32 and float64", weight, judge)


_ROUNDS = (
    "`{name}` must be rounding float64 to float32 on the way, since changing the twelfth digit of its first argument "
    "makes no difference. `.float()` does that, and so does filling a float32 tensor."
)


def _rounds(session: Session, case: Case) -> bool:
    """Whether a change of the first float64 tensor that float32 can't hold leaves a function's result as it is, and a
    larger change doesn't."""
    args = list(case.args.values())
    index = next((i for i, arg in enumerate(args) if isinstance(arg, Tensor) and arg.dtype == torch.float64), None)
    if index is None or case.setup is not None:
        return False
    exact = args[index].float().double()

    def result(factor: float) -> Outcome:
        return session.ask(Request("call", session.exercise.name, (*args[:index], exact * factor, *args[index + 1 :])))

    before, slightly, visibly = (result(factor) for factor in (1.0, 1 + 1e-12, 1.01))
    return before.ok and _same(before, slightly) and visibly.ok and not _same(before, visibly)


def _same(one: Outcome, other: Outcome) -> bool:
    """Whether two calls gave the same tensors."""
    return one.ok and other.ok and all(map(same, tensors_in(one.value), tensors_in(other.value)))


def changed_in_place(session: Session, argument: str, case: str = "") -> Finding:
    """What is found where the learner's function has written into an argument of this name, on a case of this name if
    there are several."""
    name = session.exercise.name
    if case:
        said = say(
            "`{name}` changed its argument `{argument}` in place ({case}).",
            name=name,
            argument=argument,
            case=say(case),
        )
    else:
        said = say("`{name}` changed its argument `{argument}` in place.", name=name, argument=argument)
    advice = say(
        "Operations whose names end in `_` do that, and so do `+=` and assignments such as `{argument}[...] = ...`. "
        "Make a new tensor instead.",
        argument=argument,
    )
    return Finding("changes-argument", together(said, advice))


def unchanged(case: str = "one sequence", weight: float = 1) -> Part:
    """A part that passes if the call on `case` leaves its arguments as they were, in a result that is right."""

    def judge(session: Session) -> Finding | None:
        outcome = session.call(session.cases[case])
        if outcome.changed:
            return changed_in_place(session, list(session.cases[case].args)[outcome.changed[0]])
        return inspect_call(session, session.cases[case], None) or _wait_for(session, case)

    return Part("leaves its arguments as they were", weight, judge, compares_values=False)


_SETTINGS = {
    "device": "Your code changed torch's default device. Give `device=` where you make a tensor.",
    "gradients": "Your code turned gradients off for all code after it. `with torch.no_grad():` turns them on again at "
    "its end.",
    "dtype": "Your code changed torch's default dtype. Give `dtype=` where you make a tensor.",
    "threads": "Your code changed how many threads torch uses.",
}


def changed_settings(keys: Collection[str]) -> Finding | None:
    """A finding on what calls have changed in torch itself, None if nothing: `keys` are those of
    `grader.subject.settings`. A seed is no fault: whoever wants the same draws again has to set one."""
    found = [sentence for key, sentence in _SETTINGS.items() if key in keys]
    return Finding("changes-setting", say(found[0])) if found else None


def gradients(case: str = "one sequence", weight: float = 1, tolerance: Tolerance = FLOAT32) -> Part:
    """A part that passes if gradients flow from every output back to every argument on `case`, and are right."""

    def judge(session: Session) -> Finding | None:
        drawn = session.cases[case]
        outcome = session.call(drawn, gradients=True)
        plain = session.call(drawn)
        raised = compare.run_error(outcome, session.exercise)
        if outcome.raised is not None and plain.raised is None and raised is not None:
            session.expected_gradients(drawn)  # raises where torch can't differentiate at all: not the student's fault
            advice = (
                "Ignore torch's advice here, because NumPy cuts the gradient. Use torch operations instead."
                if "detach().numpy()" in raised.message
                else "Use torch operations only, and don't write into tensors that are needed later."
            )
            only = say("The code runs without gradients, but not with them.")
            return Finding("gradient-cut", together(raised.message, only, say(advice)))
        finding = inspect_call(session, drawn, FLOAT32, gradients=True)
        if finding is not None:
            return finding
        if outcome.gradients is None:
            none = say("No gradient reaches the result of `{name}`.", name=session.exercise.name)
            return Finding("gradient-cut", together(none, _CUT))
        return _wrong_gradient(session, drawn, outcome.gradients, tolerance)

    return Part("lets gradients flow", weight, judge)


def defaults(after: str, weight: float = 0.5) -> Part:
    """A part that passes if the numbers that are defaults in the exercise's signature are the student's too.

    Arguments that the student's signature doesn't name (taken by `*args`, say) and defaults that are no numbers, such
    as None, are ignored. It waits for the values on the case `after`, since the starter code contains the signature.
    """

    def judge(session: Session) -> Finding | None:
        finding = inspect_call(session, session.cases[after], None) or _wait_for(session, after)
        if finding is not None:
            return finding
        defaults, required = session.description.get("defaults"), session.description.get("required")
        for argument in session.exercise.signature:
            name, _, given = argument.partition("=")
            default = defaults.get(name) if isinstance(defaults, dict) else None
            if given and isinstance(required, list) and name in required:
                said = say(
                    "`{name}` has no default, but in the exercise its default is {given}.", name=name, given=given
                )
                return Finding("wrong-default", said)
            if given and type(default) in (int, float) and default != ast.literal_eval(given):
                said = say(
                    "The default of `{name}` is {default}, but in the exercise it is {given}.",
                    name=name,
                    default=default,
                    given=given,
                )
                return Finding("wrong-default", said)
        return None

    return Part("has the defaults of the exercise", weight, judge, compares_values=False)


def not_kept(attribute: str, position: int, case: str) -> Callable[[Session], bool]:
    """A recogniser that says whether a module, made as on `case`, doesn't hold the constructor's argument at `position`
    (a number) in an attribute."""

    def recognise(session: Session) -> bool:
        setup = session.cases[case].setup
        assert setup is not None
        if not session.build(setup, "kept").ok:
            return False
        kept = session.ask(Request("get", "@kept", (attribute,)))
        wrong = type(kept.value) is not int or kept.value != setup.init[position]
        return kept.status in ("ok", "missing") and wrong

    return recognise


def keeps(attribute: str, position: int, case: str, weight: float = 0.5) -> Part:
    """A part that passes if other code can read the constructor's argument at `position` from an attribute of the
    module. It waits for the values on `case`."""
    lost = not_kept(attribute, position, case)

    def judge(session: Session) -> Finding | None:
        if inspect_call(session, session.cases[case], FLOAT32) is not None:
            return not_judged("values-first")
        message = say(
            "Other code reads the module's `{attribute}`, but doesn't find there what the module was made with.",
            attribute=attribute,
        )
        return Finding("not-kept", message) if lost(session) else None

    return Part(say("keeps `{attribute}`", attribute=attribute), weight, judge, compares_values=False)


_CUT = say(
    "`.detach()`, `.item()`, `.numpy()`, `.tolist()`, `torch.tensor(...)` of a tensor and `torch.no_grad()` cut "
    "gradients."
)


def _wrong_gradient(
    session: Session, case: Case, gradients: dict[str, Tensor | None], tolerance: Tolerance
) -> Finding | None:
    expected = session.expected_gradients(case)
    # Gradients that are zero but for rounding (the key projection's bias) are compared with the largest of all.
    noise = 1e-4 * max((float(right.abs().max()) for right in expected.values() if right.numel()), default=0.0)
    wrong = None
    for key, right in expected.items():
        got, name = gradients.get(key), place_in_words(key, list(case.args))
        if got is None and tolerance.all_close(torch.zeros_like(right), right):
            continue
        if got is None:  # it explains wrong gradients of other tensors
            return Finding("gradient-cut", together(say("No gradient reaches `{name}`.", name=name), _CUT))
        close = got.shape == right.shape and tolerance.all_close(got, right)
        if not close and got.shape == right.shape and bool((right.abs() < 1e-8 * noise).all()):
            close = bool((got.abs() <= noise).all())
        if not close and wrong is None:
            said = say("The gradient of `{name}` is wrong, though the values are right.", name=name)
            wrong = Finding("wrong-gradient", together(said, _CUT))
    return wrong
