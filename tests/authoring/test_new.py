"""`grader new` writes files that import and are valid, and `grader build` says what is left to fill in."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from grader.authoring import Repository, build, verify
from grader.authoring.lesson import read_lesson
from grader.authoring.new import new_exercise, new_lesson, with_cells, with_name
from grader.authoring.unfinished import todo
from grader.errors import CommandFailed, CourseError, LessonError
from grader.exercises.registry import exercises

from .conftest import EXERCISES, SAMPLES, TOY, MakeCourse

ROOT = Path(__file__).parents[2]
QUIZ = '\n# %% [markdown]\n# ### Exercise 1: `quiz_01`\n\n# %% exercise="quiz_01" role="solution"\nquiz_01 = {}\n'


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    """A copy of this one's lessons, package, and sample submissions."""
    (tmp_path / "tests").mkdir()
    for folder in ("lessons", "grader", "tests/exercises"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return Repository(tmp_path, exercises())


def run(repository: Repository, code: str) -> str:
    """What Python prints in the repository."""
    done = subprocess.run([sys.executable, "-c", code], cwd=repository.root, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def written(paths: list[Path]) -> list[str]:
    return [path.as_posix() for path in paths]


def test_an_exercise_touches_five_files(repository: Repository):
    assert written(new_exercise(repository, "3", "rotate_heads")) == [
        "grader/exercises/lesson_03/rotate_heads.py",
        "grader/exercises/lesson_03/rotate_heads.md",
        "tests/exercises/lesson_03/rotate_heads.py",
        "grader/exercises/lesson_03/__init__.py",
        "lessons/03_multi_head_attention.py",
    ]


def test_new_exercises_and_lessons_are_in_the_registry_and_leave_the_others_as_they_are(repository: Repository):
    code = "import grader.exercises.registry as r; [print(e.lesson, e.name, e.kind) for e in r.exercises().values()]"
    before = run(repository, code).splitlines()
    new_exercise(repository, "03_multi_head_attention", "rotate_heads")
    new_exercise(repository, "00", "FirstModule")
    new_exercise(repository, "00", "quiz_00")
    new_lesson(repository, "12", "sparse_attention")
    found = run(repository, code).splitlines()
    assert found[:3] == [
        "00_start_here first_steps function",
        "00_start_here FirstModule module",
        "00_start_here quiz_00 answers",
    ]
    at = found.index("03_multi_head_attention rotate_heads function")
    assert found[at + 1] == "03_multi_head_attention quiz_03 answers"
    assert found[-1] == "12_sparse_attention quiz_12 answers"
    assert len(found) == len(before) + 4


def test_what_is_written_passes_the_linters(repository: Repository):
    new_exercise(repository, "3", "rotate_heads")
    new_exercise(repository, "5", "ScaleFeatures")
    new_exercise(repository, "0", "quiz_00")
    new_lesson(repository, "12", "sparse_attention")
    for command in (["check"], ["format", "--check"]):
        done = subprocess.run(
            [Path(sys.executable).with_name("ruff"), *command, "."], cwd=repository.root, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stdout


def test_the_build_names_every_place_to_fill_in_and_every_sample_that_is_missing(repository: Repository):
    new_exercise(repository, "3", "rotate_heads")
    specified = run(
        repository, "from grader.exercises.registry import exercises as e; print(e()['rotate_heads'].points)"
    )
    assert specified == "1\n"
    code = "from grader.cli.main import main; main(['build', '--check', '3'])"
    done = subprocess.run([sys.executable, "-c", code], cwd=repository.root, capture_output=True, text=True)
    assert done.returncode == 2
    lines = done.stderr.splitlines()
    samples = "tests/exercises/lesson_03/rotate_heads.py:1 rotate_heads: "
    assert [line.removeprefix(samples) for line in lines if line.startswith(samples)] == [
        "0 of 2 wordings of returns-its-input written so far; add cells `# %% wrong returns-its-input: TITLE`",
        "0 of 3 right answers written so far; add cells `# %% right: TITLE`",
        "there is no wrong answer with an unlisted mistake; write a cell `# %% wrong -: TITLE`",
    ]
    assert any(
        re.fullmatch(r"grader/exercises/lesson_03/rotate_heads.py:\d+ rotate_heads: TODO .*", line) for line in lines
    )
    assert "grader/exercises/lesson_03/rotate_heads.md:7 rotate_heads: TODO a hint." in lines
    assert any(re.fullmatch(r"lessons/03_multi_head_attention.py:\d+: TODO the model solution", line) for line in lines)


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("## heads-last", "## heads-first", r"split_heads.py:\d+ split_heads: the mistake heads-last has no words\."),
        (
            "\n2. `transpose`",
            " `transpose`",
            r"split_heads.md:\d+ split_heads: the mistake .* needs at least 2 hints but has 1;",
        ),
        ("tokens and features", "{what}", r"split_heads.md:\d+ split_heads: \{what\} of the mistake"),
        (
            "# split_heads",
            "# split_heads\n\n## old\n\nSo.\n\n1. A.\n2. B.",
            r"split_heads.md:3 split_heads: no specification has the mistake old",
        ),
    ],
    ids=["no words", "one hint", "nothing fills it", "no mistake"],
)
def test_a_lesson_is_not_built_where_a_mistake_and_its_words_do_not_fit(repository: Repository, before, after, message):
    path = repository.root / "grader/exercises/lesson_03/split_heads.md"
    assert path.read_text().count(before) == 1
    path.write_text(path.read_text().replace(before, after))
    code = "from grader.cli.main import main; main(['build', '--check', '3'])"
    done = subprocess.run([sys.executable, "-c", code], cwd=repository.root, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (2, "")
    assert re.match(f"grader/exercises/lesson_03/{message}", done.stderr)
    assert "Traceback" not in done.stderr


def test_an_unfinished_exercise_is_no_matter_of_other_lessons(repository: Repository):
    new_exercise(repository, "3", "rotate_heads")
    assert todo(repository, "03_multi_head_attention")
    assert todo(repository, "04_masking") == []


@pytest.mark.parametrize(
    ("lesson", "name", "message"),
    [
        ("12", "rotate_heads", "There is no lesson '12'"),
        ("3", "merge_heads", "There is already an exercise merge_heads, in lesson 03_multi_head_attention"),
        ("3", "rotateHeads", "'rotateHeads' can't be the name .* snake_case .* CamelCase"),
        ("3", "Rotate_Heads", "can't be the name"),
        ("3", "lambda", "can't be the name"),
        ("3", "../heads", "can't be the name"),
        ("3", "quiz_04", "the quiz of this lesson must be called quiz_03"),
        ("3", "shared", r"shared\.py is reserved for what several exercises"),
        ("5", "running_state", r"grader/exercises/lesson_05/running_state\.py already exists"),
    ],
)
def test_an_exercise_that_exists_or_is_misnamed_is_refused(repository: Repository, lesson, name, message):
    before = sorted(repository.root.rglob("*"))
    with pytest.raises(CourseError, match=message):
        new_exercise(repository, lesson, name)
    assert sorted(repository.root.rglob("*")) == before


@pytest.mark.parametrize(
    ("number", "name", "message"),
    [
        ("03", "more_heads", "There is already a lesson 03: 03_multi_head_attention"),
        ("3", "more_heads", "two digits"),
        ("11", "MoreHeads", "snake_case"),
    ],
)
def test_a_lesson_that_exists_or_is_misnamed_is_refused(repository: Repository, number, name, message):
    with pytest.raises(CourseError, match=message):
        new_lesson(repository, number, name)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('NAMES = ("a",)\n', ("a", "new")),
        ('NAMES = (\n    "a",\n    "quiz_01",\n)\n', ("a", "new", "quiz_01")),
        ("NAMES = ()\nMORE = 1\n", ("new",)),
    ],
)
def test_a_name_goes_before_the_quiz(text: str, expected: tuple[str, ...]):
    changed = with_name(text, "new", before="quiz_01")
    assert ast.literal_eval(ast.parse(changed).body[0].value) == expected
    assert changed.endswith(text.splitlines(keepends=True)[-1] if "MORE" in text else ")\n")


