"""The site in several languages: a Sphinx extension.

Every page but the English documents is there in each complete language, with the same anchors: English headings name
the sections, and paragraphs and cells are counted in them. So a switch in the header leads to the same paragraph, by
`static/switch.js`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from babel.messages.catalog import Catalog
from babel.messages.mofile import write_mo
from docutils import nodes
from sphinx.transforms import SphinxTransform

from grader.languages import ENGLISH, shown, spoken
from website.course import Course
from website.guides import IN_ENGLISH, is_in_english_alone
from website.pages import ID, SLUG

if TYPE_CHECKING:
    from sphinx.application import Sphinx

LOCALE = "locale"
# What Sphinx and the theme say on these pages: they know some languages, and not all of it in each.
THEME = (
    *("Skip to main content", "Back to top", "Breadcrumb", "Home", "On this page", "Site navigation"),
    *("Section Navigation", "Search", "previous", "next", "previous page", "next page"),
    *("Color mode", "Light", "Dark", "System Settings", "Click to expand", "Click to collapse"),
    *(
        "Collapse Sidebar",
        "Expand Sidebar",
        "Link to this heading",
        "Link to this term",
        "Error",
        "Search Results",
        "Version warning",
    ),
    "Please activate JavaScript to enable the search functionality.",
)
# In these a language may have more paragraphs than another one, or in another order.
NOT_COUNTED = (nodes.block_quote, nodes.definition, nodes.entry)
COUNTED = (nodes.paragraph, nodes.row)  # and cells of code


def setup(app: Sphinx) -> dict[str, Any]:
    """Have Sphinx name the paragraphs of each page, and tell each page where it is in other languages."""
    app.add_transform(EnglishNames)
    app.connect("doctree-read", _name_paragraphs)
    app.connect("html-page-context", _tell_languages)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def write_theme(course: Course) -> None:
    """Write what the theme says, in the language of the pages, where conf.py has Sphinx look for it."""
    catalogue = Catalog(locale=course.language)
    for word, said in {word: shown(word) for word in THEME}.items():
        catalogue.add(word, said)
    path = course.made / LOCALE / course.language / "LC_MESSAGES" / "sphinx.mo"
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        write_mo(file, catalogue)


def lead_to_english(folder: Path) -> None:
    """Have the links of the built pages in `folder` lead to those pages that there are in English alone."""
    for path in folder.rglob("*.html"):
        text = path.read_text("utf-8")
        up = "../" * len(path.relative_to(folder).parts)
        if IN_ENGLISH in text:
            path.write_text(text.replace(f'href="{IN_ENGLISH}', f'hreflang="{ENGLISH}" href="{up}'), "utf-8")


class EnglishNames(SphinxTransform):
    """Gives each section the anchors of the English heading, which `pages.with_anchors` has noted. What was made of its
    own heading gives way."""

    default_priority = 200  # before anything asks for anchors

    def apply(self, **_given: Any) -> None:
        """Name the sections."""
        document, slugs = self.document, {}
        named = [(section, noted) for section in document.findall(nodes.section) if (noted := _noted(section))]
        for section, _noted_names in named:
            for old in section["ids"]:
                del document.ids[old]
        for section, (name, slug) in named:
            name = section["ids"][0] if not name or name in document.ids else name
            document.nameids.update({one: name for one, old in document.nameids.items() if old in section["ids"]})
            section["ids"], document.ids[name] = [name], section
            if slug not in slugs:
                section["slug"], slugs[slug] = slug, (section.line, name, section[0].astext())
        if slugs:
            document.myst_slugs = slugs
            self.env.metadata[self.env.docname]["myst_slugs"] = slugs


def _noted(section: nodes.section) -> list[str]:
    """The anchors that are noted in the classes of a section, the id and the name in links, which it then loses."""
    noted = [one for one in section["classes"] if one.startswith((ID, SLUG))]
    section["classes"] = [one for one in section["classes"] if one not in noted]
    return [one.partition("-")[2] for one in noted]


def _name_paragraphs(_app: Sphinx, document: nodes.document) -> None:
    """Give every paragraph, row of a table and cell of code an id, counted from 1 in its section."""
    seen: Counter[str] = Counter()
    for node in document.findall(nodes.Element):
        if not isinstance(node, COUNTED) and node.get("nb_element") != "cell_code":
            continue
        above = list(_above(node))
        section = next((one for one in above if isinstance(one, nodes.section)), None)
        if section is None or node["ids"] or any(isinstance(one, NOT_COUNTED) for one in above):
            continue
        name = section["ids"][0]
        seen[name] += 1
        node["ids"].append(f"{name}-{seen[name]}")


def _above(node: nodes.Node) -> Iterator[nodes.Node]:
    while node.parent is not None:
        node = node.parent
        yield node


def _tell_languages(app: Sphinx, page: str, _template: str, context: dict[str, Any], _doctree: Any) -> None:
    """Tell the templates where a page is in each language: the first page where it is in one alone."""
    known, site = (app.config.html_context[name] for name in ("languages_of_site", "addresses"))
    up = "../" * (page.count("/") + (spoken() != ENGLISH))
    is_alone = is_in_english_alone(page)

    def address(code: str) -> str:
        name = "index" if is_alone and code != ENGLISH else page
        return f"{'' if code == ENGLISH else f'{code}/'}{name}.html"

    others = {code: name for code, name in known.items() if code != spoken()}
    context["languages"] = [(code, name, f"{up}{address(code)}") for code, name in others.items()]
    there = site.get("site") or up
    context["alternates"] = [] if is_alone or not others else [(code, f"{there}{address(code)}") for code in known]
