"""Which of the files that somebody handed in is the lesson's notebook. It is known by what is in it."""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from pathlib import PurePath
from typing import Any

import nbformat

from grader.course.class_directory import ClassDirectory, Submission
from grader.course.files import SECRET_FILE, TIMESTAMP, UntrustedFolder
from grader.errors import CourseError, Unreadable
from grader.judge.limits import Limits
from grader.judge.outline import Outline, normal
from grader.judge.plan import defined_names
from grader.judge.reader import OWN_ANSWER, NotebookCell, read
from grader.platforms.platform import is_notebook
from grader.printable import printable
from grader.source.preprocessors import ClearCourseSolutions

LISTED = 8  # names of files in a sentence
MOST = 20  # notebooks that are looked at beside the one with the lesson's name
MOST_MODULES, MODULE_BYTES = 20, 1 << 20  # of a student's own that are given to a notebook, and of each of them
IMPORTS = re.compile(r"^\s*(?:import|from|%run)\s+(.+)$", re.MULTILINE)
WRITTEN = re.compile(r"^%%(?:write)?file\s+(?:-a\s+)?(\w+)\.py\s*$", re.MULTILINE)  # by the notebook itself


@dataclass(frozen=True)
class HandedOut:
    """A lesson as students have it, by which their notebook is known: its cells, and by exercise or question the normal
    text that they start from."""

    outline: Outline
    stubs: Mapping[str, str]

    def answers(self, notebook: ReadNotebook) -> dict[str, bool]:
        """The exercises and the teacher's own questions that are in a notebook, and whether each has an answer."""
        found: dict[str, bool] = {}

        def note(name: str, text: str) -> None:
            found[name] = found.get(name, False) or text not in ("", self.stubs.get(name, ""))

        for cell, text, names in notebook.cells:
            index = self.outline.match(cell, text)
            role = "" if index is None else self.outline.cells[index].role
            if index is not None and role in ("solution", OWN_ANSWER):
                note(_name(self.outline.cells[index]), text)
            elif index is None and cell.kind == "code" and not cell.role:
                for name in names & self._exercises:
                    note(name, text)
        return found

    @cached_property
    def _exercises(self) -> frozenset[str]:
        return frozenset(self.outline.exercises)


@dataclass(frozen=True)
class ReadNotebook:
    """A notebook's cells, each with its normal text and the names that it defines: worked out once, for all lessons."""

    cells: tuple[tuple[NotebookCell, str, frozenset[str]], ...]

    @classmethod
    def of(cls, data: bytes, limits: Limits) -> ReadNotebook:
        """Read a notebook; `Unreadable` if it is none, or breaks a limit."""
        cells = read(data, limits.notebook_bytes, limits.cells)
        return cls(
            tuple(
                (cell, normal(cell.source), defined_names(cell.source) if cell.kind == "code" else frozenset())
                for cell in cells
            )
        )


def _name(cell: NotebookCell) -> str:
    return cell.exercise or cell.grade_id


@lru_cache(maxsize=32)  # a course's lessons: collecting asks which one a notebook is of
def handed_out(outline: Outline) -> HandedOut:
    """The lesson of an instructor's notebook, as students have it. What they start from is made as by
    `nbgrader generate_assignment`."""
    whole = nbformat.from_dict(outline.notebook())
    released, _resources = ClearCourseSolutions(enforce_metadata=False).preprocess(whole, {})
    texts = Outline.of(json.dumps(released).encode()).cells
    stubs = {_name(cell): normal(cell.source) for cell in texts if cell.role in ("solution", OWN_ANSWER)}
    return HandedOut(outline, stubs)


@dataclass(frozen=True)
class HandIn:
    """The notebook that counts: its bytes, or why it can't be read or is no use ("": it can and is). `remarks` are
    sentences about what was odd. `of_lesson`: it holds exercises of the lesson, as far as that can be told."""

    data: bytes
    unreadable: str = ""
    remarks: tuple[str, ...] = ()
    of_lesson: bool = True


def hand_in(submission: Submission, lesson: HandedOut, limits: Limits) -> HandIn:
    """Choose among the notebooks of a submission. Of several that hold exercises of the lesson the one with the most
    answers counts, and of equal ones the one that has the lesson's name. Nothing is raised for what can't be read."""
    own = PurePath(f"{submission.name}.ipynb")
    data, unreadable = submission.read(limits.notebook_bytes)
    if not lesson.stubs:  # a teacher's own lesson, without anything by which a notebook could be known
        return HandIn(data, unreadable)
    files = [path for path in submission.folder.names() if str(path) not in (TIMESTAMP, SECRET_FILE)]
    counts: dict[PurePath, int] = {}
    digests, chosen, kept = set(), own, data
    for path in _notebooks(own, files):
        found = data if path == own else _read(submission.folder, path, limits)
        answers = answers_in(found, lesson, limits)
        if answers:
            counts[path] = sum(answers.values())
            digests.add(hashlib.sha256(found).digest())
            if chosen not in counts or counts[path] > counts[chosen]:
                chosen, kept = path, found
    if counts:
        beside = (path for path in files if path.suffix == ".py" and path.parent == chosen.parent)
        modules = {path.stem: partial(_read, submission.folder, path, limits) for path in beside}
        kept = with_modules(kept, modules, limits)
        return HandIn(kept, remarks=tuple(_remarks(own, chosen, counts, len(digests), unreadable, files)))
    if unreadable:
        return HandIn(data, unreadable if files == [own] else f"{unreadable} {_listed(files)}")
    return HandIn(data, remarks=(f"{own} has none of this lesson's exercises. {_listed(files)}",), of_lesson=False)


