"""What somebody reads or hears of a view stands whole in a call of `say`: nothing in JavaScript is put together, and no
text is shown as it stands.

Looked for in the source, as `tests/test_sayable.py` does in Python; `tests/browser/test_every_word.py` asks the views.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from babel.messages.jslexer import Token, tokenize, unquote_string

from grader.authoring.translation.said import STYLE, is_prose
from grader.views.base import FOLDER, SAID
from tests.views.test_say import ANSWERS

VALUE = re.compile(r"\$\{[^{}]*(?:\{[^{}]*\}[^{}]*)*\}")
WORD = re.compile(r"[^\W\d_]{2,}")
# A template literal without a blank is a name; one that begins so is code, arithmetic or a style.
NAME = re.compile(r"\S*")
CODE = re.compile(r"[\w.-]*\(|\W*(\d+)?px\b|bold ")
# What is named so is read.
READ = {"text", "title", "alt", "placeholder", "aria-label", "aria-valuetext", "textContent", "label", "caption"}
CHANGING = ("toLowerCase", "toUpperCase")
TORCHS = "RuntimeError: view size is not compatible with input tensor's size and stride"


def faults(source: str, elsewhere: str = "") -> Iterator[str]:
    """Each text of a module in JavaScript that can't be said again, with its line. An id may be the same text as its
    label, which is said here or `elsewhere`."""
    tokens = [token for token in tokenize(source, jsx=False) if "comment" not in token.type]
    said = {at + 2 for at in range(len(tokens) - 2) if (tokens[at].value, tokens[at + 1].value) == ("say", "(")}
    labels = {text for _quote, text in SAID.findall(source + elsewhere)}
    for at, token in enumerate(tokens):
        if token.type == "template_string":
            is_wrong = "${" in token.value and _has_words(token.value[1:-1])
        elif token.type == "string":
            text = unquote_string(token.value)
            around = tokens[at - 1].value if at else "", tokens[at + 1].value if at + 1 < len(tokens) else ""
            is_read = _key(tokens, at) in READ or (is_prose(text) and not STYLE.search(text))
            is_other = at in said or text in labels or text == TORCHS or not WORD.search(text)
            is_wrong = ("+" in around and bool(WORD.search(text))) or (is_read and not is_other and "_" not in text)
        else:
            is_wrong = token.value.rpartition(".")[2] in CHANGING
        if is_wrong:
            yield f"{token.lineno}: {token.value}"


def _has_words(template: str) -> bool:
    outside = VALUE.sub("0", template)
    return bool(WORD.search(outside)) and not NAME.fullmatch(outside) and not CODE.match(outside)


def _key(tokens: list[Token], at: int) -> str:
    """What a value is given to: the name before the colon or the equals sign in front of it; "" if there is none."""
    if at < 2 or tokens[at - 1].value not in (":", "="):
        return ""
    name = tokens[at - 2]
    return unquote_string(name.value) if name.type == "string" else name.value.rpartition(".")[2]


def modules() -> Iterator[tuple[str, str]]:
    """The modules of the views and of the site, as (name, source)."""
    for path in (*sorted(FOLDER.glob("*.js")), *sorted(ANSWERS.glob("*.js")), ANSWERS.parent / "host.js"):
        yield path.name, path.read_text("utf-8")


def test_what_a_view_says_can_be_said_again():
    everything = "".join(source for _name, source in modules())
    assert not [f"{name}:{fault}" for name, source in modules() for fault in faults(source, everything)]


@pytest.mark.parametrize(
    "source",
    [
        'make("span", { text: "Scores" })',
        'make("span", { "aria-label": "steps" })',
        'caption.textContent = "Masked"',
        "make('span', { text: `step ${at}` })",
        "this.announcer.say(`Scale ${divisor}. ${words}`)",
        'const STORY = "Each row is a token. " + rest',
        'say("Step " + at)',
        "say(`Step ${at}`)",
        "const title = name.toLowerCase();",
        'const HEADS = ["after top-k", "the loss"];',
    ],
)
def test_what_is_put_together_is_found(source):
    assert list(faults(source))


@pytest.mark.parametrize(
    "source",
    [
        'make("span", { class: "att-caption", text: say("Scores") })',
        'say("Step {at} of {count}.", { at, count: `${rows} · ${columns}` })',
        'const MASKS = { "free hand": say("free hand") }; const first = "free hand";',
        "canvas.style.width = `${width}px`; model.on(`change:${name}`, draw);",
        "// What isn't said: `the ${x}` of a comment",
        "const sum = `exp(${a} − ${b})`;",
    ],
)
def test_what_is_whole_is_not(source):
    assert not list(faults(source))
