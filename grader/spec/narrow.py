"""Help where no known mistake fits: what is right and what is wrong, never how to put it right.

Read from what a check has anyway: which cases are right, which outputs, and how the wrong numbers differ from the right
ones.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

import torch
from torch import Tensor

from grader.report import PartReport
from grader.sentences import Several, say, together
from grader.spec import compare
from grader.spec.diagnose import right
from grader.spec.differs import how_it_differs, inside, sizes_of
from grader.spec.exercise import NOTATION, Case, letter_in_words, letters
from grader.spec.session import Session
from grader.tolerance import FLOAT32, Tolerance

# Two references of float64 that differ by less are equal.
ROUNDING = Tolerance(relative=1e-10, absolute=1e-12)

# What else to look at, by the kind of the first failure.
BY_KIND = {
    "returns-nothing": "Does every path through the function end in a `return` line?",
    "wrong-type": "Print `type(...)` of what comes after `return`.",
    "misbuilt": "Compare the names and sizes in `__init__` with the exercise's, letter by letter.",
    "changes-argument": "Which of your lines writes into an argument of your function?",
    "gradient-cut": "Follow the argument line by line. Which line makes a tensor that doesn't come from the argument?",
    "wrong-gradient": "The values are right, so some step on the way passes on the values but not the gradient.",
    "dtype-changed": "Print `.dtype` after every line. After which one does it change?",
    "waited": "Wait until the machine is less busy, or look for a line in your code that waits. Then check again.",
    "time-limit": "Print something inside each loop. Which one goes on for ever?",
    "python-loop": "Which axis does the loop go through? One operation can handle that whole axis.",
    "wrong-verdict": "Call your function yourself on the input that the message describes, and follow the call line by "
    "line.",
    "wrong-error": "Which line should notice that the input is wrong? Print what that line compares.",
    "wrong-default": "Only the `def` line has to change.",
    "helper-not-written": "Go back to the cell of the function that isn't written yet. Write and check it first.",
    "died": "Does your code need a lot of memory, or does it end the process itself?",
}
# Failures that a size written down as a number can cause.
WRONG = frozenset({"raised", "wrong-shape", "wrong-values"})
# What torch says of shapes that don't fit, and the numbers in it that are no sizes.
ABOUT_SHAPES = re.compile(
    r"shapes cannot be multiplied|[Tt]he size of tensor|is invalid for input of size|dimensions of batch|"
    r"Sizes of tensors must match|expanded size|[Ss]ize mismatch|broadcast|inconsistent tensor size|same size as"
)
NO_SIZE = re.compile(r"(?:dimensions?|number|operand|mat|batch|input|line) ?#?\d+|-\d+")


def narrow(session: Session, first: PartReport) -> tuple[str, ...]:
    """Hints on a check whose first failure is `first`, the most telling first; none where nothing is known that the
    failure itself doesn't say."""
    hints = list(_hints(session, first))
    if first.kind in BY_KIND:
        hints.append(BY_KIND[first.kind])
    return tuple(hints[:3] or _first_difference(session))


def _hints(session: Session, first: PartReport) -> Iterator[str]:
    if first.kind == "raised":
        yield from _shapes(session)
    if first.kind in ("returns-nothing", "wrong-type"):
        return  # other cases may have values, but they are not what comes first
    for case, outcome in session.called() if session.exercise.outputs else ():
        values = compare.leaves(outcome.value, len(session.exercise.outputs)) if outcome.ok else None
        if values is None or right(session, case):
            continue
        yield from _outputs(session, case, values)
        break
    yield from _cases(session)
    if session.exercise.outputs and first.kind in WRONG:
        yield from _written_down(session)


def _written_down(session: Session) -> Iterator[str]:
    """A hint if numbers in the student's code may be a size of one input; none for a module, whose `__init__` holds
    some."""
    numbers = list(session.description.get("numbers", ())) if session.exercise.kind == "function" else []
    if len(numbers) == 1:
        yield say(
            "Your code contains the number {number}. Is it right for every input, or is it a size of only one?",
            number=numbers[0],
        )


def _shapes(session: Session) -> Iterator[str]:
    """Hints on an error about shapes: the letters of the sizes that torch's message names; none for any other error."""
    found = next(((case, outcome.raised) for case, outcome in session.called() if outcome.raised is not None), None)
    if found is None or not ABOUT_SHAPES.search(found[1].message):
        return
    case, raised = found
    named = {int(number) for number in re.findall(r"\d+", NO_SIZE.sub("", raised.message))}
    sizes = sizes_of(case)
    known = [
        f"{letter_in_words(letter)} = {n}"
        for letter, n in sizes.items()
        if n in named and letter in NOTATION and list(sizes.values()).count(n) == 1
    ]
    if known:
        sizes_here = say("Sizes here: {sizes}.", sizes=", ".join(known))
        yield together(sizes_here, say("Which axes meet in the line that the message names, and which should?"))
    yield "Print the shapes just above the line that the message names."


