"""A teacher's own exercise, as docs/own-exercises.md tells it: written, tried, handed out, graded by both commands."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from grader import check
from grader.authoring import mutant_runs
from grader.book.results_log import latest
from grader.cli.main import main
from grader.errors import CourseError
from grader.exercises.own import NOT_RELEASED
from grader.exercises.registry import exercises
from grader.insights.collect import lesson_insights
from grader.insights.page import as_text
from grader.spec.answers import answer_digest
from tests.batch.conftest import LESSON, RIGHT, ROOT, Room, command

PAGE = (ROOT / "docs" / "own-exercises.md").read_text()
FILES = dict(re.findall(r"`(exercises/[\w/]+\.py)`:\n\n```python\n(.*?)```", PAGE, re.DOTALL))
[SOLUTION] = re.findall(r"model solution:\n\n```python\n(.*?)```", PAGE, re.DOTALL)
COMMANDS = re.findall(r"(?m)^\$ (.*)$", PAGE)
SPECIFICATION = "exercises/centred.py"
SPY = "import os\ndef centred(x):\n    print(os.listdir('.'), os.path.exists('exercises'))\n    return x - 1"
ANSWERS = {
    "ann": ("def centred(x):\n    return x - x.sum(-1, keepdim=True) / x.shape[-1]", 2.0),
    "bo": ("def centred(x):\n    return x - x.mean(dim=-2, keepdim=True)", None),
    "cy": ("def centred(x):\n    raise NotImplementedError()", 0.0),
    "spy": (SPY, None),
}


def grader(root: Path, *words: str) -> Result:
    """A command of the page, in which the course directory is called attention."""
    return CliRunner().invoke(main, [str(root) if word == "attention" else word for word in words])


def notebook_of(room: Room, step: str = "source") -> Path:
    return room.root / step / LESSON / f"{LESSON}.ipynb"


def edit(path: Path, **sources: str) -> bytes:
    """A notebook with other sources of solution cells, by exercise, and with the text above them written."""
    notebook = json.loads(path.read_text())
    for cell in notebook["cells"]:
        if cell["id"].endswith("-heading"):
            cell["source"] = "### Exercise: `centred`\n\nEvery row less its mean."
        about = cell["metadata"].get("course", {})
        if about.get("role") == "solution" and about["exercise"] in sources:
            cell["source"] = sources[about["exercise"]]
    return json.dumps(notebook).encode()


def written(room: Room) -> None:
    """The page's files in a course, their cells in its lesson."""
    for path, text in FILES.items():
        (room.root / path).parent.mkdir(exist_ok=True, parents=True)
        (room.root / path).write_text(text)
    put = grader(room.root, "course", "exercise", "attention", "centred", "--into", "00")
    assert put.exit_code == 0, put.output
    notebook_of(room).write_bytes(edit(notebook_of(room), centred=SOLUTION))


