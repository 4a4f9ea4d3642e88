"""One submission without a course: which lesson it is, its result, and the result in the form that others read."""

from __future__ import annotations

import math
import re
import secrets
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from grader.course.class_directory import ClassDirectory, Submission, course_layout, outline_of
from grader.course.files import UntrustedFolder, read_regular
from grader.course.groups import drawn_for
from grader.course.release import CHECK
from grader.errors import CommandFailed, CourseError, SandboxUnavailable, Unreadable
from grader.handed_in.hand_in import HandIn, answers_in, hand_in, handed_out
from grader.judge.clean_text import clean
from grader.judge.fingerprint import GradingSettings
from grader.judge.judge import Judge
from grader.judge.limits import Limits
from grader.judge.outline import Outline
from grader.judge.reader import read
from grader.judge.result import SubmissionResult
from grader.judge.words import as_text, preface
from grader.lesson_names import choose
from grader.printable import printable
from grader.report import ExerciseResult

UNKNOWN = (
    "{0} is checked in this notebook but isn't an exercise of the notebooks in {1}, so it wasn't graded. If it is a "
    "course's own exercise, run: grader grade submitted/STUDENT/LESSON --course DIR"
)
CHECK_CALL = re.compile(r"\s*check\((\w+)\)")
NOT_RUN = "The notebook was graded, but the judge itself failed on these exercises: {}. Grade the notebook again."
FEEDBACK_BYTES = 20_000  # of one exercise; PrairieLearn reads 1 MB in all


@dataclass(frozen=True)
class Settings:
    """How one submission is graded."""

    solutions: Path  # the folder of the instructor's notebooks
    limits: Limits
    lesson: str = ""  # that it is of; "": as its exercises say
    secret: bytes = b""  # draws the inputs; empty: a new one
    carry_forward: str = "none"  # a key of `grader.judge.result.CARRY_FORWARD`
    unsafe: bool = False  # without a sandbox where there is none


@dataclass(frozen=True)
class SingleResult:
    """A submission's result. `own_tests` has by grade_id the points that the teacher's own test cells are worth."""

    lesson: str
    result: SubmissionResult
    own_tests: Mapping[str, float]

    @property
    def problem(self) -> str:
        """Why the marks aren't what they should be; "" if they are."""
        broken = self.result.broken
        return self.result.unreadable or (NOT_RUN.format(", ".join(broken)) if broken else "")

    @property
    def rows(self) -> list[dict[str, Any]]:
        """What earns points, as plain data: each exercise in the notebook's order, then each test of the teacher's own.
        `mark` is what was earned of `points`."""
        rows: list[dict[str, Any]] = [
            {
                "name": exercise.name,
                "mark": exercise.mark,
                "points": exercise.points,
                "diagnosis": exercise.diagnosis,
                "hints": list(exercise.hints),
                "parts": _parts(exercise),
                "text": clean(as_text(exercise), FEEDBACK_BYTES),
            }
            for exercise in self.result.exercises
        ]
        for test in self.result.tests:
            points = self.own_tests[test.grade_id]
            earned: dict[str, Any] = {"name": test.grade_id, "mark": test.mark(points), "points": points}
            rows.append(
                {**earned, "diagnosis": None, "hints": [], "parts": [], "text": clean(test.message, FEEDBACK_BYTES)}
            )
        return rows

    def as_json(self) -> dict[str, Any]:
        """The result as plain data, for `--json`."""
        rows = self.rows
        return {
            "lesson": self.lesson,
            "mark": round(sum(row["mark"] for row in rows), 2),
            "points": sum(row["points"] for row in rows),
            "problem": self.problem,
            "notes": preface(self.result),
            "confinement": self.result.confinement,
            "timed_out": self.result.timed_out,
            "seconds": self.result.seconds,
            "exercises": rows,
        }

    def as_text(self) -> str:
        """The result as text for a terminal."""
        about = self.as_json()
        texts = [row["text"] or row["name"] for row in about["exercises"]]
        total = f"{self.lesson}: {about['mark']:g} of {about['points']:g} points"
        return "\n\n".join([*texts, "\n".join([*map(printable, about["notes"]), total])])


def _parts(result: ExerciseResult) -> list[dict[str, Any]]:
    """Each part of an exercise as plain data, with the points that it earned (`mark`) of those that it could
    (`points`)."""
    return [
        {"name": part.name, "state": part.state, "mark": earned, "points": possible, "message": part.message}
        for part, (earned, possible) in zip(result.parts, result.part_points, strict=True)
    ]


def limits_of(pairs: tuple[str, ...]) -> Limits:
    """Limits from words like "check_seconds=20"; `CourseError` where one isn't a limit or a number."""
    kinds = {name: type(value) for name, value in asdict(Limits()).items()}
    values: dict[str, Any] = {}
    for pair in pairs:
        name, _, value = pair.partition("=")
        try:
            values[name] = kinds[name](value)
        except (KeyError, ValueError):
            raise CourseError(f"--limit {pair}: expected NAME=NUMBER. The names are {', '.join(kinds)}.") from None
        if not 0 < values[name] < math.inf:
            raise CourseError(f"--limit {pair}: a limit is a number above 0.")
    return Limits(**values)


