"""Every prediction of a lesson is followed by the cell that answers it and by the text that explains the answer."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from nbformat import NotebookNode

from grader.authoring.lesson import Lesson, LessonCell, Problem
from grader.learner.predict import CAME_OUT
from grader.spec.exercise import Exercise
from grader.subject.cells import parse_cell

ASKS, ANSWERS = "predict", "compare_guess"
# Their outputs are not in the students' notebook.
HIDDEN = ("answer", "try")
RESULT = f"{CAME_OUT}: "
EXPLAINS = '# %% [markdown] role="answer"'
SHORTEST = 3  # characters: a shorter output, such as a 2, is in many a question by chance


class Call(NamedTuple):
    """A call of `predict` or `compare_guess`."""

    function: str  # which of them
    name: str  # its first argument; "" where that isn't written as a string
    question: str  # its second one, likewise
    cell: LessonCell
    line: int  # of the lesson
    last: bool  # whether it is the last statement of its cell
    written: bool = True  # whether everything that it is given stands in it, where it is found for translation


def pairs(lesson: Lesson, _exercises: Mapping[str, Exercise]) -> Iterator[Problem]:
    """A problem where a prediction has no answer, an answer no prediction, or one of them isn't as it should be."""
    asked: dict[str, Call] = {}
    answered: dict[str, Call] = {}
    for call in _calls(lesson):
        seen = asked if call.function == ASKS else answered
        problem = _named(lesson, call) or _placed(call) or _written(call) or _in_turn(call, seen, asked)
        if problem:
            yield lesson.problem(call.cell, problem, call.line)
        seen.setdefault(call.name, call)
    for name in asked.keys() - answered.keys() - {""}:
        message = f'no cell below answers it; add one with role="{HIDDEN[0]}" and {ANSWERS}("{name}", ...)'
        yield lesson.problem(asked[name].cell, f'{ASKS}("{name}"): {message}', asked[name].line)
    yield from _followed(lesson)
    with_answers = [call.cell for call in _calls(lesson) if call.function == ANSWERS]
    for cell in lesson.with_role(HIDDEN[0]):
        if cell not in with_answers:
            yield lesson.problem(cell, f'role="{HIDDEN[0]}" needs {ANSWERS}("...", what came out)')


def _followed(lesson: Lesson) -> Iterator[Problem]:
    """A problem where the three cells of a prediction, question, answer and text, don't stand together."""
    calls = {id(call.cell): call for call in _calls(lesson)}
    for before, cell, after in zip((None, *lesson.cells), lesson.cells, (*lesson.cells[1:], None), strict=False):
        call, is_explained = calls.get(id(cell)), after is not None and after.explains
        if cell.explains:
            above = calls.get(id(before))
            is_below = above is not None and above.function == ANSWERS
            message = "" if is_below else f"{EXPLAINS} must come directly below the cell with {ANSWERS}"
        elif call is None:
            message = ""
        elif call.function == ASKS:
            below = calls.get(id(after))
            answered = below is not None and (below.function, below.name) == (ANSWERS, call.name)
            message = "" if answered else "the cell directly below must answer it"
        elif not is_explained:
            message = f"the text that explains the answer, {EXPLAINS}, must come directly below this cell"
        else:
            message = "" if call.last else "it must be the last statement of its cell"
        if message:
            said = f'{call.function}("{call.name}"): ' if call else ""
            yield lesson.problem(cell, said + message, call.line if call else None)


def _named(lesson: Lesson, call: Call) -> str:
    if not call.name:
        return f'{call.function}: the first argument must be a name (a string such as "{lesson.number}_first_row")'
    if not call.name.startswith(f"{lesson.number}_"):
        return f'{call.function}("{call.name}"): the name must begin with the number of the lesson, "{lesson.number}_"'
    return ""


