"""What a learner wrote in earlier lessons, in place of the course's: `use_yours(MultiHeadAttention, FeedForward)`.

The notebooks of the earlier lessons have to lie beside the one that runs. Of each only what the named exercises need is
run: their own statements and those that bind names which they use. Whatever isn't right leaves the course's in place.
"""

from __future__ import annotations

import ast
import contextlib
import io
import json
import linecache
import random
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import torch

from grader.exercises.registry import exercises
from grader.kernel import MAX_BYTES, is_attended
from grader.languages import languages, shown
from grader.learner.alike import difference
from grader.regions import STUB, has_region
from grader.report import Report
from grader.sentences import Several, say, together
from grader.spec.evaluate import evaluate
from grader.spec.exercise import Exercise
from grader.subject.cells import notebook_namespace
from grader.subject.local import LocalSubject
from grader.subject.names import Statement, statements

WHY_CHARACTERS = 120
# By name the course's own and what took its place: a cell may run twice.
_replaced: dict[str, tuple[Any, Any]] = {}


def use_yours(*given: Any) -> None:
    """Have the learner's own run in this notebook where the course's functions and classes are `given`.

    Each is taken from the notebook of its lesson in this folder if it passes its check there and is built as the
    course's. One printed line says whose run and, of the course's, why. Where a program runs the notebook (nbval, the
    build, nbgrader), the course's stay, and the line is the same for everybody.
    """
    names = sys._getframe(1).f_globals
    known = exercises()
    courses = {name: _courses(name, names[name]) for name in known if any(names.get(name) is thing for thing in given)}
    if len(courses) < len(given):
        raise ValueError(f"use_yours: got {len(given)} things; exercises among them: {', '.join(courses) or 'none'}")
    if not is_attended():
        print(shown(_sentence([], dict.fromkeys(courses, ""))))
        return
    chosen, why = dict(courses), dict[str, str]()
    for lesson in dict.fromkeys(known[name].lesson for name in courses):
        here = {name: courses[name] for name in courses if known[name].lesson == lesson}
        own, reasons = _own(lesson, here, chosen)
        chosen |= own
        why |= reasons
    _replaced.update({name: (courses[name], chosen[name]) for name in chosen})
    names.update(chosen)
    print(shown(_sentence([name for name in chosen if name not in why], why)))


def _courses(name: str, thing: Any) -> Any:
    """The course's own `name`, also where an earlier run of the cell has put the learner's in its place, as `thing`."""
    course, own = _replaced.get(name, (thing, thing))
    return course if thing is own else thing


def _sentence(own: Sequence[str], why: Mapping[str, str]) -> str:
    """One line on whose code runs: the names of the learner's `own` that do, and by name `why` the course's does for
    the rest."""
    by_reason: dict[str, list[str]] = {}
    for name, reason in why.items():
        by_reason.setdefault(reason, []).append(name)
    courses = [_with_reason(", ".join(names), reason) for reason, names in by_reason.items()]
    return together(
        say("Your code runs here: {names}.", names=", ".join(own)) if own else "",
        say("The course's code runs here: {names}.", names=Several(courses)) if courses else "",
    )


def _with_reason(names: str, reason: str) -> str:
    return say("{names} ({reason})", names=names, reason=say(reason)) if reason else names


