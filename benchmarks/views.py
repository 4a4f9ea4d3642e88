"""Time from a key to the redrawn picture of the attention explorer, in real JupyterLab, and what goes over the wire.

An arrow key in the heatmap is answered by the browser alone; one on the slider goes to the kernel and back. The time is
the browser's own, from the key's time stamp to the end of the drawing that follows it.
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

SIZES = (3, 16, 48)
RUNS = 60
WARM_UP = 5
PAUSE = 100  # milliseconds between two keys: a person's pace, and the kernel is idle again
HEAD = f"{'key on':12} {'scores':9} {'median ms':>10} {'p95 ms':>8} {'numbers, bytes':>14} {'messages, bytes':>18}"
CELL = """import torch
from grader.views import AttentionExplorer
size = {size}
generator = torch.Generator().manual_seed(0)
width = min(size, 16)
AttentionExplorer(*(torch.randn(rows, width, generator=generator) for rows in (size, width, width, width)))"""

LISTEN = """view => {
  window.times = [];
  let pressed = 0;
  view.addEventListener("keydown", event => { pressed = event.timeStamp; }, true);
  view.addEventListener("att-drawn", () => {
    if (pressed) { window.times.push(performance.now() - pressed); pressed = 0; }
  });
}"""


class Wire:
    """Counts the bytes of all WebSocket messages of a page."""

    def __init__(self, page: Page) -> None:
        self.bytes = 0
        page.on("websocket", self._watch)

    def _watch(self, socket: WebSocket) -> None:
        socket.on("framesent", self._count)
        socket.on("framereceived", self._count)

    def _count(self, payload: bytes | str) -> None:
        self.bytes += len(payload if isinstance(payload, bytes) else payload.encode())


def press(page: Page, runs: int) -> list[float]:
    """Milliseconds of each of so many presses, left and right in turn."""
    page.evaluate("window.times = []")
    for run in range(runs):
        page.keyboard.press("ArrowRight" if run % 2 == 0 else "ArrowLeft")
        page.wait_for_function("count => window.times.length >= count", arg=run + 1)
        page.wait_for_timeout(PAUSE)
    return page.evaluate("window.times")


def measure(view: Locator, role: str, wire: Wire) -> tuple[list[float], int]:
    """Times of the keys on the heatmap or on the slider, and bytes of all messages for one of them."""
    page = view.page
    view.get_by_role(role).focus()
    press(page, WARM_UP)
    page.wait_for_timeout(500)
    before = wire.bytes
    times = press(page, RUNS)
    page.wait_for_timeout(500)
    return times, (wire.bytes - before) // RUNS


def line(name: str, size: int, times: list[float], sent: int, payload: str) -> str:
    """One line of the table."""
    median, late = statistics.median(times), statistics.quantiles(times, n=20)[-1]
    return f"{name:12} {size:3} x {size:<3} {median:10.1f} {late:8.1f} {payload:>14} {sent:18}"


def main() -> None:
    """Print a table."""
    print(f"other work on this machine: load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    notebook = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell(CELL.format(size=size)) for size in SIZES],
        metadata={"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}},
    )
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as home, running_browser() as browser:
        nbformat.write(notebook, Path(folder) / "explorers.ipynb")
        with running_lab(Path(folder), Path(home)) as lab:
            page = page_of(browser)
            wire = Wire(page)
            opened = Notebook(page, lab, "explorers.ipynb")
            opened.run_all()
            print(HEAD)
            for at, size in enumerate(SIZES):
                view = page.locator(".att-view").nth(at)
                view.scroll_into_view_if_needed()
                view.get_by_role("button", name="Softmax").click()
                view.evaluate(LISTEN)
                times, sent = measure(view, "application", wire)
                print(line("the heatmap", size, times, sent, "0"))
                times, sent = measure(view, "slider", wire)
                width = min(size, 16)
                print(line("the slider", size, times, sent, str(4 * size * (2 * size + width))))


if __name__ == "__main__":
    main()
