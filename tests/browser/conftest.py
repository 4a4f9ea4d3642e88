"""One JupyterLab and one browser for all tests that look at the course as a learner does."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tools.lab import Excerpt, Lab, Notebook, chromium, page_of, running_browser, running_lab

ROOT = Path(__file__).parents[2]
SCREENSHOTS = ROOT / ".cache" / "screenshots"
AXE = ROOT / "node_modules" / "axe-core" / "axe.min.js"
# What is drawn, or written.
LOOK = "element => element.toDataURL?.() ?? element.textContent"
# Notes the times of a key, of the frame after it, and of the frame in which the view is drawn.
WATCH = f"""(view, shown) => {{
  const answer = window.answer = {{}};
  const key = ({{ timeStamp }}) => {{
    answer.key = timeStamp;
    requestAnimationFrame(time => {{ answer.frame = time; }});
  }};
  const drawn = () => {{
    answer.took = performance.now() - answer.key;
    answer.drawn = document.timeline.currentTime;
    answer.look = ({LOOK})(shown);
  }};
  view.addEventListener("keydown", key, {{ capture: true, once: true }});
  view.addEventListener("att-drawn", drawn, {{ once: true }});
}}"""
# Milliseconds. The kernel answers in some ten of them, but beside other tests it may have to wait for its turn.
expect.set_options(timeout=30_000)


@pytest.fixture(scope="session")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """JupyterLab on fresh copies of the students' notebooks, with a progress of its own."""
    if chromium() is None:
        pytest.fail("no Chromium: apt-get install chromium, or set CHROMIUM to the path of one")
    folder, home = tmp_path_factory.mktemp("notebooks"), tmp_path_factory.mktemp("home")
    for notebook in (ROOT / "notebooks").glob("*.ipynb"):
        shutil.copy(notebook, folder)
    with running_lab(folder, home) as running:
        yield running


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """The browser of all tests."""
    with running_browser() as opened:
        yield opened


@pytest.fixture(scope="session")
def page(lab: Lab, browser: Browser) -> Page:
    """One page; every test opens the notebook that it needs. `sent` are the messages of its views to the kernel."""
    page = page_of(browser)
    page.sent = []  # type: ignore[attr-defined]
    page.on("websocket", lambda socket: socket.on("framesent", lambda frame: _note(page, frame)))
    return page


def _note(page: Page, frame: bytes | str) -> None:
    if b"comm_msg" in (frame if isinstance(frame, bytes) else frame.encode()):
        page.sent.append(frame)  # type: ignore[attr-defined]


@pytest.fixture(scope="module")
def notebook(request: pytest.FixtureRequest, page: Page, lab: Lab) -> Notebook:
    """The module's EXCERPT, open in the light theme. Nothing of it has been run."""
    opened = Notebook(page, lab, request.module.EXCERPT.write(lab.folder))
    opened.theme("light")
    opened.show_code()
    return opened


@pytest.fixture(scope="module")
def view(request: pytest.FixtureRequest, notebook: Notebook) -> Locator:
    """The view of the module's EXCERPT: what is stored of it can be read, and after a run there it is."""
    excerpt: Excerpt = request.module.EXCERPT
    cell = notebook.cell(excerpt.view)
    cell.scroll_into_view_if_needed()
    expect(cell.locator(".jp-OutputArea-output").last).to_contain_text(excerpt.start)  # below its picture
    notebook.run_all()
    found = cell.locator(".att-view")
    found.wait_for()
    found.scroll_into_view_if_needed()
    return found


@pytest.fixture
def at_once(view: Locator, capsys: pytest.CaptureFixture[str]):
    """Checks that a key is answered in the next frame, by another picture, and that the kernel isn't asked. Prints the
    milliseconds from the key to the end of the drawing."""

    def check(target: Locator, key: str, shown: Locator) -> None:
        page = view.page
        target.focus()
        page.wait_for_timeout(300)  # what went before
        before, page.sent[:] = shown.evaluate(LOOK), []  # type: ignore[attr-defined]
        view.evaluate(WATCH, shown.element_handle())
        page.keyboard.press(key)
        page.wait_for_function("window.answer.look && window.answer.frame")
        answer = page.evaluate("window.answer")
        assert answer["look"] != before
        assert answer["drawn"] <= answer["frame"]
        page.wait_for_timeout(300)
        assert page.sent == []  # type: ignore[attr-defined]
        with capsys.disabled():
            print(f" {key} drawn after {answer['took']:.1f} ms ", end="")

    return check


@pytest.fixture
def shot(request: pytest.FixtureRequest):
    """Takes a picture of an element, for people to look at: `.cache/screenshots/`."""
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)

    def take(target: Locator, name: str) -> None:
        target.screenshot(path=SCREENSHOTS / f"{name}.png")

    return take


@pytest.fixture
def axe(page: Page):
    """What axe-core finds serious or critical within a selector, as "rule: element" lines."""

    def run(selector: str) -> list[str]:
        if not page.evaluate("() => 'axe' in window"):
            page.evaluate(AXE.read_text(encoding="utf-8"))
        found = page.evaluate("selector => window.axe.run(selector)", selector)
        assert found["passes"], f"axe looked at nothing in {selector}"
        return [
            f"{violation['id']}: {node['html'][:200]}"
            for violation in found["violations"]
            if violation["impact"] in ("serious", "critical")
            for node in violation["nodes"]
        ]

    return run
