"""The pictures of docs/pictures, taken of the views and of a report on the pages that `make site` has made.

`python scripts/pictures.py` takes them all, `python scripts/pictures.py 06 report` those. Needs Chromium.
"""

from __future__ import annotations

import io
import sys
from pathlib import Path

from PIL import Image
from playwright.sync_api import Locator, Page

sys.path.insert(0, str(Path(__file__).parents[1]))

from tools.lab import running_browser

ROOT = Path(__file__).parents[1]
SITE, PICTURES = ROOT / "site", ROOT / "docs" / "pictures"
WIDTH = 640  # pixels of a picture
SLIDER = "its first slider, to the middle"
# What is shown of each lesson: the view's name and the buttons that are pressed in it first.
VIEWS: dict[str, tuple[str, list[str]]] = {
    "01": ("attention_explorer", ["Next"] * 5),
    "02": ("scaling_explorer", [SLIDER]),
    "03": ("head_splitter", ["Next"]),
    "04": ("mask_painter", []),
    "05": ("norm_explorer", []),
    "06": ("position_explorer", []),
    "07": ("shape_tracer", ["Next"] * 7),
    "08": ("alignment_view", []),
    "09": ("online_softmax", ["Next"] * 2),
    "10": ("head_explorer", []),
    "11": ("sampler", []),
}
REPORT = "report"


def main(names: list[str]) -> None:
    with running_browser() as browser:
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        for name in names or [*VIEWS, REPORT]:
            shown = report(page) if name == REPORT else view(page, name)
            save(shown, PICTURES / f"{name}.png")
            print(PICTURES / f"{name}.png")


def view(page: Page, lesson: str) -> Locator:
    """The view of a lesson, alive, its buttons pressed."""
    module, buttons = VIEWS[lesson]
    path = next((SITE / "lessons").glob(f"{lesson}_*.html"))
    page.goto(path.as_uri())
    page.evaluate("document.querySelectorAll('details').forEach(fold => { fold.open = true; })")
    figure = page.locator(f"figure[data-view={module}]").first
    figure.scroll_into_view_if_needed()
    page.wait_for_function("figure => figure.dataset.live", arg=figure.element_handle())
    for word in buttons:
        if word == SLIDER:
            figure.get_by_role("slider").first.click()
        else:
            figure.get_by_role("button", name=word, exact=True).first.click()
    page.mouse.move(0, 0)
    return figure.locator(".att-view")


def report(page: Page) -> Locator:
    """The report of the first page."""
    page.goto((SITE / "index.html").as_uri())
    return page.locator(".grader-report")


def save(shown: Locator, file: Path) -> None:
    """A picture of what is shown, `WIDTH` wide, with as few colours as it needs: a repository keeps every version."""
    shown.page.wait_for_timeout(500)
    with Image.open(io.BytesIO(shown.screenshot())) as taken:
        small = taken.convert("RGB").resize(
            (WIDTH, round(taken.height * WIDTH / taken.width)), Image.Resampling.LANCZOS
        )
    small.quantize(256).save(file, optimize=True)


if __name__ == "__main__":
    main(sys.argv[1:])
