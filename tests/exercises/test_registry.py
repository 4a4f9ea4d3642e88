"""The registry reads every lesson's exercises in order, and says where lists and files don't fit together."""

from __future__ import annotations

import ast
import importlib
import itertools
import sys
from pathlib import Path

import pytest

import grader.exercises
from grader.authoring.samples import FOLDER as SUBMISSIONS
from grader.errors import CourseError
from grader.exercises.registry import exercises, read_exercises

EXERCISE = "from grader.spec.exercise import Exercise\nEXERCISE = Exercise({name!r}, 'lesson', 1, ())\n"
COUNTER = itertools.count()
SPECIFICATIONS = Path(grader.exercises.__path__[0])


@pytest.fixture
def package_of(tmp_path, monkeypatch):
    """Makes a package of lessons: `{"lesson_00": {"__init__": source, module: source, "alpha.md": text}}`."""
    monkeypatch.syspath_prepend(tmp_path)
    name = f"course_{next(COUNTER)}"

    def make(lessons):
        for lesson, files in lessons.items():
            folder = tmp_path / name / lesson
            folder.mkdir(parents=True)
            for module, source in files.items():
                (folder / (module if "." in module else f"{module}.py")).write_text(source)
        (tmp_path / name / "__init__.py").touch()
        importlib.invalidate_caches()
        return importlib.import_module(name)

    yield make
    for module in [module for module in sys.modules if module.split(".")[0] == name]:
        del sys.modules[module]


def exercise(name):
    return EXERCISE.format(name=name)


def test_exercises_come_lesson_by_lesson_in_the_order_of_names(package_of):
    course = package_of(
        {
            "lesson_01": {"__init__": "NAMES = ('beta',)", "beta": exercise("beta")},
            "lesson_00": {
                "__init__": "NAMES = ('second', 'First')",
                "First": exercise("First"),
                "second": exercise("second"),
                "shared": "LESSON = 'lesson'",
            },
            "notes": {"__init__": "raise AssertionError"},
        }
    )
    read = read_exercises(course)
    assert list(read) == ["second", "First", "beta"]
    assert all(read[name].name == name for name in read)


@pytest.mark.parametrize(
    ("files", "message"),
    [
        (
            {"__init__": "NAMES = ('alpha',)", "alpha": "exercise = 1"},
            r"lesson_00/alpha\.py: expected EXERCISE = spec\.exercise\(\.\.\.\), got NoneType",
        ),
        (
            {"__init__": "NAMES = ('alpha',)", "alpha": "EXERCISE = 1"},
            r"lesson_00/alpha\.py: expected EXERCISE = spec\.exercise\(\.\.\.\), got int",
        ),
        (
            {"__init__": "NAMES = ('alpha',)", "alpha": exercise("beta")},
            r"lesson_00/alpha\.py: the file of the exercise beta must be beta\.py",
        ),
        (
            {"__init__": "NAMES = ('alpha',)", "alpha": exercise("alpha"), "beta": exercise("beta")},
            r"lesson_00/beta\.py: it defines EXERCISE, but NAMES in __init__\.py doesn't list beta",
        ),
        (
            {"__init__": "NAMES = ('alpha', 'alpha')", "alpha": exercise("alpha")},
            r"lesson_00/alpha\.py: the exercise alpha is specified twice",
        ),
        (
            {"__init__": "NAMES = ('alpha',)"},
            r"lesson_00/__init__\.py: NAMES lists alpha, but there is no file alpha\.py",
        ),
        ({"__init__": ""}, r"lesson_00/__init__\.py: it has no NAMES"),
    ],
    ids=["no EXERCISE", "no Exercise", "another name", "not in NAMES", "listed twice", "no file", "no NAMES"],
)
def test_a_lesson_that_does_not_fit_is_an_error_with_the_file(package_of, files, message):
    with pytest.raises(ValueError, match=message):
        read_exercises(package_of({"lesson_00": files}))


def test_words_that_no_specification_has_are_an_error_with_file_and_line(package_of):
    reads = "from grader.spec.words import Words\nmistake = Words(__file__)\n"
    specified = "from grader.spec.spec import Spec\nspec = Spec(__name__)\n"
    specified += "EXERCISE = spec.exercise(points=1, parts=(), mistakes={'used': int})\n"
    files = {
        "__init__": "NAMES = ('alpha',)\nLESSON = 'lesson'",
        "alpha": specified,
        "alpha.md": "# alpha\n\n## used\n\nSo.\n\n1. A.\n2. B.\n\n## left\n\nSo.\n\n1. A.\n2. B.\n",
        "alpha.ko.md": "# a translation\n",
        "shared": reads,
        "shared.md": "## later\n\nSo.\n\n1. A.\n2. B.\n",
        "beta.md": "## used\n\nSo.\n\n1. A.\n2. B.\n",
    }
    later = exercise("gamma") + "from ..lesson_00.shared import mistake\nmistake('later')\n"
    course = package_of(
        {"lesson_00": files, "lesson_01": {"__init__": "NAMES = ('gamma',)", "gamma": later, "gamma.md": ""}}
    )
    with pytest.raises(CourseError) as raised:
        read_exercises(course)
    left, unread, imported = str(raised.value).splitlines()
    assert left.endswith("lesson_00/alpha.md:10 alpha: no specification has the mistake left")
    assert unread.endswith("lesson_00/beta.md:1 beta: no beta.py reads it with Spec or Words")
    assert imported.endswith("lesson_01/gamma.md:1 gamma: no gamma.py reads it with Spec or Words")


def test_an_exercise_in_two_lessons_is_an_error_with_the_second_file(package_of):
    files = {"__init__": "NAMES = ('alpha',)", "alpha": exercise("alpha")}
    with pytest.raises(ValueError, match=r"lesson_01/alpha\.py: the exercise alpha is specified twice"):
        read_exercises(package_of({"lesson_00": files, "lesson_01": files}))


@pytest.mark.parametrize("name", exercises())
def test_every_mistake_has_two_hints_or_more(name):
    for mistake in exercises()[name].mistakes:
        assert len(set(mistake.hints)) >= 2, f"{mistake.id} of {name}"


@pytest.mark.parametrize("name", list(exercises()))
def test_specification_and_sample_submissions_have_the_same_path(name):
    exercise = exercises()[name]
    path = f"lesson_{exercise.lesson[:2]}/{name}.py"
    assert (SPECIFICATIONS / path).exists()
    assert exercise.kind == "answers" or (SUBMISSIONS / path).exists()


@pytest.mark.parametrize("lesson", sorted({exercise.lesson[:2] for exercise in exercises().values()}))
def test_importing_a_lesson_imports_nothing_else(lesson):
    tree = ast.parse((SPECIFICATIONS / f"lesson_{lesson}" / "__init__.py").read_text())
    assert not any(isinstance(node, ast.Import | ast.ImportFrom) for node in ast.walk(tree))
