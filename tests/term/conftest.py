"""The course with which every random term begins."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy

from grader.course.class_directory import course_layout
from grader.course.roster import update
from tests.batch.conftest import _schema, command, template  # noqa: F401
from tests.term.cheap import cheap
from tests.term.given import LESSON, PEOPLE, SECOND
from tests.term.model import DAY, DUE
from tests.term.stand_in import stand_in

pytest.register_assert_rewrite("tests.term.machine")
SETTINGS = """
c.CourseLateness.grace_minutes = 10
c.CourseLateness.percent_a_day = 10
c.CollectRegularFiles.check_owner = False
"""


@pytest.fixture(scope="module")
def ready(template: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:  # noqa: F811
    """A course with three people and a due date, and commands that lose no time."""
    course = Path(shutil.copytree(template, tmp_path_factory.mktemp("term") / "course"))
    with (course / "nbgrader_config.py").open("a") as file:
        file.write(SETTINGS)
    layout = course_layout(course)
    update(course, layout.db_url, layout.course_id, PEOPLE)
    shutil.copytree(course / "source" / LESSON, course / "source" / SECOND)
    (course / "source" / SECOND / f"{LESSON}.ipynb").rename(course / "source" / SECOND / f"{SECOND}.ipynb")
    command(course, "nbgrader", "generate_assignment", SECOND)
    engine = sqlalchemy.create_engine(layout.db_url)
    with engine.begin() as db:
        for lesson, due in ((LESSON, DUE), (SECOND, DUE + 2 * DAY)):
            db.execute(sqlalchemy.text(f"update assignment set duedate = '{due}' where name = '{lesson}'"))
    engine.dispose()
    with pytest.MonkeyPatch.context() as patch:
        stand_in(patch)
        cheap(patch)
        patch.setenv("TZ", "UTC")
        time.tzset()
        yield course
