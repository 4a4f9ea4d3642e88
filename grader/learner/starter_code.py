"""An exercise's own cell as a student got it, and its model solution where solutions are installed."""

from __future__ import annotations

import difflib
import json
import os
from collections.abc import Iterator
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any, NamedTuple

from grader.errors import CourseError, NotReleased
from grader.exercises.own import beside_notebook
from grader.exercises.registry import exercises
from grader.kernel import shell as running_shell
from grader.languages import shown
from grader.learner import progress
from grader.learner.earlier_run import RUNS
from grader.regions import ANSWERS_STUB, STUB, cut, without_marks
from grader.sentences import say, together

NOT_INSTALLED = "The model solutions are not installed here. Ask your teacher, or look in the course's repository."


class SolutionCell(NamedTuple):
    """A solution cell: the kind of its exercise, and its source."""

    kind: str
    source: str


class Shown:
    """Python source to look at: coloured in a notebook, plain elsewhere."""

    def __init__(self, source: str) -> None:
        self.source = source

    def __repr__(self) -> str:
        return self.source

    def _repr_markdown_(self) -> str:
        return f"```python\n{self.source}\n```"


def solution(name: str) -> Shown | None:
    """Show an exercise's model solution, after three tries or once it is passed; until then, or where there is none,
    say why and return None. That it was seen is kept in the progress."""
    if not _known(name):
        return None
    if name not in exercises():
        print(shown(say("{name} is your teacher's own exercise, so only they can show its model solution.", name=name)))
        return None
    record = progress.load().get(name, progress.Record())
    if record.tries < progress.TRIES and not record.passed_at:
        left = progress.TRIES - record.tries
        opens = say("The solution to {name} opens after {tries} tries.", name=name, tries=progress.TRIES)
        print(shown(together(opens, say("Tries left until then: {count}. Use the hints first.", count=left))))
        return None
    cell = dict(_solution_cells()).get(name)
    if cell is None:
        print(shown(NOT_INSTALLED))
        return None
    progress.record_solution(name)
    return Shown(without_marks(cell.source).strip())


def reset(name: str) -> None:
    """Put the original cell of the exercise `name` back in place of the one that runs this: for use in the exercise's
    own cell. Outside a notebook the original is printed."""
    if not _known(name):
        return
    source = original(name)
    if source is None:
        missing = "The original cell of {name} isn't available here. Copy it from a fresh copy of the notebook."
        print(shown(say(missing, name=name)))
        return
    shell = running_shell()
    if shell is None or not hasattr(shell, "kernel"):
        print(source)
        return
    shell.set_next_input(source, replace=True)
    RUNS.reset[name] = shell.user_ns.get(name)
    print(shown(say("This cell has been reset. Write {name}, then run the cell.", name=name)))


def original(name: str) -> str | None:
    """The source of an exercise's cell as the student got it, or None where it isn't known."""
    packed = resources.files("grader.learner").joinpath("starter_code.json")
    if packed.is_file():
        return json.loads(packed.read_text(encoding="utf-8")).get(name)
    cell = dict(_solution_cells()).get(name)
    return stub(cell) if cell is not None else None


def stub(cell: SolutionCell) -> str:
    """The source of a solution cell with its solution cut out, as nbgrader cuts it."""
    return cut(cell.source, ANSWERS_STUB if cell.kind == "answers" else STUB)


def _known(name: str) -> bool:
    if name in exercises() or (isinstance(name, str) and _is_own(name)):
        return True
    near = difflib.get_close_matches(str(name), exercises(), n=1)
    meant = say("Did you mean `{name}`?", name=near[0]) if near else say("`grader progress` lists the exercises.")
    print(shown(together(say("There is no exercise {name}.", name=repr(name)), meant)))
    return False


def _is_own(name: str) -> bool:
    """Whether `name` is a teacher's own exercise, whose file lies beside the notebook."""
    try:
        return beside_notebook(name, Path.cwd()) is not None
    except (CourseError, NotReleased):
        return True


def solutions_folder() -> Path | None:
    """The folder of the instructor's notebooks: GRADER_SOLUTIONS, else in the package (the teachers' wheel), in the
    repository around it, or beside the notebooks. None if it is nowhere."""
    named = os.environ.get("GRADER_SOLUTIONS")
    package = Path(__file__).parents[1]
    around = [package, package.parent, Path.cwd(), Path.cwd().parent]
    candidates = [Path(named)] if named else [folder / "solutions" for folder in around]
    return next((folder for folder in candidates if any(folder.glob("*.ipynb"))), None)


def _solution_cells() -> Iterator[tuple[str, SolutionCell]]:
    folder = solutions_folder()
    if folder is not None:
        for path in sorted(folder.glob("[0-9][0-9]_*.ipynb")):
            yield from _cells_of(path, path.stat().st_mtime_ns)


@cache
def _cells_of(path: Path, _changed: int) -> tuple[tuple[str, SolutionCell], ...]:
    notebook: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    found = []
    for cell in notebook["cells"]:
        course = cell["metadata"].get("course", {})
        if course.get("role") == "solution":
            found.append((course["exercise"], SolutionCell(course.get("kind", ""), "".join(cell["source"]))))
    return tuple(found)
