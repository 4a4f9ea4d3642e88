"""Awkward honest notebooks earn all points, and never fewer than stock nbgrader gives them."""

from __future__ import annotations

from functools import cache, partial

import pytest

from grader.judge.grading import grade
from grader.judge.limits import Limits
from grader.judge.outline import Outline
from grader.judge.plan import as_code, make
from grader.judge.reader import read
from grader.judge.result import IN_BUBBLEWRAP
from grader.judge.words import as_html, as_text, comment_on, preface
from grader.report import Stop
from tests.judge.awkward import (
    AWKWARD,
    BY_HAND,
    IMPORTS,
    LESSON,
    POINTS,
    ROOT,
    SOFTMAX,
    both,
    by_stock,
    end,
    extra,
    kind,
    notebook,
    place,
    stored,
    top,
    whole,
)


@cache
def outline() -> Outline:
    return Outline.of((ROOT / "solutions" / f"{LESSON}.ipynb").read_bytes())


@pytest.fixture(scope="module")
def judged(kept):
    return partial(grade, outline=outline(), secret=b"s", student="ann", sandbox=kept(IN_BUBBLEWRAP), limits=Limits())


@pytest.mark.parametrize("name", AWKWARD)
def test_an_awkward_honest_notebook_earns_all_points_and_so_no_fewer_than_stock_nbgrader_gives(judged, name):
    result = judged(notebook(AWKWARD[name]))
    assert result.mark == POINTS >= stored()[name], result


def test_the_marks_of_stock_nbgrader_are_those_in_the_file():
    measured = by_stock(AWKWARD)
    assert {name: measured[name] for name in stored()} == stored()


def test_a_line_that_costs_points_is_named_wherever_they_are_missed(judged):
    """`pd` is needed in an answer, so no going on helps."""
    uses = BY_HAND.replace("(-1, keep", "(int(pd.Series([-1])[0]), keep")
    result = judged(notebook(both(top("\nimport pandas_of_mine as pd"), whole(uses))))
    lacking = ("stable_softmax", "context_vectors", "scaled_dot_product_attention", "self_attention")
    stop = Stop(2, "import pandas_of_mine as pd", "ModuleNotFoundError", "No module named 'pandas_of_mine'")
    assert result.stops == {stop: lacking}
    said = "A name is missing here because an earlier cell stopped at its line 2, `import pandas_of_mine as pd`."
    for text in (as_text(result[SOFTMAX]), as_html(result[SOFTMAX]), comment_on(result[SOFTMAX], result)):
        assert said.split(",")[0] in text
        assert "No module named 'pandas_of_mine'" in text.replace("&#x27;", "'").replace("&#39;", "'")
    assert preface(result) == [
        "A cell stopped at its line 2, `import pandas_of_mine as pd`: No module named 'pandas_of_mine'. "
        f"This cost points in {', '.join(lacking)}."
    ]
    assert type(result).from_plain(result.to_plain()) == result


def test_an_exercise_that_fails_for_another_reason_blames_no_line(judged):
    result = judged(notebook(both(top("import pandas_of_mine as pd"), whole("def stable_softmax(s):\n    return s"))))
    assert result[SOFTMAX].mark < 3
    assert result.stops == {}


@pytest.mark.parametrize(("to", "called"), [("markdown", "Markdown"), ("raw", "raw")])
def test_a_cell_whose_kind_was_changed_is_run_and_told(to, called):
    cells = read(notebook(kind(to, SOFTMAX)), 10**9, 1000)
    plan = make(outline(), cells)
    assert plan.notes == (f"A cell of the answer `stable_softmax` was a {called} cell, and its text was run as code.",)
    assert [cell.kind for cell in as_code(outline(), cells)[0] if cell.grade_id == SOFTMAX] == ["code"]


def test_text_beside_an_answer_in_code_and_a_changed_example_stay_text():
    def wrong_import(cells):
        cells[place(cells, IMPORTS)]["source"] = "raise SystemExit"

    for change in (
        AWKWARD["a first attempt kept as Markdown"],
        both(kind("markdown", SOFTMAX), end(f"\n{BY_HAND}", "pairwise_dot_products")),
        both(kind("markdown", IMPORTS), wrong_import),
        extra(),
    ):
        cells = read(notebook(change), 10**9, 1000)
        made, notes = as_code(outline(), cells)
        assert (made, notes) == ([*cells], [])
