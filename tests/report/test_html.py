"""A report's HTML: heatmaps side by side, nested hints, the learner's text escaped."""

from __future__ import annotations

import base64
import json
import math
import re
from html.parser import HTMLParser

import matplotlib
import pytest
import torch

from grader.report import PartReport, Report
from grader.report.heat import cell_style, cividis, ink
from grader.report.html import as_html


class Balance(HTMLParser):
    """Checks that elements are nested properly, and collects the text."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.depth = 0
        self.text = ""

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)
        self.depth = max(self.depth, self.open.count("details"))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if "style" not in self.open:
            self.text += data


def read(report: Report) -> Balance:
    page = Balance()
    page.feed(as_html(report))
    assert page.open == []
    return page


def failed(got=None, expected=None, **more) -> Report:
    result = PartReport(
        "scores one sequence", False, 3, "wrong-values", "`x` <b>differs</b>", got=got, expected=expected
    )
    return Report.of("attention_scores", 2, (PartReport("shape", True, 1), result), **more)


def test_what_passed_and_what_failed_is_said_in_words():
    text = read(failed()).text
    assert "attention_scores: not passed yet" in text
    assert "0.5 of 2 points" in text
    assert "passed shape" in text
    assert "failed scores one sequence" in text


def test_file_for_a_teacher_is_in_the_page_itself():
    html = as_html(failed(), b'{"exercise": "attention_scores"}')
    (link,) = re.findall(r'<a [^>]*href="data:application/json;base64,([^"]*)">I think this is right</a>', html)
    assert json.loads(base64.b64decode(link)) == {"exercise": "attention_scores"}
    assert 'download="attention_scores.json"' in html
    assert "I think this is right" not in as_html(failed())


def test_text_of_the_learner_is_no_markup():
    html = as_html(failed(output="<script>alert(1)</script>"))
    assert "<script>" not in html
    assert "<code>x</code> &lt;b&gt;differs" in html
    assert "&lt;script&gt;" in html


def test_got_and_expected_stand_side_by_side_with_what_differs_marked():
    html = as_html(failed(torch.tensor([[0.0, 1.0]]), torch.tensor([[0.0, 0.5]])))
    assert re.findall(r"<caption>(\w+)</caption>", html) == ["got", "expected"]
    assert html.count('class="grader-off"') == 1
    assert re.search(r'class="grader-off"[^>]*><span class="grader-mark">≠</span>1.000', html)


def test_both_are_coloured_on_the_scale_of_the_expected_numbers():
    html = as_html(failed(torch.tensor([5.0, 0.0]), torch.tensor([1.0, 0.0])))
    yellow = "background:#fee838;color:#000"
    assert len(re.findall(rf'style="{yellow}"', html)) == 2


@pytest.mark.parametrize(
    "tensor", [torch.tensor(1.0), torch.tensor([True, False]), torch.tensor([[math.nan, math.inf]])]
)
def test_any_tensor_can_be_drawn(tensor):
    read(failed(tensor, tensor))


def test_matrices_of_different_shapes_are_drawn_unmarked():
    assert "grader-off" not in as_html(failed(torch.ones(2, 2), torch.ones(2, 3))).split("</style>")[1]


def test_the_mistake_and_the_hints_are_read_before_the_numbers():
    mistake = {"diagnosis": "no-scaling", "symptom": "the scale is missing.", "hints": ("first",)}
    text = read(failed(torch.tensor([1.0]), torch.tensor([0.5]), output="seen", **mistake)).text
    order = ["failed scores one sequence", "no-scaling", "Hint 1 of 1", "The numbers", "got", "expected"]
    order += ["What your code printed"]
    assert sorted(order, key=text.index) == order


def test_the_numbers_can_be_folded_away_and_no_more_than_they():
    html = as_html(failed(torch.tensor([1.0]), torch.tensor([0.5]), hints=("first",), output="seen"))
    (fold,) = re.findall(r"<details open><summary[^>]*>The numbers</summary>(.*?)</details>", html)
    assert fold.count("<table>") == html.count("<table>") == 2
    assert "Hint 1" not in fold
    assert "What your code printed" not in fold


def test_each_hint_holds_the_next():
    page = read(failed(hints=("first", "second", "third")))
    assert page.depth == 3
    assert page.text.index("Hint 1 of 3") < page.text.index("first") < page.text.index("Hint 2 of 3")


def test_a_named_mistake_and_a_piece_to_mend_first_are_told():
    text = read(
        failed(
            diagnosis="no-scaling",
            symptom="the scale is missing.",
            first_fix="stable_softmax",
            first_fix_why="missing",
        )
    ).text
    assert "It looks like no-scaling: the scale is missing." in text
    assert "attention_scores calls stable_softmax, which is not defined. Run its cell, then check again." in text


def test_a_broken_check_does_not_blame_the_learner():
    text = read(Report.of("x", 2, (), traceback="Traceback <here>")).text
    assert "The check itself failed, not your code" in text
    assert "Traceback <here>" in text


def test_colours_are_those_of_matplotlib():
    for at in range(101):
        right = [255 * part for part in matplotlib.colormaps["cividis"](at / 100)[:3]]
        assert cividis(at / 100) == pytest.approx(right, abs=6)


def test_numbers_read_on_every_colour():
    def luminance(colour):
        linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in (part / 255 for part in colour)]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    for at in range(101):
        paper, pen = luminance(cividis(at / 100)), 0 if ink(cividis(at / 100)) == "#000" else 1
        assert (max(paper, pen) + 0.05) / (min(paper, pen) + 0.05) >= 4.5


def test_what_has_no_place_on_the_scale_gets_no_colour():
    assert cell_style(math.nan, 0, 1) == ""
    assert cell_style(3.0, 3.0, 3.0) == cell_style(0.5, 0, 1)
