"""Sphinx's settings. The sources that it reads are made by `python -m website`."""

from __future__ import annotations

import inspect
import sys
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

sys.path.insert(0, str(Path(__file__).parents[1]))

from grader import __version__
from grader.languages import shown, spoken
from grader.sentences import say
from grader.views.base import View
from website.course import Course
from website.languages import LOCALE
from website.start import date

course = Course(language=spoken())
language = spoken()
locale_dirs = [str(course.made / LOCALE)]
project = shown("Attention and Transformers")
author = copyright = "the authors of the course"
version = release = __version__
ours = ["website.mathml", "website.live_views", "website.sharing", "website.languages", "website.search"]
extensions = ["myst_nb", "sphinx.ext.autodoc", *ours]

nb_execution_mode = "off"
nb_execution_show_tb = False
nb_render_markdown_format = "myst"  # of the text of an answer, as of all others
myst_enable_extensions = ["dollarmath", "colon_fence", "deflist", "attrs_block"]
myst_url_schemes = ["http", "https", "mailto", "english"]  # the last: see guides.IN_ENGLISH
myst_heading_anchors = 4
myst_heading_slug_func = "website.references.slug"
default_role = "literal"  # `code` of a docstring
smartquotes = False  # "..." is code in many a sentence
nitpicky = True
nitpick_ignore_regex = [("py:.*", ".*")]  # types of other packages, which no page here describes
autodoc_typehints = "none"
autodoc_member_order = "bysource"

html_theme = "pydata_sphinx_theme"
templates_path = ["templates"]
html_title = project
html_math_renderer = "mathml"
html_favicon = str(Path(__file__).parent / "static" / "favicon.svg")
html_static_path = [str(Path(__file__).parent / "static")]
html_css_files = ["site.css", "icons.css", ("print.css", {"media": "print"})]
deferred = {"defer": "defer"}
html_js_files = [
    ("boxes.js", {**deferred, "data-label": shown("This box scrolls sideways")}),
    ("switch.js", deferred),
]
html_context = {
    "default_mode": "light",
    "addresses": course.settings,
    "languages_of_site": course.languages,
    "last_updated": date(),
}
html_copy_source = False
html_show_sourcelink = False
html_domain_indices = html_use_index = False  # lists that no page leads to
html_sidebars = {"index": [], "install": [], "about": [], "glossary": [], "reference": []}
html_theme_options = {
    "navbar_end": ["theme-switcher"],
    "navbar_persistent": ["language-switch", "search-button"],
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["about-this-page"],
    "footer_end": [],
    "show_nav_level": 1,
    "navigation_with_keys": False,
    "search_bar_text": shown("Search the course"),
    "use_edit_page_button": False,
    "header_links_before_dropdown": 7,
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}


def setup(app: Sphinx) -> None:
    """Have the reference show what a view is made from, and templates say their sentences."""
    app.connect("html-page-context", lambda *page: page[3].update(say=_say))
    app.connect("autodoc-process-signature", _own_signature)


def _say(template: str, **values: object) -> str:
    """A sentence of a template, in the language of the site."""
    return shown(say(template, **values))


def _own_signature(_app: Sphinx, what: str, _name: str, thing: Any, *_rest: Any) -> tuple[str, str] | None:
    """The parameters of a class's own constructor: its base class takes any, and Sphinx would show those."""
    if what != "class" or not issubclass(thing, View):
        return None
    parameters = list(inspect.signature(thing.__init__).parameters.values())[1:]
    plain = [one.replace(annotation=inspect.Parameter.empty) for one in parameters]
    return str(inspect.Signature(plain)), ""
