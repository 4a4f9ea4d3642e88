"""What a lesson must keep to. Each rule finds all its errors; together they are shown to the author at once."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping

from grader.authoring import dependence, predictions
from grader.authoring.lesson import Lesson, LessonCell, Problem
from grader.authoring.prose import DIFFICULTY, TIME_MARK, unfolded
from grader.regions import STUB, cut, has_region, region_errors
from grader.spec.exercise import Exercise
from grader.subject.cells import parse_cell
from grader.subject.names import bound

Exercises = Mapping[str, Exercise]
Rule = Callable[[Lesson, Exercises], Iterator[Problem]]

ROLES = ("solution", "check", "given", "try", "draw", "train", "answer")  # and none: a worked example
OF_AN_EXERCISE = ("solution", "check")
MINUTES = re.compile(r"# (?:Difficulty \d of 5\b.*|\*\*Time:\*\*.*\d+ )minutes")
CODE_WIDTH = 80  # characters that the site and JupyterLab show in a window of 1280 pixels, beside what else they show
CODE_LINES = 15  # of a cell: what one can keep in view
SAYS = re.compile(r"(?m)(?<!plt\.)\b(?:print|show|display|check)\(|^(?:def|class) ")
CLAIM = re.compile(r"[a-z][a-z0-9_]*")
NUMBERED = re.compile(r"### Exercise (?P<number>\d+): `\w+`")


def problems(lesson: Lesson, exercises: Exercises) -> list[Problem]:
    """All errors of a lesson, in the order of its lines."""
    found = list(lesson.problems)
    for rule in RULES:
        found += rule(lesson, exercises)
    return sorted(set(found))


def headers(lesson: Lesson, _exercises: Exercises) -> Iterator[Problem]:
    """A problem for each cell whose header has an unknown key or role, or a key that its role doesn't take."""
    for cell in lesson.cells:
        for key in cell.extra:
            if key == "points":
                yield lesson.problem(cell, "points belong in the exercise's specification, not in the lesson")
            else:
                yield lesson.problem(
                    cell, f"unknown key `{key}`: a cell can have exercise, role, timed, claim and long"
                )
        given = bool((cell.role and not cell.explains) or cell.exercise or cell.timed or cell.claim or cell.long)
        if not cell.is_code and (cell.kind != "markdown" or given):
            message = 'a text cell must be [markdown] and can have no metadata except role="answer"'
            yield lesson.problem(cell, f"this cell is marked [{cell.kind}]; {message}")
        elif cell.role and cell.role not in ROLES:
            yield lesson.problem(cell, f'unknown role "{cell.role}": expected one of {", ".join(ROLES)}, or none')
        elif cell.role in OF_AN_EXERCISE and not cell.exercise:
            yield lesson.problem(cell, f'role="{cell.role}" needs exercise="..."')
        elif cell.exercise and cell.role not in OF_AN_EXERCISE:
            yield lesson.problem(cell, 'exercise="..." needs role="solution" or role="check"')
        if cell.timed is not False and (cell.timed is not True or cell.role in OF_AN_EXERCISE):
            yield lesson.problem(cell, "`timed` can only be true, and a solution or a check can't have it")
        if cell.claim and (not cell.is_code or cell.role in OF_AN_EXERCISE or not CLAIM.fullmatch(cell.claim)):
            yield lesson.problem(
                cell,
                'claim="..." must be a name in small letters, digits and "_", on a cell that runs an experiment',
            )


def sources(lesson: Lesson, _exercises: Exercises) -> Iterator[Problem]:
    """A problem for each cell that is empty or has a syntax error."""
    for cell in lesson.cells:
        if not cell.source.strip():
            yield lesson.problem(cell, "the cell is empty")
        elif cell.is_code:
            error = _syntax_error(cell.source)
            if error is not None:
                yield lesson.problem(cell, f"syntax error: {error.msg}", cell.first + (error.lineno or 1) - 1)


def regions(lesson: Lesson, _exercises: Exercises) -> Iterator[Problem]:
    """A problem where a solution region isn't closed or stands outside a solution cell, or a solution cell has none."""
    for cell in lesson.cells:
        for number, message in region_errors(cell.source):
            yield lesson.problem(cell, message, cell.first + number)
        if cell.role == "solution" and not has_region(cell.source):
            yield lesson.problem(
                cell, "this solution cell has no BEGIN SOLUTION, so the student would have nothing to do"
            )
        elif cell.role != "solution" and has_region(cell.source):
            yield lesson.problem(cell, 'BEGIN SOLUTION is in a cell without role="solution"')


