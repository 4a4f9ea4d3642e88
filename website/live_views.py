"""Makes the views on the site's pages live: a Sphinx extension.

A page has `<figure class="course-view" data-lesson=… data-cell=… data-order=…>` around a view's stored picture. Where
the build has stored the view's state, the figure is told the view's name, and `host.js` puts the view into it. All that
the browser then loads lies in `_static/views/`, as plain scripts, since a page from a disk may load no modules.
"""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sphinx.util import logging

from grader.authoring import states
from grader.languages import ENGLISH, shown, spoken
from grader.sentences import restored
from grader.views.base import EXPORT, module, style, texts_in, with_words

if TYPE_CHECKING:
    from sphinx.application import Sphinx

HERE = Path(__file__).parent
FOLDER = "views"  # in _static/
STATES = HERE / "states"
FIGURE = re.compile(
    r'<figure class="course-view" '
    r'data-lesson="(?P<lesson>[^"]*)" data-cell="(?P<cell>[^"]*)" data-order="(?P<order>\d+)"'
)
# Names, punctuation and blanks of code, which have no colour of their own: most of a page's elements.
PLAIN = re.compile(r'<span class="(?:n|p|w)">([^<]*)</span>')
DEFAULT = re.compile(r"^export default ", re.MULTILINE)
log = logging.getLogger(__name__)


def setup(app: Sphinx) -> dict[str, Any]:
    """Have Sphinx make each page's views live."""
    app.connect("html-page-context", _enliven)
    app.connect("build-finished", _write_scripts)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _enliven(app: Sphinx, page: str, _template: str, context: dict[str, Any], _doctree: Any) -> None:
    """Tell each figure of a page the name of its view, and give a page with views the host and the views' style."""
    found = 0

    def named(figure: re.Match[str]) -> str:
        nonlocal found
        state = state_of(figure["lesson"], figure["cell"], int(figure["order"]))
        if state is None:
            place = f"lessons/{figure['lesson']}.py: the view of cell {figure['cell']} has no stored state"
            log.warning("%s: run `grader build --states %s`", place, figure["lesson"][:2], location=page)
            return figure[0]
        found += 1
        return f'{figure[0]} data-view="{state["module"]}"'

    body = FIGURE.sub(named, context.get("body", ""))
    body = body.replace(' aria-label="Toggle hidden content"', "")  # it hides the words of a fold
    context["body"] = PLAIN.sub(r"\1", body)
    if found:
        app.add_css_file(f"{FOLDER}/views.css")
        app.add_js_file(f"{FOLDER}/host.js", loading_method="defer")


def state_of(lesson: str, cell: str, order: int) -> dict[str, Any] | None:
    """The stored state of a lesson's view, by its cell and its place among that cell's views; None where none was
    stored."""
    found = _states(lesson).get(cell, [])
    return found[order] if order < len(found) else None


@cache
def _states(lesson: str) -> states.States:
    return states.load(STATES / f"{lesson}.json")


def sentence_of(lesson: str, cell: str, order: int, written: str) -> str:
    """What a lesson's view says, in the language of the pages; as the notebook has it `written` where the state has no
    sentence for it, as that of a prediction, which is shown by its question and choices."""
    said = (state_of(lesson, cell, order) or {}).get("said", {})
    return shown(restored(said["summary"])) if "summary" in said else written


def _write_scripts(app: Sphinx, failed: Exception | None) -> None:
    if failed is None and app.builder.format == "html":
        write_scripts(Path(app.outdir) / "_static" / FOLDER)


def write_scripts(folder: Path) -> None:
    """Write the host, the views' modules and style sheets, and all states into a folder."""
    modules: dict[str, set[str]] = {}  # with the texts that their states hold
    for file in STATES.glob("*.json"):
        for cell, found in states.load(file).items():
            for order, state in enumerate(found):
                modules.setdefault(state["module"], set()).update(texts_in(state["traits"]))
                key = f"{file.stem}/{cell}-{order}"
                _write(folder / "states" / f"{key}.js", state_script(key, state))
    for name, texts in modules.items():
        _write(folder / f"{name}.js", script_of(name, *texts))
    _write(folder / "host.js", host())
    _write(folder / "views.css", style("../../website/live_views.css", *(f"{name}.css" for name in sorted(modules))))


def state_script(key: str, state: dict[str, Any]) -> str:
    """A view's state as a plain script, in the language of the pages; the host finds it by its `key`."""
    said = {name: shown(restored(text)) for name, text in state["said"].items()}
    stored = json.dumps({"traits": state["traits"] | said, "kept": state["kept"]}, ensure_ascii=False)
    return f"window.courseViews.states[{json.dumps(key)}] = {stored};\n"


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")


def script_of(name: str, *texts: str) -> str:
    """A view's module, with what answers for Python if there is such a file, as one plain script; with the words of the
    site's language, those for these `texts` included."""
    answer = HERE / "answers" / f"{name}.js"
    parts = {"view": DEFAULT.sub("return ", _spoken(f"{name}.js", *texts))}
    if answer.exists():
        parts["answer"] = f"{EXPORT.sub('', _spoken(answer, *texts))}\nreturn answer;"
    made = ",\n".join(f"{part}: (() => {{\n{EXPORT.sub('', source)}\n}})()" for part, source in parts.items())
    return f"window.courseViews.views.{name} = {{\n{made}\n}};\n"


def _spoken(file: str | Path, *texts: str) -> str:
    return module(file) if spoken() == ENGLISH else with_words(module(file), *texts)


def host() -> str:
    """The host, which puts views into a page, as a plain script that starts when the page is there."""
    source = EXPORT.sub("", _spoken(HERE / "host.js"))
    return f"(() => {{\n{source}\nstart(document.currentScript.src);\n}})();\n"
