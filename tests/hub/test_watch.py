"""On a hub whose service is `grader watch`: marks and feedback come by themselves, and the teacher sees them come."""

from __future__ import annotations

import re
from collections.abc import Iterator

import nbformat
import pytest
from playwright.sync_api import Browser, expect

from tools.hub import TEACHER, Hub, as_user, running_hub

from .conftest import ANN, BO, LESSON, PATIENCE, PROGRAMS, homes, server_of, status_of

pytestmark = pytest.mark.timeout(600)
PAGE = "files/course/watch.html"


@pytest.fixture(scope="module")
def hub() -> Iterator[Hub]:
    """A hub with one lesson released, which grades what is handed in."""
    with running_hub(PROGRAMS, lessons=(LESSON,)) as running:
        yield running


def as_student(hub: Hub, name: str, *words: str) -> None:
    """One of nbgrader's commands, with the settings that the hub gives a student's server."""
    command = ["env", f"JUPYTER_CONFIG_PATH={hub.root / 'settings' / 'students'}", "nbgrader", *words, LESSON]
    as_user(name, command, hub.folder, PROGRAMS, homes(hub, name))


def hand_in(hub: Hub, name: str, answer: str) -> None:
    as_student(hub, name, "fetch_assignment")
    path = homes(hub, name) / LESSON / f"{LESSON}.ipynb"
    notebook = nbformat.read(path, as_version=4)
    (cell,) = (cell for cell in notebook.cells if cell.source.startswith("def first_steps"))
    cell.source = f"def first_steps(x):\n    return {answer}"
    nbformat.write(notebook, path)
    as_student(hub, name, "submit")


def test_marks_and_feedback_come_by_themselves_and_the_teachers_page_shows_them(hub: Hub, browser: Browser) -> None:
    page = server_of(browser, hub, TEACHER)
    hand_in(hub, ANN, "2 * x + 1")
    page.goto(f"{hub.url}/hub/user-redirect/{PAGE}")
    row = page.locator("tr", has_text=ANN)
    expect(row.last).to_contain_text("1 of 1", timeout=PATIENCE)
    # Nobody touches the page meanwhile.
    hand_in(hub, BO, "2 * x")
    expect(page.locator("tr", has_text=BO).last).to_contain_text(re.compile(r"0[.\d]* of 1"), timeout=PATIENCE)
    as_student(hub, BO, "fetch_feedback")
    (feedback,) = (homes(hub, BO) / LESSON / "feedback").rglob("*.html")
    assert "first_steps" in feedback.read_text()


def test_a_student_does_not_see_the_page(hub: Hub, browser: Browser) -> None:
    page = server_of(browser, hub, ANN)
    assert status_of(page, f"{hub.url}/user/{TEACHER}/{PAGE}") in (403, 404)
    assert status_of(page, f"{hub.url}/user/{ANN}/{PAGE}") == 404