def _own(lesson: str, courses: Mapping[str, Any], earlier: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
    """A lesson's exercises as the learner's notebook defines them, in place of `courses`, by name, and for the rest why
    not. `earlier`: what runs of earlier lessons, which the notebook's code is to use too."""
    notebook = _notebook(lesson)
    if notebook is None:
        return {}, dict.fromkeys(courses, say("you have no {file} beside this notebook", file=f"{lesson}.ipynb"))
    if notebook.unreadable:
        why_not = say("{file} can't be read: {reason}", file=notebook.file, reason=say(notebook.unreadable))
        return {}, dict.fromkeys(courses, why_not)
    own, why = {}, {}
    with _aside():
        notebook.define(courses)
        space = notebook.space
        space.update({name: thing for name, thing in earlier.items() if name not in courses})
        for name, course in courses.items():
            reason = notebook.wrong.get(name) or _fault(exercises()[name], space, course)
            if reason:
                why[name] = say("{file}: {reason}", file=notebook.file, reason=say(reason))
                space[name] = course  # what is right of the rest uses it
            else:
                own[name] = space[name]
    return own, why


def _fault(exercise: Exercise, space: dict[str, Any], course: Any) -> str:
    """Why what a learner defined can't take the place of the course's; empty if it can."""
    if exercise.name not in space:
        return say("not defined")
    report = evaluate(exercise, LocalSubject(space))
    if not report.passed:
        return _failure(report)
    return difference(exercise, space[exercise.name], course)


def _failure(report: Report) -> str:
    """Why a check didn't pass, in a few words."""
    failure = report.first_failure
    if report.unwritten is not None:
        return say("not written yet")
    if failure is None:
        return say("its check itself is broken, which is not your code's fault")
    return say("fails its check, “{part}”", part=say(failure.name))


def _short(text: object) -> str:
    line = " ".join(str(text).split()).rstrip(".")
    return line if len(line) <= WHY_CHARACTERS else f"{line[:WHY_CHARACTERS].rsplit(' ', 1)[0]} …"


@contextmanager
def _aside() -> Iterator[None]:
    """Inside the block nothing is printed, and random states are put back: what a learner's cells print was shown where
    they belong."""
    state = random.getstate()
    with (
        torch.random.fork_rng(devices=[]),
        contextlib.redirect_stdout(io.StringIO()),
        contextlib.redirect_stderr(io.StringIO()),
    ):
        try:
            yield
        finally:
            random.setstate(state)


@dataclass
class _Notebook:
    """A learner's notebook."""

    file: str  # its name
    cells: list[str] = field(default_factory=list)  # of code
    unreadable: str = ""  # why it has no cells; "" if it was read
    space: dict[str, Any] = field(default_factory=dict)  # what it defined
    wrong: dict[str, str] = field(default_factory=dict)  # by name, why something isn't defined

    @property
    def unwritten(self) -> int:
        """How many of its cells still have what stands in the place of a solution."""
        return sum(STUB[1] in cell for cell in self.cells)

    def define(self, wanted: Iterable[str]) -> None:
        """Run the statements that the `wanted` names need, in order; what comes of it is in `space` and `wrong`."""
        module = ModuleType(f"your_lesson_{self.file[:2]}")
        sys.modules[module.__name__] = module  # where Python looks for a class's surroundings
        self.space = notebook_namespace(vars(module))
        parsed = [self._parsed(number, source, wanted) for number, source in enumerate(self.cells, 1)]
        for number, statement in _needed(parsed, wanted):
            self._run(number, statement)

    def _parsed(self, number: int, source: str, wanted: Iterable[str]) -> list[Statement]:
        try:
            return statements(source)
        except (SyntaxError, ValueError, RecursionError) as error:
            why = say("its cell isn't valid Python, {error}", error=_short(error))
            if isinstance(error, SyntaxError):
                template = "its cell isn't valid Python, line {number}: {error}"
                why = say(template, number=error.lineno, error=_short(error.msg))
            defined = [name for name in wanted if re.search(rf"(?m)^(?:def|class) +{name}\b", source)]
            self.wrong |= dict.fromkeys(defined, why)
            return []

    def _run(self, number: int, statement: Statement) -> None:
        file = f"<{self.file}, code cell {number}>"
        text = self.cells[number - 1]
        linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)  # for tracebacks
        try:
            exec(compile(ast.Module([statement.node], []), file, "exec", dont_inherit=True), self.space)
        except (Exception, SystemExit) as error:  # whatever a learner has written there
            self.wrong |= dict.fromkeys(statement.binds, _short(f"{type(error).__name__}: {error}"))


def _needed(cells: Sequence[Sequence[Statement]], wanted: Iterable[str]) -> list[tuple[int, Statement]]:
    """The statements that bind the wanted names, or names that such statements use, in order, each with the number of
    its cell."""
    every = [(number, statement) for number, cell in enumerate(cells, 1) for statement in cell]
    names, before = set(wanted), -1
    while len(names) > before:
        before = len(names)
        names.update(*(statement.uses for _, statement in every if statement.binds & names))
    return [(number, statement) for number, statement in every if statement.binds & names]


def _notebook(lesson: str) -> _Notebook | None:
    """The learner's notebook of a lesson: in this folder, else in a folder of its name beside it, as nbgrader fetches
    them, or in those of the course's other languages. Of two languages the one in which more is written counts. None if
    there is none, or if it is one with the course's solutions."""
    here = Path.cwd()
    top = here.parent if here.name in languages() else here
    found = (_in_folder(folder, lesson) for folder in dict.fromkeys([here, top, *map(top.joinpath, languages())]))
    return min(filter(None, found), key=lambda notebook: notebook.unwritten, default=None)


def _in_folder(here: Path, lesson: str) -> _Notebook | None:
    renamed = sorted(here.glob(f"{lesson[:3]}*.ipynb"), key=lambda path: (len(path.name), path.name))
    for path in (here / f"{lesson}.ipynb", *renamed, here.parent / lesson / f"{lesson}.ipynb"):
        if path.is_file():
            notebook = _read(path)
            if not any(map(has_region, notebook.cells)):
                return notebook
    return None


def _read(path: Path) -> _Notebook:
    try:
        if path.stat().st_size > MAX_BYTES:
            return _Notebook(path.name, unreadable="it is too large")
        cells = json.loads(path.read_text("utf-8"))["cells"]
        return _Notebook(path.name, ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"])
    except OSError as error:
        return _Notebook(path.name, unreadable=_short(error.strerror or error))
    except (ValueError, KeyError, TypeError, RecursionError):
        return _Notebook(path.name, unreadable="it isn't a notebook")
