"""A real JupyterLab on this machine, and a headless Chromium that operates it as a learner would."""

from __future__ import annotations

import json
import os
import secrets
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import nbformat
from playwright.sync_api import Browser, Locator, Page, Route, expect, sync_playwright

from tools.my_course import WHERE

# Whose JupyterLab it is: another environment's where this names its Python.
PYTHON = os.environ.get("LAB_PYTHON", sys.executable)
THEMES = {"light": "JupyterLab Light", "dark": "JupyterLab Dark"}
CHROMIUM_FLAGS = [
    "--no-sandbox",
    "--disable-quic",
    "--disable-background-networking",
    "--disable-component-update",
    "--no-first-run",
]
KERNEL_IDLE = "window.jupyterapp.shell.currentWidget.sessionContext?.session?.kernel?.status === 'idle'"
# Milliseconds. By itself, Playwright asks at every frame, which keeps the browser drawing.
POLLING = 50
# The next notebook in place of all open ones, in the same kernel, of which only what was imported is left.
REPLACE = """async name => {
  const { shell, commands } = window.jupyterapp;
  const { kernel } = shell.currentWidget.sessionContext.session;
  const code = "__import__('ipywidgets').Widget.close_all(); get_ipython().reset()";
  await kernel.requestExecute({ code, silent: true, store_history: false }).done;
  for (const open of [...shell.widgets("main")]) {
    if (open.context) { open.context.model.dirty = false; }
    open.close();
  }
  // A view has to do with its own style sheet.
  document.querySelectorAll("style").forEach(sheet => sheet.textContent.includes(".att-view") && sheet.remove());
  await commands.execute("docmanager:open", { path: name, factory: "Notebook", kernel: { id: kernel.id } });
}"""
# The theme is there, and the curtain that JupyterLab draws over its change is gone.
THEMED = """light => document.body.dataset.jpThemeLight === light && !document.getElementById("jupyterlab-splash")
  && new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))"""
DRAWN = "([canvas, before]) => canvas.clientWidth > 150 && canvas.toDataURL() !== before"
QUIET = {"checkForUpdates": False, "doNotDisturbMode": True}
LEARNERS = Path(__file__).parents[1] / "release" / "student" / "jupyter" / "lab.py"


@dataclass(frozen=True)
class Lab:
    """A running JupyterLab: its folder, its address and its token."""

    folder: Path
    url: str
    token: str


def chromium() -> str | None:
    """The path of the browser to drive: what CHROMIUM names, Debian's chromium, or the Chrome that CI machines have;
    None if there is none."""
    return os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")


@contextmanager
def running_lab(folder: Path, home: Path) -> Iterator[Lab]:
    """JupyterLab on `folder` as a learner starts it, with settings of its own under `home`."""
    token = secrets.token_hex(16)
    port = _free_port()
    # Without what tells that pytest runs it: a learner has buttons to press.
    env = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")} | {
        "JUPYTER_CONFIG_DIR": str(home / "config"),
        "JUPYTER_DATA_DIR": str(home / "data"),
        "JUPYTER_RUNTIME_DIR": str(home / "runtime"),
        "JUPYTERLAB_SETTINGS_DIR": str(home / "settings"),
        "JUPYTERLAB_WORKSPACES_DIR": str(home / "workspaces"),
        "IPYTHONDIR": str(home / "ipython"),
        "GRADER_PROGRESS": str(home / "progress.json"),
        WHERE: str(folder),
        "OMP_NUM_THREADS": "1",
        # `nbgrader` and `python` of this environment, also where it isn't activated.
        "PATH": f"{Path(PYTHON).parent}{os.pathsep}{os.environ.get('PATH', '')}",
    }
    settings = home / "settings" / "@jupyterlab" / "apputils-extension"
    settings.mkdir(parents=True)
    (settings / "notification.jupyterlab-settings").write_text(json.dumps(QUIET))
    command = [PYTHON, "-m", "jupyterlab", f"--config={LEARNERS}", "--no-browser", "--ip=127.0.0.1", f"--port={port}"]
    command += ["--ServerApp.port_retries=0", f"--IdentityProvider.token={token}", f"--ServerApp.root_dir={folder}"]
    command += ["--allow-root", "--LabApp.extension_manager=readonly", "--LabApp.expose_app_in_browser=True"]
    with (home / "lab.log").open("wb") as log:
        server = subprocess.Popen(command, env=env, cwd=folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    lab = Lab(folder, f"http://127.0.0.1:{port}", token)
    try:
        _wait_for(lab, server, home / "lab.log")
        yield lab
    finally:
        server.terminate()
        try:
            server.wait(20)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _wait_for(lab: Lab, server: subprocess.Popen[bytes], log: Path, seconds: float = 180) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end and server.poll() is None:
        try:
            urllib.request.urlopen(f"{lab.url}/api?token={lab.token}", timeout=2)
            return
        except OSError:
            time.sleep(0.2)
    raise RuntimeError(f"JupyterLab did not start:\n{log.read_text()[-2000:]}")


@contextmanager
def running_browser() -> Iterator[Browser]:
    """A fresh browser, for the block. One is enough for a process: Playwright can't be started a second time in it."""
    executable = chromium()
    if executable is None:
        raise RuntimeError("no Chromium found: apt-get install chromium, or set CHROMIUM to its path")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=CHROMIUM_FLAGS)
        try:
            yield browser
        finally:
            browser.close()


