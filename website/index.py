"""The first page: what the course is, how it is used, the lessons; and the lists that the menu is made from."""

from __future__ import annotations

from pathlib import Path

from grader.authoring.prose import about
from website.course import HERE, Course
from website.guides import CONTRIBUTORS, TEACHERS

LESSONS = "<!-- lessons -->"


def write_index(course: Course, folder: Path) -> None:
    """Write `index.md` and the lists of lessons and of documents."""
    text = (HERE / "index.md").read_text(encoding="utf-8")
    (folder / "index.md").write_text(
        text.replace(LESSONS, _cards(course)).replace("<nexercises>", str(len(course.exercises))), encoding="utf-8"
    )
    names = [f"lessons/{name}" for name in course.lessons]
    lists = {
        "lessons/index": ("Lessons", _cards(course, "../"), [f"/{name}" for name in names]),
        "teachers": (
            "For teachers",
            "How the course is given to a class, and how it is graded.",
            [f"/{one}" for one in TEACHERS],
        ),
        "contributors": ("For contributors", "How the course is made.", [f"/{one}" for one in CONTRIBUTORS]),
    }
    for name, (title, lead, pages) in lists.items():
        hidden = ":hidden:\n" if name.startswith("lessons") else ""
        tree = "\n".join(["```{toctree}", f"{hidden}:maxdepth: 1", "", *pages, "```", ""])
        (folder / f"{name}.md").write_text(f"# {title}\n\n{lead}\n\n{tree}", encoding="utf-8")


def _cards(course: Course, up: str = "") -> str:
    """A table of the lessons: how long they take and what is in them."""
    rows = []
    for lesson in course.lessons.values():
        minutes = about(course.times[lesson.name].total)
        count = sum(one.lesson == lesson.name for one in course.exercises.values())
        exercises = f"{count} exercise{'' if count == 1 else 's'}"
        target = f"{up}lessons/{lesson.name}.ipynb"
        about_it = f"{lesson.about[:1].upper()}{lesson.about[1:]}"
        rows.append(f"[**{lesson.number} · {lesson.title}**]({target})\n: {about_it}\n: {minutes}, {exercises}\n")
    return ":::{container} lessons\n" + "\n".join(rows) + ":::\n"
