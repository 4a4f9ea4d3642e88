"""What all views share: one ES module from several files, with the words of the learner's language, matrices as bytes,
a sentence in place of the picture."""

from __future__ import annotations

import base64
import json
import os
import re
from collections.abc import Iterator, Mapping
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import anywidget
import torch
import traitlets
from torch import Tensor

from grader.languages import ENGLISH, shown, spoken, words_in
from grader.markup import inline
from grader.sentences import Said, Together, say, stored
from grader.server import missing_widgets
from grader.views.picture import drawing

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FOLDER = Path(__file__).parent
IMPORT = re.compile(r'^import \{[^}]*\} from "(?P<file>\.\.?/[\w./]+)";\n', re.MULTILINE)
SAID = re.compile(r"""\bsay\(\s*(["'])((?:(?!\1)[^\\\n]|\\.)*)\1""")  # the templates of a view's sentences
EXPORT = re.compile(r"^export (?=(?:async )?function|const|class)", re.MULTILINE)

# What a view displays besides where the variable is set: its state, for a page that has no kernel.
STATE = "application/vnd.attention-course.view-state+json"
STATES_WANTED = "GRADER_VIEW_STATES"

# The matrices of a buffer, each as [name, rows, columns], in the order in which they lie there. A list, because JSON
# doesn't keep the order of names, and a notebook is written with sorted ones.
Layout = list[list[str | int]]


class View(anywidget.AnyWidget):
    """A widget that Python starts and describes, and which from then on computes, draws and describes itself in the
    browser: what is chosen there stays there. `opening` begins its sentences."""

    _esm: Any  # the source of its module
    opening: ClassVar[str] = ""  # how its sentences begin, if not with the name of the class in words

    def __init__(self, **given: Any) -> None:
        if spoken() != ENGLISH:
            self._esm = with_words(self._esm, *texts_in(given))
        super().__init__(**given)

    def sentence(self) -> str:
        """The text alternative: what the view shows, in a sentence or two."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return shown(self.sentence())

    def picture(self) -> Figure | None:
        """A picture of what there is to see, for readers without a kernel; None where that is nothing but text."""
        return None

    def kept(self) -> dict[str, Any]:
        """JSON values and bytes that a page without a kernel needs, besides the synced traits, to answer as this class
        does (see `website/answers/`)."""
        return {}

    def state(self) -> dict[str, Any]:
        """The view as JSON, for a page without a kernel: its class, its module, its synced traits, those of them that
        can be said in another language, and what is `kept`. "summary" among the traits is the sentence. Bytes are
        written in base64."""
        kind = _written_class(type(self))
        own = {name for name, trait in self.traits(sync=True).items() if issubclass(trait.this_class, View)}
        traits = {name: getattr(self, name) for name in sorted(own) if not name.startswith("_")}
        traits["summary"] = self.sentence()
        return {
            "view": kind.__name__,
            "module": kind.__module__.rpartition(".")[2],
            "traits": _in_base64(traits),
            "said": {name: stored(text) for name, text in traits.items() if isinstance(text, Said | Together)},
            "kept": _in_base64(self.kept()),
        }

    def outputs(self) -> list[tuple[dict[str, Any], dict[str, Any]]]:
        """What the view displays, each with its metadata: first its picture and its sentence, for whoever shows no
        widgets, then the view itself. A program that doesn't find the widget of a saved notebook writes an error in its
        place, and takes nothing else from the same output. Beside a living view `base.css` hides the first.

        Where the server can't draw widgets, there is only the picture with a sentence."""
        drawn = drawing(self.picture)
        reason = missing_widgets(anywidget.__version__)
        if reason:
            return [({"text/plain": repr(self), "text/html": _still(reason, drawn, repr(self))}, {})]
        still: dict[str, Any] = {"text/plain": repr(self)}
        if STATES_WANTED in os.environ:
            still[STATE] = self.state()
        if drawn is not None:
            still["image/png"] = drawn
        found = self._repr_mimebundle_() or ({}, {})
        view = {kind: value for kind, value in found[0].items() if kind != "text/plain"}
        alt = {} if drawn is None else {"image/png": {"alt": repr(self)}}
        return [(still, alt), *([(view, found[1])] if view else [])]

    def _ipython_display_(self) -> None:
        from IPython.display import display

        for data, metadata in self.outputs():
            display(data, metadata=metadata, raw=True)


