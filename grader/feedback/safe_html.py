"""What students wrote, for Formgrader (as filters of nbconvert) and for feedback pages: rendered and sanitised, in a
bounded time."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache, wraps
from html import escape
from typing import Any

import nh3
from latex2mathml.converter import convert
from nbconvert.filters import Highlight2HTML
from nbconvert.filters.markdown_mistune import IPythonRenderer, MarkdownWithMath
from pygments.lexers import PythonLexer
from pygments.token import Comment, Keyword, Name, Number, Operator, String

# Characters of a text cell; a lesson's have at most 3,000. The time that Markdown takes grows with the square.
MOST = 20_000
TAGS = nh3.ALLOWED_TAGS - {"area", "map"}
# No class: any could be one of the page's own, that lays a link over it or hides what is on it.
ATTRIBUTES = {tag: names - {"class"} for tag, names in nh3.ALLOWED_ATTRIBUTES.items()}
# A page that is open in a browser acts for its reader wherever a picture or a relative address leads.
PICTURE = re.compile(r"data:image/(png|jpeg|gif|webp|svg\+xml)[;,]", re.IGNORECASE)
ADDRESS = re.compile(r"https?://|mailto:", re.IGNORECASE)
# Formulas on a page, without anything that moves, covers or addresses something.
MATH = {"math", "mrow", "mi", "mn", "mo", "ms", "mtext", "mspace", "msup", "msub", "msubsup", "mfrac", "msqrt", "mroot"}
MATH |= {"mover", "munder", "munderover", "mtable", "mtr", "mtd", "mstyle", "mmultiscripts", "mprescripts", "none"}
MATH_ATTRIBUTES = {"accent", "columnalign", "display", "displaystyle", "fence", "form", "largeop", "linethickness"}
MATH_ATTRIBUTES |= {"mathvariant", "movablelimits", "scriptlevel", "separator", "stretchy"}
# A long formula is scrolled on a telephone, so the keyboard has to get there.
MORE = {"mspace": {"width"}, "math": MATH_ATTRIBUTES | {"tabindex"}}
ZERO = re.compile("0$")
GAP = re.compile(r"-?0\.\d+em$|[0-3](\.\d+)?em$")
MOST_TEX = 2_000
# Which tokens of Python get a class of their own, and which: a page has a colour for each.
COLOURED = {
    Comment: "c",
    String: "s",
    Number: "m",
    Keyword: "k",
    Operator.Word: "k",
    Name.Builtin: "b",
    Name.Decorator: "b",
}
# Characters of a code cell that get colours; a lesson's have at most 5,000. Longer ones are shown as they were written.
MOST_CODE = 50_000
CACHED, SMALL = 4_000, 5_000  # cells, which a class has mostly in common, and characters of one that is kept
# The colours of code take a time that grows with the square of a stretch of blank lines.
BLANK = re.compile(r"\s{200,}")


def _kept(render: Callable[[str], str]) -> Callable[[str], str]:
    """Make a function keep what it rendered, but for a text so long that a class of such would fill the memory."""
    known = lru_cache(CACHED)(render)

    @wraps(render)
    def rendered(source: str) -> str:
        return known(source) if len(source) <= SMALL else render(source)

    return rendered


def markdown2html(source: str) -> str:
    """Markdown as HTML without scripts, styles, classes, forms, frames and event handlers, and with whole addresses
    only. A picture has to be in the text itself.

    >>> markdown2html("<img src=/logout onerror=alert(1)> *hello* <b class='navbar-fixed-top'>all</b>").strip()
    '<p><img> <em>hello</em> <b>all</b></p>'
    """
    return _rendered(source, _Renderer, TAGS, ATTRIBUTES)


@_kept
def page_markdown(source: str) -> str:
    """Markdown as HTML for a feedback page, made safe as in `markdown2html`: formulas are MathML, which a browser shows
    by itself, and headings are below the page's own.

    >>> page_markdown("# Sum of $x_1$").startswith("<h3>Sum of <math")
    True
    """
    return _rendered(source, _PageRenderer, TAGS | MATH, ATTRIBUTES | dict.fromkeys(MATH, MATH_ATTRIBUTES) | MORE)


def _rendered(source: str, renderer: type[IPythonRenderer], tags: set[str], attributes: dict[str, set[str]]) -> str:
    if len(source) > MOST:
        return f"<pre>{escape(source)}</pre>"
    rendered = MarkdownWithMath(renderer=renderer(escape=False, exclude_anchor_links=True)).render(source)
    schemes = {"http", "https", "mailto", "data"}
    return nh3.clean(rendered, tags=tags, attributes=attributes, attribute_filter=_attribute, url_schemes=schemes)


class _Renderer(IPythonRenderer):
    def image(self, text: str, url: str, title: str | None = None) -> str:
        """Render the place of a picture. One that a student pasted into the notebook is an attachment, which isn't
        kept: its name is shown."""
        return str(super().image(text, "" if url.startswith("attachment:") else url, title))

    def block_code(self, code: str, info: str | None = None) -> str:
        """Render code without colours: a student could name the language whose colours take longest."""
        return f"<pre><code>{escape(code)}</code></pre>\n"


class _PageRenderer(_Renderer):
    def heading(self, text: str, level: int, **attrs: Any) -> str:
        return str(super().heading(text, min(level + 2, 6), **attrs))

    def block_math(self, body: str) -> str:
        return _mathml(body, "block")

    def inline_math(self, body: str) -> str:
        return _mathml(body, "inline")

    def latex_environment(self, name: str, body: str) -> str:
        return _mathml(f"\\begin{{{name}}}{body}\\end{{{name}}}", "block")


def _mathml(tex: str, display: str) -> str:
    """A formula as MathML; one that isn't understood stays as it was written. Nothing in it is taken for a tag."""
    try:
        if len(tex) <= MOST_TEX:
            made = str(convert(tex.replace("<", r"\lt ").replace(">", r"\gt "), display=display))
            return made.replace("<math ", '<math tabindex="0" ', 1) if display == "block" else made
    except Exception:  # whatever a student wrote between two dollar signs
        pass
    return f"<code>{escape(tex)}</code>"