def grade_one(path: Path, settings: Settings) -> SingleResult:
    """Grade a notebook, or the folder that somebody handed in. `CourseError` where the settings aren't right, or a
    folder comes without a lesson; `CommandFailed` if the notebook can't be read or no lesson is in it."""
    lessons = {notebook.stem: notebook for notebook in sorted(settings.solutions.glob("*.ipynb"))}
    if not lessons:
        raise CourseError(f"{settings.solutions} has no notebooks.")
    if settings.lesson:
        name = choose(settings.lesson, [*lessons])
        if name is None:
            raise CourseError(f"--lesson {settings.lesson} isn't one of {', '.join(lessons)}.")
    elif path.is_dir():
        raise CourseError(f"{printable(str(path))} is a folder: say which lesson is in it, for example --lesson 01.")
    else:
        name = lesson_in(path, lessons, settings)
    outline = outline_of(lessons[name].read_bytes(), settings.solutions, name)
    chosen = _hand_in(path, name, outline, settings.limits)
    secret = settings.secret or secrets.token_bytes(32)
    grading = GradingSettings(outline, secret, settings.limits, settings.unsafe, settings.carry_forward)
    judged = _judged(name, chosen, grading)
    unknown = [UNKNOWN.format(other, settings.solutions) for other in _unknown(chosen.data, outline, settings)]
    return replace(judged, result=judged.result.with_remarks(unknown))


def _unknown(data: bytes, outline: Outline, settings: Settings) -> list[str]:
    """The names of exercises that a notebook checks and the instructor's doesn't have, such as a teacher's own; none if
    it can't be read."""
    try:
        cells = read(data, settings.limits.notebook_bytes, settings.limits.cells)
    except Unreadable:
        return []
    checked = [cell.exercise for cell in cells if cell.role == "check"]
    checked += [call[1] for cell in cells if cell.kind == "code" and (call := CHECK_CALL.match(cell.source))]
    return sorted({name for name in checked if name.isidentifier()} - set(outline.exercises))


def grade_in_course(path: Path, root: Path) -> SingleResult:
    """Grade what a student handed in, `path` in `submitted/`, as `grader autograde` does in the course in `root`: with
    its notebooks, its secret, its limits, on the same inputs. Nothing is stored. `CourseError` for a path of any other
    form."""
    layout = course_layout(root)
    pattern = layout.format_path(layout.submitted_directory, "(?P<student>[^/]+)", "(?P<lesson>[^/]+)", escape=True)
    match = re.fullmatch(pattern, str(path.resolve() if path.is_dir() else path.resolve().parent))
    if match is None:
        example = layout.format_path(layout.submitted_directory, "STUDENT", "LESSON")
        raise CourseError(f"{path} isn't a hand-in in {root}; expected {example}.")
    course = ClassDirectory(root, match["lesson"])
    settings = course.settings()
    chosen = hand_in(course.submission(match["student"]), handed_out(settings.outline), settings.limits)
    return _judged(course.lesson, chosen, settings, drawn_for(course.root, course.lesson)(match["student"]))


def _judged(lesson: str, chosen: HandIn, settings: GradingSettings, student: str = "") -> SingleResult:
    try:
        with Judge(settings.secret, settings.limits, settings.unsafe, settings.carry_forward) as judge:
            result = judge.grade(chosen.data, settings.outline, student, chosen.unreadable)
    except SandboxUnavailable as error:
        raise CourseError(str(error)) from None
    points = _points(settings.outline)
    return SingleResult(lesson, result.with_remarks(chosen.remarks).worth(points), points)


def lesson_in(path: Path, lessons: Mapping[str, Path], settings: Settings) -> str:
    """The lesson of which the notebook holds the most exercises; `lessons` has the instructor's by name.
    `CommandFailed` if it holds none, or can't be read."""
    try:
        data = _readable(path, settings.limits)
    except Unreadable as error:
        raise CommandFailed(f"{printable(str(path))}: {error}") from None
    found = {}
    for name, notebook in lessons.items():
        outline = outline_of(notebook.read_bytes(), settings.solutions, name)
        found[name] = answers_in(data, handed_out(outline), settings.limits)
    best = max(found, key=lambda name: len(found[name]))
    if not found[best]:
        raise CommandFailed(
            f"{printable(str(path))} has none of the course's exercises. "
            f"The lessons looked for are {', '.join(lessons)}."
        )
    return best


def _hand_in(path: Path, lesson: str, outline: Outline, limits: Limits) -> HandIn:
    """The notebook that counts, chosen as in a course, of a file or of a folder."""
    expected = handed_out(outline)
    if path.is_dir():
        return hand_in(Submission("", UntrustedFolder(path), lesson), expected, limits)
    try:
        data = _readable(path, limits)
    except Unreadable as error:
        return HandIn(b"", str(error))
    if answers_in(data, expected, limits):
        return HandIn(data)
    return HandIn(data, remarks=(f"None of {lesson}'s exercises is in {printable(path.name)}.",))


def _readable(path: Path, limits: Limits) -> bytes:
    """The bytes of a notebook; `Unreadable` if it isn't one, or breaks a limit."""
    data = read_regular(path, limits.notebook_bytes)
    read(data, limits.notebook_bytes, limits.cells)
    return data


def _points(outline: Outline) -> dict[str, float]:
    """What each exercise is worth in the instructor's notebook, and each test of the teacher's own by its grade_id."""
    about = [metadata.get("nbgrader", {}) for metadata in outline.cell_metadata]
    return {cell["grade_id"].removesuffix(CHECK): float(cell["points"]) for cell in about if cell.get("grade")}
