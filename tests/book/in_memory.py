"""A gradebook in memory, with rows by hand: what a mark is can be asked of it in milliseconds."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from nbgrader import api
from traitlets.config import Config

from grader.book import gradebook
from grader.book.gradebook import GradebookEntry, LessonGradebook
from grader.judge.result import SubmissionResult
from grader.report import ExerciseResult

LESSON, OTHER = "01", "00"
DUE = datetime(2026, 11, 10, 12, 0)
# By grade id: the kinds of cells, and the points. `a` and `b` are exercises, the others a teacher's own.
CHECKS = {"a-check": 4.0, "b-check": 3.0}
OWN = {"tests": 2.0, "essay": 5.0}


def gradebook_in_memory(*lessons: str) -> api.Gradebook:
    """A gradebook with these lessons, due a week apart, and nobody in it."""
    book = api.Gradebook("sqlite://", "attention")
    for number, lesson in enumerate(lessons):
        book.add_assignment(lesson, duedate=DUE.replace(day=DUE.day + 7 * number))
        book.add_notebook(lesson, lesson)
        for name, points in {**CHECKS, **OWN}.items():
            book.add_grade_cell(name, lesson, lesson, max_score=points, cell_type="code")
            book.add_source_cell(name, lesson, lesson, cell_type="code", source=name, locked=True, checksum="x")
        for name in ("a", "b", "essay"):
            book.add_solution_cell(name, lesson, lesson)
        book.add_task_cell("task", lesson, lesson, max_score=1.0, cell_type="markdown")
        book.add_source_cell("a", lesson, lesson, cell_type="code", source="stub", locked=False, checksum="y")
    return book


def opened(monkeypatch: Any, book: api.Gradebook, lesson: str = LESSON, **settings: Any) -> LessonGradebook:
    """The lesson's gradebook, as the commands open it, on `book`; `settings` are c.CourseLateness."""
    monkeypatch.setattr(gradebook.api, "Gradebook", lambda _url, _course: book)
    return LessonGradebook("sqlite://", "attention", lesson, config(**settings))


def config(**settings: Any) -> Config:
    return Config({"CourseDirectory": {"root": "/nowhere"}, "CourseLateness": settings})


def result(a: float = 1.0, b: float = 1.0, *, broken: str = "", **more: Any) -> SubmissionResult:
    """A result with these scores, 0 to 1, of two exercises that the course gives other points than their authors."""
    made = {name: ExerciseResult(name, 10, score, broken=name == broken) for name, score in (("a", a), ("b", b))}
    return SubmissionResult(tuple(made.values()), **more)


def entry(who: str, what: SubmissionResult, when: datetime | None = DUE, **more: Any) -> GradebookEntry:
    return GradebookEntry(who, what, more.pop("own", {}), when, **more)


def row(book: api.Gradebook, who: str, lesson: str = LESSON) -> Any:
    """Somebody's `api.SubmittedNotebook`, as it is stored: what isn't committed is lost."""
    book.db.rollback()
    return book.find_submission_notebook(lesson, lesson, who)


def grades(book: api.Gradebook, who: str, lesson: str = LESSON) -> dict[str, tuple[float | None, float | None, bool]]:
    """By grade id: the judge's mark, the teacher's, and whether a teacher is to look at it."""
    return {g.name: (g.auto_score, g.manual_score, g.needs_manual_grade) for g in row(book, who, lesson).grades}


def comments(book: api.Gradebook, who: str) -> dict[str, str | None]:
    return {c.name: c.auto_comment for c in row(book, who).comments}
