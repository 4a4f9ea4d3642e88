"""The pages for somebody alone: how to install and start, and who is behind the course. Facts come from elsewhere."""

from __future__ import annotations

import os
import re
import time
import tomllib
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

import yaml
from babel.dates import format_date

from grader import __version__
from grader.authoring.prose import about
from grader.authoring.release import FOLDER
from grader.errors import CourseError
from grader.languages import ENGLISH, shown, spoken
from grader.sentences import say, together
from website.course import HERE, Course
from website.guides import to_english
from website.pages import write

WHEEL = f"attention_course-{__version__}-py3-none-any.whl"
PACKAGE = "release/student/README.md"
BEGIN, END = "<!-- how to install -->", "<!-- and to start -->"  # around what is shown of the package's README


def write_start(course: Course, folder: Path) -> None:
    """Write `install.md` and `about.md`. `CourseError` where a fact isn't found."""
    for name in ("install.md", "about.md"):
        write(course, folder / name, _filled, name)


def _filled(course: Course, name: str) -> str:
    return filled(page(course, name), facts(course))


def page(course: Course, name: str) -> str:
    """A page that is written by hand, in the language of the pages. There its links to documents, which stay English,
    lead to the English pages."""
    text = course.prose((HERE / name).read_text(encoding="utf-8"))
    return text if course.is_english else to_english(text)


def facts(course: Course) -> dict[str, str]:
    """The facts that the pages on how to start fill in, by name. `CourseError` where one isn't found."""
    return {**_of_install(course), **_of_about(course)}


def filled(text: str, known: Mapping[str, str]) -> str:
    """A text with each `<name>` that is known replaced.

    >>> filled("It is <version>.", {"version": "1.0"})
    'It is 1.0.'
    """
    return re.sub(r"<([\w-]+)>", lambda match: known.get(match[1], match[0]), text)


def _of_install(course: Course) -> dict[str, str]:
    times = {f"lesson-{lesson.number}": course.times[name].total for name, lesson in course.lessons.items()}
    return {
        "files": _files(course),
        "commands": commands(course.prose((course.root / PACKAGE).read_text(encoding="utf-8")), _torch_index(course)),
        "wheel": WHEEL,
        "total": shown(say("about {hours} hours", hours=round(sum(times.values()) / 60))),
        **{name: shown(about(minutes)) for name, minutes in times.items()},
    }


def _files(course: Course) -> str:
    name = f"{FOLDER}-{__version__}-student.zip"
    if course.with_zip:
        download = shown(say("Download {name}", name=name))
        link = f'<a href="{course.up}downloads/{name}" download><strong>{download}</strong></a>'
        return shown(say("{link}, which has all notebooks and the checks.", link=link))
    needed = say("You need `{name}`, which has all notebooks and the checks.", name=name)
    return shown(together(needed, say("Whoever gave you the address of these pages has it.")))


def commands(readme: str, index: str) -> str:
    """The part of the package's README on installing, with a heading for each system. `index` is where packages come
    from. `CourseError` where it says nothing."""
    _before, begin, rest = readme.partition(BEGIN)
    text, end, _after = rest.partition(END)
    if not (begin and end):
        raise CourseError(f"{PACKAGE}: the pages take the commands between the lines '{BEGIN}' and '{END}'")
    text = text.strip().replace("{wheel}", WHEEL).replace("{index}", index)
    return re.sub(r"(?m)^\*\*(\w+)\*\*$", r"### \1", text)


def _torch_index(course: Course) -> str:
    project = tomllib.loads((course.root / "pyproject.toml").read_text(encoding="utf-8"))
    return str(project["tool"]["attention-course"]["torch-cpu-index"])


def _of_about(course: Course) -> dict[str, str]:
    source, issues = (course.settings.get(key, "") for key in ("repository", "issues"))
    return {
        "version": __version__,
        "date": date(),
        "source": shown(say("Its source is [in the repository]({address}).", address=source)) if source else "",
        "report": shown(_to_report(issues.format(page="a page")) if issues else NO_ADDRESS),
        "citation": citation((course.root / "CITATION.cff").read_text(encoding="utf-8")),
        "licence": (course.root / "LICENSE").read_text(encoding="utf-8").strip(),
    }


def date() -> str:
    """The date of the pages, as it is written in their language."""
    seconds = float(os.environ.get("SOURCE_DATE_EPOCH", time.time()))
    if spoken() == ENGLISH:
        return time.strftime("%d %B %Y", time.gmtime(seconds))
    return str(format_date(datetime.fromtimestamp(seconds, UTC), "long", locale=spoken()))


def _to_report(address: str) -> str:
    return say("[Write to the maintainers]({address}).", address=address)


NO_ADDRESS = say("Tell whoever gave you the address of these pages, who can pass it on to the maintainers.")


def citation(cff: str) -> str:
    """The text of a CITATION.cff as one line of a list of references.

    >>> citation("authors: [{name: The authors}]\\ntitle: A course\\nversion: 1.0.0\\nlicense: MIT\\n")
    'The authors. A course. Version 1.0.0. Licence: MIT.'
    """
    known = yaml.safe_load(cff)
    authors = ", ".join(author["name"] for author in known["authors"])
    return f"{authors}. {known['title']}. Version {known['version']}. Licence: {known['license']}."
