"""Twenty-four submissions of lesson 01: what a teacher's folder may look like on a Sunday night.

The students are invented; their answers are sample submissions of the tests, so the checks are known to name them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from grader.authoring.samples import submissions

LESSON = "01_self_attention"
NOTEBOOKS = Path(__file__).parents[1] / "notebooks"
SOLUTIONS = Path(__file__).parents[1] / "solutions"
Cells = list[dict[str, Any]]

MARKUP = '<script>document.title = "mine"</script><img src=x onerror="document.title=1"><h1>100 %</h1>'
# What somebody may try. All of it runs in the sandbox only.
FORGED = """
import torch
torch.allclose = torch.equal = lambda *a, **k: True

class Right(torch.Tensor):
    def __eq__(self, other):
        return True

def attention_scores(query, key):
    return torch.zeros(*query.shape[:-1], key.shape[-2]).as_subclass(Right)
"""
SNOOPING = """
import os, socket, sys

for path in ("/etc/shadow", "judge_secret", "../judge_secret", "gradebook.db"):
    try:
        print(open(path).read())
    except OSError as error:
        print(path, error.strerror)
try:
    socket.create_connection(("127.0.0.1", 80), timeout=1)
except OSError as error:
    print("network:", error.strerror)

def attention_scores(query, key):
    os._exit(0)
"""
ENDLESS = "def stable_softmax(scores):\n    while True:\n        pass\n"


@cache
def _solutions() -> dict[str, str]:
    cells = json.loads((SOLUTIONS / f"{LESSON}.ipynb").read_text("utf-8"))["cells"]
    return {_exercise(cell): "".join(cell["source"]) for cell in cells if _exercise(cell)}


def _exercise(cell: dict[str, Any]) -> str:
    course = cell["metadata"].get("course", {})
    return course.get("exercise", "") if course.get("role") == "solution" else ""


def sample(exercise: str, mistake: str = "", number: int = 0) -> str:
    """One of the tests' sample submissions: of those that show a mistake, or of the right ones, by number."""
    return [one.source for one in submissions() if (one.exercise, one.mistake) == (exercise, mistake)][number]


def notebook(answers: dict[str, str]) -> dict[str, Any]:
    """The students' notebook with these answers; what isn't answered stays as it was given out."""
    document = json.loads((NOTEBOOKS / f"{LESSON}.ipynb").read_text("utf-8"))
    for cell in document["cells"]:
        if _exercise(cell) in answers:
            cell["source"] = answers[_exercise(cell)]
    return document


def solved(change: Callable[[dict[str, Any]], object] | None = None, **answers: str) -> Callable[[], bytes]:
    """A notebook that is solved but for `answers`; `change` is done to it at the end."""

    def make() -> bytes:
        document = notebook({**_solutions(), **answers})
        if change is not None:
            change(document)
        return json.dumps(document).encode()

    return make


def begun(exercises: int) -> Callable[[], bytes]:
    """A notebook of which the first exercises are solved."""
    return lambda: json.dumps(notebook(dict(list(_solutions().items())[:exercises]))).encode()


def with_sample(exercise: str, mistake: str = "", number: int = 0) -> Callable[[], bytes]:
    """A notebook with one sample answer, all others being right."""
    return lambda: solved(**{exercise: sample(exercise, mistake, number)})()


def without_metadata(document: dict[str, Any]) -> None:
    """As Colab saves it."""
    for cell in document["cells"]:
        cell["metadata"] = {"id": "x9"}
        cell.pop("id", None)


def with_languages(document: dict[str, Any]) -> None:
    """As VS Code saves it."""
    for cell in document["cells"]:
        cell["metadata"] = {"vscode": {"languageId": "python"}, **cell["metadata"]}


def with_copied_check(document: dict[str, Any]) -> None:
    """A check cell twice, which stops stock nbgrader for the whole class."""
    cells: Cells = document["cells"]
    place = next(i for i, cell in enumerate(cells) if cell["metadata"].get("course", {}).get("role") == "check")
    cells.insert(place, cells[place])


def copied(name: str) -> Callable[[], bytes]:
    """A friend's three answers, with other names."""
    friend = {"stable_softmax": 2, "scaled_dot_product_attention": 2, "self_attention": 4}
    answers = {exercise: sample(exercise, "", number) for exercise, number in friend.items()}
    for exercise, source in answers.items() if name else ():
        own = sorted(set(re.findall(r"^ +([a-z_]+) =", source, re.MULTILINE)))
        for one in own:
            source = re.sub(rf"(?<![\w.]){one}\b(?!=)", f"{name}_{one}", source)
        answers[exercise] = "# all my own work\n" + source
    return solved(**answers)


CLASS: dict[str, Callable[[], bytes]] = {
    "ada": solved(),
    "alan": with_sample("attention_scores", "", 2),
    "barbara": with_sample("stable_softmax", "", 4),
    "dorothy": solved(without_metadata),
    "donald": solved(with_languages),
    "edsger": begun(1),
    "emmy": begun(3),
    "frances": begun(6),
    "grace": with_sample("scaled_dot_product_attention", "no-scaling"),
    "hedy": with_sample("stable_softmax", "overflow"),
    "ida": with_sample("project_qkv", "weights-transposed"),
    "joan": with_sample("scaled_dot_product_attention", "no-scaling", 1),
    "john": with_sample("attention_scores", "scores-transposed"),
    "karen": with_sample("self_attention", "no-value-projection"),
    "katherine": with_sample("attention_scores", "gradient-cut"),
    "ken": with_sample("stable_softmax", "excluded-function"),
    "leslie": with_sample("context_vectors", "scaled-anyway"),
    "margaret": copied(""),
    "niklaus": copied("my"),
    "radia": solved(with_copied_check),
    "sophie": lambda: solved()()[:2000],
    "tim": solved(attention_scores=FORGED),
    "vera": solved(attention_scores=f"print({MARKUP!r})\n{SNOOPING}"),
    "zuse": solved(stable_softmax=ENDLESS),
}
