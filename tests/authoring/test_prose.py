"""What the build adds to the prose: where one is, how long it takes, folds."""

from __future__ import annotations

from pathlib import Path

import pytest
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from grader.authoring.lesson import Lesson, read_lesson
from grader.authoring.notebook import instructors_notebook, loads
from grader.authoring.prose import TEXT_BELOW, describe_pictures, filled, in_words, plain, times, words

from .conftest import EXERCISES

ROOT = Path(__file__).parents[2]
TEXT = """\
# %% [markdown]
# # 01 · Toys
#
# **Time:** <!-- time -->. The plan: one, two.
#
# ## Letters
#
# {front}
#
# ## 1 · Doubling
#
# {first}
#
# ### Exercise 1: `double`
#
# Difficulty 2 of 5
#
# <details><summary>Help</summary>
#
# {first}
#
# </details>

# %% exercise="double" role="solution"
def double(x):
    ### BEGIN SOLUTION
    y = x + x

    return y
    ### END SOLUTION

# %% exercise="double" role="check"
check(double)

# %% role="try"
double(2)

# %% [markdown]
# *The picture in words:* a line
# that rises.
#
# ## 2 · Quiz
#
# ### Exercise 2: `quiz`
#
# Difficulty 1 of 5

# %% exercise="quiz" role="solution"
quiz = {{
    "one": ...,  # a number
    "two": ...,  # a number
}}
### BEGIN SOLUTION
quiz = {{"one": 1, "two": 2}}
### END SOLUTION

# %%
from grader.views import HeadSplitter

# %% [markdown]
# ## What you can do now
#
# {front}
"""


@pytest.fixture
def lesson() -> Lesson:
    return read_lesson("01_toy", TEXT.format(front="word " * 200, first="word " * 300))


def test_minutes_follow_from_words_cells_and_exercises(lesson):
    found = times(lesson)
    # Two lines of solution at 1.3 and two levels at 3.9. Two questions at 2.6.
    assert found.exercises == pytest.approx({"double": 2 * 1.3 + 2 * 3.9, "quiz": 2 * 2.6})
    # "Difficulty of" are 2 words; what is folded away isn't counted. A part has 300 words, and each a line of code.
    assert found.parts == pytest.approx([302 / 180 + 10.4 + 0.1, 2 / 180 + 5.2 + 0.1])
    assert found.total == pytest.approx(sum(found.parts) + (2 * 200 + 5) / 180)  # "Time: . The plan: one, two"


ANSWER = '# %% [markdown] role="answer"\n# Because.\n'


def test_an_investigation_takes_time_for_its_difficulty_and_for_each_answer():
    text = TEXT.format(front="word", first="word").replace("quiz", "hunt")
    assert times(read_lesson("01_toy", text)).exercises["hunt"] == pytest.approx(5.2 + 3.9)


@pytest.mark.parametrize(
    ("cell", "minutes"),
    [("# %%\n{}", 0.2), ('# %% role="given"\n{}', 0.2), ('# %% role="draw"\n{}', 0), ("# %%\n{}" + ANSWER, 1 / 180)],
)
def test_code_that_is_collapsed_takes_no_time(cell, minutes):
    """A drawing's, and that of a prediction's answer; the answer's word does."""
    text = "# %% [markdown]\n# ## 1 · One\n\n" + cell.format("x = (\n    1\n)\n# twice\nprint(x)\n\n")
    assert times(read_lesson("01_toy", text)).total == pytest.approx(minutes)


def test_a_model_solutions_line_counts_once_however_it_is_wrapped(lesson):
    """What 80 columns break in two takes nobody longer, and a comment is none of the solution's lines."""
    text = lesson.text.replace("    y = x + x\n", "    # twice\n    y = (\n        x\n        + x\n    )\n")
    assert text != lesson.text
    assert times(read_lesson("01_toy", text)).exercises == times(lesson).exercises


def test_what_the_template_gives_takes_no_time(lesson):
    """A line above the region and another region, which has one line."""
    given = lesson.text.replace("def double(x):\n", "def double(x):\n    x = x + 0\n")
    assert times(read_lesson("01_toy", given)).exercises["double"] == pytest.approx(10.4)
    end = "    return y\n    ### END SOLUTION\n"
    second = "\ndef triple(x):\n    ### BEGIN SOLUTION\n    return 3 * x\n    ### END SOLUTION\n"
    more = given.replace(end, end + second)
    assert times(read_lesson("01_toy", more)).exercises["double"] == pytest.approx(11.7)


MORE = f"# ## For those who want more\n#\n# {'word ' * 522}\n\n# %%\nprint(1)\n"
END = "# ## What you can do now"


@pytest.mark.parametrize("after", ["{}#\n{}", "{}{}\n# %% [markdown]\n{}"], ids=["at the end", "before a heading"])
def test_what_is_for_those_who_want_more_is_no_part_of_the_lessons_time(lesson, after):
    """Its words and its cells, up to the next heading."""
    before, _, end = lesson.text.partition(END)
    text = after.format(lesson.text, MORE) if after.count("{}") == 2 else after.format(before, MORE, END + end)
    longer, elsewhere = read_lesson("01_toy", text), read_lesson("01_toy", text.replace("For those", "And those"))
    assert times(longer)[:4] == times(lesson)[:4]
    assert times(longer).more == pytest.approx(3)
    assert "15 of them for the exercises, and about 3 minutes for those who want more. The" in "\n".join(filled(longer))
    assert times(elsewhere).total == pytest.approx(times(lesson).total + 3)
    assert "wants more" not in "\n".join(filled(elsewhere))