class KernelView(View):
    """A view that Python answers: what the browser sets comes here, and `summary` is sent back with the answer."""

    summary = traitlets.Unicode().tag(sync=True, to_json=lambda text, _view: shown(text))

    def sentence(self) -> str:
        return self.summary


def opening(kind: type[View]) -> str:
    """How the sentences of a class of views begin.

    >>> opening(View)
    'View'
    """
    return kind.opening or re.sub(r"(?<=[a-z])[A-Z]", lambda found: f" {found[0].lower()}", kind.__name__)


def _written_class(kind: type) -> type:
    """The class as somebody wrote it: anywidget puts a class of its own in front."""
    return next(base for base in kind.__mro__ if base.__module__.startswith(__package__))


def _in_base64(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _stored(value) for name, value in values.items()}


def _stored(value: Any) -> Any:
    return {"base64": base64.b64encode(value).decode()} if isinstance(value, bytes) else value


def _still(reason: str, drawn: str | None, summary: str) -> str:
    """The HTML for a view that can't be operated here, for this `reason`: its sentence, and its picture `drawn`, a PNG
    in base64 (None: no picture)."""
    picture = f'<img alt="{escape(summary)}" src="data:image/png;base64,{drawn}">' if drawn else escape(summary)
    here = shown(say("This view can't be used here: {reason}.", reason=say(reason)))
    advice = shown("Run `!grader doctor` in a cell to see what to do.")
    return f"<p>{inline(here)} {inline(advice)}</p><p>{picture}</p>"


def module(name: str | Path) -> str:
    """The source of `name`, a file here or a path, and of its imports as one ES module without imports.

    A widget's module is loaded from a string, where a relative import such as `./colour.js` can't be resolved.
    """
    order: list[Path] = []

    def visit(file: Path) -> None:
        for needed in IMPORT.findall(file.read_text(encoding="utf-8")):
            found = (file.parent / needed).resolve()
            if found not in order:
                visit(found)
        order.append(file)

    visit((FOLDER / name).resolve())
    # `name` comes last; only its exports stay.
    *imported, main = (IMPORT.sub("", file.read_text(encoding="utf-8")) for file in order)
    return "\n".join([*(EXPORT.sub("", source) for source in imported), main])


def with_words(source: str, *texts: str) -> str:
    """A module's source with the words of the language that is spoken in front, as `WORDS` in `say.js` has them: what
    they are for its own strings and for these other texts, by the English, and by "" the language's code."""
    words = words_in(spoken())
    wanted = [*(re.sub(r"\\(.)", r"\1", template) for _quote, template in SAID.findall(source)), *texts]
    used = {"": spoken()} | {text: words[text] for text in sorted(set(wanted)) if text in words}
    return f"const WORDS = {json.dumps(used, ensure_ascii=False)};\n{source}"


def texts_in(value: object) -> Iterator[str]:
    """The texts in what a view is given."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        yield from (text for each in value.values() for text in texts_in(each))
    elif isinstance(value, list | tuple):
        yield from (text for each in value for text in texts_in(each))


def style(*names: str) -> str:
    """The style sheet that all views share, followed by the files `names` of one view."""
    return "\n".join((FOLDER / name).read_text(encoding="utf-8") for name in ("base.css", *names))


def pack(matrices: Mapping[str, Tensor]) -> tuple[Layout, bytes]:
    """Where matrices lie, each as [name, rows, columns], and all entries as the bytes of float32 numbers in that order,
    row by row.

    >>> pack({"a": torch.tensor([[1.0, 2.0]]), "b": torch.zeros(2, 1)})[0]
    [['a', 1, 2], ['b', 2, 1]]
    """
    flat = torch.cat([matrix.detach().to("cpu", torch.float32).reshape(-1) for matrix in matrices.values()])
    return layout_of(matrices), flat.numpy().astype("<f4", copy=False).tobytes()


def layout_of(matrices: Mapping[str, Tensor]) -> Layout:
    """Where matrices (rows, columns) lie one after the other, in their order."""
    return [[name, *matrix.shape] for name, matrix in matrices.items()]