def test_the_page_from_start_to_end(room, tmp_path, monkeypatch):
    skeleton, tried, into, generate, autograde = [line.split() for line in COMMANDS]
    made = grader(room.root, *skeleton[1:])
    assert made.output.startswith(f"{SPECIFICATION}\nexercises/answers/centred.py\n")
    unfinished = grader(room.root, *tried[1:])
    assert (unfinished.exit_code, SPECIFICATION in unfinished.output) == (1, True)
    for path, text in FILES.items():
        (room.root / path).write_text(text)
    done = grader(room.root, *tried[1:], "--jobs", "1")
    assert done.exit_code == 0, done.output
    assert "Tried 3 right and 3 wrong answers." in done.output
    put = grader(room.root, *into[1:])
    assert put.exit_code == 0, put.output
    assert "already has the exercise" in grader(room.root, *into[1:]).output
    checked_words = ("course", "check", "attention")
    checked = grader(room.root, *checked_words)
    assert checked.exit_code == 1
    assert "is not filled in: TODO what it takes and what it returns" in checked.output
    assert "is not filled in: TODO the model solution" in checked.output
    unfilled = notebook_of(room, "release").read_bytes()
    refused = command(room.root, *generate, "--force", check=False)
    assert refused.returncode == 1
    assert "Not generated, because something still has to be filled in" in refused.stdout
    assert "Traceback" not in refused.stdout
    assert notebook_of(room, "release").read_bytes() == unfilled
    notebook_of(room).write_bytes(edit(notebook_of(room), centred=SOLUTION))
    (room.root / SPECIFICATION).write_text(f"{FILES[SPECIFICATION]}# TODO more cases\n")
    line = len(FILES[SPECIFICATION].splitlines()) + 1
    assert f"{SPECIFICATION}:{line}: is not filled in: TODO more cases" in grader(room.root, *checked_words).output
    assert "TODO more cases" in command(room.root, *generate, "--force", check=False).stdout
    (room.root / SPECIFICATION).write_text(FILES[SPECIFICATION])
    command(room.root, *generate, "--force")

    released = notebook_of(room, "release")
    assert "x.mean" not in released.read_text()
    assert [str(path.relative_to(released.parent)) for path in released.parent.rglob("*.py")] == [SPECIFICATION]
    for student, (source, _mark) in ANSWERS.items():
        room.submit(student, edit(released, centred=source, first_steps=RIGHT))
    (room.folder("spy") / "exercises").mkdir()
    (room.folder("spy") / SPECIFICATION).write_text("EXERCISE = 1")  # no student's file counts
    theirs = Room(tmp_path / "theirs", room.scheduler)
    shutil.copytree(room.root, theirs.root)
    command(theirs.root, "nbgrader", "autograde", LESSON)
    assert autograde == ["grader", "autograde", "attention", "00"]
    assert room.grade().problems == {}
    assert room.book() == theirs.book()
    for student, (_source, mark) in ANSWERS.items():
        assert room.autograded(student) == theirs.autograded(student)
        [(score, comment)] = [
            (row[4], next(c[2] for c in room.book()["comments"] if c[:2] == (student, "centred")))
            for row in room.book()["grades"]
            if row[0] == student and row[3] == "centred-check"
        ]
        assert score == mark if mark is not None else 0 < score < 2
        assert "mean-of-columns" in comment or student != "bo"
        assert FILES[SPECIFICATION] not in json.dumps(room.autograded(student))
    assert "[] False" in json.dumps(room.autograded("spy"))
    assert "mean-of-columns" in as_text(lesson_insights(room.root, "00"))

    graded_again_as_the_course_does(room)
    assert room.grade().graded == 0
    (room.root / SPECIFICATION).write_text(FILES[SPECIFICATION].replace("the mean is taken", "the mean goes"))
    outcome = room.grade()
    assert (len(outcome.earlier), outcome.changed[0]) == (len(ANSWERS), "the specification of centred")
    assert room.grade(force=True).graded == len(ANSWERS)

    monkeypatch.chdir(released.parent)  # as `fetch_assignment` copies it
    assert check(lambda x: x - x.mean(-1, keepdim=True), "centred").passed
    assert check(lambda x: x - x.mean(-2, keepdim=True), "centred").diagnosis == "mean-of-columns"
    monkeypatch.chdir(notebook_of(room).parent)
    assert check(lambda x: x - x.mean(-1, keepdim=True), "centred").passed


def graded_again_as_the_course_does(room: Room) -> None:
    """The folder alone says again what somebody's work earns; a grader without the course says what it can't know."""
    again = grader(room.root, "grade", str(room.folder("bo")), "--course", "attention", "--json")
    assert again.exit_code == 0, again.output
    logged = latest(room.root, LESSON)["bo"].result
    found = {one["name"]: one for one in json.loads(again.stdout)["exercises"]}
    assert {name: (one["mark"], one["diagnosis"]) for name, one in found.items()} == {
        one.name: (one.mark, one.diagnosis) for one in logged.exercises
    }
    assert [part["message"] for part in found["centred"]["parts"]] == [part.message for part in logged["centred"].parts]
    alone = grader(room.root, "grade", str(room.folder("bo")), "--lesson", "00", "--json")
    (note,) = json.loads(alone.stdout)["notes"]
    assert note.startswith("centred is checked in this notebook but isn't an exercise of the notebooks in")
    twice = grader(room.root, "grade", str(room.folder("bo")), "--course", "attention", "--lesson", "00")
    assert (twice.exit_code, twice.output) == (
        2,
        "With --course, give only options for the output; the course settles the rest.\n",
    )
    elsewhere = grader(room.root, "grade", str(notebook_of(room)), "--course", "attention")
    assert elsewhere.exit_code == 2
    assert "isn't a hand-in in" in elsewhere.output


def test_specification_that_the_teacher_keeps(room, monkeypatch):
    written(room)
    with (room.root / SPECIFICATION).open("a") as file:
        file.write("\nRELEASED = False\n")
    command(room.root, "nbgrader", "generate_assignment", LESSON, "--force")
    folder = notebook_of(room, "release").parent
    assert "reference" not in (folder / SPECIFICATION).read_text()
    monkeypatch.chdir(folder)
    assert NOT_RELEASED in str(check(lambda x: x, "centred"))
    for name in ("../exercises/centred", "x" * 5000, "*"):
        assert "There is no exercise" in str(check(lambda x: x, name))


