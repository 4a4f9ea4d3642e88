"""The whole loop on a JupyterHub, in a browser: a student fetches, solves, checks, validates and submits, the teacher
collects, grades and releases, the student reads the feedback. Where root runs it, as three users of the machine.

`make test-hub` makes the hub's environment: the student's wheel, what teachers need, JupyterHub. HUB_PROGRAMS names its
folder of programs.
"""

from __future__ import annotations

import re
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tools.hub import TEACHER, Hub, running_hub
from tools.lab import Notebook, page_of

from .conftest import ANN, BO, LESSON, PATIENCE, PROGRAMS, homes, log_in, server_of, status_of

pytestmark = pytest.mark.timeout(600)


@pytest.fixture(scope="module")
def hub() -> Iterator[Hub]:
    """A hub with one lesson released, where the teacher grades by hand."""
    with running_hub(PROGRAMS, lessons=(LESSON,), watched=False) as running:
        yield running


@pytest.fixture(scope="module")
def ann(hub: Hub, browser: Browser) -> Page:
    return server_of(browser, hub, ANN)


@pytest.fixture(scope="module")
def teacher(hub: Hub, browser: Browser) -> Page:
    return server_of(browser, hub, TEACHER)


def has_command(page: Page, name: str) -> bool:
    return page.evaluate("name => window.jupyterapp.commands.hasCommand(name)", name)


def choose(page: Page, entry: str) -> None:
    """Choose an entry of the menu Nbgrader."""
    page.locator(".lm-MenuBar-itemLabel", has_text=re.compile("^Nbgrader$")).click()
    page.locator(".lm-Menu-itemLabel", has_text=re.compile(f"^{entry}$")).click()


def assignments(page: Page):
    """nbgrader's Assignment List, as it is now."""
    choose(page, "Assignment List")
    found = page.locator("#nbgrader-assignment-list, .nbgrader-assignment-list, #assignments").last
    found.wait_for()
    return found


def in_list(page: Page, kind: str):
    return page.locator(f"#{kind}_assignments_list .list_item", has_text=LESSON).first


def test_a_wrong_password_is_told_in_a_sentence(hub, browser):
    page = page_of(browser)
    log_in(page, hub, ANN, "wrong")
    expect(page.locator("body")).to_contain_text("Invalid username or password")
    log_in(page, hub, "stranger", hub.password)
    expect(page.locator("body")).not_to_contain_text("Logout")


def test_a_student_has_no_formgrader(hub, ann):
    assert not has_command(ann, "nbgrader:open-formgrader")
    assert not has_command(ann, "nbgrader:open-create-assignment")
    assert status_of(ann, f"{hub.url}/user/{ANN}/formgrader") == 404


def test_a_teachers_menu_opens_formgrader_in_a_tab_of_its_own(hub, teacher):
    """In a frame of JupyterLab, where nbgrader's own entry shows it, a hub forbids it."""
    assert has_command(teacher, "nbgrader:open-create-assignment")
    with teacher.context.expect_page() as opened:
        choose(teacher, "Formgrader")
    formgrader = opened.value
    formgrader.set_default_timeout(PATIENCE)
    formgrader.wait_for_url(f"{hub.url}/user/{TEACHER}/formgrader**")
    expect(formgrader.locator("table")).to_contain_text(LESSON)
    formgrader.close()


def test_a_teacher_begins_with_the_first_steps_of_teachers(teacher):
    expect(teacher.locator(".jp-MarkdownViewer")).to_contain_text("Say who is in the class")


def test_a_student_begins_with_the_first_steps(hub, ann):
    steps = ann.locator(".jp-MarkdownViewer")
    expect(steps).to_contain_text("In the menu at the top, choose Nbgrader, then Assignment List")
    assert ann.get_by_text("Would you like to get notified about official Jupyter news?").count() == 0


