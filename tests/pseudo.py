"""The pseudo-language: every text that can be said in another language stands in ⟦…⟧, piece by piece, its values
outside of the brackets. A word outside is either a value that is the same in every language, or English that nobody
can translate.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import pytest

from grader import languages
from grader.authoring import Repository
from grader.authoring.translation.texts import shown_at_run_time
from grader.exercises.registry import exercises

ROOT = Path(__file__).parents[1]
CODE = "x-pseudo"
PIECES = re.compile(r"(\{\w+\})")
INSIDE = re.compile(r"⟦[^⟦⟧]*⟧")
# In backquotes, and what looks like code or a number: texts in quotes, names with an underscore or a point, calls,
# lists, shapes.
KEPT = re.compile(r"`[^`]*`|'\w*'|<[^>]*>|&\w+;|\S*[_.()\[\]=/\d×]\S*")
WORD = re.compile(r"[^\W\d_]{2,}")


def pseudo(template: str) -> str:
    """A template in the pseudo-language.

    >>> pseudo("`{name}` returned {what}.")
    '⟦`⟧{name}⟦` returned ⟧{what}⟦.⟧'
    """
    return "".join(piece if piece.startswith("{") else f"⟦{piece}⟧" for piece in PIECES.split(template) if piece)


@cache
def in_catalogues() -> frozenset[str]:
    """The English texts that a translator is given, and that are looked up when they are shown."""
    return frozenset(shown_at_run_time(Repository(ROOT, exercises())))


@contextmanager
def pseudo_language() -> Iterator[None]:
    """Inside the block all texts that catalogues have are shown in the pseudo-language."""
    known = in_catalogues()
    with pytest.MonkeyPatch.context() as patch, languages.speaking(CODE):
        patch.setattr(languages, "words_of", lambda _language: lambda text: pseudo(text) if text in known else None)
        yield


def english_in(text: str, *values: str) -> list[str]:
    """The words of a text in the pseudo-language that stand in no brackets, and are neither code nor in one of these
    values.

    >>> english_in("⟦Run ⟧`check`⟦ again⟧: it failed.")
    ['it', 'failed']
    """
    outside = INSIDE.sub(" ", text.replace("⟦`⟧", "`").replace("⟦`", "`⟦").replace("`⟧", "⟧`"))
    allowed = {word for value in values for word in WORD.findall(value)}
    return [word for word in WORD.findall(KEPT.sub(" ", outside)) if word not in allowed]
