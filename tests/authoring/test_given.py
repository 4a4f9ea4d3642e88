"""A given cell is built from the solution of the earlier lesson that it names."""

from __future__ import annotations

import pytest

from grader.authoring.lesson import read_folder

FIRST = '''
# %% exercise="double" role="solution"
def helper(x):
    return x  # a comment stays


@staticmethod
def double(x):
    """Twice x."""
    ### BEGIN SOLUTION
    return 2 * helper(x)
    ### END SOLUTION
'''
GIVEN = '''def helper(x):
    return x  # a comment stays


@staticmethod
def double(x):
    """Twice x."""
    return 2 * helper(x)'''


@pytest.fixture
def given(tmp_path):
    """What lesson 02 holds once it is read, given the source of its given cell."""

    def read(source: str, first: str = FIRST):
        (tmp_path / "01_one.py").write_text(first)
        (tmp_path / "02_two.py").write_text(f'# %% role="given"\n{source}\n')
        return read_folder(tmp_path)["02_two"]

    return read


def test_definitions_in_the_order_of_the_earlier_lesson_without_its_marks(given):
    lesson = given("from lesson_01 import double, helper")
    assert [cell.source for cell in lesson.cells] == [GIVEN]
    assert not lesson.problems
    assert given("from lesson_01 import helper").cells[0].source == GIVEN.partition("\n\n\n")[0]


def test_another_solution_makes_another_text(given):
    before = given("from lesson_01 import double").whole
    assert given("from lesson_01 import double", FIRST.replace("2 *", "x +")).whole != before


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("from lesson_01 import triple", "lesson_01 isn't an earlier lesson with a solution that defines triple"),
        ("from lesson_02 import double", "lesson_02 isn't an earlier lesson with a solution that defines double"),
        ("from lesson_07 import double", "lesson_07 isn't an earlier lesson with a solution that defines double"),
    ],
)
def test_what_is_not_there_is_an_authors_error(given, source, message):
    (problem,) = given(source).problems
    assert (problem.line, problem.message) == (1, message)


@pytest.mark.parametrize("source", ["x = 1", "from math import sqrt", "from lesson_01 import double\ndouble(1)", "def"])
def test_other_cells_stay_as_they_are(given, source):
    assert given(source).cells[0].source == source
