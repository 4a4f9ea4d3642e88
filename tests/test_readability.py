"""The script that measures how hard the lessons are to read, on texts whose figures are known."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from grader.authoring.lesson import read_lesson
from scripts.readability import figures, flesch, main, sentences, syllables


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
    found = figures(lesson)
    assert (found.words, found.folded) == (3, 9)  # Two words with; Help folded text, The picture in words: a grid


def test_it_prints_a_table_and_compares_with_a_revision():
    printed = CliRunner().invoke(main, ["01", "--against", "HEAD"], catch_exceptions=False).output.splitlines()
    assert printed[0].split() == ["lesson", "words", "folded", "Flesch", "reading", "ease"]
    assert printed[1].startswith("01_self_attention ")
    assert "->" in printed[1]
    assert len(printed) == 2


def test_an_unknown_revision_is_a_usage_error():
    done = CliRunner().invoke(main, ["--against", "no-such-revision"])
    assert done.exit_code == 2
    assert "git knows no revision 'no-such-revision'" in done.output
