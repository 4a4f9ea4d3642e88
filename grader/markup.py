"""Text for pages of HTML: `code` in backquotes, as hints and messages are written, and the pages' templates."""

from __future__ import annotations

from functools import cache
from html import escape
from importlib import resources
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import jinja2


def inline(text: str) -> str:
    """Escape text and turn its `code` into code.

    >>> inline("`a < b` holds")
    '<code>a &lt; b</code> holds'
    """
    pieces = escape(text).split("`")
    return "".join(f"<code>{piece}</code>" if i % 2 else piece for i, piece in enumerate(pieces))


def render(path: str, **values: Any) -> str:
    """A page as HTML, from the template at this path in the package, with these values."""
    return template(path).render(**values)


@cache
def template(path: str) -> jinja2.Template:
    """The template at this path in the package, in which `code(text)` is text with its `code` turned into code."""
    import jinja2  # which learners needn't have
    from markupsafe import Markup

    loader = jinja2.FunctionLoader(lambda name: resources.files("grader").joinpath(name).read_text(encoding="utf-8"))
    environment = jinja2.Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True, loader=loader)
    environment.globals["code"] = lambda text: Markup(inline(text))
    return environment.get_template(path)
