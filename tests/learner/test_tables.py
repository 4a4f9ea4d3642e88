"""Tables and pictures with words: what they print, draw and refuse."""

from __future__ import annotations

import pytest
import torch
from matplotlib.figure import Figure

from grader import draw_attention, draw_table, show
from grader.learner.tables import Tables

WORDS = ["robot", "lift", "crate"]
ROW = torch.tensor([0.5, 0.25, 0.25])


def axes():
    return Figure().subplots()


def test_a_column_is_as_wide_as_its_word_or_its_longest_number(capsys):
    show(torch.tensor([[1.0, -10.25], [2.0, 0.5]]), ["a", "longer"], ["translate", "me"], title="to")
    assert capsys.readouterr().out == (
        "to      translate      me\n"  #
        "a            1.00  -10.25\n"
        "longer       2.00    0.50\n"
    )


@pytest.mark.parametrize("shown", [show, lambda *args: draw_table(axes(), "scores", *args)])
def test_names_that_do_not_fit_are_refused_with_both_shapes(shown):
    with pytest.raises(ValueError, match=r"table: got shape \(2, 3\), expected \(3, 3\), to fit its names"):
        shown(torch.zeros(2, 3), WORDS, WORDS)


def test_rows_stand_for_columns_where_that_fits_and_are_counted_elsewhere(capsys):
    show(torch.eye(2), ["a", "b"], form=".0f")
    show(torch.zeros(2, 3, dtype=torch.int64), ["a", "b"])
    show([[True, 0.5], ["no", 2]])
    assert capsys.readouterr().out == (
        "   a  b\na  1  0\nb  0  1\n   0  1  2\na  0  0  0\nb  0  0  0\n      0     1\n0  True  0.50\n1    no     2\n"
    )


def test_a_row_or_a_column_may_be_called_by_a_number(capsys):
    show([[1, 2]], ["right"], range(2), title="letters read")
    assert capsys.readouterr().out == "letters read  0  1\nright         1  2\n"


def test_several_tables_have_titles_and_a_single_row_one_word(capsys):
    show({"a": torch.ones(2), "b": [3, 4]}, "row", ["x", "y"])
    assert capsys.readouterr().out == "a       x     y\nrow  1.00  1.00\n\nb    x  y\nrow  3  4\n"


def test_a_table_is_html_with_heads_of_rows_and_columns():
    html = Tables(([["t", "<x>"], ["`a`", "1"]],), under=False)._repr_html_()
    assert '<th>t</th><th scope="col">&lt;x&gt;</th>' in html
    assert '<th scope="row"><code>a</code></th><td>1</td>' in html


def test_weights_are_coloured_from_0_to_1_and_scores_by_their_range():
    weights, scores = axes(), axes()
    draw_table(weights, "weights", torch.full((3, 3), 1 / 3), WORDS)
    draw_table(scores, "scores", 4 * torch.eye(3), WORDS, form=".0f")
    assert weights.images[0].get_clim() == (0, 1)
    assert scores.images[0].get_clim() == (0, 4)
    assert [text.get_text() for text in scores.texts][:3] == ["4", "0", "0"]


def test_a_line_is_as_thick_as_its_weight_and_the_query_has_a_dot():
    panel = axes()
    draw_attention(panel, "robot looks", WORDS, ROW, query=0)
    lines = [text.arrow_patch.get_linewidth() for text in panel.texts if getattr(text, "arrow_patch", None)]
    assert lines == [2.5, 2.5]
    assert panel.lines[0].get_markersize() == 7.5
    shown = [text.get_text() for text in panel.texts if text.get_text()]
    assert shown == ["robot", "0.50", "lift", "0.25", "crate", "0.25"]


def test_a_row_of_another_length_is_refused():
    with pytest.raises(ValueError, match=r"row: got shape \(3,\), expected \(2,\), a weight for each word"):
        draw_attention(axes(), "", WORDS[:2], ROW, query=0)
