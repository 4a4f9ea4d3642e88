"""Style sheets without the rules that no page has anything for: the theme's 378 KB would hold up the first picture of a
page on a slow line, and 5 KB of them are used."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import tinycss2

# A page's own elements, classes and ids. What scripts add at run time is a word somewhere in a script.
TAG = re.compile(r"<([a-z][\w-]*)")
NAMED = re.compile(r"""\s(?:class|id)=(?:"([^"]*)"|'([^']*)'|([^\s>"']+))""")
WORD = re.compile(r"[A-Za-z_][\w-]*")
HAVE_RULES = ("media", "supports", "layer")
# Of the theme's libraries the pages use a part: tooltips and a menu that opens. Icons are in icons.css.
LIBRARIES = {"bootstrap.js": ("tooltip", "bs-tooltip", "dropdown", "show", "fade"), "fontawesome.js": ()}


def slim(folder: Path) -> None:
    """Take what no page of the built site in `folder` can use out of its style sheets, in place.

    The views' own sheets stay as they are, since their elements are made in the browser.
    """
    known = words(path.read_text("utf-8") for path in folder.rglob("*.html"))
    scripts = {word for path in folder.rglob("*.js") for word in _of_script(path)}
    for sheet in sorted(folder.glob("_static/**/*.css")):
        if sheet.parent.name != "views":
            sheet.write_text(used(sheet.read_text("utf-8"), known | scripts), "utf-8")


def _of_script(path: Path) -> Iterator[str]:
    """The words of a script that may be names of classes; of a library, those of the part that is used."""
    for word in WORD.findall(path.read_text("utf-8")):
        if word.startswith(LIBRARIES.get(path.name, ("",))):
            yield word


def words(pages: Iterable[str]) -> set[str]:
    """The elements, classes and ids of some HTML pages.

    >>> sorted(words(['<p class="a b" id=c>class="d"</p>']))
    ['a', 'b', 'c', 'p']
    """
    found: set[str] = set()
    for page in pages:
        found.update(TAG.findall(page))
        for names in NAMED.findall(page):
            found.update("".join(names).split())
    return found


def used(sheet: str, known: set[str]) -> str:
    """The rules of a style sheet that can match where only `known` elements, classes and ids are.

    >>> used("a.b,a.c{color:red}@media print{.c{color:red}}i:not(.c){top:0}", {"a", "b", "i"})
    'a.b{color:red}i:not(.c){top:0}'
    """
    rules = tinycss2.parse_stylesheet(sheet, skip_comments=True, skip_whitespace=True)
    return tinycss2.serialize(list(_used(rules, known)))


def _used(rules: Iterable[Any], known: set[str]) -> Iterator[Any]:
    for rule in rules:
        if rule.type == "qualified-rule":
            wanted = [selector for selector in _selectors(rule.prelude) if _can_match(selector, known)]
            if wanted:
                rule.prelude = [token for number, one in enumerate(wanted) for token in [*_COMMA[: number > 0], *one]]
                yield rule
        elif rule.type == "at-rule" and rule.at_keyword in HAVE_RULES and rule.content is not None:
            inner = tinycss2.parse_rule_list(rule.content, skip_comments=True, skip_whitespace=True)
            rule.content = list(_used(inner, known))
            if rule.content:
                yield rule
        else:
            yield rule


_COMMA = tinycss2.parse_component_value_list(",")


def _selectors(prelude: Iterable[Any]) -> list[list[Any]]:
    """A list of selectors at its commas."""
    found: list[list[Any]] = [[]]
    for token in prelude:
        if token == ",":
            found.append([])
        else:
            found[-1].append(token)
    return found


def _can_match(selector: Iterable[Any], known: set[str]) -> bool:
    """Whether the elements, classes and ids that a selector asks for are all `known`; what it has in brackets, such as
    `:not(…)`, isn't asked."""
    before = ""
    for token in selector:
        if token.type == "ident" and before != ":" and token.value not in known:
            return False
        if token.type == "hash" and token.value not in known:
            return False
        before = token.value if token.type == "literal" else ""
    return True
