"""The first page: what the course is, something to operate, a report, the lessons; and the lists that the menu is made
from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from html import escape
from pathlib import Path

from nbformat import NotebookNode

from grader.authoring.lesson import Lesson
from grader.authoring.prose import about
from grader.errors import LessonError
from grader.languages import shown
from grader.sentences import say
from website.course import Course, title_of
from website.guides import CONTRIBUTORS, MENU, TEACHERS, address_of_english
from website.live_views import sentence_of
from website.outputs import html_of
from website.pages import write
from website.pictures import pictures_of
from website.start import facts, filled, page

LESSONS = "<!-- lessons -->"
GUIDES = (
    ("teachers", "For teachers", "These pages show how to give the course to a class, and how it is graded.", TEACHERS),
    ("contributors", "For contributors", "These pages show how the course is made.", CONTRIBUTORS),
)
# What the first page shows of two lessons: how the cell begins that has it.
REPORT = ("00", "check(wrong_on_purpose")
EXPLORER = ("01", "from grader.views import AttentionExplorer")


def write_index(course: Course, folder: Path, extra: Path) -> None:
    """Write `index.md` and the lists of lessons and of documents; a picture goes into `extra`. `LessonError` where a
    lesson no longer has what the first page shows of it."""
    write(course, folder / "index.md", _first, extra)
    write(course, folder / "lessons" / "index.md", _lessons)
    for name, title, lead, pages in GUIDES if course.is_english else ():
        rows = "\n\n".join(f"{{doc}}`/{page}`\n: {said}" for page, said in pages.items())
        text = _list(title, f"{lead}\n\n{rows}", [f"/{page}" for page in pages])
        (folder / f"{name}.md").write_text(text, encoding="utf-8")


def _first(course: Course, extra: Path) -> str:
    text = page(course, "index.md").replace(LESSONS, _cards(course))
    known = {
        **facts(course),
        "ways": _ways(course),
        "english": "\n".join(_in_menu(course)),
        "nexercises": str(len(course.exercises)),
        "report": _report(course),
        "explorer": _explorer(course, extra),
    }
    return filled(text, known)


def _ways(course: Course) -> str:
    """The three ways into the course."""
    ways = {
        f"lessons/{course.by_number['01'].name}.html": say("<strong>Read</strong> the first lesson"),
        "install.html": say("<strong>Learn</strong>: install and start"),
        address_of_english(course, "docs/teaching"): say("<strong>Teach</strong>: a term with a class"),
    }
    links = "\n".join(f'<a class="way" href="{address}">{shown(words)}</a>' for address, words in ways.items())
    return f'<p class="ways">\n{links}\n</p>'


def _in_menu(course: Course) -> Iterator[str]:
    """The lines of the menu for what is in English alone."""
    for name, title in MENU.items():
        yield name if course.is_english else f"{shown(title)} <{address_of_english(course, name)}>"


def _lessons(course: Course) -> str:
    return _list(shown(say("Lessons")), _cards(course, "../"), [f"/lessons/{name}" for name in course.lessons])


def _list(title: str, text: str, pages: Iterable[str]) -> str:
    """A page that lists others; the menu is made from its hidden list."""
    tree = "\n".join(["```{toctree}", ":hidden:", ":maxdepth: 1", "", *pages, "```", ""])
    return f"# {title}\n\n{text}\n\n{tree}"


def _report(course: Course) -> str:
    """The report on the wrong answer that lesson 00 shows, as HTML."""
    cells, at = _cell(course, *REPORT)
    return _raw(html_of(cells, at, cells[at].outputs[0], course.exercises))


def _explorer(course: Course, extra: Path) -> str:
    """The attention explorer of lesson 01 as HTML, as on the lesson's page."""
    lesson, (cells, at) = course.by_number[EXPLORER[0]].name, _cell(course, *EXPLORER)
    cell = cells[at]
    picture = next(output for output in cell.outputs if "image/png" in output.get("data", {}))
    words = sentence_of(lesson, cell.id, 0, picture.metadata["image/png"]["alt"])
    pictures = pictures_of(course, extra, "index")
    return _raw(pictures.view(lesson, cell.id, 0, picture.data["image/png"], words))


def _cell(course: Course, number: str, begin: str) -> tuple[list[NotebookNode], int]:
    """The cells of a lesson, and the place of the one whose code begins so."""
    lesson = course.by_number[number]
    cells = course.solved(lesson).cells
    for at, cell in enumerate(cells):
        if cell.source.startswith(begin):
            return cells, at
    message = f"the first page shows the cell that begins {begin!r}: see {Path(__file__).name}"
    raise LessonError([lesson.problem(lesson.cells[0], message)])


def _raw(html: str) -> str:
    return f"```{{raw}} html\n{html}\n```"


def _cards(course: Course, up: str = "") -> str:
    """A list of the lessons: what is in them, how long they take, and a picture. `up` leads from the page to the first
    one."""
    rows = []
    for lesson in course.lessons.values():
        minutes = about(course.times[lesson.name].total)
        count = sum(one.lesson == lesson.name for one in course.exercises.values())
        exercises = say("1 exercise") if count == 1 else say("{count} exercises", count=count)
        worked = shown(say("{minutes}, {exercises}", minutes=minutes, exercises=exercises))
        target = f"{up}lessons/{lesson.name}.ipynb"
        about_it = shown(lesson.about)
        about_it = f"{about_it[:1].upper()}{about_it[1:]}"
        row = f"[**{lesson.number} · {title_of(lesson)}**]({target})\n: {about_it}\n: {worked}\n"
        rows.append(f"{row}: {_picture(lesson, f'{up}{course.up}')}\n" if lesson.picture else row)
    return ":::{container} lessons\n" + "\n".join(rows) + ":::\n"


def _picture(lesson: Lesson, up: str) -> str:
    address, words = f"{up}pictures/shared/{lesson.number}.png", escape(shown(lesson.picture))
    return f'<img src="{address}" alt="{words}" width="320" loading="lazy">'
