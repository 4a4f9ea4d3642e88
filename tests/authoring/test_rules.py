"""Every author's error, with the file, the line and the exercise that it names."""

from __future__ import annotations

import re

import pytest

from grader.authoring import verify
from grader.authoring.lesson import read_lesson
from grader.authoring.rules import problems
from grader.errors import LessonError

from .conftest import EXERCISES, TOY, MakeCourse

SOLUTION = '# %% exercise="double" role="solution"\n'
CHECK = '# %% exercise="double" role="check"\n'
PREDICTION = 'predict("01_sum", "What is 1700 + 25?", low=0)'
EXAMPLE = '# %%\nprint("the same")\n'

MISTAKES = {
    "unclosed": (
        "    return 2 * x\n    ### END SOLUTION",
        "    return 2 * x",
        r"\d+ double: BEGIN SOLUTION is never closed",
    ),
    "unopened": ("    ### BEGIN SOLUTION\n", "", r"\d+ double: END SOLUTION without BEGIN SOLUTION"),
    "nested": (
        "    return 2 * x",
        "    ### BEGIN SOLUTION",
        r"\d+ double: BEGIN SOLUTION is inside another region.* 1 line above",
    ),
    "no region": (
        "    ### BEGIN SOLUTION\n    return 2 * x\n    ### END SOLUTION",
        "    return 2 * x",
        r"\d+ double: this solution cell has no BEGIN SOLUTION",
    ),
    "region elsewhere": (
        "    return x / 2",
        "    ### BEGIN SOLUTION\n    return x / 2\n    ### END SOLUTION",
        r'\d+: BEGIN SOLUTION is in a cell without role="solution"',
    ),
    "unquoted": (
        CHECK,
        '# %% exercise=double role="check"\n',
        r"\d+ double: cannot read the metadata `exercise=double`.*JSON",
    ),
    "unknown key": ('role="draw"', 'role="draw" size=3', r"\d+: unknown key `size`"),
    "points": (CHECK, CHECK.rstrip() + " points=2\n", r"\d+ double: points belong in the exercise's specification"),
    "unknown role": ('role="draw"', 'role="paint"', r'\d+: unknown role "paint": expected one of solution, check'),
    "role not a string": ('role="draw"', "role=1", r"\d+: role must be a string, not 1"),
    "title": (EXAMPLE, EXAMPLE.replace("# %%", "# %% My title"), r'\d+: "My title" follows "# %%"'),
    "raw": (EXAMPLE, "# %% [raw]\n# text\n", r"\d+: this cell is marked \[raw\]; .* must be \[markdown\]"),
    "markdown with a role": (
        "[markdown]",
        '[markdown] role="given"',
        r"7: this cell is marked \[markdown\]; .* no metadata except",
    ),
    "no exercise": (CHECK, '# %% role="check"\n', r'\d+: role="check" needs exercise="..."'),
    "exercise without role": (EXAMPLE, '# %% exercise="double"\nprint(1)\n', r'\d+ double: exercise="..." needs role='),
    "timed check": (CHECK, CHECK.rstrip() + " timed=true\n", r"\d+ double: `timed` can only be true"),
    "timed in words": ("timed=true", 'timed="yes"', r"\d+: `timed` can only be true"),
    "claim of a check": (CHECK, CHECK.rstrip() + ' claim="it"\n', r'\d+ double: claim="..." must be a name in small'),
    "claim with a blank": (
        EXAMPLE,
        EXAMPLE.replace("# %%", '# %% claim="A b"'),
        r'\d+: claim="..." must be a name in small letters',
    ),
    "claim not a string": (EXAMPLE, EXAMPLE.replace("# %%", "# %% claim=1"), r"\d+: claim must be a string, not 1"),
    "empty": (EXAMPLE, "# %%\n\n", r"\d+: the cell is empty"),
    "syntax": ("    return x / 2", "    return x /", r"\d+: syntax error: invalid syntax"),
    "unknown exercise": ('exercise="double"', 'exercise="dubble"', r"\d+ dubble: unknown exercise"),
    "missing": (
        TOY[TOY.index('# %% exercise="quiz"') :],
        "",
        r"1 quiz: this exercise is specified, but missing from its lesson",
    ),
    "duplicate cell": (CHECK, f"{CHECK}check(double)\n\n{CHECK}", r"\d+ double: duplicate check cell"),
    "no check": (f"{CHECK}check(double)\n", "", r"\d+ double: the solution has no check cell"),
    "check first": (
        SOLUTION,
        f"{CHECK}check(double)\n\n{SOLUTION}",
        r"\d+ double: the check comes before its solution",
    ),
    "check's source": (
        "check(double)",
        "check(double, seconds=3)",
        r"\d+ double: the source .* must be `check\(double\)`",
    ),
    "quiz without a name": (
        'check(quiz, "quiz")',
        "check(quiz)",
        r'\d+ quiz: the source .* must be `check\(quiz, "quiz"\)`',
    ),
    "other name": ("def double", "def dubble", r"\d+ double: the solution cell does not define double"),
    "defined twice": ("print(words", "double = 1\nprint(words", r"\d+: duplicate name: double is an exercise"),
    "nothing left to write in": (
        'def double(x):\n    """Twice x."""\n    ### BEGIN SOLUTION\n    return 2 * x\n    ### END SOLUTION',
        "### BEGIN SOLUTION\ndef double(x):\n    return 2 * x\n### END SOLUTION",
        r"\d+ double: double is defined only inside the solution region",
    ),
    "stub raises": (
        "    return 2 * x\n    ### END SOLUTION",
        "    return 2 * x\n    ### END SOLUTION\n### BEGIN SOLUTION\nx = 1\n### END SOLUTION",
        r"\d+ double: the solution region is not inside a function,",
    ),
    "stub raises in a class": (
        'def double(x):\n    """Twice x."""\n    ### BEGIN SOLUTION\n    return 2 * x\n',
        "class double:\n    ### BEGIN SOLUTION\n    x = 2\n",
        r"\d+ double: the solution region is not inside a function,",
    ),
    "stub is not Python": (
        "    return 2 * x\n    ### END SOLUTION",
        "    if x:\n        ### END SOLUTION\n        return 2",
        r"\d+ double: what is left once .* is not Python",
    ),
    "uses the solution": (
        EXAMPLE,
        "# %%\nx = 1\nprint(double(x))\n",
        r'\d+: uses double, which a student writes \(line \d+\): mark .*role="try"',
    ),
    "uses it in a function": (
        EXAMPLE,
        "# %%\ndef later():\n    return double(1)\n",
        r"\d+: uses double, which a student",
    ),
    "uses a try cell in a loop": (
        EXAMPLE,
        "# %%\nfor i in range(3):\n    mine += i\n",
        r"\d+: uses mine, which a role",
    ),
    "uses a try cell": (EXAMPLE, "# %%\nmine += 1\n", r'\d+: uses mine, which a role="try" cell makes'),
    "headings out of order": (
        "# # A lesson for the tests of the build",
        "# ### Exercise 1: `double`\n# ### Exercise 3: `quiz`",
        r'9: "### Exercise 3: `quiz`" should be exercise 2 of the lesson',
    ),
    "a dip in difficulty that isn't told": (
        "# # A lesson for the tests of the build",
        "# ### Exercise 1: `double`\n#\n# Difficulty 3 of 5\n#\n# ### Exercise 2: `half`\n#\n# Difficulty 1 of 5",
        r'14: half \(difficulty 1\) comes after difficulty 3: say in its text that it is "easier"',
    ),
    "a line of code that is cut off": (
        'print("the same")',
        f'print("{72 * "x"}")',
        r"\d+: this line of code has 81 characters; only 80",
    ),
    "a cell that is too long": (
        'print("the same")',
        "\n".join(f"print({i})\n\n# a comment" for i in range(16)),
        r'\d+: this cell has 16 lines of code; split it after at most 15, or say why not in long="..."',
    ),
    "a short cell that says why it is long": (
        EXAMPLE,
        EXAMPLE.replace("# %%", '# %% long="why"'),
        r'\d+: long="..." is for cells with more than 15 lines of code, but this one has 1',
    ),
    "a drawing that isn't marked": ('# %% role="draw"', "# %%", r'\d+: this cell only draws: mark it role="draw"'),
    "a question that isn't answered at once": (
        '# %% role="answer"',
        '# %%\nprint(1)\n\n# %% role="answer"',
        r'\d+: predict\("01_sum"\): the cell directly below must answer it',
    ),
    "an answer without its text": (
        '# %% [markdown] role="answer"',
        "# %% [markdown]",
        r'\d+: compare_guess\("01_sum"\): the text that explains the answer, .*, must come directly below',
    ),
    "the text of an answer elsewhere": (
        '# %% [markdown] role="answer"',
        '# %% [markdown]\n# More.\n\n# %% [markdown] role="answer"',
        r'\d+: # %% \[markdown\] role="answer" must come directly below the cell with compare_guess',
    ),
    "an answer that goes on": (
        'compare_guess("01_sum", total)',
        'compare_guess("01_sum", total)\nprint(1)',
        r'\d+: compare_guess\("01_sum"\): it must be the last statement of its cell',
    ),
    "a header that is no YAML": ("#   kernelspec:", "#   course: about: half", r"1: can't read the header"),
    "a header with a number": ("#   kernelspec:", "#   course: {about: 3}\n#   kernelspec:", r"1: `about` and"),
    "a prediction without an answer": (
        'compare_guess("01_sum", total)',
        "print(total)",
        r'\d+: predict\("01_sum"\): no cell below answers it; add one with role="answer" and compare_guess',
    ),
    "an answer cell that answers nothing": (
        'compare_guess("01_sum", total)',
        "print(total)",
        r'\d+: role="answer" needs compare_guess',
    ),
    "an answer without a prediction": (
        PREDICTION,
        "1",
        r'\d+: compare_guess\("01_sum"\): no cell above it calls predict',
    ),
    "an answer before its prediction": (
        PREDICTION,
        'compare_guess("01_sum", 3)\n\n# %%\n' + PREDICTION,
        r'\d+: compare_guess\("01_sum"\): mark the cell role="answer"',
    ),
    "an answer whose output would be shown": (
        'role="answer"',
        'role="draw"',
        r'\d+: compare_guess\("01_sum"\): mark the cell role="answer"',
    ),
    "two answers": (
        'compare_guess("01_sum", total)',
        'compare_guess("01_sum", total)\ncompare_guess("01_sum", 2)',
        r'\d+: compare_guess\("01_sum"\): line \d+ already has this call',
    ),
    "two predictions of a name": (
        PREDICTION,
        f"{PREDICTION}\n\n# %%\n{PREDICTION}",
        r'\d+: predict\("01_sum"\): line \d+ already has this call',
    ),
    "a prediction's name": (
        'predict("01_sum"',
        'predict("sum"',
        r'\d+: predict\("sum"\): the name must begin .*, "01_"',
    ),
    "a prediction's name that is no string": (
        'predict("01_sum"',
        "predict(words",
        r'\d+: predict: the first argument must be a name \(a string such as "01_first_row"\)',
    ),
    "a prediction's question from elsewhere": (
        PREDICTION,
        'asked = "What is 1700 + 25?"\npredict("01_sum", asked, low=0)',
        r'\d+: predict\("01_sum"\): write question, choices and unit in the call, where they are translated from',
    ),
    "a prediction that nobody sees": (
        PREDICTION,
        f"{PREDICTION}\nprint(1)",
        r'\d+: predict\("01_sum"\): it must be the last statement of its cell, or nobody sees it',
    ),
    "minutes of an exercise": (
        "# # A lesson for the tests of the build",
        "# Difficulty 2 of 5 · about 7 minutes",
        r"8: the build writes the minutes, so write only `Difficulty 2 of 5`",
    ),
    "minutes of the lesson": (
        "# # A lesson for the tests of the build",
        "# **Time:** about 90 minutes.",
        r"8: the build writes the minutes, .*`\*\*Time:\*\* <!-- time -->`",
    ),
    "text before the first cell": (
        "# %% [markdown]",
        "print(1)\n\n# %% [markdown]",
        r'7: a lesson must begin with "# %%"',
    ),
}


