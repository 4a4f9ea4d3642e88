"""The page of a lesson: its executed notebook, as somebody without a kernel should read it.

Prose and worked code stay, with their outputs. The answers of predictions and what a learner's own code would print are
folded. An exercise keeps its text and its unfinished cell; its check gives way to a link to the exercise's page.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode

from grader import __version__
from grader.authoring.lesson import Lesson
from grader.authoring.notebook import ANSWER_HINT
from grader.authoring.release import FOLDER
from grader.authoring.states import is_view
from grader.languages import shown
from grader.regions import without_marks
from grader.sentences import say, together
from website.course import Course, points_of
from website.live_views import sentence_of, state_of
from website.outputs import alt_of, html_of
from website.pages import with_anchors
from website.pictures import Pictures, pictures_of
from website.references import address_of, place_of, to_terms, words_of

# What the fold of a cell's output says, closed and open.
ANSWER = (say("What came out, and why"), say("Hide what came out"))
CODE = (say("The code behind it"), say("Hide the code"))
TRIED = (say("What it shows once your code is right"), say("Hide what it shows"))
SHOWN = (say("What it shows"), say("Hide what it shows"))  # where it differs from run to run, whoever wrote what
PROSE = "text/markdown"
PNG = "image/png"
TITLE = re.compile(r"(?m)^# \d\d · .*$")


def write_lesson(course: Course, lesson: Lesson, folder: Path, extra: Path) -> None:
    """Write `lessons/NAME.ipynb` into the folder of Sphinx's sources, its pictures into `extra`."""
    with course.speaking():
        page = lesson_page(course, lesson, pictures_of(course, extra, lesson.name, "../"))
    if not course.is_english:
        _anchor(page, course.english, lesson)
    target = folder / "lessons" / f"{lesson.name}.ipynb"
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(nbformat.writes(page), encoding="utf-8")


def _anchor(page: NotebookNode, course: Course, lesson: Lesson) -> None:
    """Name the headings of a page as those of the English one are named: a cell has the same id in both."""
    english = {cell.id: cell.source for cell in course.solved(lesson).cells if cell.cell_type == "markdown"}
    for cell in page.cells:
        if cell.id in english:
            cell.source = with_anchors(cell.source, english[cell.id])


def lesson_page(course: Course, lesson: Lesson, pictures: Pictures) -> NotebookNode:
    """The notebook that the lesson's page is made from; its pictures are written by `pictures`."""
    solved, students = course.solved(lesson), course.students(lesson)
    page = nbformat.v4.new_notebook(metadata=solved.metadata)
    marked = _with_terms(course, lesson, [_prose_of(cell) for cell in solved.cells])
    for number, (cell, students_cell) in enumerate(zip(solved.cells, students.cells, strict=True)):
        text = to_terms(course, marked[number])
        if cell.cell_type == "markdown":
            page.cells += _prose(course, lesson, cell.id, text, first=number == 0)
            continue
        role, exercise = cell.metadata.course["role"], cell.metadata.course.get("exercise", "")
        if role == "check":
            page.cells.append(_markdown(f"{cell.id}-link", _to_exercise(course, exercise)))
        elif role == "solution":
            source = cell.source if course.solutions else students_cell.source
            page.cells.append(_code(cell.id, without_marks(source), []))
        else:
            outputs = list(_outputs(course, lesson, solved.cells, number, pictures))
            page.cells += _example(lesson, cell, role, outputs, text)
    return page


def _prose_of(cell: NotebookNode) -> str:
    """The prose of a cell: its own, or the text of the answer that it shows; empty if it has none."""
    if cell.cell_type == "markdown":
        return str(cell.source)
    return next((str(output.data[PROSE]) for output in cell.outputs if PROSE in output.get("data", {})), "")


def _prose(course: Course, lesson: Lesson, name: str, text: str, first: bool) -> Iterator[NotebookNode]:
    if not first:
        yield _markdown(name, text)
        return
    heading = TITLE.search(text)
    end = heading.end() if heading else 0
    yield _markdown(name, f"{text[:end]}\n\n{_do_it(course, lesson)}\n{text[end:]}")


def _do_it(course: Course, lesson: Lesson) -> str:
    """The line of links by which a reader downloads the lesson's notebook or opens it elsewhere."""
    links = [f'<a href="../downloads/{lesson.name}.ipynb" download>{shown("Download the notebook")}</a>']
    if course.with_zip:
        package = f"../{course.up}downloads/{FOLDER}-{__version__}-student.zip"
        links.append(f'<a href="{package}" download>{shown("All notebooks with the checks (zip)")}</a>')
    for key, said in (("colab", say("Open in Colab")), ("binder", say("Open in Binder"))):
        if course.settings.get(key):
            links.append(f'<a href="{escape(course.settings[key].format(lesson=lesson.name))}">{shown(said)}</a>')
    line = shown(say("Do it yourself: {links}", links=" · ".join(links)))
    return f'<p class="do-it">{line}</p>\n'


