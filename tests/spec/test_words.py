"""The words of mistakes are read from Markdown, and what is not as it should be is said with file and line."""

from __future__ import annotations

import pytest

from grader.errors import CourseError
from grader.spec.words import Words

TEXT = """\
# heads

## heads-last

the last axis is cut as (head_dim, num_heads), so each head takes
every num_heads-th feature.

1. Which features should head 0 have: `{}`, or
   every second one?
2. Head 0 owns the first D features.

## beta-scaled

in a {line} of {numbers}.

1. Take a {line}.
2. Look closer.
3. Look at the {line}.
"""


@pytest.fixture
def words_in(tmp_path):
    """The words of a module beside which this Markdown stands."""

    def write(text):
        (tmp_path / "heads.md").write_text(text, "utf-8")
        return Words(str(tmp_path / "heads.py"))

    return write


def problems(words_in, text):
    """What is said of a Markdown file, without the folder that it is in."""
    with pytest.raises(CourseError) as raised:
        words_in(text)
    return [line.rpartition("/")[2] for line in str(raised.value).splitlines()]


def test_a_mistake_has_its_symptom_and_its_hints_in_order_and_lines_are_joined(words_in):
    def variant(x):
        return x

    mistake = words_in(TEXT)("heads-last", (variant,), recognise=variant)
    assert mistake.id == "heads-last"
    assert mistake.symptom == (
        "the last axis is cut as (head_dim, num_heads), so each head takes every num_heads-th feature."
    )
    assert mistake.hints == (
        "Which features should head 0 have: `{}`, or every second one?",
        "Head 0 owns the first D features.",
    )
    assert (mistake.variants, mistake.recognise) == ((variant,), variant)


def test_the_specification_fills_placeholders(words_in):
    mistake = words_in(TEXT)("beta-scaled", line="row", numbers="equal numbers {line}")
    assert mistake.symptom == "in a row of equal numbers {line}."
    assert mistake.hints == ("Take a row.", "Look closer.", "Look at the row.")


def test_a_placeholder_that_nothing_fills_is_an_error_with_its_line(words_in):
    with pytest.raises(CourseError, match=r"heads\.md:14 heads: \{numbers\} of the mistake beta-scaled has no value\."):
        words_in(TEXT)("beta-scaled", line="row")


def test_a_value_without_a_placeholder_is_an_error_with_the_line_of_the_specification(words_in):
    with pytest.raises(
        CourseError, match=r"test_words\.py:\d+ test_words: colour isn't used in .*; expected \{colour\}"
    ):
        words_in(TEXT)("heads-last", colour="red")


def test_a_mistake_without_words_is_an_error_with_the_line_of_the_specification(words_in, tmp_path):
    told = r"test_words\.py:\d+ test_words: the mistake {} has no words\. Write them under `## {}` in {}\.md"
    with pytest.raises(CourseError, match=told.format("heads-first", "heads-first", "heads")):
        words_in(TEXT)("heads-first")
    with pytest.raises(CourseError, match=told.format("any", "any", "none")):
        Words(str(tmp_path / "none.py"))("any")


def test_words_that_no_specification_has_are_told_with_their_line(words_in):
    words = words_in(TEXT)
    words("beta-scaled", line="row", numbers="ones")
    (left,) = words.unused()
    assert left.endswith("heads.md:3 heads: no specification has the mistake heads-last")


FIRST = "heads.md:1 heads: the mistake a has"
HINTS = "heads.md:1 heads: the mistake a needs at least 2 hints but has {}; write each as `1. HINT`"
SYMPTOM = "paragraphs for its symptom; expected one"
GOOD = "## good\n\nSo.\n\n1. A.\n2. B.\n"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("## a\n\nSo.\n\n1. A.\n", [HINTS.format(1)]),
        ("## a\n\nSo.\n", [HINTS.format(0)]),
        ("## a\n\n1. A.\n2. B.\n", [f"{FIRST} 0 {SYMPTOM}"]),
        ("## a\n\nSo.\n\nSo!\n\n1. A.\n2. B.\n", [f"{FIRST} 2 {SYMPTOM}"]),
        ("## a\n\nSo.\n\n1. A.\n3. B.\n", ["heads.md:6 heads: got hint 3, expected hint 2"]),
        (
            GOOD + "\nMore.\n",
            ["heads.md:8 heads: there is a paragraph after the hints; a hint begins with its number, `1. `"],
        ),
        ("# heads\n\nSo.\n\n" + GOOD, ["heads.md:3 heads: these words have no id; expected `## ID` above them"]),
        (GOOD + "\n" + GOOD, ["heads.md:8 heads: the mistake good already has words on line 1"]),
        (
            "## a\n\nSo.\n\n## b\n\n1. A.\n2. B.\n",
            [HINTS.format(0), f"heads.md:5 heads: the mistake b has 0 {SYMPTOM}"],
        ),
    ],
    ids=["one hint", "no hint", "no symptom", "two symptoms", "numbers", "behind", "no id", "twice", "all at once"],
)
def test_what_is_wrong_with_a_file_is_said_with_every_line(words_in, text, told):
    assert problems(words_in, text) == told