def page_of(browser: Browser, width: int = 1280, height: int = 1000) -> Page:
    """A page of a browser with cookies of its own, in this size in pixels. Nothing but 127.0.0.1 can be reached from
    it."""
    page = browser.new_context(viewport={"width": width, "height": height}).new_page()
    page.set_default_timeout(60_000)
    page.refused = []  # type: ignore[attr-defined]  # for a test to look at
    page.route("**/*", lambda route: _only_here(page, route))
    return page


def _only_here(page: Page, route: Route) -> None:
    url = route.request.url
    if url.startswith(("http://127.0.0.1:", "data:", "blob:", "about:")):
        route.continue_()
    else:
        page.refused.append(url)  # type: ignore[attr-defined]
        route.abort()


class Notebook:
    """An open notebook, and what a learner does to it.

    JupyterLab is loaded once for a page, and one kernel is started: a further notebook takes the place of the last one,
    and finds the kernel without any names. To start another kernel and import torch there takes seconds.
    """

    def __init__(self, page: Page, lab: Lab, name: str) -> None:
        self.page = page
        if page.url.startswith(f"{lab.url}/lab"):
            page.mouse.move(0, 0)
            page.evaluate(REPLACE, name)
        else:
            page.goto(f"{lab.url}/lab/tree/{name}?reset&token={lab.token}")
        self._ready()

    @classmethod
    def shown(cls, page: Page) -> Notebook:
        """The notebook that somebody has just opened by hand in the page."""
        notebook = cls.__new__(cls)
        notebook.page = page
        notebook._ready()
        return notebook

    def _ready(self) -> None:
        self.page.wait_for_selector(".jp-NotebookPanel .jp-Cell", timeout=120_000)
        # Before the kernel has started, JupyterLab would ask which one to take.
        self.page.wait_for_function(KERNEL_IDLE, timeout=120_000, polling=POLLING)

    def command(self, name: str, **args: object) -> None:
        """Run one of JupyterLab's own commands, as its menus do."""
        self.page.evaluate("([name, args]) => { window.jupyterapp.commands.execute(name, args) }", [name, args])

    def theme(self, name: str, canvas: Locator | None = None) -> None:
        """Switch to the theme "light" or "dark". If that is a change, wait until `canvas` is drawn anew."""
        is_new = self.page.evaluate("document.body.dataset.jpThemeLight") != str(name == "light").lower()
        before = picture(canvas) if canvas and is_new else None
        if is_new:
            self.command("apputils:change-theme", theme=THEMES[name])
        self.page.wait_for_function(THEMED, arg=str(name == "light").lower(), polling=POLLING)
        if canvas:
            # While it changes its theme, JupyterLab hides everything, and a picture drawn then has no room.
            self.page.wait_for_function(DRAWN, arg=[canvas.element_handle(), before], polling=POLLING)

    def run_all(self, seconds: float = 120) -> None:
        """Run every cell, and wait until the kernel is idle again, at most so many `seconds`."""
        self.command("notebook:run-all-cells")
        self.wait_idle(seconds)

    def wait_idle(self, seconds: float = 120) -> None:
        """Wait until nothing is running or waiting to run, at most so many `seconds`."""
        self.page.wait_for_function(
            f"() => ({KERNEL_IDLE}) && "
            "![...document.querySelectorAll('.jp-InputPrompt')].some(p => p.textContent.includes('*'))",
            timeout=seconds * 1000,
            polling=POLLING,
        )

    def show_code(self) -> None:
        """Show the code of cells that are collapsed."""
        self.command("notebook:show-all-cell-code")

    def cell(self, source: str) -> Locator:
        """The code cell whose source holds this text."""
        return self.page.locator(".jp-CodeCell", has=self.page.locator(".cm-content", has_text=source)).first

    def save(self) -> None:
        """Save, and wait until that is done."""
        self.command("docmanager:save")
        self.page.wait_for_function("!window.jupyterapp.shell.currentWidget.context.model.dirty", polling=POLLING)

    def run_cell(self, source: str) -> Locator:
        """Click into the code cell that holds a text, and press Shift+Enter. Returns the cell."""
        cell = self.cell(source)
        cell.scroll_into_view_if_needed()
        cell.locator(".cm-content").click()
        self.page.keyboard.press("Shift+Enter")
        self.wait_idle()
        return cell

    def write_cell(self, source: str, new: str) -> Locator:
        """Replace a code cell's text by typing over it, and run it. Returns the cell; `source` is a text that it holds
        before."""
        cell = self.cell(source)
        cell.scroll_into_view_if_needed()
        cell.locator(".cm-content").click()
        self.page.keyboard.press("Control+A")
        self.page.keyboard.insert_text(new)
        self.page.keyboard.press("Shift+Enter")
        self.wait_idle()
        return cell