# What is put in the place of what, the text whose line is told, and what is said.
FAULTS = {
    "syntax": ("points=2", "points=2 2", "points=2 2", "SyntaxError: invalid syntax"),
    "no such part": ("parts.usual(", "parts.unusual(", "parts.unusual(", "AttributeError: .*'unusual'"),
    "no such function": ("    reference,", "    torchs,", "    torchs,", "NameError: .*'torchs'"),
    "another name": ("Spec(__name__)", 'Spec("own_exercise_centered")', "EXERCISE =", "the file .* must be"),
    "nothing": ("EXERCISE =", "EXERCISE = 1\nexercise =", "EXERCISE =", "expected EXERCISE = .*, got int"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_file_that_cannot_be_loaded_is_an_error_with_its_line(fault):
    old, new, place, said = FAULTS[fault]
    text = FILES[SPECIFICATION].replace(old, new)
    line = text[: text.index(place)].count("\n") + 1
    with pytest.raises(CourseError, match=rf"exercises/centred\.py:{line}: {said}"):
        exercises((("centred", text),))


def test_faulty_files_stop_every_command_with_a_sentence(room):
    written(room)
    room.submit("ann", edit(notebook_of(room)))
    said = r"exercises/centred\.py:\d+: SyntaxError: "
    command(room.root, "nbgrader", "generate_assignment", LESSON, "--force")
    (room.root / SPECIFICATION).write_text("EXERCISE = (")
    for step in ("generate_assignment", "autograde"):
        done = command(room.root, "nbgrader", step, LESSON, "--force", check=False)
        assert re.search(said, done.stdout), done.stdout
        assert "Traceback" not in done.stdout
        assert done.returncode != 0
    with pytest.raises(CourseError, match=said):
        room.grade()
    (room.root / SPECIFICATION).unlink()
    with pytest.raises(CourseError, match=r"00_start_here\.ipynb: cell \d+, `check\(centred\)`: there is no exercise"):
        room.grade()
    (room.root / "exercises/first_steps.py").write_text(FILES[SPECIFICATION].replace("centred", "first_steps"))
    with pytest.raises(CourseError, match=r"exercises/first_steps\.py:\d+: the course has its own first_steps"):
        room.grade()


def test_wrong_samples_and_survivors_are_told(room, monkeypatch):
    here = lambda derived, _jobs: [result for mutant in derived if (result := mutant_runs.run(mutant)) is not None]
    monkeypatch.setattr(mutant_runs, "run_all", here)
    written(room)
    answers = room.root / "exercises" / "answers"
    (room.root / SPECIFICATION).write_text(
        re.sub(r"parts=parts.*", 'parts=(parts.values("adds up", 1, "one sequence"),),', FILES[SPECIFICATION])
    )
    text = FILES["exercises/answers/centred.py"].replace("wrong -: the", "wrong mean-of-columns: the")
    (answers / "centred.py").write_text(text)
    (answers / "equivalent_mutants.toml").write_text('[centred]\n"gone → gone" = "it was right"\n')
    done = grader(room.root, "course", "exercise", "attention", "centred", "--test")
    assert done.exit_code == 1
    assert "wrong mean-of-columns: the mean of all numbers: it has no name, expected mean-of-columns" in done.output
    assert "no wrong answer with an unlisted mistake" in done.output
    assert "survived: centred: " in done.output
    assert "no longer has this mutant: gone → gone" in done.output


def test_a_quiz_of_ones_own(room):
    """Its skeleton, with every TODO filled in, is a quiz that works; it has no mutants."""
    words = ("course", "exercise", "attention", "quiz_exam")
    assert grader(room.root, *words, "--into", "00").exit_code == 0
    assert "TODO the points" in grader(room.root, *words, "--test").output
    for path in ("exercises/quiz_exam.py", "exercises/answers/quiz_exam.py"):
        text = (room.root / path).read_text().replace("TODO ", "")
        digest = answer_digest("second_key", "d")
        (room.root / path).write_text(text.replace('"",', f'"{digest}",'))
    done = grader(room.root, *words, "--test")
    assert (done.exit_code, done.output) == (0, "Tried 2 right and 1 wrong answers.\n")
    [heading, solution, check_cell] = json.loads(notebook_of(room).read_text())["cells"][-3:]
    assert "`first_key` (a whole number)" in "".join(heading["source"])
    assert solution["metadata"]["course"]["kind"] == "answers"
    assert "".join(check_cell["source"]) == 'check(quiz_exam, "quiz_exam")'


def test_points_that_were_filled_in_after_the_cells_are_told(room):
    written(room)
    assert "points in exercises/centred.py" not in grader(room.root, "course", "check", "attention").output
    (room.root / SPECIFICATION).write_text(FILES[SPECIFICATION].replace("points=2", "points=3"))
    checked = grader(room.root, "course", "check", "attention").output
    assert "centred has 3 points in exercises/centred.py, but nbgrader gives 2 here" in checked
