"""Reads what a course directory knows of its lessons: the log of results, and the submissions for likenesses."""

from __future__ import annotations

import contextlib
from collections.abc import Container
from pathlib import Path

from grader.book.gradebook import marks_in
from grader.book.results_log import latest
from grader.course.class_directory import ClassDirectory
from grader.course.folder import FOLDER, RESULTS
from grader.course.groups import groups_of
from grader.errors import CourseError, Unreadable
from grader.handed_in.hand_in import ReadNotebook, hand_in, handed_out
from grader.insights.page import LessonInsights
from grader.insights.similarity import ModelSolution, Pair, own_code, similar_pairs
from grader.insights.summary import stops_of, summarise


def lessons_with_results(root: Path) -> list[str]:
    """The full names of the lessons that have a result in the log, in the course's order: a log may be empty, or of
    hand-ins that were all taken back."""
    logs = (root / FOLDER / RESULTS).glob("*.jsonl")
    return sorted(path.stem for path in logs if latest(root, path.stem))


def lesson_insights(root: Path, lesson: str) -> LessonInsights:
    """The insights into one lesson, by its name, number or file; a submission that can't be read resembles none.
    `CourseError` if there is no such lesson, or nothing of it is graded."""
    course = ClassDirectory(root, lesson)
    records = latest(course.root, course.lesson)
    if not records:
        raise CourseError(f"{root}: {course.lesson} has not been graded yet. First: grader autograde {root} {lesson}")
    marks = marks_in(course.layout, course.lesson, course.config)
    results = {student: record.result for student, record in records.items()}
    summary = summarise([*results.values()], [marks.get(who) or result.by_judge() for who, result in results.items()])
    return LessonInsights(course.lesson, summary, tuple(_pairs(course, records)), stops_of(results))


def _pairs(course: ClassDirectory, graded: Container[str]) -> list[Pair]:
    """The pairs of work that is like the model solution, and behind them those of graded students whose work is like
    another's."""
    lesson, limits = handed_out(course.outline()), course.limits()
    model, prints, copies = ModelSolution(lesson.outline, lesson.stubs), {}, []
    groups, seen = groups_of(course.root, course.lesson), set()
    for submission in course.submissions()[0]:
        group = groups.get(submission.student, "")
        if group in seen:  # a group's work is one work
            continue
        chosen = hand_in(submission, lesson, limits)
        if chosen.unreadable or submission.student not in graded:
            continue
        with contextlib.suppress(Unreadable):
            notebook = ReadNotebook.of(chosen.data, limits)
            cells = [cell for cell, _text, _names in notebook.cells]
            prints[submission.student] = own_code(cells, lesson.outline)
            seen |= {group} - {""}
            answered = [name for name, is_answered in lesson.answers(notebook).items() if is_answered]
            if copy := model.pair(submission.student, cells, answered):
                copies.append(copy)
    copies.sort(key=lambda pair: (-pair.share, pair.left))
    return [*copies, *similar_pairs(prints)]