def _to_exercise(course: Course, name: str) -> str:
    exercise, page = course.exercises[name], f"../exercises/{name}.md"
    values = {"points": points_of(exercise), "count": len(exercise.parts)}
    worth = (
        say("{points} for {count} questions.", **values)
        if exercise.kind == "answers"
        else say("{points} for {count} parts.", **values)
    )
    said = shown(together(worth, say("In the notebook, a check shows at once what is right.")))
    title, hints = shown(say("Exercise: {name}", name=f"[{name}]({page})")), f"[{shown('Hints')}]({page}#hints)"
    return f":::{{admonition}} {title}\n:class: exercise\n\n{said} {hints}\n:::"


def _example(
    lesson: Lesson, cell: NotebookNode, role: str, outputs: list[NotebookNode], text: str
) -> Iterator[NotebookNode]:
    """The cells of the page for one that isn't the student's. What a notebook collapses is folded: the output comes
    first, then the code."""
    if cell.source.startswith("predict("):
        yield _code(cell.id, cell.source, outputs, {"tags": ["remove-input"]})
        return
    timed, is_collapsed = "nbval-ignore-output" in cell.metadata.get("tags", ()), "jupyter" in cell.metadata
    # A plot that differs from run to run gives nothing away, and the text below speaks of it.
    is_told = role == "try" and not text and timed and any(PNG in output.get("data", {}) for output in cell.outputs)
    fold: dict[str, Any] = {}
    if role in ("answer", "try") and outputs and not is_told:
        fold = _fold("output", *(ANSWER if text or role == "answer" else SHOWN if timed else TRIED))
    if not is_collapsed:
        yield _code(cell.id, cell.source, outputs, fold)
        return
    for output in outputs:
        if PROSE in output.get("data", {}):
            output.data[PROSE] = text
    yield _code(cell.id, cell.source, outputs, {**fold, "tags": [*fold.get("tags", []), "remove-input"]})
    yield _code(f"{cell.id}-code", cell.source.removeprefix(f"{ANSWER_HINT}\n"), [], _fold("input", *CODE))


def _fold(what: str, show: str, hide: str) -> dict[str, Any]:
    return {"tags": [f"hide-{what}"], "mystnb": {"code_prompt_show": shown(show), "code_prompt_hide": shown(hide)}}


def _outputs(
    course: Course, lesson: Lesson, cells: list[NotebookNode], at: int, pictures: Pictures
) -> Iterator[NotebookNode]:
    """The outputs of a cell of the notebook as the page has them: pictures become files, and a view's sentence goes
    below its picture."""
    cell, order, summary = cells[at], 0, ""
    for number, output in enumerate(cell.outputs):
        data, metadata = output.get("data", {}), output.get("metadata", {})
        alt = metadata.get("image/png", {}).get("alt", "")
        text = data.get("text/plain", "")
        if is_view(alt):
            said = sentence_of(lesson.name, cell.id, order, alt)
            yield _html(pictures.view(lesson.name, cell.id, order, data["image/png"], said))
            order, summary = order + 1, alt
        elif "image/png" in data:
            name = f"{cell.id}-plot-{number}"
            about = {**metadata.get("image/png", {}), "alt": alt_of(cell.source, alt)}
            yield _html(pictures.plot(name, data["image/png"], about))
        elif "text/html" in data:
            yield _html(html_of(cells, at, output, course.exercises))
        elif text and text == summary:
            continue
        elif is_view(text):
            known, said = state_of(lesson.name, cell.id, order) or {}, sentence_of(lesson.name, cell.id, order, text)
            yield _html(pictures.view(lesson.name, cell.id, order, "", said, known.get("traits")))
            order += 1
        else:
            yield nbformat.from_dict(output)


def _with_terms(course: Course, lesson: Lesson, sources: list[str]) -> list[str]:
    """The sources of the lesson's cells, with a link to the glossary where the lesson introduces a term."""
    found = []
    for term, entry in course.terms.items():
        place = place_of(words_of(course, term), sources) if entry["lesson"] == lesson.number else None
        if place:
            found.append((*place, term))
    sources, taken = list(sources), []
    for number, begin, end, term in sorted(found, reverse=True):
        if any(number == other and end > start for other, start in taken):
            continue  # inside words that are a link already
        source = sources[number]
        sources[number] = f"{source[:begin]}[{source[begin:end]}]({address_of(term)}){source[end:]}"
        taken.append((number, begin))
    return sources


def _html(html: str) -> NotebookNode:
    return nbformat.v4.new_output("display_data", data={"text/html": html})


def _markdown(name: str, source: str) -> NotebookNode:
    return nbformat.v4.new_markdown_cell(source, id=name)


def _code(name: str, source: str, outputs: list[NotebookNode], metadata: dict[str, Any] | None = None) -> NotebookNode:
    return nbformat.v4.new_code_cell(source, id=name, outputs=outputs, metadata=metadata or {})