def exercises_of_lesson(lesson: Lesson, exercises: Exercises) -> Iterator[Problem]:
    """A problem where an exercise isn't specified for this lesson, or hasn't one solution cell and then one check
    cell."""
    for cell in _of_exercises(lesson):
        exercise = exercises.get(cell.exercise)
        if exercise is None:
            yield lesson.problem(cell, "unknown exercise: no specification has this name")
        elif exercise.lesson != lesson.name:
            yield lesson.problem(cell, f"this exercise is specified for lesson {exercise.lesson}")
    for name, cells in _by_exercise(lesson).items():
        roles = Counter(cell.role for cell in cells)
        for cell in cells:
            if roles[cell.role] > 1 and cell is not next(c for c in cells if c.role == cell.role):
                yield lesson.problem(cell, f"duplicate {cell.role} cell")
        if not roles["check"]:
            yield lesson.problem(
                cells[0], f'the solution has no check cell; add one with role="check" and check({name})'
            )
        elif not roles["solution"]:
            yield lesson.problem(cells[0], "the check has no solution cell")
        elif cells[0].role == "check":
            yield lesson.problem(cells[0], "the check comes before its solution")
    for exercise in exercises.values():
        if exercise.lesson == lesson.name and exercise.name not in _by_exercise(lesson):
            yield Problem(lesson.path, 1, exercise.name, "this exercise is specified, but missing from its lesson")


def checks(lesson: Lesson, exercises: Exercises) -> Iterator[Problem]:
    """A problem for each check cell that holds anything but one call of `check`."""
    for cell in lesson.with_role("check"):
        named = f'check({cell.exercise}, "{cell.exercise}")'
        is_answers = cell.exercise in exercises and exercises[cell.exercise].kind == "answers"
        allowed = [named] if is_answers else [f"check({cell.exercise})", named]
        if cell.source.strip() not in allowed:
            yield lesson.problem(cell, f"the source of this check cell must be `{allowed[0]}`", cell.first)


def definitions(lesson: Lesson, exercises: Exercises) -> Iterator[Problem]:
    """A problem where a solution cell doesn't define its exercise's name, outside the region too, or another cell
    does."""
    owners = {cell.exercise for cell in lesson.with_role("solution")}
    for cell in lesson.cells:
        if not cell.is_code or _syntax_error(cell.source):
            continue
        names = bound(cell.source)
        for name in sorted(names & owners - {cell.exercise}):
            yield lesson.problem(
                cell, f"duplicate name: {name} is an exercise, so only its solution cell may define it"
            )
        if cell.role != "solution" or not cell.exercise or not has_region(cell.source) or region_errors(cell.source):
            continue
        if cell.exercise not in names:
            yield lesson.problem(cell, f"the solution cell does not define {cell.exercise}")
        else:
            yield from _stub(lesson, cell, exercises)


def _stub(lesson: Lesson, cell: LessonCell, exercises: Exercises) -> Iterator[Problem]:
    """A problem where what the student gets of a solution cell isn't Python, doesn't define the exercise, or raises
    when it is run: every notebook would fail there."""
    is_answers = cell.exercise in exercises and exercises[cell.exercise].kind == "answers"
    left = cut(cell.source, ("pass",) if is_answers else STUB)
    if _syntax_error(left):
        yield lesson.problem(cell, "what is left once the solution region is cut out is not Python")
    elif cell.exercise not in bound(left):
        yield lesson.problem(
            cell, f"{cell.exercise} is defined only inside the solution region; begin the definition above the region"
        )
    elif not is_answers and raises_when_defined(left):
        message = "the solution region is not inside a function, so the student's cell would fail before any check"
        yield lesson.problem(cell, message)


def student_names(lesson: Lesson, _exercises: Exercises) -> Iterator[Problem]:
    """A problem where a worked example uses what a student writes: its stored output would not be the student's."""
    readable = [cell for cell in lesson.cells if cell.is_code and not _syntax_error(cell.source)]
    for use in dependence.uses_of_students_work(readable):
        message = f'uses {use.name}, which {use.made_by} (line {use.made_at}): mark the cell role="try"'
        yield lesson.problem(use.cell, message, use.line)


def numbers(lesson: Lesson, _exercises: Exercises) -> Iterator[Problem]:
    """A problem for each heading of an exercise whose number isn't the next one."""
    headings = [
        (cell, cell.first + at, heading)
        for cell in lesson.cells
        if not cell.is_code
        for at, line in enumerate(cell.source.splitlines())
        if (heading := NUMBERED.match(line))
    ]
    for number, (cell, line, heading) in enumerate(headings, 1):
        if int(heading["number"]) != number:
            yield lesson.problem(cell, f'"{heading[0]}" should be exercise {number} of the lesson', line)


def difficulties(lesson: Lesson, exercises: Exercises) -> Iterator[Problem]:
    """A problem where an exercise is easier than the one before it, the quiz left out, and the text doesn't say so."""
    before = 0
    for cell in (cell for cell in lesson.cells if not cell.is_code):
        for match in DIFFICULTY.finditer(cell.source):
            _, name, level = match.groups()
            if name in exercises and exercises[name].kind == "answers":
                continue
            if int(level) < before and "easier" not in unfolded(cell.source[match.end() :]).lower():
                message = (
                    f'{name} (difficulty {level}) comes after difficulty {before}: say in its text that it is "easier"'
                )
                yield lesson.problem(cell, message, cell.first + cell.source.count("\n", 0, match.end()))
            before = int(level)


