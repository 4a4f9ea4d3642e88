"""The first page: what the course is, something to operate, a report, the lessons; and the lists that the menu is made
from."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from pathlib import Path

from nbformat import NotebookNode

from grader.authoring.lesson import Lesson
from grader.authoring.prose import about
from grader.errors import LessonError
from grader.languages import shown
from grader.sentences import say
from website.course import HERE, Course
from website.guides import CONTRIBUTORS, TEACHERS
from website.pictures import Pictures
from website.start import facts, filled

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
    text = (HERE / "index.md").read_text(encoding="utf-8")
    known = {
        **facts(course),
        "first-lesson": course.by_number["01"].name,
        "nexercises": str(len(course.exercises)),
        "report": _report(course),
        "explorer": _explorer(course, extra),
    }
    (folder / "index.md").write_text(filled(text.replace(LESSONS, _cards(course)), known), encoding="utf-8")
    lessons = [f"/lessons/{name}" for name in course.lessons]
    (folder / "lessons" / "index.md").write_text(
        _list(shown(say("Lessons")), _cards(course, "../"), lessons), encoding="utf-8"
    )
    for name, title, lead, pages in GUIDES:
        rows = "\n\n".join(f"{{doc}}`/{page}`\n: {said}" for page, said in pages.items())
        text = _list(title, f"{lead}\n\n{rows}", [f"/{page}" for page in pages])
        (folder / f"{name}.md").write_text(text, encoding="utf-8")


def _list(title: str, text: str, pages: Iterable[str]) -> str:
    """A page that lists others; the menu is made from its hidden list."""
    tree = "\n".join(["```{toctree}", ":hidden:", ":maxdepth: 1", "", *pages, "```", ""])
    return f"# {title}\n\n{text}\n\n{tree}"


def _report(course: Course) -> str:
    """The report on the wrong answer that lesson 00 shows, as HTML."""
    cell = _cell(course, *REPORT)
    return _raw(str(cell.outputs[0].data["text/html"]))


def _explorer(course: Course, extra: Path) -> str:
    """The attention explorer of lesson 01 as HTML, as on the lesson's page."""
    lesson, cell = course.by_number[EXPLORER[0]].name, _cell(course, *EXPLORER)
    picture = next(output for output in cell.outputs if "image/png" in output.get("data", {}))
    words = picture.metadata["image/png"]["alt"]
    pictures = Pictures(extra / "pictures" / "index", "pictures/index")
    return _raw(pictures.view(lesson, cell.id, 0, picture.data["image/png"], words))


def _cell(course: Course, number: str, begin: str) -> NotebookNode:
    lesson = course.by_number[number]
    for cell in course.solved(lesson).cells:
        if cell.source.startswith(begin):
            return cell
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
        row = f"[**{lesson.number} · {shown(lesson.title)}**]({target})\n: {about_it}\n: {worked}\n"
        rows.append(f"{row}: {_picture(lesson, up)}\n" if lesson.picture else row)
    return ":::{container} lessons\n" + "\n".join(rows) + ":::\n"


def _picture(lesson: Lesson, up: str) -> str:
    address, words = f"{up}pictures/shared/{lesson.number}.png", escape(lesson.picture)
    return f'<img src="{address}" alt="{words}" width="320" loading="lazy">'
