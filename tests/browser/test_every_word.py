"""Every text of every view, seen or heard, is said by `say`: in the pseudo-language no English is left."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from grader.authoring import states
from grader.views.base import EXPORT, module
from tests.pseudo import english_in
from website.live_views import DEFAULT, STATES

ROOT = Path(__file__).parents[2]
# Texts that are the same in every language: a sentence's words, sizes, code. Others of a state are said.
SAME = ("tokens", "words", "sources", "answers", "guesses", "text", "prompt", "read", "watched", "written")
SAME_OF_KINDS = ("queries", "keys")
# Code and torch's own words, by view.
CODE = {
    "attention_explorer": "Kᵀ softmax",
    "head_splitter": "x view transpose contiguous cut swapped worked back copied joined "
    "RuntimeError: view size is not compatible with input tensor's size and stride",
    "mask_painter": "masked_softmax True False NaN exp",
    "norm_explorer": "LayerNorm BatchNorm RMSNorm",
    "online_softmax": "max exp",
    "position_explorer": "sin cos",
    "progress_table": "01 self attention project_qkv",
    "shape_tracer": "src trg src_mask trg_mask",
}
PSEUDO = r"""
const WORDS = new Proxy({}, {
  get: (_, text) => typeof text === "string" && text.trim()
    ? text.split(/(\{\w+\})/).map((piece) => (!piece || piece.startsWith("{") ? piece : `⟦${piece}⟧`)).join("")
    : undefined,
});
"""
MODEL = """
const bytesOf = (text) => new DataView(Uint8Array.from(atob(text), (one) => one.charCodeAt(0)).buffer);
const plain = (value) => (typeof value?.base64 === "string" ? bytesOf(value.base64) : value);
window.shown = (view, traits) => {
  const values = Object.fromEntries(Object.entries(traits).map(([name, value]) => [name, plain(value)]));
  const listeners = {};
  const model = {
    get: (name) => values[name],
    set: (given, value) => {
      for (const [name, one] of Object.entries(typeof given === "string" ? { [given]: value } : given)) {
        values[name] = one;
        for (const heard of listeners[`change:${name}`] ?? []) { heard(); }
      }
    },
    save_changes() {},
    send() {},
    on: (event, heard) => { (listeners[event] ??= []).push(heard); },
    off() {},
  };
  const place = document.createElement("div");
  document.body.replaceChildren(place);
  view.render({ model, el: place });
};
"""
TEXTS = """() => {
  const found = [];
  const walk = (node) => {
    if (node.nodeType === Node.TEXT_NODE) { found.push(node.textContent); return; }
    if (node.nodeType !== Node.ELEMENT_NODE || node.matches("code, style, script")) { return; }
    for (const name of ["aria-label", "aria-valuetext", "title", "alt", "placeholder"]) {
      if (node.hasAttribute(name)) { found.push(node.getAttribute(name)); }
    }
    for (const child of node.childNodes) { walk(child); }
  };
  walk(document.body);
  return found;
}"""


def stored() -> dict[str, dict[str, Any]]:
    """A stored state of each view, by its module's name."""
    found: dict[str, dict[str, Any]] = {}
    for file in sorted(STATES.glob("*.json")):
        for state in (state for cell in states.load(file).values() for state in cell):
            found.setdefault(state["module"], state["traits"])
    return found


def values_of(traits: dict[str, Any]) -> Iterator[str]:
    """The texts of a state that are the same in every language."""
    for name in SAME:
        yield json.dumps(traits.get(name, ""), ensure_ascii=False)
    for kind in traits.get("kinds", []):
        if isinstance(kind, dict):
            yield from (json.dumps(kind[name], ensure_ascii=False) for name in SAME_OF_KINDS)
    for step in traits.get("steps") or [] if isinstance(traits.get("steps"), list) else []:
        yield from (piece["axes"] for piece in (*step["into"], *step["out"]))


@pytest.fixture(scope="module")
def blank(browser: Browser) -> Iterator[Page]:
    page = browser.new_page()
    page.set_content("<!doctype html><html><body></body></html>")
    page.add_script_tag(content=MODEL)
    yield page
    page.close()


def shown(page: Page, name: str, traits: dict[str, Any], words: str = PSEUDO) -> None:
    """Draw a view by its module and its traits, with `words` in front of the module."""
    source = EXPORT.sub("", DEFAULT.sub("return ", module(f"{name}.js")))
    page.evaluate(f"(traits) => shown((() => {{ {words}\n{source} }})(), traits)", traits)
    page.wait_for_timeout(100)


@pytest.mark.parametrize("name", sorted(stored()))
def test_no_english_is_left(blank, name):
    traits = stored()[name] | {"summary": "⟦…⟧", "verdict": "⟦…⟧", "map": ""}
    if name == "progress_table":
        traits["rows"] = [["01_self_attention", "project_qkv", "not-tried-seen", "0", "2", "1"]]
    shown(blank, name, traits)
    texts = blank.evaluate(TEXTS)
    for button in blank.locator("button:visible:enabled").all():
        button.click()
        blank.wait_for_timeout(60)
        texts += blank.evaluate(TEXTS)
    assert any("⟦" in text for text in texts)
    left = {text: words for text in texts if (words := english_in(text, *values_of(traits), CODE.get(name, "")))}
    assert left == {}
