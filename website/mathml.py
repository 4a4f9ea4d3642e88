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
    formula = mathml(node.astext(), "block").replace("<math ", '<math tabindex="0" ', 1)
    self.body.append(f'<div class="formula">{formula}</div>\n')
    raise nodes.SkipNode


def mathml(tex: str, display: str) -> str:
    """A formula in TeX as MathML; `display` is "block" or "inline"."""
    return str(convert(tex, display=display))
