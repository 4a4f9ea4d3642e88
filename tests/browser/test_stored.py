"""A view that was saved in a notebook and comes back without a kernel shows what it showed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import nbformat
import pytest
import torch
from playwright.sync_api import Browser, Page, Route

from grader.authoring import states
from grader.views import HeadExplorer
from grader.views.base import style
from website.live_views import STATES, host, script_of, state_script

ADDRESS = "http://127.0.0.1:9/"  # nobody is there: the test answers in its place
# All that there is to see and to hear of a view.
SHOWN = """figure => [figure.querySelector(".att-view").innerText,
  ...[...figure.querySelectorAll("[aria-label], [aria-pressed], canvas")].map(
    one => [one.ariaLabel, one.ariaPressed, one.value, one.toDataURL?.()].join())]"""
DRAWN = """figure => figure.dataset.live && new Promise(done => setTimeout(
  () => requestAnimationFrame(() => requestAnimationFrame(() => done(true)))))"""
# What is read out comes a moment later.
AT_FIRST = "figure => figure.querySelector('[aria-live]').remove()"
PRESS = "figure => figure.querySelector('.att-bars button, [aria-pressed=false]')?.click()"


def _all_views() -> Iterator[tuple[str, dict[str, Any]]]:
    """The views of all lessons as the build has stored them, of predictions one a lesson; and one whose names aren't in
    alphabetical order."""
    for file in sorted(STATES.glob("*.json")):
        stored = [
            (f"{file.stem}-{cell}-{at}", one)
            for cell, found in states.load(file).items()
            for at, one in enumerate(found)
        ]
        yield from [entry for entry in stored if entry[1]["view"] == "Prediction"][:1]
        yield from [entry for entry in stored if entry[1]["view"] != "Prediction"]
    kinds = {"own": (torch.eye(3).expand(1, 2, 3, 3), "abc", "abc"), "cross": (torch.ones(1, 2, 3, 2) / 2, "abc", "de")}
    yield "heads-of-two-kinds", json.loads(json.dumps(HeadExplorer(kinds).state()))


def _saved(state: dict[str, Any]) -> dict[str, Any]:
    """A state that was written into a notebook, and read from it."""
    notebook = nbformat.v4.new_notebook(metadata={"widgets": state})
    return dict(json.loads(json.dumps(nbformat.reads(nbformat.writes(notebook), as_version=4).metadata.widgets)))


VIEWS = dict(_all_views())


@pytest.fixture(scope="module")
def page(browser: Browser) -> Iterator[Page]:
    """A page with each view twice, as it was and as a notebook gives it back."""
    kinds = sorted({state["module"] for state in VIEWS.values()})
    files = {"host.js": host(), "views.css": style(*(f"{name}.css" for name in kinds))}
    files |= {f"{name}.js": script_of(name) for name in kinds}
    figures = []
    for key, state in VIEWS.items():
        for when, shown in (("before", state), ("after", _saved(state))):
            files[f"states/{when}/{key}-0.js"] = state_script(f"{when}/{key}-0", shown)
            of = f'data-view="{state["module"]}" data-lesson="{when}" data-cell="{key}" data-order="0"'
            figures.append(f'<figure class="course-view" {of}></figure>')
    head = '<!doctype html><meta charset="utf-8"><link rel="stylesheet" href="views.css">'
    files["index.html"] = f'{head}<main>{"".join(figures)}</main><script src="host.js"></script>'
    page = browser.new_context(viewport={"width": 1280, "height": 900}).new_page()
    page.route("**/*", lambda route: _answer(files, route))
    page.goto(f"{ADDRESS}index.html")
    yield page
    page.context.close()


def _answer(files: dict[str, str], route: Route) -> None:
    name = route.request.url.removeprefix(ADDRESS)
    kinds = {"html": "text/html", "css": "text/css", "js": "text/javascript"}
    route.fulfill(body=files[name], content_type=kinds[name.rpartition(".")[2]])


@pytest.mark.parametrize("key", VIEWS)
def test_a_view_from_a_saved_notebook_shows_what_it_showed(page: Page, key: str):
    before, after = (page.locator(f"figure[data-lesson='{when}'][data-cell='{key}']") for when in ("before", "after"))
    for step in (AT_FIRST, PRESS):
        for figure in (before, after):
            figure.scroll_into_view_if_needed()
            page.wait_for_function(DRAWN, arg=figure.element_handle())
            figure.evaluate(step)
            page.wait_for_function(DRAWN, arg=figure.element_handle())
            assert figure.get_attribute("data-live") == "yes", figure.inner_text()
        assert after.evaluate(SHOWN) == before.evaluate(SHOWN)
