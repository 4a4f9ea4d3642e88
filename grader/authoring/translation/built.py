"""What the build makes of the catalogues: notebooks for students in each language, and the words of the package.

Notebooks are made from the English ones, with nothing executed: the text of markdown cells changes, and the language in
the metadata. All else, such as ids, code and outputs, stays. What has no translation that is final stays English.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path

from nbformat import NotebookNode

from grader.authoring import answers
from grader.authoring.lesson import Lesson
from grader.authoring.notebook import dumps, ids, loads
from grader.authoring.prose import filled
from grader.authoring.repository import Repository
from grader.authoring.translation.texts import docstrings, shown_at_run_time
from grader.authoring.translation.translate import languages, read_all
from grader.authoring.translation.units import has_words, units_of
from grader.languages import ANSWERS, ENGLISH
from grader.learner.switch import cells_by_language
from grader.sentences import Translate


def translations(root: Path, language: str) -> dict[str, str]:
    """What may be shown in a language, by its English text: the entries of all catalogues that are final."""
    catalogues = read_all(root / "translations" / language)
    return {one.english: one.translation for entries in catalogues.values() for one in entries if one.is_final}


def notebook_in(notebook: NotebookNode, lesson: Lesson, translate: Translate, language: str) -> NotebookNode:
    """A copy of a lesson's built notebook in a language. The docstrings of an exercise, which stay English in its code,
    are below its statement."""
    made = copy.deepcopy(notebook)
    texts = dict(zip(ids(lesson), filled(lesson, translate), strict=True))
    for cell in made.cells:
        if cell.cell_type == "markdown":
            cell.source = texts.get(cell.id, cell.source)
    for above, cell in pairwise(made.cells):
        if above.cell_type == "markdown" and cell.metadata.get("course", {}).get("role") == "solution":
            above.source += "".join(_below(cell.source, translate))
    made.metadata.setdefault("course", NotebookNode())["language"] = language
    return made


def _below(source: str, translate: Translate) -> Iterator[str]:
    """The docstrings of a cell in another language, each as a quotation; one that isn't translated is left out."""
    for name, paragraphs in docstrings(source):
        said = [translate(text) if has_words(text) else text for text in paragraphs]
        if any(said) and all(said):
            yield f"\n\n> `{name}`: " + "\n>\n> ".join(text for text in said if text)


def made(repository: Repository, course: Sequence[Lesson], wanted: Sequence[Lesson]) -> dict[Path, str]:
    """The files of all languages by their paths: the notebooks of the lessons `wanted`, whose English ones are built,
    and, where that is the whole `course`, the words of the package. A lesson whose title isn't translated has no
    notebook, and no answers, in that language."""
    known = languages(repository.root)
    if not known:
        return {}
    translated = {code: translations(repository.root, code) for code in known}
    files: dict[Path, str] = {}
    for lesson in wanted:
        files |= dict(_of_lesson(repository, lesson, translated))
    if len(wanted) == len(course):
        names = {code: language.name for code, language in known.items()}
        files[repository.words / "languages.json"] = _json(names)
        at_run_time = shown_at_run_time(repository)
        for code, found in translated.items():
            words = {english: found[english] for english in sorted(at_run_time & found.keys())}
            files[repository.words / code / "words.json"] = _json(words)
            files[repository.words / code / ANSWERS] = _json(_answers(course, found))
    return files


def _of_lesson(
    repository: Repository, lesson: Lesson, translated: Mapping[str, Mapping[str, str]]
) -> Iterator[tuple[Path, str]]:
    path = repository.notebooks / f"{lesson.name}.ipynb"
    if not path.exists():
        return
    english = loads(path.read_text("utf-8"))
    notebooks = {ENGLISH: english}
    for code, found in translated.items():
        if _title(lesson) in found:
            notebooks[code] = notebook_in(english, lesson, found.get, code)
            yield repository.notebooks / code / path.name, dumps(notebooks[code])
    if len(notebooks) > 1:
        yield repository.words / "cells" / f"{lesson.number}.json", _json(cells_by_language(notebooks))


def _title(lesson: Lesson) -> str:
    """A lesson's first heading, or else its first unit."""
    return next((unit.text for cell in lesson.cells if not cell.is_code for unit in units_of(cell.source)), "")


def _answers(course: Sequence[Lesson], found: Mapping[str, str]) -> dict[str, str]:
    """The texts of the answers in another language, by the predictions' names."""
    said: dict[str, str] = {}
    for lesson in course:
        if _title(lesson) in found:
            said |= answers.texts(lesson, found.get)
    return said


def _json(content: object) -> str:
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


def left_over(repository: Repository, names: Sequence[str]) -> list[Path]:
    """The files of languages that no lesson of these `names`, or no language, makes."""
    known, numbers = languages(repository.root), {name[:2] for name in names}
    notebooks = [path for path in repository.notebooks.glob("*/*.ipynb") if not path.parent.name.startswith(".")]
    extra = [path for path in notebooks if path.stem not in names or path.parent.name not in known]
    extra += [path for path in repository.words.glob("cells/*.json") if path.stem not in numbers]
    words = [path for path in repository.words.glob("*/*.json") if path.parent.name != "cells"]
    return extra + [path for path in words if path.parent.name not in known]
