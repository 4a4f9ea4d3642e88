"""Time from a key to the redrawn picture of every view that computes in the browser, in real JupyterLab, and what goes
over the wire meanwhile.

The time is the browser's own, from the key's time stamp to the end of the drawing that follows it.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import nbformat
from playwright.sync_api import Locator, Page, WebSocket

from tools.lab import Notebook, page_of, running_browser, running_lab

RUNS = 60
WARM_UP = 5
PAUSE = 100  # milliseconds between two keys: a person's pace
HEAD = f"{'view':36} {'key on':12} {'median ms':>10} {'p95 ms':>8} {'messages, bytes':>16}"
SETUP = """import torch
from grader.views import *
generator = torch.Generator().manual_seed(0)
def drawn(*size): return torch.randn(*size, generator=generator)"""
ATTENTION = "AttentionExplorer(drawn({0}, {1}), drawn({1}, {1}), drawn({1}, {1}), drawn({1}, {1}))"
ARROWS, TURNS = ("ArrowRight", "ArrowLeft"), ("Enter", "Enter")
# What makes a view, the role of what is operated, the two keys that it gets in turn, and a button to press before.
VIEWS = (
    *((ATTENTION.format(size, min(size, 16)), "slider", ARROWS, "Softmax") for size in (3, 16, 48)),
    ("MaskPainter(drawn(5, 5), ['the', 'cat', 'sat'])", "application", TURNS, ""),
    ("NormExplorer(drawn(4, 5))", "application", ("PageUp", "PageDown"), ""),
    ("HeadSplitter()", "button", TURNS, ""),
    ("ScalingExplorer(drawn(500, 512), drawn(10, 512))", "slider", ARROWS, ""),
    ("PositionExplorer()", "slider", ("ArrowLeft", "ArrowRight"), ""),
    ("OnlineSoftmax(drawn(3, 4), drawn(8, 4), drawn(8, 2))", "button", TURNS, ""),
)

LISTEN = """view => {
  window.times = [];
  let pressed = 0;
  view.addEventListener("keydown", event => { pressed = event.timeStamp; }, true);
  view.addEventListener("att-drawn", () => {
    if (pressed) { window.times.push(performance.now() - pressed); pressed = 0; }
  });
}"""


class Wire:
    """Counts, in `bytes`, all WebSocket messages of a page."""

    def __init__(self, page: Page) -> None:
        self.bytes = 0
        page.on("websocket", self._watch)

    def _watch(self, socket: WebSocket) -> None:
        socket.on("framesent", self._count)
        socket.on("framereceived", self._count)

    def _count(self, payload: bytes | str) -> None:
        self.bytes += len(payload if isinstance(payload, bytes) else payload.encode())


def press(page: Page, target: Locator, keys: tuple[str, str], runs: int) -> list[float]:
    """The milliseconds of each of so many `runs`, presses of the two keys in turn. With a pair of buttons, those are
    pressed in turn."""
    page.evaluate("window.times = []")
    for run in range(runs):
        (target.nth(run % 2) if target.count() == 2 else target).focus()
        page.keyboard.press(keys[run % 2])
        page.wait_for_function("count => window.times.length >= count", arg=run + 1)
        page.wait_for_timeout(PAUSE)
    return page.evaluate("window.times")


def measure(view: Locator, role: str, keys: tuple[str, str], wire: Wire) -> tuple[list[float], int]:
    """The milliseconds of each press of the keys, and the bytes of all messages for one press. `role` is that of the
    element that takes the keys."""
    page = view.page
    target = view.locator(".att-stepper > button") if role == "button" else view.get_by_role(role)
    if role == "button":
        view.get_by_role("button", name="Next").click()
    press(page, target, keys, WARM_UP + 1)
    page.wait_for_timeout(500)
    before = wire.bytes
    times = press(page, target, keys, RUNS)
    page.wait_for_timeout(500)
    return times, (wire.bytes - before) // RUNS


def main() -> None:
    """Print a table."""
    print(f"other work on this machine: load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    cells = [nbformat.v4.new_code_cell(source) for source in (SETUP, *(made for made, *_ in VIEWS))]
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    notebook = nbformat.v4.new_notebook(cells=cells, metadata={"kernelspec": kernel})
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as home, running_browser() as browser:
        nbformat.write(notebook, Path(folder) / "explorers.ipynb")
        with running_lab(Path(folder), Path(home)) as lab:
            page = page_of(browser)
            wire = Wire(page)
            opened = Notebook(page, lab, "explorers.ipynb")
            opened.run_all()
            print(HEAD)
            for made, role, keys, button in VIEWS:
                view = opened.cell(made).locator(".att-view")
                view.scroll_into_view_if_needed()
                if button:
                    view.get_by_role("button", name=button).click()
                view.evaluate(LISTEN)
                times, sent = measure(view, role, keys, wire)
                median, late = statistics.median(times), statistics.quantiles(times, n=20)[-1]
                print(f"{made[:36]:36} {role:12} {median:10.1f} {late:8.1f} {sent:16}")


if __name__ == "__main__":
    main()
