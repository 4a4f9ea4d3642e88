"""Sentences for a learner: English where they are made, in the learner's language where they are shown.

    say("`{name}` returned None. Does it end with a `return` line?", name=exercise.name)

What it returns is the English sentence, a `str` like any other: logs, comparisons and tests see English, whatever
language is shown. It remembers its template and its values, so that `in_language` can make the sentence anew. Anything
that makes a new string of it, such as `+`, an f-string or `.strip()`, leaves plain English.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

Translate = Callable[[str], str | None]  # from an English template to the same in another language; None: it has none
PLACEHOLDER = re.compile(r"\{(\w+)\}")


class Said(str):
    """A sentence in English that can be said again."""

    template: str  # whole, with its values' names in braces
    values: Mapping[str, str]  # by these names: `Said`, `Several`, or text that is the same in every language


class Several(str):
    """Names in a row: "`a`, `b` and `c`" in English; a language without such an "and" joins them by its comma. `last`
    stands before the last one, in English."""

    names: tuple[str, ...]  # each may be a sentence itself
    last: str

    def __new__(cls, names: Iterable[str], last: str = " and ") -> Several:
        *first, end = given = tuple(names) or ("",)
        made = super().__new__(cls, f"{', '.join(first)}{last}{end}" if first else end)
        made.names, made.last = given, last
        return made

    def __reduce__(self) -> tuple[type[Several], tuple[tuple[str, ...], str]]:  # for pickle and copy
        return Several, (self.names, self.last)


class Together(str):
    """Sentences one after the other."""

    sentences: tuple[str, ...]


def say(template: str, /, **values: object) -> str:
    """The sentence that `template` makes with `values`, whose names it has in braces. Text that has a translation of
    its own is given as a sentence, `say(title)`, which leaves a sentence as it is; a number is given as it is to be
    read. `ValueError` where a placeholder has no value, or a value no placeholder.

    >>> say("{n} of {total} values differ ({case}).", n=3, total=12, case=say("a batch"))
    '3 of 12 values differ (a batch).'
    """
    if not values and isinstance(template, Said | Several | Together):
        return template
    given = {name: value if isinstance(value, str) else str(value) for name, value in values.items()}
    if values and set(PLACEHOLDER.findall(template)) != given.keys():
        raise ValueError(f"got values for {', '.join(given)}, expected them for the placeholders of {template!r}")
    said = Said(_filled(template, given))
    said.template, said.values = template, given
    return said


def together(*sentences: str) -> str:
    """Sentences one after the other, as one text; empty ones are left out.

    >>> together(say("One."), together("Two.", ""), "Three.")
    'One. Two. Three.'
    """
    flat = tuple(
        one for text in sentences for one in (text.sentences if isinstance(text, Together) else (text,)) if one
    )
    if len(flat) < 2:
        return flat[0] if flat else ""
    made = Together(" ".join(flat))
    made.sentences = flat
    return made


def ended(message: str) -> str:
    """An error's own words with a full stop, where they have none, so that a sentence may follow.

    >>> ended("mat1 and mat2 differ "), ended("Why?"), ended("")
    ('mat1 and mat2 differ.', 'Why?', '')
    """
    message = message.rstrip()
    return f"{message}." if message and message[-1] not in ".!?" else message


def changed(text: str, change: Callable[[str], str]) -> str:
    """`text` with every value in it changed that is the same in every language; text without values is changed as a
    whole."""
    if isinstance(text, Together):
        return together(*(changed(one, change) for one in text.sentences))
    if isinstance(text, Said):
        return say(text.template, **{name: changed(value, change) for name, value in text.values.items()})
    if isinstance(text, Several):
        return Several((changed(name, change) for name in text.names), text.last)
    return change(text)


def in_language(text: str, translate: Translate, comma: str = ", ") -> str:
    """A text in the language of `translate`; a sentence that has no translation stays English."""
    if isinstance(text, Together):
        return " ".join(in_language(one, translate, comma) for one in text.sentences)
    if not isinstance(text, Said):
        return translate(text) or str(text)
    template = translate(text.template)
    if template is None:
        return str(text)
    return _filled(template, {name: _value(value, translate, comma) for name, value in text.values.items()})


def _value(value: str, translate: Translate, comma: str) -> str:
    if isinstance(value, Said | Together):
        return in_language(value, translate, comma)
    if isinstance(value, Several):
        return comma.join(_value(name, translate, comma) for name in value.names)
    return value


def _filled(template: str, values: Mapping[str, str]) -> str:
    """One pass, so that braces in a value stay; without values those of the template stay, too."""
    return PLACEHOLDER.sub(lambda name: values.get(name[1], name[0]), template)


def stored(text: str) -> Any:
    """A text as JSON, for a log or a pipe: what isn't made of parts stays as it is."""
    if isinstance(text, Together):
        return {"sentences": [stored(one) for one in text.sentences]}
    return _stored(text) if isinstance(text, Several) or (isinstance(text, Said) and text.values) else str(text)


def _stored(value: str) -> Any:
    """A value as JSON. A sentence without values is one here, too, since other text is the same in every language."""
    if isinstance(value, Said):
        return {"say": value.template, "with": {name: _stored(given) for name, given in value.values.items()}}
    if isinstance(value, Several):
        return {"several": [_stored(name) for name in value.names], "last": value.last}
    return stored(value)


def restored(data: object) -> str:
    """The text that `stored` made JSON of. `ValueError` for anything else."""
    match data:
        case str():
            return data
        case {"sentences": [*sentences]}:
            return together(*map(restored, sentences))
        case {"several": [*names], "last": str(last)}:
            return Several(map(restored, names), last)
        case {"say": str(template), "with": dict(values)}:
            return say(template, **{name: restored(value) for name, value in values.items()})
    raise ValueError(f"got {data!r:.60}, expected a text")


def from_json(text: str) -> str:
    """The text that a string holds as `stored` has it, in JSON; any other string is a text itself."""
    try:
        return restored(json.loads(text))
    except (ValueError, RecursionError):
        return text