def test_cells_go_behind_the_last_exercise_where_there_is_no_quiz():
    text = with_cells(read_lesson("01_toy", TOY), "triple")
    exercises = [cell.exercise for cell in read_lesson("01_toy", text).cells if cell.role == "check"]
    assert exercises == [
        *(cell.exercise for cell in read_lesson("01_toy", TOY).cells if cell.role == "check"),
        "triple",
    ]


def test_cells_go_before_the_quiz_and_its_heading_is_numbered_anew():
    text = with_cells(read_lesson("01_toy", TOY + QUIZ), "triple")
    assert text.index("# ### Exercise 1: `triple`") < text.index('exercise="triple"')
    assert text.index('exercise="triple" role="check"') < text.index("# ### Exercise 2: `quiz_01`")


def test_missing_samples_are_told_by_the_build_and_fail_its_check(make_course: MakeCourse):
    course = make_course()
    (course.root / "tests/exercises/lesson_01/double.py").write_text(SAMPLES[: SAMPLES.index("# %% right: a shift")])
    told: list[str] = []
    build(course, (), jobs=1, use_cache=True, tell=told.append)
    lacks = [
        "tests/exercises/lesson_01/double.py:1 double: "
        "2 of 3 right answers written so far; add cells `# %% right: TITLE`",
        "tests/exercises/lesson_01/double.py:1 double: "
        "there is no wrong answer with an unlisted mistake; write a cell `# %% wrong -: TITLE`",
    ]
    assert told[1:] == lacks
    with pytest.raises(CommandFailed) as caught:
        verify(course, ())
    assert str(caught.value).splitlines() == lacks


def test_a_lesson_with_a_place_to_fill_in_is_not_built(make_course: MakeCourse):
    course = make_course(**{"01_toy": TOY.replace("A lesson for", "TODO for")})
    with pytest.raises(LessonError, match=r"lessons/01_toy.py:8: TODO for the tests of the build"):
        build(Repository(course.root, EXERCISES), (), jobs=1, use_cache=True, tell=lambda _line: None)
