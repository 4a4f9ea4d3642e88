"""The documents of the repository as pages. Links among them stay; those to other files lead to the repository, where
settings.toml says where that is shown."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

from grader.errors import CourseError
from grader.sentences import say
from website.course import Course
from website.references import LINK

# The pages of each list, with what one finds there.
TEACHERS = {
    "docs/teaching": "A term command by command, from the list of students to the marks.",
    "docs/grading": "What decides a mark, what each setting means, and what the commands promise.",
    "docs/course": "The course's notebooks in your own edition, and how a new release gets into it.",
    "docs/own-exercises": "How to add an exercise of your own that names its mistakes.",
    "docs/operations": "What the machine needs, several teachers, workers, and the watch that grades as work arrives.",
    "docs/jupyterhub": "How to set up a hub for a class, and one to try in a single command.",
    "docs/elsewhere": "Google Colab, VS Code, Gradescope, PrairieLearn, GitHub Classroom, or no course at all.",
    "docs/threat-model": "What a student's code can't do when it is graded, and what it can.",
    "docs/privacy": "What is kept about a person, where, and how it is removed.",
    "docs/accessibility": "What the pages, views and reports do for people who see, hear or move differently.",
}
CONTRIBUTORS = {
    "CONTRIBUTING": "A map of the project: what is where, and where to change what.",
    "docs/design": "How the parts fit together, and why they are built as they are.",
    "docs/writing": "How lessons, hints and messages are written.",
    "docs/checks": "How an exercise is specified and checked.",
    "docs/build": "The rules for a lesson, and what a build makes of it.",
    "docs/views": "How an interactive picture is made.",
    "docs/testing": "What the tests hold, and how to run one of them.",
    "SECURITY": "What the judge promises, and how to report a promise that doesn't hold.",
}


# What the menu has in English alone, besides what the lists hold: descriptions in the code are English, as it is.
MENU = {
    "teachers": say("For teachers"),
    "contributors": say("For contributors"),
    "reference": say("Reference"),
}
IN_ENGLISH = "english://"  # begins an address of an English page in the sources of another language


def is_in_english_alone(page: str) -> bool:
    """Whether a page, by its name, has no translation."""
    return page in (*TEACHERS, *CONTRIBUTORS, *MENU)


def address_of_english(course: Course, name: str) -> str:
    """The address, on the first page, of a page that there is in English alone."""
    return f"{'' if course.is_english else IN_ENGLISH}{name}.html"


def to_english(text: str) -> str:
    """A text with its links to pages that there are in English alone as another language's pages have them."""

    def link(match: re.Match[str]) -> str:
        name, hash_, anchor = match["to"].partition("#")
        name = name.removesuffix(".md")
        return f"[{match['words']}]({IN_ENGLISH}{name}.html{hash_}{anchor})" if is_in_english_alone(name) else match[0]

    return LINK.sub(link, text)


def write_guides(course: Course, folder: Path) -> None:
    """Write the repository's documents, as pages, into the folder of Sphinx's sources, and the two lists of them."""
    for name in (*TEACHERS, *CONTRIBUTORS):
        target = folder / f"{name}.md"
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(guide(course, f"{name}.md"), encoding="utf-8")
    pictures = course.root / "docs" / "pictures"
    shutil.copytree(pictures, folder / "docs" / "pictures", dirs_exist_ok=True)


def guide(course: Course, path: str) -> str:
    """The document at `path` with its links as they work on the site. `CourseError` with the line of a link that leads
    nowhere."""
    text = (course.root / path).read_text(encoding="utf-8")
    wrong: list[str] = []

    def link(match: re.Match[str]) -> str:
        to, _, _part = match["to"].partition("#")
        if not to or re.match(r"[a-z]+:", to):
            return match[0]
        file = os.path.normpath(Path(path).parent / to)
        if not (course.root / file).exists():
            wrong.append(
                f"{path}:{text.count(chr(10), 0, match.start()) + 1}: there is no file for this link: {match['to']}"
            )
        if file.removesuffix(".md") in (*TEACHERS, *CONTRIBUTORS):
            return match[0]
        shown = course.settings.get("files", "").rstrip("/")
        return f"[{match['words']}]({shown}/{file})" if shown else f"{match['words']}"

    made = LINK.sub(link, text)
    if wrong:
        raise CourseError("\n".join(wrong))
    return made