def _placed(call: Call) -> str:
    if call.function == ASKS and not call.last:
        return f'{ASKS}("{call.name}"): it must be the last statement of its cell, or nobody sees it'
    if call.function == ANSWERS and call.cell.role not in HIDDEN:
        return f'{ANSWERS}("{call.name}"): mark the cell role="{HIDDEN[0]}", or its output gives the answer away'
    return ""


def _written(call: Call) -> str:
    if call.function == ASKS and not call.written:
        return f'{ASKS}("{call.name}"): write question, choices and unit in the call, where they are translated from'
    return ""


def _in_turn(call: Call, seen: Mapping[str, Call], asked: Mapping[str, Call]) -> str:
    if call.name in seen:
        return f'{call.function}("{call.name}"): line {seen[call.name].line} already has this call'
    if call.function == ANSWERS and call.name not in asked:
        return f'{ANSWERS}("{call.name}"): no cell above it calls {ASKS}("{call.name}", ...)'
    return ""


def answered(cell: LessonCell) -> str:
    """The name of the prediction that a code cell answers, "" if it answers none."""
    return next((call.name for call in _calls_of(cell) if call.function == ANSWERS), "")


def given_away(lesson: Lesson, notebook: NotebookNode) -> list[Problem]:
    """A problem for each question of an executed lesson that holds a line of the answering cell's output, or a number
    that came out."""
    calls = _calls(lesson)
    outputs = {id(cell): _lines(done) for cell, done in zip(lesson.in_notebook, notebook.cells, strict=True)}
    answers = {call.name: outputs[id(call.cell)] for call in calls if call.function == ANSWERS}
    return [
        lesson.problem(call.cell, f'{ASKS}("{call.name}"): its question contains the answer: {line}', call.line)
        for call in calls
        if call.function == ASKS
        for line in answers.get(call.name, ())
        if re.search(rf"(?<![\w.]){re.escape(line)}(?!\w|\.\d)", call.question)
    ]


def _lines(cell: NotebookNode) -> list[str]:
    """The lines that a cell printed, and the numbers that came out, without the shortest: those are in many a question
    by chance."""
    outputs = [output for output in cell.get("outputs", ()) if "text/markdown" not in output.get("data", {})]
    texts = [output.get("text", "") or output.get("data", {}).get("text/plain", "") for output in outputs]
    lines = [line.strip() for text in texts for line in text.splitlines()]
    # What came out may be a choice, which the question has to hold; a number is not.
    results = [line.removeprefix(RESULT) for line in lines if line.startswith(RESULT)]
    numbers = [result for result in results if re.match(r"-?\d", result)]
    return [line for line in lines + numbers if len(line) >= SHORTEST]


def _calls(lesson: Lesson) -> list[Call]:
    return [call for cell in lesson.cells if cell.is_code for call in _calls_of(cell)]


def _calls_of(cell: LessonCell) -> Iterator[Call]:
    try:
        body = parse_cell(cell.source, "<cell>").body
    except SyntaxError:
        return
    for node in ast.walk(ast.Module(body, [])):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in (ASKS, ANSWERS):
            last = isinstance(body[-1], ast.Expr) and body[-1].value is node
            name, question = _text(node, 0), _text(node, 1)
            written = all(map(_is_written, (*node.args, *(word.value for word in node.keywords))))
            yield Call(node.func.id, name, question, cell, cell.first + node.lineno - 1, last, written)


def _is_written(given: ast.expr) -> bool:
    """Whether an argument is a constant, or a list of such."""
    parts = given.elts if isinstance(given, ast.List | ast.Tuple) else [given]
    return all(isinstance(part.operand if isinstance(part, ast.UnaryOp) else part, ast.Constant) for part in parts)


def _text(call: ast.Call, at: int) -> str:
    """The argument at an index, if it is written as a string; "" if it isn't."""
    found = call.args[at] if at < len(call.args) else None
    return found.value if isinstance(found, ast.Constant) and isinstance(found.value, str) else ""
