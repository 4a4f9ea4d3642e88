"""Which language a learner is shown, and texts in it.

What the course says is English where it is made (`grader.sentences`), and it stays English in logs, in what is kept
and in the gradebook. It is put into the learner's language where somebody reads it: by `shown`. In English nothing is
looked up; for another language `grader/words/` has its words, which the build makes of `translations/`.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from pathlib import Path
from typing import Any

from grader.atomic import write_atomically
from grader.kernel import notebook, notebook_path, progress_file
from grader.plain import dict_in
from grader.sentences import Translate, in_language, say, together

ENGLISH = "en"
VARIABLE = "GRADER_LANG"
WORDS = Path(__file__).parent / "words"
RUN_TIME = "words.json"  # what is looked up when it is shown
ANSWERS = "answers.json"  # what `compare_guess` explains, by the prediction's name

_speaking: ContextVar[str] = ContextVar("speaking", default="")
_with_words: ContextVar[Mapping[str, str] | None] = ContextVar("with_words", default=None)
_in_this_process = ""  # what was chosen in it, which need not be kept


def languages() -> dict[str, str]:
    """Every language's own name by its code, English first."""
    return {ENGLISH: "English", **_read(WORDS / "languages.json")}


def shown(text: str) -> str:
    """A text as somebody reads it now, in the language that is spoken; in English where it has no translation."""
    language = spoken()
    return str(text) if language == ENGLISH else in_language(text, words_of(language))


def words_of(language: str) -> Translate:
    """What gives a template's translation into a language."""
    return words_in(language).get


def words_in(language: str, file: str = RUN_TIME) -> Mapping[str, str]:
    """One of a language's files in `grader/words/`: texts by their English template, or by what `file` has; empty for
    English. `speaking` may have been given more than the package has."""
    given = _with_words.get() if file == RUN_TIME else None
    return {} if language == ENGLISH else given or _read(WORDS / language / file)


def spoken() -> str:
    """The code of the language that is shown now: that of `speaking`, else the learner's."""
    return _speaking.get() or chosen()


def as_attribute() -> str:
    """The attributes by which HTML tells its language to who reads it aloud, where that isn't the page's English, and
    that lines of Korean end between words, as a browser doesn't end them by itself."""
    whole = ' style="word-break:keep-all"' if spoken() == "ko" else ""
    return "" if spoken() == ENGLISH else f' lang="{spoken()}"{whole}'


@contextmanager
def speaking(language: str, words: Mapping[str, str] | None = None) -> Iterator[None]:
    """Inside the block texts are shown in this language, whatever the learner at this machine has chosen. `words` are
    texts in it by their English, where those of the package aren't enough."""
    before, words_before = _speaking.set(language), _with_words.set(words)
    try:
        yield
    finally:
        _speaking.reset(before)
        _with_words.reset(words_before)


def chosen() -> str:
    """The learner's language, the first of these that is known: `GRADER_LANG`, what was chosen by `language`, what the
    notebook's own text is in, English. A name that isn't known is told once, and passed over."""
    for where, code in _named():
        if code == ENGLISH or (code := known(code)):
            return code
        _tell(where, code)
    return ENGLISH


def language(code: str = "") -> None:
    """Have reports, hints and messages in the language of this code from now on, for example `language("ko")`. It is
    kept beside the progress. Without a code, print which language it is and which there are."""
    wanted = known(code)
    if not code:
        said = say("The course's messages are in {language}.", language=languages()[chosen()])
        print(shown(together(said, _there_are())))
    elif not wanted:
        print(shown(problem(code)))
    else:
        print(choose(wanted))


def choose(code: str) -> str:
    """Have messages in the language of this code from now on, and keep that; a sentence on what came of it, in the
    language that is spoken then."""
    global _in_this_process
    _in_this_process = code
    if chosen() != code:
        first = say(
            "{variable} is set to `{code}` here, which comes first. To change it in a notebook: `%env "
            "{variable}={wanted}`.",
            variable=VARIABLE,
            code=chosen(),
            wanted=code,
        )
        return shown(together(first, _keep(code)))
    said = say("From now on the course's messages are in {language}.", language=languages()[code])
    switch = say(
        "`grader language {code} NOTEBOOK.ipynb` puts the text of a notebook that you have begun into it, too.",
        code=code,
    )
    return shown(together(said, _keep(code), switch))


def problem(code: object) -> str:
    """A sentence on a code that is none of a language's, with those that there are; empty for one that is."""
    if known(code):
        return ""
    return together(say("There is no language {code}.", code=repr(code)), _there_are())


def known(code: object) -> str:
    """A language's code as it is written here, from what somebody typed ("KO"), or as systems have it ("ko_KR.UTF-8");
    empty if there is no such language."""
    written = code.strip().lower() if isinstance(code, str) else ""
    return next((one for one in (written, re.split("[-_.]", written)[0]) if one in languages()), "")


def _there_are() -> str:
    there = ", ".join(f'"{code}" ({name})' for code, name in languages().items())
    return say("These can be chosen: {languages}.", languages=there)


def _named() -> Iterator[tuple[str, str]]:
    """The languages that are named for this process, the first counts, each with where."""
    yield from _given(VARIABLE, os.environ.get(VARIABLE, ""))
    yield from _given("language", _in_this_process)
    if (path := _kept()) is not None and (changed := _changed(path)):
        yield from _given(str(path), _text(path, changed))
    if (own := notebook_path()) is not None:
        yield from _given(own.name, _of_notebook(own))


def _given(where: str, code: str) -> Iterator[tuple[str, str]]:
    if code.strip():
        yield where, code.strip().lower()


def _kept() -> Path | None:
    """The file that keeps what was chosen, beside the progress; None where nothing is kept."""
    progress = progress_file()
    return None if progress is None else progress.with_suffix(".language")


def _keep(code: str) -> str:
    """Keep what was chosen; a sentence where that can't be done."""
    path = _kept()
    if path is None:
        return say("This isn't kept, since no progress is.")
    try:
        path.parent.mkdir(mode=0o700, exist_ok=True)
        write_atomically(path, code + "\n", mode=0o600)
    except OSError as error:
        return say("This isn't kept in {path}: {why}.", path=path, why=error.strerror or error)
    return ""


def _changed(path: Path) -> int:
    """When a file was last changed; 0 where there is none."""
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0


@cache
def _text(path: Path, _changed: int) -> str:
    try:
        return path.read_text("utf-8")[:40]
    except (OSError, ValueError):
        return ""


@cache
def _of_notebook(_path: Path) -> str:
    """The language of this notebook's text. It is read once: who changes it loads the notebook anew."""
    return language_of(notebook())


def language_of(document: dict[str, Any]) -> str:
    """The language that a notebook says its text is in; English where it doesn't say."""
    named = dict_in(dict_in(document.get("metadata")).get("course")).get("language")
    return named if isinstance(named, str) else ENGLISH


def set_language(metadata: dict[str, Any], language: str) -> None:
    """Note in a notebook's metadata in which language its text is; nothing stands for English."""
    course = {name: value for name, value in dict_in(metadata.pop("course", None)).items() if name != "language"}
    course |= {} if language == ENGLISH else {"language": language}
    if course:
        metadata["course"] = course


@cache
def _tell(where: str, code: str) -> None:
    with speaking(ENGLISH):
        print(shown(together(say("{where}: got `{code}`.", where=where, code=code), problem(code))))


@cache
def _read(path: Path) -> dict[str, str]:
    """A built file; empty where there is none."""
    try:
        return dict(json.loads(path.read_text("utf-8")))
    except FileNotFoundError:
        return {}
