"""`check`: finds the exercise, checks the learner's code in this process, shows the report."""

from __future__ import annotations

import difflib
import functools
import inspect
import linecache
import os
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import FrameType
from typing import Any

from grader.errors import CheckFailed, CourseError, NotReleased
from grader.exercises.own import beside_notebook
from grader.exercises.registry import exercises, files_for
from grader.kernel import shell
from grader.languages import shown
from grader.learner import here, progress
from grader.learner.appeal import file_for
from grader.learner.earlier_run import RUNS, watch_cells
from grader.report import PartReport, Report
from grader.report.html import as_html
from grader.report.text import HOW_TO_SAVE, as_text, file_name
from grader.sentences import say, together
from grader.spec.evaluate import evaluate
from grader.subject.local import LocalSubject

DAY = 86_400.0


@dataclass(frozen=True, repr=False)
class ShownReport(Report):
    """The report that `check` returns. It displays itself, as text or in a notebook. `file` is what a learner may give
    to a teacher who is to look at the check; empty where there is nothing to look at."""

    file: bytes = field(default=b"", repr=False, compare=False)
    _display: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)

    def hint(self, number: int = 1) -> str:
        """Hint `number`, as every report has it, in the learner's language."""
        return shown(super().hint(number))

    def save(self, path: str = "") -> None:
        """Write the file for a teacher: your code of this exercise, this report and the versions, without your name."""
        if not self.file:
            print(shown("There is nothing to save, because this report has nothing for a teacher to look at."))
            return
        path = path or file_name(self)
        Path(path).write_bytes(self.file)
        print(shown(say("Saved as {path}. Give this file to your teacher.", path=path)))

    def __str__(self) -> str:
        return as_text(self) + (f"\n{shown(HOW_TO_SAVE)}" if self.file else "")

    def __repr__(self) -> str:
        state = "passed" if self.passed else "not passed"
        return f"<Report {self.name}: {state}, {self.mark:g} of {self.points:g} points>"

    def _repr_mimebundle_(self, **_options: object) -> dict[str, str]:
        return {"text/plain": str(self), "text/html": as_html(self, self.file)}

    def _ipython_display_(self) -> None:
        """Draw the report, but not again in the same run of a cell, where `check` has drawn it."""
        if self._display.pop("drawn_in", None) == _cell_run():
            return
        from IPython.display import display

        display(self._repr_mimebundle_(), raw=True)


def check(
    obj: object = None, name: str | None = None, *, seconds: float | None = None, practice: bool = False
) -> ShownReport:
    """Check a solution, show the report, and record it in the learner's progress.

    `check(fn)` finds the exercise by the function's or class's name; `check(obj, "name")` is for anything else.
    `seconds` limits the whole check; the default is the exercise's limit. Never raises for what a learner's code does.
    Only where nbgrader runs the cell, a failed check raises `CheckFailed` after showing its report, because nbgrader
    counts nothing else. `practice` only shows the report: it records nothing and raises nothing.
    """
    caller = sys._getframe(1)
    found = _checked(obj, name, seconds, caller)
    found = replace(found, points=here.points().get(found.name, found.points))
    report = ShownReport(**vars(found), file=b"" if practice else _safely(lambda: _file(found, obj, caller)) or b"")
    earlier = _safely(lambda: RUNS.sentence_on(report.name, obj))
    if earlier:
        print(shown(earlier))
    executed = "NBGRADER_EXECUTION" in os.environ
    if not executed and not practice:
        progress.record(report)
    show(report)
    if executed and not practice and not report.passed:
        raise CheckFailed(_one_line(report))
    return report


def _checked(obj: object, name: object, seconds: object, caller: FrameType) -> Report:
    known = exercises()
    if seconds is not None and (type(seconds) not in (int, float) or not 0 < seconds <= DAY):  # type: ignore[operator]
        said = "`seconds` should be a number above 0 and at most a day, but is {what}."
        return _refused("check", say(said, what=_short(seconds)))
    if name is not None and not isinstance(name, str):
        said = "The second argument should be the exercise's name, a string, but is {what}."
        return _refused("check", say(said, what=_short(name)))
    if type(obj) is str and name is None:
        said = 'Pass the thing itself, not only its name: `check({name})` or `check({name}, "{name}")`.'
        return _refused(obj, say(said, name=obj))
    wanted = name if name is not None else _safely(lambda: obj.__name__)  # type: ignore[attr-defined]
    if name is None and callable(obj) and not (isinstance(wanted, str) and wanted in known):
        # A lambda, a partial, a function that has been given the exercise's name.
        called = _in_line(caller, list(known))
        wanted = called if called and _passed(caller, called) else wanted
    if isinstance(wanted, str) and wanted not in known:
        try:
            known = exercises(files_for(wanted, lambda name: beside_notebook(name, Path.cwd())))
        except CourseError as error:
            return _refused(wanted, together(error.message, say("This file is your teacher's, so tell them about it.")))
        except NotReleased as error:
            return _refused(wanted, str(error))
    if not isinstance(wanted, str) or wanted not in known:
        title = wanted or _in_line(caller, list(known)) or type(obj).__name__
        return _refused(str(title), _unknown(obj, wanted, list(known), caller))
    namespace = {**_names(obj, caller), wanted: obj}
    return evaluate(known[wanted], LocalSubject(namespace), seconds=seconds, exercises=known, remarks=True)  # type: ignore[arg-type]


