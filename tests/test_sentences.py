"""Sentences keep their template and their values, whatever way they go."""

from __future__ import annotations

import copy
import json
import pickle

import pytest

from grader.sentences import Several, changed, from_json, in_language, restored, say, stored, together

SENTENCE = "{names} differ from {what} in {count} places."
GERMAN = {SENTENCE: "{what}: {count} Stellen anders als bei {names}.", "the result": "das Ergebnis", "Run.": "Lauf."}


def said() -> str:
    names = Several(("`a`", "`{count}`"), " or ")
    return together(say(SENTENCE, names=names, what=say("the result"), count=3), say("Run."))


def through_json(text: str) -> str:
    return restored(json.loads(json.dumps(stored(text))))


WAYS = {
    "as it is": lambda text: text,
    "pickle": lambda text: pickle.loads(pickle.dumps(text)),
    "copy": copy.deepcopy,
    "json": through_json,
    "one string": lambda text: from_json(json.dumps(stored(text))),
    "changed": lambda text: changed(text, str),
}


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_a_sentence_can_be_said_again(way):
    text = way(said())
    assert text == "`a` or `{count}` differ from the result in 3 places. Run."
    assert in_language(text, GERMAN.get) == "das Ergebnis: 3 Stellen anders als bei `a`, `{count}`. Lauf."
    assert in_language(text, {}.get) == text


def test_a_part_without_a_translation_stays_english():
    assert in_language(said(), {SENTENCE: GERMAN[SENTENCE]}.get).startswith("the result: 3 Stellen")


def test_braces_without_values_are_braces():
    assert say('`{}` and `{x}` in `f"{x}"`') == '`{}` and `{x}` in `f"{x}"`'
    assert through_json(say("`{x}` is a set.")) == "`{x}` is a set."


@pytest.mark.parametrize("values", [{"a": 1}, {"a": 1, "b": 2, "c": 3}, {"b": 2}])
def test_values_and_placeholders_agree(values):
    with pytest.raises(ValueError, match="placeholders"):
        say("{a} {b}", **values)


def test_a_value_is_read_as_it_was_given():
    assert say("{shape}, {number}", shape=(2, 3), number=0.5) == "(2, 3), 0.5"
    assert [Several(names) for names in ("", "a", "abc")] == ["", "a", "a, b and c"]


def test_only_values_are_changed():
    shouted = changed(together(say("{x} in {what}.", x="a", what=say("a batch")), "Plain."), str.upper)
    assert shouted == "A in a batch. PLAIN."


@pytest.mark.parametrize(
    "json", [None, 3, {}, {"say": 3, "with": {}}, {"several": [1]}, {"say": "{a}", "with": {"b": ""}}]
)
def test_no_other_json_is_a_text(json):
    with pytest.raises(ValueError, match="expected"):
        restored(json)


def test_a_template_does_not_reach_into_its_values():
    assert say("{x.__class__} {x:>99} {x}", x=1) == "{x.__class__} {x:>99} 1"


@pytest.mark.parametrize("text", ["", "plain", "{", "3", '{"say": "{a}", "with": {"b": ""}}', "[" * 100_000])
def test_any_other_string_is_a_text_itself(text):
    assert from_json(text) == text
