"""The texts that explain the answers of a lesson's predictions: `grader/learner/answers/NN.json`, by the predictions'
names. `compare_guess` looks them up there after a guess, so they are in no cell of the notebook.

The build takes them from the lesson, before it runs it, and puts them into the outputs that it keeps.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from grader.atomic import write_atomically
from grader.authoring.lesson import Lesson
from grader.authoring.predictions import answered
from grader.authoring.prose import filled
from grader.sentences import Translate

PROSE = "text/markdown"


def texts(lesson: Lesson, translate: Translate | None = None) -> dict[str, str]:
    """The text of each answer of a lesson, in markdown, by its prediction's name, in the language of `translate`."""
    made = zip(lesson.cells, filled(lesson, translate), strict=True)
    below = {id(cell): text for cell, text in made if cell.explains}
    pairs = zip(lesson.cells, lesson.cells[1:], strict=False)
    return {answered(cell): below[id(after)] for cell, after in pairs if after.explains}


def write(path: Path, lesson: Lesson) -> None:
    """Write a lesson's file; that of a lesson without predictions is removed."""
    found = texts(lesson)
    text = json.dumps(found, indent=1, ensure_ascii=False) + "\n"
    if not found:
        path.unlink(missing_ok=True)
    elif not path.exists() or path.read_text("utf-8") != text:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, text)


def put(lesson: Lesson, notebook: NotebookNode, translate: Translate | None = None) -> None:
    """Put the texts into the outputs of an executed notebook, as `compare_guess` displays them: what was stored may be
    of an earlier wording, or in another language than that of `translate`."""
    found = texts(lesson, translate)
    for cell, done in zip(lesson.in_notebook, notebook.cells, strict=True):
        text = found.get(answered(cell)) if cell.is_code else None
        if text is not None:
            outputs = [output for output in done.outputs if PROSE not in output.get("data", {})]
            shown = nbformat.v4.new_output("display_data", {PROSE: text, "text/plain": text})
            done.outputs = [*outputs, shown]


def file_differences(lesson: Lesson, path: Path) -> Iterator[str]:
    """A sentence for each text of a lesson's file that isn't the lesson's."""
    expected = texts(lesson)
    try:
        stored = json.loads(path.read_text("utf-8")) if path.exists() else {}
    except ValueError:
        yield "this can't be read; a build would write it anew"
        return
    for name in sorted(stored.keys() | expected.keys()):
        if stored.get(name) != expected.get(name):
            yield f"{name}: the text of this answer would change"


def differences(lesson: Lesson, notebook: NotebookNode) -> Iterator[str]:
    """A sentence for each text among the outputs of an executed notebook that isn't the lesson's."""
    found = texts(lesson)
    for cell, done in zip(lesson.in_notebook, notebook.cells, strict=False):
        text = found.get(answered(cell)) if cell.is_code else None
        stored = [output.data[PROSE] for output in done.get("outputs", ()) if PROSE in output.get("data", {})]
        if text is not None and stored != [text]:
            yield f"cell {done.id}: the text of its answer would change"