def _first_difference(session: Session) -> Iterator[str]:
    """A hint on where the first wrong number is, for a result of which nothing better can be said."""
    for case, outcome in session.called() if session.exercise.outputs else ():
        values = compare.leaves(outcome.value, len(session.exercise.outputs)) if outcome.ok else None
        for value, expected in zip(values or (), session.expected(case), strict=False):
            if value.shape != expected.shape or value.is_complex() or value.layout is not torch.strided:
                return
            wrong = (~FLOAT32.close(value, expected)).nonzero()
            if len(wrong) and wrong.shape[1]:  # a single number is told already
                index = wrong[0].tolist()
                got, right_one = compare.apart(*(float(tensor[tuple(index)]) for tensor in (value, expected)))
                first = say(
                    "In “{case}”, the first wrong entry is {got} at index {index}, but {expected} is expected.",
                    case=say(case.name),
                    got=got,
                    index=index,
                    expected=right_one,
                )
                yield together(first, say("Work this entry out by hand. Which of your steps gives something else?"))
                return


def _outputs(session: Session, case: Case, values: list[Tensor]) -> Iterator[str]:
    """A hint on which of several outputs is wrong first, and in which way. `values` are the outputs on `case`."""
    outputs, expected = session.exercise.outputs, session.expected(case)
    close = [FLOAT32.all_close(v, e) if v.shape == e.shape else False for v, e in zip(values, expected, strict=True)]
    good = [f"`{output.name}`" for output, fine in zip(outputs, close, strict=True) if fine]
    # Weights are made before what they weigh.
    order = sorted(range(len(values)), key=lambda i: outputs[i].name != "weights")
    worst = next((i for i in order if not close[i]), None)
    if worst is None:
        return
    name = outputs[worst].name if len(outputs) > 1 else ""
    pattern = how_it_differs(values[worst], expected[worst], letters(outputs[worst].axes, case.leading), case, name)
    pattern = pattern or _reach(session, case, worst, name)
    if len(good) == 1:
        yield together(say("{good} is right, but `{wrong}` isn't.", good=good[0], wrong=name), pattern)
    elif good:
        yield together(say("{good} are right, but `{wrong}` isn't.", good=Several(good), wrong=name), pattern)
    elif len(outputs) > 1:
        yield together(say("`{name}` is already wrong, so start there.", name=name), pattern)
    elif pattern:
        yield pattern


def _cases(session: Session) -> Iterator[str]:
    """A hint on which kinds of input are right and which aren't."""
    verdicts = {case.name: right(session, case) for case, _ in session.called() if case.comparable}
    fine = [name for name, good in verdicts.items() if good]
    wrong = [name for name, good in verdicts.items() if not good]
    if fine and wrong:
        yield say(
            "Your code is right on some inputs ({right}) but wrong on others ({wrong}). What is different about the "
            "others?",
            right=_quoted(fine),
            wrong=_quoted(wrong),
        )


def _quoted(names: list[str]) -> str:
    return Several(say("“{case}”", case=say(name)) for name in names[:4])


def _reach(session: Session, case: Case, output: int, name: str) -> str:
    """A sentence on an argument that doesn't change the result and should, or changes it where it shouldn't; "" if
    there is none. `output` is the index of the result, `name` its name, "" for the only one."""
    result = inside(name)
    found = ""
    for words, other in _changes(case):
        got = [compare.leaves(session.call(which).value, len(session.exercise.outputs)) for which in (case, other)]
        if got[0] is None or got[1] is None or got[0][output].shape != got[1][output].shape:
            continue
        moves = ~FLOAT32.close(got[1][output], got[0][output])
        if not bool(torch.isfinite(got[0][output]).all()):
            continue  # of NaN nobody can say that it changed
        expected = [session.expected(which)[output] for which in (case, other)]
        should, may = (~how.close(expected[1], expected[0]) for how in (FLOAT32, ROUNDING))
        if bool(should.any()) and torch.equal(got[0][output], got[1][output]):
            return say(
                "If you change {what}, {result} stays as it was, but it should change.", what=words, result=result
            )
        if bool((moves & ~may).any()):
            found = found or say(
                "If you change {what}, {result} changes in places where it shouldn't.", what=words, result=result
            )
    return found


def _changes(case: Case) -> Iterator[tuple[str, Case]]:
    """The case with the last column or row of one argument changed, as (words, case), for each argument. A number is
    made one larger, but only if there are only numbers, since one beside a tensor can't change alone."""
    only_numbers = all(type(arg) is int for arg in case.args.values())
    for name, arg in case.args.items():
        if only_numbers:
            yield f"`{name}`", replace(case, name=f"{case.name}, {name} + 1", args={**case.args, name: arg + 1})
        if not isinstance(arg, Tensor) or not arg.is_floating_point():
            continue
        for axis, part in zip(range(-1, -1 - min(arg.dim(), 2), -1), ("column", "row"), strict=False):
            changed = arg.clone()
            changed.select(axis, -1).mul_(0.5).add_(0.25)
            args = {**case.args, name: changed}
            # Of more than two axes: which one is a row?
            words = _LAST[part, arg.dim() > 2]
            yield say(words, name=name), replace(case, name=f"{case.name}, {part} of {name}", args=args)


_LAST = {
    ("column", False): "the last column of `{name}`",
    ("column", True): "the last column of `{name}`, `{name}[..., -1]`",
    ("row", False): "the last row of `{name}`",
    ("row", True): "the last row of `{name}`, `{name}[..., -1, :]`",
}
