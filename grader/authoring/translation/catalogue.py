"""Catalogues in gettext's .po format, `translations/LANGUAGE/**/*.po`, kept by Babel."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from io import BytesIO
from pathlib import Path
from typing import NamedTuple

from babel.messages.catalog import Catalog, Message
from babel.messages.pofile import PoFileError, read_po, write_po

from grader.atomic import write_atomically
from grader.errors import CourseError

HEADER = """\
msgid ""
msgstr ""
"Language: {language}\\n"
"Content-Type: text/plain; charset=utf-8\\n"
"Content-Transfer-Encoding: 8bit\\n"

"""
BEFORE = "was: "  # begins the comment of a fuzzy entry with the English text that was translated; Babel's own spoils it
LINE = re.compile(r'\s*|#(?!~).*|(?:#~ )?(?:msgid |msgstr )?"(?:[^"\\]|\\.)*"')  # Babel reads others without a word
WIDTH = 100  # columns at which Babel wraps
ALIKE = 0.6  # the least ratio of difflib's at which a changed text takes over the translation of an older one


class Entry(NamedTuple):
    """An English text to be translated: where it stands, without blanks, and in words what it is there."""

    english: str
    place: str  # a file and, in a lesson, the cell's id; in an exercise, its name
    about: str  # such as "heading", "hint 1 of softmax-over-queries"


@dataclass
class Written:
    """An entry as a catalogue has it."""

    english: str
    translation: str  # "" for none
    fuzzy: bool = False  # the English text has changed since; `before` is what was translated
    before: str = ""
    comments: tuple[str, ...] = ()  # a translator's own, such as "allow: numbers are missing"
    places: tuple[str, ...] = ()
    about: str = ""
    obsolete: bool = False  # no English text of today

    @property
    def is_final(self) -> bool:
        """Whether its translation may be shown."""
        return bool(self.translation) and not self.fuzzy and not self.obsolete


def read(path: Path) -> list[Written]:
    """The entries of a catalogue in their order, the obsolete ones last; none where there is no file. `CourseError`
    where it can't be read, with the line."""
    if not path.exists():
        return []
    try:
        lines = path.read_text("utf-8").splitlines()
        wrong = next((number for number, line in enumerate(lines, 1) if not LINE.fullmatch(line)), 0)
        if wrong:
            raise CourseError(
                f"{path.as_posix()}:{wrong}: expected a comment, or one text between quotes, in which a quote is "
                f'written \\" and a backslash \\\\, got {lines[wrong - 1]!r:.80}'
            )
        catalogue = read_po(BytesIO(path.read_bytes()), abort_invalid=True)
    except PoFileError as error:
        raise CourseError(f"{path.as_posix()}:{error.lineno + 1}: {error} ({error.line!r:.60})") from error
    except UnicodeDecodeError as error:
        raise CourseError(f"{path.as_posix()}: this isn't UTF-8; save the file as UTF-8") from error
    kept = [_written(message) for message in catalogue if message.id]
    return kept + [_written(message, obsolete=True) for message in catalogue.obsolete.values()]


def _written(message: Message, obsolete: bool = False) -> Written:
    about, _, before = " ".join(message.auto_comments).partition(BEFORE)
    return Written(
        str(message.id),
        str(message.string or ""),
        message.fuzzy,
        before,
        tuple(comment for comment in message.user_comments if comment),
        tuple(place for place, _line in message.locations),
        about.strip(),
        obsolete,
    )


def text_of(entries: Iterable[Written], language: str) -> str:
    """A catalogue as its file has it, so that a diff shows what has changed and nothing else: no dates, no line
    numbers."""
    catalogue = Catalog(language)
    for entry in entries:
        message = Message(
            entry.english,
            entry.translation,
            locations=[(place, 0) for place in entry.places],
            flags=["fuzzy"] if entry.fuzzy else [],
            auto_comments=[text for text in (entry.about, entry.before and BEFORE + entry.before) if text],
            user_comments=entry.comments,
        )
        message.flags.discard("python-format")  # "50 % of" is no placeholder here
        if entry.obsolete:
            catalogue.obsolete[entry.english] = message
        else:
            catalogue[entry.english] = message
    file = BytesIO()
    write_po(file, catalogue, width=WIDTH, omit_header=True, include_lineno=False)
    return HEADER.format(language=language) + file.getvalue().decode().rstrip("\n") + "\n"


def write(path: Path, entries: Iterable[Written], language: str) -> bool:
    """Write a catalogue, and return whether that changed its file."""
    text = text_of(entries, language)
    if path.exists() and path.read_text("utf-8") == text:
        return False
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, text)
    return True


def brought_up_to_date(
    old: Mapping[str, list[Written]], entries: Mapping[str, list[Entry]]
) -> dict[str, list[Written]]:
    """All catalogues, by their names, for the `entries` of today.

    A text stays in the first catalogue that has it, and so has one translation. What is unchanged keeps its
    translation, in whichever catalogue that was. What resembles a text that is gone takes its translation and becomes
    fuzzy. A translation whose text is gone becomes obsolete.
    """
    known: dict[str, Written] = {}
    for written in (one for catalogue in old.values() for one in catalogue):
        if written.english not in known or (written.is_final and not known[written.english].is_final):
            known[written.english] = written
    wanted = {entry.english for catalogue in entries.values() for entry in catalogue}
    gone = {english: one for english, one in known.items() if english not in wanted and one.translation}
    taken: set[str] = set()
    made: dict[str, list[Written]] = {}
    seen: dict[str, Written] = {}
    for name, catalogue in entries.items():
        made[name] = []
        for entry in catalogue:
            if entry.english in seen:
                _place(seen[entry.english], entry)
                continue
            new = _carried_over(entry.english, known.get(entry.english), gone, taken)
            _place(new, entry)
            seen[entry.english] = new
            made[name].append(new)
    for name, before in old.items():
        left = [one for one in before if one.english in gone and one.english not in taken]
        made.setdefault(name, []).extend(
            Written(one.english, one.translation, comments=one.comments, obsolete=True) for one in left
        )
    return {name: catalogue for name, catalogue in made.items() if catalogue}


PLACES = 6  # of one text, at most, in its entry


def _place(written: Written, entry: Entry) -> None:
    if entry.place not in written.places and len(written.places) < PLACES:
        written.places += (entry.place,)
    written.about = written.about or entry.about


def _carried_over(english: str, same: Written | None, gone: Mapping[str, Written], taken: set[str]) -> Written:
    """A new entry with the translation that the catalogues have for it, or for a text that is gone and resembles it."""
    if same is not None:
        return Written(english, same.translation, same.fuzzy, same.before if same.fuzzy else "", same.comments)
    left = [text for text in gone if text not in taken]
    undone = [text for text in left if gone[text].before == english]  # an edit was taken back
    close = undone or get_close_matches(english, left, n=1, cutoff=ALIKE)
    if not close:
        return Written(english, "")
    taken.add(close[0])
    old = gone[close[0]]
    if undone:
        return Written(english, old.translation, comments=old.comments)
    return Written(english, old.translation, True, old.before or old.english, old.comments)
