"""`make site`: the sources of the pages into build/website/, the pages into site/."""

from __future__ import annotations

import shutil
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import click

from grader.authoring.release import release
from grader.authoring.repository import Repository
from grader.authoring.written_in import refuse as refuse_what_somebody_wrote
from grader.errors import CourseError
from website.course import HERE, ROOT, Course
from website.exercises import write_exercises
from website.glossary import write_glossary
from website.guides import write_guides
from website.index import write_index
from website.languages import lead_to_english, write_theme
from website.lessons import write_lesson
from website.references import check_references
from website.start import write_start
from website.styles import slim

PAGES = "html"  # in the folder of what is made


@click.command()
@click.option(
    "--out", type=click.Path(path_type=Path), default=ROOT / "site", help="The folder that the pages go into.  [site/]"
)
@click.option("--solutions", is_flag=True, help="Include the model solutions, for teachers.")
@click.option("--zip/--no-zip", "with_zip", default=True, help="Offer the student's package for download, or not.")
def main(out: Path, solutions: bool, with_zip: bool) -> None:
    """Build the course's web site, in English and in every language that is complete, without running a lesson or
    downloading anything."""
    start = time.monotonic()
    course = Course(solutions=solutions, with_zip=with_zip)
    try:
        lessons = len(course.lessons)  # which are read once, and handed to the processes
        courses = [course.in_language(code) for code in course.languages]
    except CourseError as error:
        sys.exit(str(error))
    with ProcessPoolExecutor() as processes:
        faults = [fault for fault in processes.map(make, courses) if fault]
    if faults:
        sys.exit("\n".join(faults))
    put_together(courses, out)
    pages = sum(1 for _ in out.rglob("*.html"))
    click.echo(f"{out}: {pages} pages, {lessons} lessons, in {time.monotonic() - start:.1f} s")


def make(course: Course) -> str:
    """Make the pages of one language; what is wrong, empty if nothing is."""
    try:
        write_sources(course, course.made)
        with course.speaking():
            return "" if build(course.made) == 0 else f"The pages in {course.languages[course.language]} have faults."
    except CourseError as error:
        return str(error)


def put_together(courses: list[Course], out: Path) -> None:
    """Put the pages of all languages in the place of what is in `out`."""
    shutil.rmtree(out, ignore_errors=True)
    out.parent.mkdir(parents=True, exist_ok=True)
    for course in courses:
        shutil.move(course.made / PAGES, out if course.is_english else out / course.language)


def write_sources(course: Course, folder: Path) -> None:
    """Sphinx's sources into `folder`/source, files to copy into `folder`/extra.

    `CourseError` where a lesson is wrong or refers to something that isn't there.
    """
    repository = Repository(course.root, course.exercises)
    if course.is_english:
        check_references(course)
        refuse_what_somebody_wrote(repository, course.lessons)
    shutil.rmtree(folder, ignore_errors=True)
    downloads, pages = folder / "extra" / "downloads", folder / "source"
    downloads.mkdir(parents=True)
    pages.mkdir()
    notebooks = course.root / "notebooks" / ("" if course.is_english else course.language)
    for lesson in course.lessons.values():
        write_lesson(course, lesson, pages, folder / "extra")
        shutil.copy(notebooks / f"{lesson.name}.ipynb", downloads)
    write_exercises(course, pages)
    write_glossary(course, pages)
    write_index(course, pages, folder / "extra")
    write_start(course, pages)
    if not course.is_english:
        with course.speaking():
            write_theme(course)
        return
    write_guides(course, pages)
    shutil.copytree(course.root / "docs" / "pictures", folder / "extra" / "pictures" / "shared")
    shutil.copy(HERE / "reference.md", pages)
    if course.with_zip:
        release(repository, downloads)


def build(made: Path) -> int:
    """Run Sphinx on the sources in `made`; returns its exit code. A warning counts as an error; all of them are
    shown."""
    from sphinx.cmd.build import build_main

    fresh = made / PAGES  # myst-nb puts a folder beside the pages
    settings = ["-c", str(HERE), "-d", str(made / "doctrees"), "-D", f"html_extra_path={made / 'extra'}"]
    code = build_main(["-q", "-W", "--keep-going", "-b", "html", *settings, str(made / "source"), str(fresh)])
    if code == 0:
        shutil.rmtree(fresh / "_sources", ignore_errors=True)
        for file in fresh.rglob("*.map"):  # for whoever works on the theme
            file.unlink()
        lead_to_english(fresh)
        slim(fresh)
    return code


if __name__ == "__main__":
    main()