def _attribute(tag: str, name: str, value: str) -> str | None:
    """What is left of the value of a tag's attribute; None takes the attribute away."""
    allowed = {"src": PICTURE, "href": ADDRESS, "cite": ADDRESS, "tabindex": ZERO, "linethickness": ZERO}.get(
        name, GAP if tag == "mspace" else None
    )
    return value if allowed is None or allowed.match(value) else None


def highlight_code(source: str, metadata: object = None) -> str:
    """A code cell as HTML with the colours of Python; one that is too long has none. `metadata` is nbconvert's word for
    the cell's own and chooses nothing."""
    if len(source) > MOST_CODE:
        return f'<div class="highlight hl-python"><pre>{escape(source)}</pre></div>'
    return str(Highlight2HTML(pygments_lexer="python")(_without_long_blanks(source)))


@_kept
def page_code(source: str) -> str:
    """Python code as HTML for a feedback page, coloured with few classes, so that the page stays small; code that is
    too long has no colours.

    >>> page_code("return 1 < x")
    '<span class="k">return </span><span class="m">1 </span>&lt; x'
    """
    if len(source) > MOST_CODE:
        return escape(source)
    pieces: list[tuple[str, list[str]]] = []
    for token, text in PythonLexer(stripnl=False, ensurenl=False).get_tokens(_without_long_blanks(source)):
        kind = next((name for group, name in COLOURED.items() if token in group), "")
        if pieces and (kind == pieces[-1][0] or text.isspace()):
            pieces[-1][1].append(text)
        else:
            pieces.append((kind, [text]))
    escaped = ((kind, escape("".join(texts))) for kind, texts in pieces)
    return "".join(f'<span class="{kind}">{text}</span>' if kind else text for kind, text in escaped)


def _without_long_blanks(source: str) -> str:
    return BLANK.sub(lambda run: run[0][:200], source)
