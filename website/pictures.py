"""Pictures of a lesson's page: files with a size and words in their place."""

from __future__ import annotations

import base64
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from grader.languages import shown
from website.course import Course

LEGIBLE = 0.81  # a plot isn't made narrower than this share: its letters of 8 points, 11 pixels, are then 9 pixels high


@dataclass(frozen=True)
class Pictures:
    """The pictures of one lesson, written as files into `folder`, which the page finds at `address`."""

    folder: Path | None  # None: they are there already
    address: str

    def plot(self, name: str, png: str, about: Mapping[str, Any]) -> str:
        """Write a plot, a PNG in base64; returns its HTML. `about` is the output's metadata: what is in it ("alt"), and
        the size at which it is shown ("width", "height") where that isn't the size that it has."""
        width, height = _size(png)
        shown = about.get("width", width), about.get("height", height)
        img = self._img(name, png, about.get("alt", ""), shown)
        return f'<figure class="plot" style="--narrowest: {round(LEGIBLE * shown[0])}px">{img}</figure>'

    def view(
        self, lesson: str, cell: str, order: int, png: str, summary: str, traits: Mapping[str, Any] | None = None
    ) -> str:
        """Write a view's picture; returns its HTML, with the sentence `summary` and attributes that say which view it
        is: that of a lesson's cell, counted by `order` from 0 among those that the cell shows. A view without a picture
        is shown as text, a prediction by its `traits`."""
        img = self._img(f"{cell}-{order}", png, summary, _size(png)) if png else ""
        said = f"<figcaption>{escape(summary)}</figcaption>" if png else _text(summary, traits or {})
        place = f'data-lesson="{escape(lesson)}" data-cell="{escape(cell)}" data-order="{order}"'
        return f'<figure class="course-view" {place}>{img}{said}</figure>'

    def _img(self, name: str, png: str, words: str, shown: tuple[int, int]) -> str:
        width, height = shown
        if self.folder:
            self.folder.mkdir(parents=True, exist_ok=True)
            (self.folder / f"{name}.png").write_bytes(base64.b64decode(png))
        size = f'width="{width}" height="{height}"'
        return f'<img src="{self.address}/{name}.png" alt="{escape(words)}" {size} loading="lazy" decoding="async">'


def pictures_of(course: Course, extra: Path | None, name: str, up: str = "") -> Pictures:
    """The pictures of a page, which lie in the folder of this `name`. Those of English pages serve all languages: they
    are written into the folder `extra`. `up` leads from the page to the first one."""
    folder = extra / "pictures" / name if extra and course.is_english else None
    return Pictures(folder, f"{up}{course.up}pictures/{name}")


def _size(png: str) -> tuple[int, int]:
    """The width and height, in pixels, of a PNG in base64."""
    width, height = struct.unpack(">II", base64.b64decode(png)[16:24])
    return width, height


def _text(summary: str, traits: Mapping[str, Any]) -> str:
    """The HTML of a view that is nothing but text: of a prediction by its question and choices."""
    if "question" not in traits:
        return f"<pre>{escape(summary)}</pre>"
    listed = "".join(f"<li>{escape(shown(choice))}</li>" for choice in traits["choices"])
    asked = f"<p><strong>{shown('Your guess?')}</strong> {escape(shown(traits['question']))}</p>"
    return f'{asked}<ol type="a">{listed}</ol>' if listed else asked
