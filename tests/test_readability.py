"""The script that measures how hard the lessons are to read, on texts whose figures are known."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from grader.authoring.lesson import read_lesson
from scripts.readability import FORMS, figures, flesch, has_verb, main, prose, sentences, syllables, turns

ROOT = Path(__file__).parents[1]


def test_a_text_whose_words_and_syllables_are_counted_by_hand():
    # 6 words, 1 sentence, 6 syllables; then 13 words, 2 sentences, 17 syllables.
    assert flesch("The cat sat on the mat.") == pytest.approx(206.835 - 1.015 * 6 - 84.6 * 1)
    two = "Every row of the table sums to one. Each column need not."
    assert [len(sentence) for sentence in sentences(two)] == [8, 4]
    # Ev-ery row of the ta-ble sums to one: 10 (the rule finds Ev-e-ry, 11). Each col-umn need not: 5.
    assert flesch(two) == pytest.approx(206.835 - 1.015 * 6 - 84.6 * 16 / 12)


def test_hard_text_is_harder_than_easy_text():
    hard = "Parameterisation determines generalisation, notwithstanding regularisation considerations."
    assert flesch(hard) < 0 < 60 < flesch("We take the row. We add the words. It is one.")


@pytest.mark.parametrize(
    ("word", "count"),
    [("the", 1), ("able", 2), ("whole", 1), ("changed", 1), ("added", 2), ("boxes", 2), ("values", 2), ("don't", 1)],
)
def test_syllables(word, count):
    assert syllables(word) == count


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("Vaswani et al. say so.", 1),
        ("One item\n\n- a second\n- a third one", 3),
        ("A value of 0.5 is not two sentences.", 1),
        ("Is it? Yes! It is.", 3),
        ("2024. 17.", 0),
    ],
)
def test_sentences(text, count):
    assert len(sentences(text)) == count


def test_code_formulas_tables_and_headings_are_left_out_and_folds_counted_apart():
    lesson = read_lesson(
        "01_x",
        "# %% [markdown]\n# # A heading\n#\n# Two words, `x[0]` with $y^2$.\n#\n# | a | table |\n# | --- | --- |\n#\n"
        "# ```python\n# some code here\n# ```\n#\n"
        "# <details><summary>Help</summary>\n#\n# folded text\n#\n# </details>\n"
        "#\n# *The picture in words:* a grid.\n\n# %%\nprint('not this')\n",
    )
    found = figures(prose(lesson))
    assert (found.words, found.folded) == (3, 9)  # Two words with; Help folded text, The picture in words: a grid


@pytest.mark.parametrize(
    ("sentence", "names"),
    [
        ("Nothing fails when the transpose is missing.", ["nothing as the subject"]),
        ("The table says which head looks back.", ["a thing that says"]),
        ("The authors say so, and the table shows it.", []),
        ("Write an attention that takes a mask.", ["an attention"]),
        ("Write an attention function that takes a mask.", []),
        ("It takes some seconds.", ["some of time or number"]),
        ("It has two numbers a word.", ["numbers a word"]),
        ("Each layer shrinks the spread by half.", ["spread"]),
        ("We spread it over the rows.", []),
        ("Which shape has the result?", ["how many ... has"]),
        ("two keys of which one leads", ["of which one"]),
    ],
)
def test_listed_turns(sentence, names):
    assert turns(sentence) == names


def test_docs_list_the_turns_that_the_script_knows():
    """The befores of each turn that a pattern can see are seen, the afters aren't."""
    text = (ROOT / "docs" / "writing.md").read_text("utf-8")
    pairs = re.findall(r"(?m)^\| (.+?) \| (.+?) \|$", text.partition("## Words of the field")[0])
    befores, afters = zip(*(pair for pair in pairs if pair[0] not in ("before", "---")), strict=True)
    assert len(befores) == 30
    assert len({name for sentence in befores for name in turns(sentence)}) >= 7
    assert [sentence for sentence in afters if turns(sentence)] == []


@pytest.mark.parametrize(("sentence", "yes"), [("Now the same with einsum.", False), ("We stopped it.", True)])
def test_verbs(sentence, yes):
    assert has_verb(sentence) == yes


def test_quiz_options_and_what_the_build_adds_to_are_no_sentences():
    lesson = read_lesson("01_x", "# %% [markdown]\n# Difficulty 2 of 5\n#\n# It has rows.\n#\n# a. an option\n")
    assert figures(prose(lesson)).words == 3


def test_a_sample_is_the_same_for_the_same_seed():
    def drawn(seed):
        return CliRunner().invoke(main, ["01", "--sample", seed], catch_exceptions=False).output

    assert drawn("1") == drawn("1") != drawn("2")
    assert len(drawn("1").splitlines()) == 100


def test_it_prints_a_table_and_compares_with_a_revision():
    printed = CliRunner().invoke(main, ["01", "--against", "HEAD"], catch_exceptions=False).output.splitlines()
    assert printed[0].startswith("lesson ")
    assert re.findall(r"[A-Za-z]+(?: verb)?(?: %)?", printed[0])[1:] == list(FORMS)
    assert printed[1].startswith("01_self_attention ")
    assert "->" in printed[1]
    assert len(printed) == 2


def test_documents_and_folders_are_measured_too():
    printed = CliRunner().invoke(main, ["README.md", "grader/exercises/lesson_02"], catch_exceptions=False).output
    assert [line.split()[0] for line in printed.splitlines()] == ["lesson", "README.md", "grader/exercises/lesson_02"]


@pytest.mark.parametrize("wanted", ["99", "docs/no_such.md"])
def test_what_is_not_there_is_a_usage_error(wanted):
    done = CliRunner().invoke(main, [wanted])
    assert done.exit_code == 2
    assert wanted in done.output


def test_an_unknown_revision_is_a_usage_error():
    done = CliRunner().invoke(main, ["--against", "no-such-revision"])
    assert done.exit_code == 2
    assert "git knows no revision 'no-such-revision'" in done.output


def test_a_folder_without_markdown_is_named():
    printed = CliRunner().invoke(main, ["scripts", "README.md"], catch_exceptions=False).output.splitlines()
    assert printed[1] == "scripts: no sentence in Markdown"
    assert printed[2].startswith("README.md")