def _names(obj: object, caller: FrameType) -> dict[str, Any]:
    """The names that an answer's code sees: those of its own globals, else those where `check` was called."""
    found = _safely(lambda: _globals_of(obj))
    return found if isinstance(found, dict) else caller.f_globals


def _file(report: Report, obj: object, caller: FrameType) -> bytes:
    """The file that a learner may give to a teacher: of an answer that is written and was refused, for an exercise with
    points. Empty otherwise."""
    if report.passed or report.broken or report.unwritten or not report.points or "NBGRADER_EXECUTION" in os.environ:
        return b""
    return file_for(report, obj, _names(obj, caller))


def _safely(ask: Callable[[], Any]) -> Any:
    """What `ask` returns; None where it raises: any object may be passed to a check, and do anything."""
    try:
        return ask()
    except Exception:
        return None


def _short(value: object) -> str:
    """A value as a message shows it: a number or text as code, of anything else the type."""
    if type(value) in (int, float, str, bool):
        return f"`{value!r}`"
    return say("a value of type {type}", type=type(value).__name__)


def _globals_of(obj: Any) -> dict[str, Any] | None:
    """The globals that the object's code sees, with the student's other definitions; None if it has no code of its
    own."""
    while isinstance(obj, functools.partial):
        obj = obj.func
    if inspect.isclass(obj):
        return vars(sys.modules[obj.__module__])
    return getattr(inspect.unwrap(obj), "__globals__", None)


def _in_line(caller: FrameType, known: list[str]) -> str:
    """The first exercise that the line with `check(...)` names; empty if none."""
    line = linecache.getline(caller.f_code.co_filename, caller.f_lineno)
    return next((word for word in re.findall(r"\w+", line) if word in known), "")


def _passed(caller: FrameType, name: str) -> bool:
    """Whether the line that calls `check` passes the object `name` itself, and not what a call of it gives."""
    line = linecache.getline(caller.f_code.co_filename, caller.f_lineno)
    return re.search(rf"check\(\s*{re.escape(name)}\s*[,)]", line) is not None


def _unknown(obj: object, wanted: object, known: list[str], caller: FrameType) -> str:
    if not isinstance(wanted, str):
        called = _in_line(caller, known)
        if called and _passed(caller, called):
            return say(
                "`{name}` is {what} here, but should be what its cell defines. Has the name been used for something "
                "else? Run that cell again, then check.",
                name=called,
                what=_short(obj),
            )
        return together(
            say("`check` was given a value of type {type}, which has no name of its own.", type=type(obj).__name__),
            say(
                "Pass the function itself, without calling it: `check({name})`; for a quiz, add its name: "
                '`check(quiz_01, "quiz_01")`.',
                name=called or "attention_scores",
            ),
        )
    close = difflib.get_close_matches(wanted, known, n=1)
    return together(
        say("There is no exercise `{name}`.", name=wanted),
        say("Did you mean `{name}`?", name=close[0]) if close else "",
        say(
            'If your function has another name, add the exercise\'s name: check(my_function, "{name}").',
            name=close[0] if close else "attention_scores",
        ),
    )


def _refused(name: str, message: str) -> Report:
    return Report.of(name, 0, (PartReport("finds the exercise", False, 1, "unknown-exercise", message),))


def show(report: ShownReport) -> None:
    """Draw the report in a notebook, print it elsewhere."""
    running = shell()
    if running is None or not hasattr(running, "kernel"):
        print(report)
        return
    report._ipython_display_()
    report._display["drawn_in"] = _cell_run()


def _cell_run() -> int:
    """The number of the run of a cell that is going on, as IPython counts them; -1 where no cells are run."""
    running = shell()
    return -1 if running is None else running.execution_count


def _one_line(report: Report) -> str:
    if report.broken:
        return say("the check of {name} itself is broken; this is not your code's fault", name=report.name)
    failure = report.first_failure
    named = f"{report.name} [{report.diagnosis}]" if report.diagnosis else report.name
    return f"{named}: {failure.name}: {failure.message}" if failure else report.name


if shell() is not None:  # else nobody runs cells, and IPython may not be there
    from grader.learner.interrupted import watch_for_interrupts
    from grader.learner.plots import sharpen_plots
    from grader.learner.unwritten import say_so_in_a_line

    watch_cells()
    watch_for_interrupts()
    sharpen_plots()
    say_so_in_a_line()
