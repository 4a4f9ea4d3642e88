"""What a spreadsheet does to a list of people: it takes numbers for amounts, and what looks like a day for a date.

Excel and LibreOffice do so when a CSV file is opened, and what they save then names other people, or nobody. Such a
list is refused before anything is entered; with `--anyway` it is taken as it stands.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from decimal import Decimal, InvalidOperation

from grader.course.roster import PeopleList, Person, plain, same_people
from grader.errors import CourseError
from grader.printable import printable

# The fields that one number or login of a person may stand in: a list has it in any of these.
NUMBERS = (("id", "moodle", "sis_user_id", "sis_login_id"), ("lms_user_id",), ("canvas_id",))
NAMES = ("name", "first_name", "last_name")
# How Excel shows numbers of more than 11 digits, and what is made of numbers with a fraction.
SCIENTIFIC = re.compile(r"[+-]?\d+([.,]\d+)?E[+-]\d{2,}", re.IGNORECASE)
FRACTION = re.compile(r"\d+[.,]0+")
PRECISE = 15  # digits that a spreadsheet keeps of a number; those behind are zeros
ERRORS = re.compile(r"#(NAME\?|REF!|VALUE!|DIV/0!|NUM!|NULL!|N/A|WERT!|BEZUG!|NOM ?\?|VALEUR!|#+)")
# The first letters of months as Excel abbreviates them, in the languages of the lists that `headings` knows.
MONTHS = (
    "jan|gen|ene|sty|feb|fev|fév|febr|lut|mar|mär|mrz|mrt|maa|apr|abr|avr|kwi|mai|may|maj|mag|mei|maig|jun|juin|giu|cze|"
    "jul|juil|lug|lip|aug|ago|aoû|aou|sie|sep|set|wrz|okt|oct|ott|out|paź|paz|nov|lis|dez|dec|dic|dés|déc|gru|des"
)
DATE = re.compile(
    rf"(?:\d{{1,2}}[-./ ]{{1,2}}(?:{MONTHS})[a-zé]{{0,2}}\.?(?:[-./ ]{{1,2}}\d{{2,4}})?"
    rf"|(?:{MONTHS})[a-zé]{{0,2}}\.?[-./ ]{{1,2}}\d{{1,4}}"
    r"|\d{1,2}[-./]\d{1,2}[-./]\d{2,4}|\d{4}[-./]\d{1,2}[-./]\d{1,2}"
    r"|(?:\d{2,4}[年년] ?)?\d{1,2}[月월] ?\d{1,2}[日일])"
    r"(?:[ T]\d{1,2}:\d{2}(?::\d{2})?)?",
    re.IGNORECASE,
)
TRUTHS = ("true", "false")  # what a spreadsheet writes in its own language, as WAHR
LOST = "?\ufffd"  # in place of a letter that a code page doesn't have
# A text in UTF-8 that somebody read in one of these.
MISREAD = ("cp1252", "latin-1", "mac_roman", "cp850", "cp949", "cp932", "gb18030")
SEVERAL_BYTES = MISREAD[-3:]  # of which a letter has more than one byte


MOST = 10  # cells that are shown


def require_unspoilt(listed: PeopleList, old: Mapping[str, Person]) -> None:
    """Raise `CourseError`, with all lines and cells, if a spreadsheet has spoilt a list; `old` are the people on the
    roster, by id."""
    if found := list(spoilt(listed, old)):
        cells = "\n".join(f"  {printable(cell)}" for cell in found[:MOST])
        more = f"\n  and {len(found) - MOST} more" if found[MOST:] else ""
        raise CourseError(
            f"{listed.path}: nothing was entered, because a spreadsheet seems to have changed the list:\n{cells}{more}"
            "\nExport the list again, and don't open it in a spreadsheet before it is read. If the cells are right, "
            "add --anyway."
        )


def spoilt(listed: PeopleList, old: Mapping[str, Person]) -> Iterator[str]:
    """What a spreadsheet has changed in a list, a sentence for each cell; `old` are the people on the roster, by id."""
    yield from (f"line {line}: {what}" for line, what in listed.misshapen)
    same, _twice = same_people(old, listed.people)
    known = [_Known(old.values(), group) for group in NUMBERS]
    for person, line in zip(listed.people, listed.lines, strict=True):
        was = old.get(same.get(person.id, person.id))
        for field, heading in listed.headings.items():
            text = getattr(person, field)
            why = text and (_by_itself(field, text) or _beside(field, text, was, known))
            if why:
                yield f"line {line}, column {heading!r}: {text!r} {why}"


class _Known:
    """The numbers and logins on the roster that have their place in these `fields`, and by amount what each is."""

    def __init__(self, people: Iterable[Person], fields: Collection[str]) -> None:
        self.fields = fields
        self.values = {value for person in people for field in fields if (value := getattr(person, field))}
        self._by_amount = {_amount(value): value for value in self.values}

    def meant(self, text: str) -> str:
        """The number that a spreadsheet has made this text of; "" if there is none. Whoever puts lost zeros back has
        changed none."""
        number = "" if text in self.values else self._by_amount.get(_amount(text), "")
        mended = text.lstrip("0") == number.lstrip("0") and len(text) > len(number)
        return "" if mended else number


def _amount(text: str) -> str:
    """The amount for which a spreadsheet takes a text, to as many digits as it keeps; the text itself if it is none.

    >>> _amount("00731") == _amount("731.0") == _amount("731"), _amount("12E4") == _amount("120000"), _amount("ann")
    (True, True, 'ann')
    """
    digits = re.sub(r"(?<=\d)[.,'\u00a0\u202f ](?=\d{3}(?!\d))", "", text).replace(",", ".")
    try:
        amount = Decimal(digits) if digits[:1].isascii() and digits[:1].isdigit() else Decimal("NaN")
    except InvalidOperation:
        return text
    if not amount.is_finite() or abs(amount.adjusted()) > 300:
        return text
    shown = f"{amount.normalize():f}"
    return shown[:PRECISE] + "0" * (len(shown) - PRECISE) if "." not in shown else shown


def _by_itself(field: str, text: str) -> str:
    """Why a cell can't be what a platform wrote, in words; "" if it can."""
    if ERRORS.fullmatch(text):
        return "is an error of a spreadsheet's"
    if field == "email":
        return "has a sign in place of a letter" if any(sign in text for sign in LOST) else ""
    if DATE.fullmatch(text):
        return "is a date, which a spreadsheet makes of numbers and logins such as 3-1 or MAR1"
    if field in NAMES:
        if any(sign in text for sign in LOST):
            return "has a sign in place of letters, which its code page doesn't have"
        meant = _misread(text)
        return f"is {meant!r}, read in another code page" if meant else ""
    if SCIENTIFIC.fullmatch(text):
        return "is a long number of which a spreadsheet has kept the first digits"
    if FRACTION.fullmatch(text):
        return "is a number with a fraction, as spreadsheets write amounts"
    if text.isdigit() and len(text) > PRECISE and not text[PRECISE:].strip("0"):
        return f"has zeros behind its {PRECISE}th digit, where spreadsheets keep none"
    return "has a sign in place of a letter" if any(sign in text for sign in LOST) else ""


