"""What the tests of a hub share: who is on it, and how somebody logs in."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from tools.hub import STUDENTS, Hub
from tools.lab import page_of, running_browser

ROOT = Path(__file__).parents[2]
PROGRAMS = Path(os.environ.get("HUB_PROGRAMS", ROOT / ".venv-hub" / "bin")).absolute()
LESSON = "00_start_here"
ANN, BO = STUDENTS
PATIENCE = 90_000  # milliseconds: servers and kernels start, and nbgrader's commands run


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with running_browser() as opened:
        yield opened


def log_in(page: Page, hub: Hub, name: str, password: str) -> None:
    page.goto(f"{hub.url}/hub/login")
    page.fill("input[name=username]", name)
    page.fill("input[name=password]", password)
    page.click("[type=submit]")


def server_of(browser: Browser, hub: Hub, name: str) -> Page:
    """A page of somebody who is logged in, and whose JupyterLab is open."""
    page = page_of(browser)
    page.set_default_timeout(PATIENCE)
    log_in(page, hub, name, hub.password)
    page.wait_for_url(f"**/user/{name}/lab**")
    page.wait_for_function("window.jupyterapp?.commands.hasCommand('nbgrader:open-assignment-list')")
    return page


def status_of(page: Page, path: str) -> int:
    return page.request.get(path).status


def homes(hub: Hub, name: str) -> Path:
    return hub.folder / "home" / name
