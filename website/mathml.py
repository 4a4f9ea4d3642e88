"""Formulas as MathML, which a browser shows by itself: no script, no fonts from elsewhere."""

from __future__ import annotations

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.application import Sphinx
from sphinx.writers.html5 import HTML5Translator


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the renderer that conf.py names."""
    app.add_html_math_renderer("mathml", (_inline, None), (_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _inline(self: HTML5Translator, node: nodes.math) -> None:
    self.body.append(mathml(node.astext(), "inline"))
    raise nodes.SkipNode


def _block(self: HTML5Translator, node: nodes.math_block) -> None:
    formulas = "".join(mathml(piece, "block") for piece in pieces(node.astext()))
    self.body.append(f'<div class="formula">{formulas}</div>\n')
    raise nodes.SkipNode


def pieces(tex: str) -> list[str]:
    r"""The formulas of a line that has several, with `\qquad` between them. A narrow window puts them into lines.

    >>> pieces(r"a = 1, \qquad b = 2")
    ['a = 1,', 'b = 2']
    """
    return [piece.strip() for piece in tex.split(r"\qquad")]


def mathml(tex: str, display: str) -> str:
    """A formula in TeX as MathML; `display` is "block" or "inline"."""
    return str(convert(tex, display=display))