def widths(lesson: Lesson, _exercises: Exercises) -> Iterator[Problem]:
    """A problem for each line of code that has to be scrolled to be read."""
    for cell in (cell for cell in lesson.cells if cell.is_code and cell.role != "given"):
        for at, line in enumerate(cell.source.splitlines()):
            if len(line) > CODE_WIDTH:
                message = (
                    f"this line of code has {len(line)} characters; only {CODE_WIDTH} can be seen without scrolling"
                )
                yield lesson.problem(cell, message, cell.first + at)


def lengths(lesson: Lesson, _exercises: Exercises) -> Iterator[Problem]:
    """A problem for each cell with more lines of code than one can keep in view that doesn't say why. Of a solution
    cell only what students get is counted."""
    for cell in lesson.cells:
        source = cut(cell.source) if cell.role == "solution" and not region_errors(cell.source) else cell.source
        if not cell.is_code or cell.role == "given" or _syntax_error(source):
            continue
        count = len(code_lines(source))
        if count > CODE_LINES and not cell.long:
            message = (
                f"this cell has {count} lines of code; split it after at most {CODE_LINES}, "
                'or say why not in long="..."'
            )
            yield lesson.problem(cell, message)
        elif count <= CODE_LINES and cell.long:
            yield lesson.problem(
                cell, f'long="..." is for cells with more than {CODE_LINES} lines of code, but this one has {count}'
            )


def drawings(lesson: Lesson, _exercises: Exercises) -> Iterator[Problem]:
    """A problem for each worked example that makes a picture, prints nothing and isn't marked as a drawing, whose code
    is collapsed."""
    for cell in lesson.with_role(""):
        if cell.source.rstrip().endswith("plt.show()") and not SAYS.search(cell.source):
            yield lesson.problem(cell, 'this cell only draws: mark it role="draw"')


def code_lines(source: str) -> list[str]:
    """The lines of a cell without blank ones, comments and docstrings."""
    in_docstrings: set[int] = set()
    for node in ast.walk(parse_cell(source, "<cell>")):
        body = getattr(node, "body", None)
        first = body[0] if isinstance(body, list) and body else None
        if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str):
            in_docstrings |= set(range(first.lineno, (first.end_lineno or first.lineno) + 1))
    lines = enumerate(source.splitlines(), 1)
    return [
        line for at, line in lines if at not in in_docstrings and line.strip() and not line.lstrip().startswith("#")
    ]


def links(lesson: Lesson, _exercises: Exercises) -> Iterator[Problem]:
    """A problem for each lesson and section that the text names and that isn't there, and for each paper without an
    address, where the lesson was read with all others."""
    for cell in (cell for cell in lesson.cells if not cell.is_code):
        for link in lesson.places.links(cell.source, lesson.number) if lesson.places else ():
            if link.wrong:
                yield lesson.problem(cell, link.wrong, cell.first + cell.source.count("\n", 0, link.start))


def times(lesson: Lesson, _exercises: Exercises) -> Iterator[Problem]:
    """A problem for each line that has minutes which the build is to write."""
    for number, line in enumerate(lesson.text.splitlines(), 1):
        if MINUTES.match(line):
            message = f"the build writes the minutes, so write only `Difficulty 2 of 5` or `**Time:** {TIME_MARK}`"
            yield Problem(lesson.path, number, "", message)


def raises_when_defined(source: str) -> bool:
    """Whether a `raise` stands outside all functions, in a class's body for example, where it runs at once.

    >>> raises_when_defined("class A:\\n    raise NotImplementedError()")
    True
    >>> raises_when_defined("class A:\\n    def f(self):\\n        raise NotImplementedError()")
    False
    """
    waiting: list[ast.AST] = [parse_cell(source, "<cell>")]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Raise):
            return True
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            waiting += ast.iter_child_nodes(node)
    return False


def _syntax_error(source: str) -> SyntaxError | None:
    try:
        parse_cell(source, "<cell>")
    except SyntaxError as error:
        return error
    return None


def _of_exercises(lesson: Lesson) -> list[LessonCell]:
    return [cell for cell in lesson.with_role(*OF_AN_EXERCISE) if cell.exercise]


def _by_exercise(lesson: Lesson) -> dict[str, list[LessonCell]]:
    found: dict[str, list[LessonCell]] = {}
    for cell in _of_exercises(lesson):
        found.setdefault(cell.exercise, []).append(cell)
    return found


RULES: tuple[Rule, ...] = (
    headers,
    sources,
    regions,
    exercises_of_lesson,
    checks,
    definitions,
    student_names,
    numbers,
    difficulties,
    widths,
    lengths,
    drawings,
    times,
    links,
    predictions.pairs,
)