@dataclass(frozen=True)
class Excerpt:
    """A part of a lesson that shows a view."""

    lesson: str
    start: str  # how what is stored of the view begins
    view: str  # a text by which the view's own cell is known
    before: tuple[str, ...] = ()  # texts by which the code cells in front of it are known
    whole: bool = False  # the lesson as it is

    def write(self, folder: Path) -> str:
        """Write the excerpt beside the lesson's notebook in `folder`, which stays as it is: JupyterLab saves by itself
        what a test has opened. Returns the file's name."""
        name = f"{self.lesson}.ipynb"
        notebook = nbformat.read(folder / name, as_version=4)
        if not self.whole:
            code = [cell for cell in notebook.cells if cell.cell_type == "code"]
            notebook.cells = [next(cell for cell in code if text in cell.source) for text in (*self.before, self.view)]
        nbformat.write(notebook, folder / f"excerpt_{name}")
        return f"excerpt_{name}"


def press(target: Locator, *keys: str) -> None:
    """Give an element the focus, and press keys one after the other, also where they move the focus."""
    target.focus()
    for key in keys:
        target.page.keyboard.press(key)


def application(view: Locator) -> Locator:
    """The element of a view in which arrow keys move."""
    return view.get_by_role("application")


def choose(view: Locator, group: str, name: str) -> None:
    """Choose one of a group of buttons, by keyboard."""
    button = view.get_by_role("group", name=group, exact=True).get_by_role("button", name=name, exact=True)
    press(button, "Enter")
    expect(button).to_have_attribute("aria-pressed", "true")


def go(view: Locator, step: str) -> None:
    """Go to a step of a view, by its button and the keyboard."""
    button = view.get_by_role("button", name=step)
    press(button, "Enter")
    expect(button).to_have_attribute("aria-current", "step")


def picture(canvas: Locator) -> str:
    """What is drawn on a canvas, pixel by pixel, as a data URL."""
    return canvas.evaluate("canvas => canvas.toDataURL()")