def _errors(text: str) -> list[str]:
    return [str(problem) for problem in problems(read_lesson("01_toy", text), EXERCISES)]


def test_the_toy_lesson_is_sound():
    assert _errors(TOY) == []


@pytest.mark.parametrize("mistake", MISTAKES)
def test_an_authors_error_names_file_line_and_exercise(mistake: str):
    old, new, expected = MISTAKES[mistake]
    assert old in TOY
    errors = _errors(TOY.replace(old, new, 1))
    assert any(re.match(f"lessons/01_toy.py:{expected}", error) for error in errors), errors


def _line_of(text: str, part: str) -> int:
    return text[: text.index(part)].count("\n") + 1


@pytest.mark.parametrize(
    ("old", "new", "at"),
    [
        ("    return x / 2", "    return x /", "    return x /\n"),
        ("    return 2 * x\n    ### END SOLUTION", "    return 2 * x", "    ### BEGIN SOLUTION"),
        (EXAMPLE, "# %%\n\n\nx = 1\nprint(double(x))\n", "print(double(x))"),
        ('role="draw"', 'role="paint"', '# %% role="paint"'),
    ],
)
def test_the_line_is_the_one_to_mend(old: str, new: str, at: str):
    text = TOY.replace(old, new, 1)
    (error,) = _errors(text)
    assert error.startswith(f"lessons/01_toy.py:{_line_of(text, at)}")


def test_all_errors_of_a_lesson_are_shown_together():
    text = TOY.replace('role="draw"', 'role="paint"').replace("check(double)", "check(half)")
    assert len(_errors(text.replace("return x / 2", "return x /"))) == 3


def test_binding_a_name_anew_makes_it_sound():
    assert _errors(TOY.replace(EXAMPLE, "# %%\nmine = 3\nprint(mine)\n", 1)) == []


def test_a_loops_variable_is_its_own():
    assert _errors(TOY.replace(EXAMPLE, "# %%\nfor mine in range(3):\n    print(mine)\n", 1)) == []


def test_magics_are_allowed():
    assert _errors(TOY.replace('print("the same")', "# %timeit -n 1 -r 1 half(3)", 1)) == []


def test_an_exercise_of_another_lesson_is_refused(make_course: MakeCourse):
    course = make_course(
        **{"01_toy": TOY, "02_more": "# %%\nprint(1)\n\n" + TOY[TOY.index(SOLUTION) : TOY.index('# %% role="try"')]}
    )
    with pytest.raises(LessonError, match=r"lessons/02_more.py:4 double: .* specified for lesson 01_toy"):
        verify(course, ())
