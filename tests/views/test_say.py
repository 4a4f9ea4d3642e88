"""A view's sentence has one template in Python and in JavaScript, so that it is translated once."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import grader.views
from grader.views.base import FOLDER, View, opening

ANSWERS = Path(__file__).parents[2] / "website" / "answers"
# Only Python says these: the browser shows them as they come.
PYTHON_ALONE = {"Training monitor", "Progress,", "Predict:"}
TEXT = re.compile(r"""(?<![\w`])(?:"((?:[^"\\\n]|\\.)*)"|'((?:[^'\\\n]|\\.)*)')""")


def in_python() -> dict[str, list[str]]:
    """The templates of the sentences with which views begin, by how the view is called."""
    names = {opening(kind) for kind in vars(grader.views).values() if isinstance(kind, type) and issubclass(kind, View)}
    found: dict[str, list[str]] = {name: [] for name in names}
    for path in FOLDER.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            text = node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""
            name = next((name for name in names if text.startswith(name)), None)
            if name is not None and "{" in text:
                found[name].append(text)
    return found


def in_javascript() -> set[str]:
    """Every text in double or single quotes."""
    sources = (path.read_text("utf-8") for folder in (FOLDER, ANSWERS) for path in folder.glob("*.js"))
    return {double or single for source in sources for double, single in TEXT.findall(source)}


def test_a_sentence_has_the_same_template_in_both_languages():
    known = in_javascript()
    for name, templates in in_python().items():
        if name not in PYTHON_ALONE:
            assert templates, f"{name} has no sentence"
            assert [text for text in templates if text not in known] == []


def test_every_view_is_asked():
    assert len(in_python()) > 10
    assert in_python().keys() > PYTHON_ALONE
