"""The documents of the repository as pages. Links among them stay; those to other files lead to the repository, where
settings.toml says where that is shown."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

from grader.errors import CourseError
from website.course import Course
from website.references import LINK

TEACHERS = (
    "docs/teaching",
    "docs/grading",
    "docs/operations",
    "docs/threat-model",
    "docs/course",
    "docs/own-exercises",
    "docs/jupyterhub",
    "docs/elsewhere",
    "docs/privacy",
    "docs/accessibility",
)
CONTRIBUTORS = (
    "CONTRIBUTING",
    "docs/design",
    "docs/writing",
    "docs/checks",
    "docs/build",
    "docs/views",
    "docs/testing",
    "SECURITY",
)


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
        shown = course.settings.get("repository", "").rstrip("/")
        return f"[{match['words']}]({shown}/{file})" if shown else f"{match['words']}"

    made = LINK.sub(link, text)
    if wrong:
        raise CourseError("\n".join(wrong))
    return made