def test_a_student_fetches_solves_checks_validates_and_submits(hub, ann):
    assignments(ann)
    in_list(ann, "released").get_by_role("button", name="Fetch").click()
    in_list(ann, "fetched").wait_for()
    notebook = opened_by_hand(ann, LESSON, f"{LESSON}.ipynb")
    notebook.run_cell("from grader import")
    notebook.write_cell("def first_steps", "def first_steps(x):\n    return 2 * x + 1")
    expect(notebook.run_cell("check(first_steps)")).to_contain_text("1 of 1 point")
    said = doctors_words(ann, homes(hub, ANN))
    assert re.search(r"ok +The server's JupyterLab [\d.]+: has anywidget", said), said
    assert f"Exchange: {hub.root / 'exchange'} has the right permissions" in said
    notebook.save()
    ann.get_by_role("button", name="Validate").click()
    dialog = ann.locator(".jp-Dialog")
    expect(dialog).to_contain_text("Success! Your notebook passes all the tests.", timeout=PATIENCE)
    dialog.get_by_role("button").last.click()
    assignments(ann)
    in_list(ann, "fetched").get_by_role("button", name="Submit").click()
    in_list(ann, "submitted").wait_for()


def opened_by_hand(page: Page, folder: str, name: str) -> Notebook:
    """A notebook opened from the list of files on the left, as the first steps say."""
    for item in (folder, name):
        page.get_by_role("button", name="Refresh the file browser.").or_(
            page.locator("[data-command='filebrowser:refresh']")
        ).first.click()
        page.locator(".jp-DirListing-item", has_text=re.compile(f"^{re.escape(item)}")).first.dblclick()
    return Notebook.shown(page)


def doctors_words(page: Page, home: Path) -> str:
    """What `grader doctor` says in a student's kernel, whose server belongs to the hub."""
    code = "from grader.learner.doctor import doctor; open('doctor.txt', 'w').write(repr(doctor()))"
    run = "code => window.jupyterapp.shell.currentWidget.sessionContext.session.kernel.requestExecute({ code }).done"
    page.evaluate(run, code)
    (said,) = home.rglob("doctor.txt")
    text = said.read_text()
    said.unlink()  # it isn't handed in
    return text


def click_in_row(page: Page, icon: str, row: str = LESSON) -> None:
    """Click an icon in a table of Formgrader's, and close the window that says that it went well."""
    page.locator("tr", has_text=row).locator(f".glyphicon-{icon}").click()
    window = page.locator("#success-modal")
    expect(window).to_contain_text("Success", timeout=PATIENCE)
    window.get_by_role("button", name="OK").click()
    expect(window).to_be_hidden()


def test_the_teacher_collects_grades_and_releases_feedback(hub, teacher):
    formgrader = f"{hub.url}/user/{TEACHER}/formgrader"
    teacher.goto(formgrader)
    click_in_row(teacher, "cloud-download")
    teacher.goto(f"{formgrader}/manage_submissions/{LESSON}")
    click_in_row(teacher, "flash", ANN)
    expect(teacher.locator("tr", has_text=ANN)).to_contain_text("1 / 1", timeout=PATIENCE)
    expect(teacher.locator("tr", has_text=ANN)).to_contain_text("Student, Ann")
    teacher.goto(formgrader)
    click_in_row(teacher, "comment")
    click_in_row(teacher, "envelope")


def test_the_student_fetches_feedback_and_reads_it(hub, ann):
    ann.goto(f"{hub.url}/user/{ANN}/lab")
    ann.wait_for_function("window.jupyterapp?.commands.hasCommand('nbgrader:open-assignment-list')")
    assignments(ann)
    in_list(ann, "submitted").get_by_role("button", name="Fetch Feedback").click()
    in_list(ann, "submitted").get_by_text("(view feedback)").first.wait_for()
    in_list(ann, "submitted").get_by_text("(view feedback)").first.click()
    ann.locator(".jp-DirListing-item", has_text=f"{LESSON}.html").dblclick()
    page = ann.frame_locator(".jp-HTMLViewer iframe").locator("body")
    expect(page).to_contain_text("first_steps 1 of 1 points", timeout=PATIENCE)


def test_another_student_sees_neither_solutions_nor_submissions(hub, browser):
    bo = server_of(browser, hub, BO)
    assignments(bo)
    in_list(bo, "released").wait_for()
    assert in_list(bo, "submitted").count() == 0
    assert status_of(bo, f"{hub.url}/user/{ANN}/api/contents") in (403, 404)
    assert not [*PROGRAMS.parent.glob("lib/*/site-packages/grader/solutions")]
    course, inbound = hub.root / "course", hub.root / "exchange" / "attention" / "inbound"
    assert stat.S_IMODE(course.stat().st_mode) & 0o007 == 0
    assert stat.S_IMODE(inbound.stat().st_mode) & 0o007 == 0o003
