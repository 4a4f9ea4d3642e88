"""A notebook that somebody has begun, in another language: its text changes, and all that they have done in it stays.

A cell of text that is still the course's is exchanged, by its id, for the same one in the other language. Cells that
somebody has changed or added, code and outputs stay as they are, so switching back undoes it. The texts of all lessons
are in `grader/words/cells/`, which the build makes of the notebooks that are handed out.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from grader import languages
from grader.atomic import write_atomically
from grader.errors import CommandFailed
from grader.kernel import MAX_BYTES
from grader.languages import ENGLISH, shown
from grader.plain import list_in
from grader.sentences import say, together

Notebook = dict[str, Any]
Texts = Mapping[str, Mapping[str, str]]  # by cell id, then by language


def switch(path: Path, language: str) -> str:
    """Put the notebook at `path` into a language; sentences on what became of it, in that language. `CommandFailed`
    where it is no notebook, or the course's texts aren't here."""
    try:
        if path.stat().st_size > MAX_BYTES:
            raise ValueError
        notebook = json.loads(path.read_text("utf-8"))
        changed, kept = switched(notebook, language, texts())
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise CommandFailed(shown(say("{file} isn't a notebook.", file=path))) from None
    if not changed + kept:
        missing = say("{file} has no text of this course in another language.", file=path)
        raise CommandFailed(shown(missing))
    text = json.dumps(notebook, ensure_ascii=False, indent=1) + "\n"
    write_atomically(path.resolve(), text, path.stat().st_mode & 0o777)  # a link still leads to it
    with languages.speaking(language):
        said = say("{file} is in {language} now.", file=path, language=languages.languages()[language])
        yours = say("Texts that you have changed stay as they are: {count}.", count=kept) if kept else ""
        again = say("If it is open, load it again (File, Reload Notebook from Disk), and restart its kernel.")
        return shown(together(said, yours, again))


def switched(notebook: Notebook, language: str, known: Texts) -> tuple[int, int]:
    """Put a notebook's text into a language, in place. How many cells of text are in it now, and how many keep theirs
    because they aren't as the course has them."""
    changed = kept = 0
    for cell in notebook["cells"]:
        texts = known.get(cell.get("id", ""), {}) if cell["cell_type"] == "markdown" else {}
        if not texts or "nbgrader" in cell["metadata"]:  # whose text has a checksum
            continue
        if "".join(cell["source"]) in texts.values():
            cell["source"] = texts.get(language, texts[ENGLISH]).splitlines(keepends=True)
            changed += 1
        else:
            kept += 1
    languages.set_language(notebook["metadata"], language)
    return changed, kept


def cells_by_language(notebooks: Mapping[str, Notebook]) -> dict[str, dict[str, str]]:
    """What `texts` has of one lesson, from its notebook in each language: the texts that aren't the same in all."""
    found: dict[str, dict[str, str]] = {}
    for language, notebook in notebooks.items():
        for cell in list_in(notebook.get("cells")):
            if cell["cell_type"] == "markdown":
                found.setdefault(cell["id"], {})[language] = "".join(cell["source"])
    return {name: texts for name, texts in found.items() if len(set(texts.values())) > 1}


def texts() -> Texts:
    """The course's texts by cell id, then by language."""
    return _texts(languages.WORDS / "cells")


@cache
def _texts(folder: Path) -> Texts:
    files = sorted(folder.glob("*.json"))
    return {name: own for path in files for name, own in json.loads(path.read_text("utf-8")).items()}