def with_modules(data: bytes, modules: Mapping[str, Callable[[], bytes]], limits: Limits) -> bytes:
    """A notebook's bytes with a cell at its top for each of the student's own `modules` that it imports: the cell
    writes the module's file. `modules` are those that lie beside it, which are read (b"" if that can't be done) by
    their names. Stock nbgrader runs a notebook where these files are. What can't be read stays as it is."""
    try:
        cells = read(data, limits.notebook_bytes, limits.cells) if modules else ()
    except Unreadable:
        cells = ()
    text = "\n".join(cell.source for cell in cells if cell.kind == "code")
    beside = {name: module for name, module in modules.items() if name not in WRITTEN.findall(text)}
    found: dict[str, str] = {}
    texts = [text]
    for source in texts:  # a module may import another one
        words = {word for line in IMPORTS.findall(source) for word in re.findall(r"\w+", line)}
        for name in sorted(words & beside.keys() - found.keys())[: MOST_MODULES - len(found)]:
            module = beside[name]()
            with contextlib.suppress(UnicodeDecodeError):
                found[name] = module.decode("utf-8-sig") if len(module) <= MODULE_BYTES else ""
                texts.append(found[name])
    code: dict[str, Any] = {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None}
    first = [
        {**code, "id": f"module-{name}", "source": f"%%writefile {name}.py\n{source}"}
        for name, source in found.items()
        if source
    ]
    if not first:
        return data
    document = json.loads(data.decode("utf-8-sig"))
    if not isinstance(document.get("cells"), list):
        return data
    document["cells"] = [*first, *document["cells"]]
    whole = json.dumps(document).encode()
    return whole if len(whole) <= limits.notebook_bytes and len(document["cells"]) <= limits.cells else data


def of_another_lesson(course: ClassDirectory, chosen: HandIn) -> HandIn:
    """`chosen` as it is, or where it is another lesson's notebook, one that says whose and is not to be run: it would
    earn nothing, and take the time of all that lesson's cells."""
    other = "" if chosen.of_lesson else lesson_held(course, [chosen.data])
    if other in ("", course.lesson):
        return chosen
    why = f"Not run: the notebook has the exercises of {other} and none of {course.lesson}."
    return HandIn(chosen.data, why, chosen.remarks, of_lesson=False)


def _notebooks(own: PurePath, files: Sequence[PurePath]) -> list[PurePath]:
    """The paths of the notebooks that are looked at, the one with the lesson's name, `own`, first."""
    others = {path for path in files if path != own and is_notebook(path.name)}
    return [own, *sorted(path for path in others if not any(part.startswith(".") for part in path.parts))[:MOST]]


def _remarks(
    own: PurePath,
    chosen: PurePath,
    counts: Mapping[PurePath, int],
    different: int,
    unreadable: str,
    files: Sequence[PurePath],
) -> list[str]:
    """What is odd about a choice, in sentences: `counts` has the number of answers in each notebook of the lesson, of
    which so many are `different`; `own` is the one with the lesson's name."""
    said = []
    if different > 1:
        answered = ", ".join(f"{_shown(path)} ({count} answered)" for path, count in counts.items())
        said.append(f"There are several notebooks of this lesson: {answered}. {_shown(chosen)} counts.")
    elif chosen != own:
        why = unreadable.rstrip(".") or f"{own} has none of this lesson's exercises"
        said.append(f"{why}. {_shown(chosen)} has this lesson's exercises, so it counts.")
    if not counts[chosen]:
        said.append(f"{_shown(chosen)} is as it was handed out, without an answer to any exercise. {_listed(files)}")
    return said


def _read(folder: UntrustedFolder, path: PurePath, limits: Limits) -> bytes:
    inside = UntrustedFolder(folder.root, folder.path / path.parent, folder.owner)
    try:
        return inside.read(path.name, limits.notebook_bytes)
    except (Unreadable, OSError):
        return b""


def answers_in(data: bytes, lesson: HandedOut, limits: Limits) -> dict[str, bool]:
    """The lesson's exercises that a notebook holds, and whether each has an answer; empty if it can't be read."""
    try:
        return lesson.answers(ReadNotebook.of(data, limits))
    except Unreadable:
        return {}


def _listed(files: Sequence[PurePath]) -> str:
    more = f" and {len(files) - LISTED} more" if len(files) > LISTED else ""
    return f"Handed in: {', '.join(map(_shown, files[:LISTED])) or 'no file'}{more}."


def _shown(path: PurePath) -> str:
    return printable(str(path))[:120]


def lesson_held(course: ClassDirectory, works: Sequence[bytes]) -> str:
    """The lesson of which one of these notebooks holds the most exercises, `course.lesson` if they hold any of that; ""
    if they hold no lesson's. Each is read once, however many lessons there are."""
    limits, readable = course.limits(), []
    for data in works:
        with contextlib.suppress(Unreadable):
            readable.append(ReadNotebook.of(data, limits))
    others = [name for name in course.lessons() if name != course.lesson]
    best, most = "", 0
    for name in (course.lesson, *others):
        with contextlib.suppress(CourseError, OSError):  # another lesson's notebook that is broken is no matter here
            lesson = handed_out(course.outline(name))
            held = max((len(lesson.answers(notebook)) for notebook in readable), default=0)
            if held > most:
                best, most = name, held
        if best == course.lesson:
            break
    return best
