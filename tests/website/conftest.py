"""The site, built once where site/ is missing or older than what it is made from."""

from __future__ import annotations

import functools
import subprocess
import sys
import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from playwright.sync_api import Browser
from playwright.sync_api import Page as BrowserPage

from grader.languages import ENGLISH
from tools.lab import page_of, running_browser
from website.course import Course

ROOT = Path(__file__).parents[2]
SITE = ROOT / "site"
MADE_FROM = ("website", "lessons", "solutions", "notebooks", "docs", "grader", "translations")
VOID = ("area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr")


@dataclass
class Page(HTMLParser):
    """What a page holds: its elements' ids, its tags with their attributes, its text; `folded` is the text in folds."""

    path: Path
    ids: set[str] = field(default_factory=set)
    tags: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    text: str = ""
    folded: str = ""

    def __post_init__(self):
        super().__init__()
        self.open: list[str] = []
        self.feed(self.path.read_text("utf-8"))

    @property
    def name(self) -> str:
        return self.path.relative_to(SITE).as_posix()

    def handle_starttag(self, tag, attrs):
        attributes = {key: value or "" for key, value in attrs}
        self.tags.append((tag, attributes))
        self.ids |= {attributes[key] for key in ("id", "name") if key in attributes}
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        while tag in self.open and self.open.pop() != tag:
            pass

    def handle_data(self, data):
        if "script" not in self.open and "style" not in self.open:
            self.text += data
            self.folded += data if "details" in self.open else ""

    def all(self, *tags: str) -> list[dict[str, str]]:
        return [attributes for tag, attributes in self.tags if tag in tags]


@pytest.fixture(scope="session")
def site() -> Path:
    changed = max(
        path.stat().st_mtime
        for name in MADE_FROM
        for path in (ROOT / name).rglob("*.[!p]*")
        if path.is_file() and "__pycache__" not in path.parts
    )
    if not (SITE / "index.html").exists() or (SITE / "index.html").stat().st_mtime < changed:
        done = subprocess.run([sys.executable, "-m", "website"], cwd=ROOT, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
    return SITE


@pytest.fixture(scope="session")
def pages_of(site) -> dict[str, dict[str, Page]]:
    """The pages of each language by their names, which are the same in all."""
    found: dict[str, dict[str, Page]] = {code: {} for code in Course().languages}
    for path in sorted(site.rglob("*.html")):
        code = path.relative_to(site).parts[0]
        if "_static" not in path.parts:
            page, language = Page(path), code if code in found else ENGLISH
            found[language][page.name.removeprefix(f"{language}/")] = page
    return found


@pytest.fixture(scope="session")
def pages(pages_of) -> dict[str, Page]:
    """The English ones."""
    return pages_of[ENGLISH]


def broken_links(site: Path, pages: Iterable[Page], known: dict[Path, Page]) -> list[str]:
    """What on these pages leads nowhere; `known` are all pages of the site."""
    broken = []
    for page in pages:
        for tag, attributes in page.tags:
            address = urlsplit(attributes.get("href", attributes.get("src", "")))
            if address.scheme or address.netloc or tag == "base":
                continue
            file = (page.path.parent / unquote(address.path)).resolve() if address.path else page.path
            wanted = unquote(address.fragment)
            is_there = file.is_file() and file.is_relative_to(site.resolve())
            if not is_there or (wanted and file in known and wanted not in known[file].ids):
                broken.append(f"{page.name}: {attributes}")
    return broken


@pytest.fixture(scope="session")
def address(site: Path) -> Iterator[str]:
    """The site on a server of its own."""

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            """Nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(site))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    with running_browser() as opened:
        yield opened


@pytest.fixture
def page(browser: Browser) -> Iterator[BrowserPage]:
    """A page that holds nothing of another one. `wrong` are the errors that it meets."""
    page = page_of(browser, width=1280, height=900)
    page.wrong = []  # type: ignore[attr-defined]
    page.on("pageerror", lambda error: page.wrong.append(str(error)))  # type: ignore[attr-defined]
    page.on("response", lambda answer: answer.status >= 400 and page.wrong.append(answer.url))  # type: ignore[attr-defined]
    yield page
    page.context.close()
