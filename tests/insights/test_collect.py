"""Insights into a course directory as its configuration describes it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from grader.authoring.samples import submissions
from grader.book.results_log import TAKEN_BACK, LoggedResult, ResultsLog, latest
from grader.cli.main import main
from grader.errors import CourseError
from grader.insights.collect import lesson_insights, lessons_with_results
from grader.insights.similarity import WORD_FOR_WORD, Pair
from grader.judge.result import SubmissionResult
from grader.report import ExerciseResult
from grader.source.create import create
from tests.classroom import _schema  # noqa: F401
from tools import notebooks as nb

LESSON = "01_self_attention"
LAYOUTS = {
    "nbgrader's": ("", "submitted/{student}/{lesson}", "source/{lesson}"),
    "by assignment": (
        'c.CourseDirectory.directory_structure = "{nbgrader_step}/{assignment_id}/{student_id}"\n',
        "submitted/{lesson}/{student}",
        "source/{lesson}/.",
    ),
    "other names": (
        'c.CourseDirectory.submitted_directory = "handed_in"\nc.CourseDirectory.source_directory = "ours"\n',
        "handed_in/{student}/{lesson}",
        "ours/{lesson}",
    ),
}


@pytest.fixture(params=LAYOUTS)
def course(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """ann, bo (who has copied from her) and cy were graded; dee has handed in since."""
    settings, submitted, source = LAYOUTS[request.param]
    (tmp_path / "solutions").mkdir()
    (tmp_path / "solutions" / f"{LESSON}.ipynb").write_bytes(nb.instructor(LESSON))
    root = tmp_path / "course"
    create(root, tmp_path / "solutions", "attention")
    with (root / "nbgrader_config.py").open("a") as config:
        config.write(settings)
    place = root / source.format(lesson=LESSON)
    if place != root / "source" / LESSON:
        place.parent.mkdir(parents=True, exist_ok=True)
        (root / "source" / LESSON).rename(place)
    answers = [one.source for one in submissions() if one.exercise == "self_attention" and not one.mistake]
    for student, answer in {"ann": answers[0], "bo": answers[0], "cy": answers[1], "dee": answers[0]}.items():
        folder = root / submitted.format(student=student, lesson=LESSON)
        folder.mkdir(parents=True)
        (folder / f"{LESSON}.ipynb").write_bytes(nb.submission(LESSON, self_attention=answer))
    result = SubmissionResult((ExerciseResult("self_attention", 2, 1.0),))
    with ResultsLog(root, LESSON) as log:
        log.add(LoggedResult.now(f"key of {name}", name, LESSON, "", result) for name in ("ann", "bo", "cy"))
    return root


def test_what_was_taken_back_does_not_count_until_there_is_a_new_result(course):
    """Nor does an older one, though a run ended before the new one was stored."""
    with ResultsLog(course, LESSON) as log:
        log.mark_stored({"ann": "key of ann", "bo": TAKEN_BACK})
        assert latest(course, LESSON).keys() == {"ann", "cy"}
        log.add([LoggedResult.now("new", "bo", LESSON, "", SubmissionResult(()))])
        assert latest(course, LESSON)["bo"].key == "new"


@pytest.mark.parametrize("lesson", ["1", "01", "01_self_attention", "01_self_attention.ipynb"])
def test_lesson_may_be_named_numbered_or_given_by_its_file(course, lesson):
    found = lesson_insights(course, lesson)
    assert found.name == LESSON
    assert found.summary.graded == 3


def test_similar_submissions_are_found_wherever_they_lie(course):
    pairs = {(pair.left, pair.right): pair.share for pair in lesson_insights(course, LESSON).pairs}
    assert pairs["ann", "bo"] == 1
    assert not any("dee" in pair for pair in pairs)  # who was not graded


def test_whoever_hands_in_the_model_solution_is_listed(course):
    """The instructor's own notebook, as it is; with `--names` and without."""
    path = next(path for path in course.rglob(f"{LESSON}.ipynb") if "cy" in path.parts)
    path.write_bytes(nb.instructor(LESSON))
    assert lesson_insights(course, LESSON).pairs[0] == Pair("cy", WORD_FOR_WORD, 1.0)
    named = CliRunner().invoke(main, ["insights", str(course), "01", "--names"]).output
    assert " 100 %  cy  the model solution, word for word\n" in named
    assert "the model solution, word for word" in (course / "insights.html").read_text()
    nameless = CliRunner().invoke(main, ["insights", str(course), "01"]).output
    assert " 100 %  submission 1  the model solution, word for word\n" in nameless


def test_lessons_that_were_graded_are_known(course):
    """Of others a log may be there all the same: of a run that was ended at once, or of what was taken back."""
    assert lessons_with_results(course) == [LESSON]
    result = SubmissionResult((ExerciseResult("first_steps", 1, 1.0),))
    with ResultsLog(course, "00_start_here"):
        pass
    with ResultsLog(course, "02_trainable_attention") as log:
        log.add([LoggedResult.now("key", "ann", "02_trainable_attention", "", result)])
        log.mark_stored({"ann": TAKEN_BACK})
    assert lessons_with_results(course) == [LESSON]


def test_submission_that_is_a_link_resembles_nobody(course):
    by_student = {who: path for path in course.rglob(f"{LESSON}.ipynb") for who in ("ann", "bo") if who in path.parts}
    by_student["bo"].unlink()
    by_student["bo"].symlink_to(by_student["ann"])
    assert not any("bo" in (pair.left, pair.right) for pair in lesson_insights(course, LESSON).pairs)


def test_command_line(course):
    for words in ([str(course), "01"], [str(course)]):
        done = CliRunner().invoke(main, ["insights", *words])
        assert done.exit_code == 0, done.output
        assert done.output.startswith(f"{LESSON}\n\n3 graded, 3 with full marks")
    assert (course / "insights.html").is_file()
    done = CliRunner().invoke(main, ["insights", str(course), "7"])
    assert done.exit_code == 2
    assert "'7' isn't one of the lessons" in done.output


def test_name_that_a_terminal_cannot_show_is_an_escape(course, monkeypatch):
    found = replace(lesson_insights(course, "01"), pairs=(Pair("\u4f60", "bo", 1.0),))
    monkeypatch.setattr("grader.insights.collect.lesson_insights", lambda *_words: found)
    done = CliRunner(charset="latin-1").invoke(main, ["insights", str(course), "01", "--names"])
    assert done.exit_code == 0, done.exception
    assert "\\u4f60  bo" in done.output


def test_lesson_that_was_not_graded_is_told(course):
    next((course / ".grader" / "results").iterdir()).unlink()
    with pytest.raises(CourseError, match=r"01_self_attention has not been graded yet\. First: grader autograde"):
        lesson_insights(course, "01")
    assert lessons_with_results(course) == []
