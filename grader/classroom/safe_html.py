"""The filters of feedback pages and Formgrader: what students wrote is rendered and sanitised, in a bounded time."""

from __future__ import annotations

import re
from html import escape

import nh3
from nbconvert.filters import Highlight2HTML
from nbconvert.filters.markdown_mistune import IPythonRenderer, MarkdownWithMath

# Characters of a text cell; a lesson's have at most 3,000. The time that Markdown takes grows with the square.
MOST = 20_000
TAGS = nh3.ALLOWED_TAGS - {"area", "map"}
# No class: any could be one of the page's own, that lays a link over it or hides what is on it.
ATTRIBUTES = {tag: names - {"class"} for tag, names in nh3.ALLOWED_ATTRIBUTES.items()}
# A page that is open in a browser acts for its reader wherever a picture or a relative address leads.
PICTURE = re.compile(r"data:image/(png|jpeg|gif|webp|svg\+xml)[;,]", re.IGNORECASE)
ADDRESS = re.compile(r"https?://|mailto:", re.IGNORECASE)
# The colours of code take a time that grows with the square of a stretch of blank lines.
BLANK = re.compile(r"\s{200,}")


def markdown2html(source: str) -> str:
    """Markdown as HTML without scripts, styles, classes, forms, frames and event handlers, and with whole addresses
    only. A picture has to be in the text itself.

    >>> markdown2html("<img src=/logout onerror=alert(1)> *hello* <b class='navbar-fixed-top'>all</b>").strip()
    '<p><img> <em>hello</em> <b>all</b></p>'
    """
    if len(source) > MOST:
        return f"<pre>{escape(source)}</pre>"
    rendered = MarkdownWithMath(renderer=_Renderer(escape=False, exclude_anchor_links=True)).render(source)
    schemes = {"http", "https", "mailto", "data"}
    return nh3.clean(rendered, tags=TAGS, attributes=ATTRIBUTES, attribute_filter=_attribute, url_schemes=schemes)


class _Renderer(IPythonRenderer):
    def image(self, text: str, url: str, title: str | None = None) -> str:
        """A picture that a student pasted into the notebook is an attachment, which isn't kept: its name is shown."""
        return str(super().image(text, "" if url.startswith("attachment:") else url, title))

    def block_code(self, code: str, info: str | None = None) -> str:
        """Code without colours: a student could name the language whose colours take longest."""
        return f"<pre><code>{escape(code)}</code></pre>\n"


def _attribute(_tag: str, name: str, value: str) -> str | None:
    """What is left of an attribute's value; None takes the attribute away."""
    allowed = {"src": PICTURE, "href": ADDRESS, "cite": ADDRESS}.get(name)
    return value if allowed is None or allowed.match(value) else None


def highlight_code(source: str, metadata: object = None) -> str:
    """A code cell with the colours of Python; `metadata` is nbconvert's word for the cell's own and chooses nothing."""
    return str(Highlight2HTML(pygments_lexer="python")(BLANK.sub(lambda run: run[0][:200], source)))