def _beside(field: str, text: str, was: Person | None, known: Sequence[_Known]) -> str:
    """Why a cell can't be what a platform wrote, beside what the roster has of that person (`was`, None if nothing) and
    of all; "" if it can."""
    before = getattr(was, field) if was else ""
    if before.casefold() in TRUTHS and text.casefold() != before.casefold() and field not in NAMES:
        return f"was {before!r}, which spreadsheets put into their own language"
    if field in NAMES:
        replaced = _without_letters(before, text) or before in [meant for _encoding, meant in _in_utf_8(text)]
        return f"was {before!r}: letters were replaced" if before and replaced else ""
    number = next((found for numbers in known if field in numbers.fields and (found := numbers.meant(text))), "")
    return f"is {number!r} on the roster; a spreadsheet has taken it for an amount" if number else ""


def _without_letters(before: str, now: str) -> bool:
    """Whether a name has other letters in place of those that aren't ASCII, as Łukasz that became Lukasz. An accent
    that is gone is another spelling, under which a person is found too."""
    latin = all(unicodedata.name(c, "").startswith("LATIN") for c in before if c.isalpha())
    if not latin or before == now or len(before) != len(now) or plain(before) == plain(now):
        return False
    pairs = [*zip(before, now, strict=True)]
    return all(old == new or not old.isascii() for old, new in pairs) and any(old == new for old, new in pairs)


def _misread(text: str) -> str:
    """What a text is that was written in UTF-8 and read in another code page; "" if it wasn't.

    >>> _misread("MÃ¼ller"), _misread("Müller"), _misread("홍")
    ('Müller', '', '')
    """
    scripts = {unicodedata.name(c, "").partition(" ")[0] for c in text if c.isalpha()}
    mixed = len(scripts) > 1  # by chance a name may be UTF-8 too, as 홍 is in code page 949; no name has two scripts
    return next((meant for encoding, meant in _in_utf_8(text) if mixed or encoding not in SEVERAL_BYTES), "")


def _in_utf_8(text: str) -> Iterator[tuple[str, str]]:
    """What a text may have been in UTF-8, by the code page in which it was read."""
    for encoding in () if text.isascii() else MISREAD:
        with suppress(UnicodeError):
            meant = text.encode(encoding).decode("utf-8")
            if meant != text and meant.isprintable():
                yield encoding, meant
