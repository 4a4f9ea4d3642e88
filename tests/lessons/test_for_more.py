"""What is for those who want more stands at one place in all lessons, behind the farewell."""

import re

import pytest

from benchmarks.claims import ROOT
from grader.authoring.lesson import read_folder
from grader.authoring.prose import MORE

LESSONS = read_folder(ROOT / "lessons")


@pytest.mark.parametrize("name", sorted(LESSONS))
def test_what_is_for_those_who_want_more_comes_behind_the_farewell(name):
    text = "\n".join(cell.source for cell in LESSONS[name].cells if not cell.is_code)
    headings = re.findall(r"(?m)^## .+$", text)
    assert MORE not in headings or headings.index(MORE) > headings.index("## What you can do now")