def test_an_exercise_for_those_who_want_more_is_none_of_the_lessons_minutes():
    found = times(read_lesson("11_small_gpt", (ROOT / "lessons/11_small_gpt.py").read_text("utf-8")))
    apart = found.exercises["byte_pair_encode"] + found.exercises["generate_with_cache"]
    assert found.solving == pytest.approx(sum(found.exercises.values()) - apart)
    assert found.more > apart > 10


def test_lesson_07_counts_its_last_section_apart():
    text = (ROOT / "lessons/07_transformer.py").read_text("utf-8")
    whole = read_lesson("07_transformer", text)
    found = times(whole)
    cut, mark, _ = text.partition("# ## For those who want more")
    assert mark
    assert found[:4] == times(read_lesson("07_transformer", cut))[:4]
    assert found.more > 10
    undivided = times(read_lesson("07_transformer", text.replace(mark, "# ## And more")))
    assert found.total + found.more == pytest.approx(undivided.total)


def test_every_numbered_part_says_where_one_is(lesson):
    source = "\n".join(filled(lesson))
    bar = '<progress value="{0}" max="2" title="Part {0} of 2"></progress> Part {0} of 2 · about {1} minutes'
    assert f'<a id="section-1"></a>\n\n## 1 · Doubling\n\n{bar.format(1, 10)}\n\nword word' in source
    assert f"## 2 · Quiz\n\n{bar.format(2, 5)}\n\n### Exercise 2: `quiz`" in source
    assert source.count("<progress") == 2  # "Letters" and the end are no parts


def test_the_lesson_and_its_exercises_say_how_long_they_take(lesson):
    source = "\n".join(filled(lesson))
    assert "**Time:** about 20 minutes, 15 of them for the exercises. The plan" in source
    assert "### Exercise 1: `double`\n\nDifficulty 2 of 5 · about 10 minutes\n" in source
    assert source.rstrip().count("Difficulty 1 of 5 · about 5 minutes") == 1


def test_a_picture_in_words_is_folded(lesson):
    fold = "<details><summary>The picture in words</summary>\n\nA line\nthat rises.\n\n</details>"
    folded = f'{fold}\n\n<a id="section-2"></a>\n\n## 2 · Quiz'
    assert folded in "\n".join(filled(lesson))
    with_text = read_lesson("01_toy", lesson.text.replace("# that rises.\n#\n", "# that rises.\n#\n# It rises.\n#\n"))
    assert "that rises.\n\n</details>\n<p></p>\n\nIt rises." in "\n".join(filled(with_text))


def test_ids_of_cells_do_not_follow_the_minutes(lesson):
    longer = read_lesson("01_toy", lesson.text.replace("    return y", "    z = y\n    return z"))
    ids = [[cell.id for cell in instructors_notebook(one, EXERCISES).cells] for one in (lesson, longer)]
    assert ids[0] == ids[1]


@pytest.mark.parametrize(
    ("markdown", "text"),
    [
        ("**Bold** and *slanted*", "Bold and slanted"),
        ("see [the paper](https://example.org/a_b)", "see the paper"),
        ("a × b, `code()`, $x_i$", "a × b, ,"),
        ("before\n\n$$\\sum x$$\n\nafter", "before\n\n\n\nafter"),
        ("<!-- lessons -->text", "text"),
    ],
)
def test_plain_text(markdown, text):
    assert plain(markdown) == text


def test_a_number_is_no_word():
    assert words("2 of the 10 tokens don't, well-known as they are") == [
        *("of", "the", "tokens", "don't", "well-known", "as", "they", "are")
    ]


def test_every_stored_picture_has_words():
    wordless = [
        f"{path.parent.name}/{path.name}: {cell.id}"
        for folder in ("solutions", "notebooks")
        for path in sorted((ROOT / folder).glob("*.ipynb"))
        for cell in loads(path.read_text("utf-8")).cells
        for output in cell.get("outputs", [])
        if "image/png" in output.get("data", {}) and len(output.metadata.get("image/png", {}).get("alt", "")) < 25
    ]
    assert wordless == []


def test_a_pictures_words_are_the_first_sentences_that_say_enough():
    folded = "<details><summary>The picture in words</summary>\n\n{}\n\n</details>"
    assert in_words(
        folded.format("Two grids. The *left* one is empty, the right one has a `yellow` diagonal. More.")
    ) == ("Two grids. The left one is empty, the right one has a yellow diagonal.")
    assert in_words("No picture.") == ""


def test_a_picture_has_the_words_below_it_but_for_one_that_has_its_own():
    def drawn(alt: str = "", text: str = "<Figure>") -> NotebookNode:
        described = {"image/png": {"alt": alt}} if alt else {}
        picture = new_output("display_data", {"image/png": "", "text/plain": text}, metadata=described)
        return new_code_cell("draw()", outputs=[new_output("stream", text="one"), picture])

    below = "Two grids. The left one is empty, the right one has a yellow diagonal."
    folded = f"<details><summary>The picture in words</summary>\n\n{below}\n\n</details>"
    cells = [drawn(), drawn("No heading"), drawn("A step.", "A step."), new_markdown_cell(folded), drawn()]
    describe_pictures(new_notebook(cells=cells))
    said = [cell.outputs[1].metadata["image/png"]["alt"] for cell in cells if cell.cell_type == "code"]
    assert said == [below, below, "A step.", TEXT_BELOW]
