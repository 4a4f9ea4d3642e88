"""The headings of Moodle's lists of people in the languages of its language packs."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

_MOODLES = ("first name", "last name", "username", "id number", "email address")
# By the pack's code its words for these five, with those of earlier packs: several are parted by "|". A word may be
# another thing in another language ("nom"), so a list is read in one language.
PACKS: dict[str, tuple[str, str, str, str, str]] = {
    "ca": ("nom", "cognoms", "nom d'usuari", "número id|número d'identificació", "adreça electrònica"),
    "de": ("vorname", "nachname", "anmeldename", "id-nummer", "e-mail-adresse|e-mail"),
    "es": (
        "nombre",
        "apellido(s)|apellidos",
        "nombre de usuario",
        "número de id|número id",
        "dirección de correo|dirección email|dirección de correo electrónico|correo electrónico",
    ),
    "fr": (
        "prénom",
        "nom de famille|nom",
        "nom d'utilisateur",
        "numéro d'identification",
        "adresse de courriel|adresse courriel|adresse e-mail",
    ),
    "it": ("nome", "cognome", "username", "codice identificativo", "indirizzo email"),
    "ja": ("名", "姓", "ユーザ名|ユーザー名|ユーザid", "idナンバー", "メールアドレス"),
    # The pack calls Moodle's first name 성 and its last name 이름; which is the family's, the words say.
    "ko": ("이름", "성", "사용자 아이디", "id 번호", "이메일 주소"),
    "nl": ("voornaam", "achternaam", "gebruikersnaam", "id-nummer", "e-mailadres"),
    "pl": ("imię", "nazwisko", "nazwa użytkownika", "numer id", "adres e-mail|e-mail"),
    "pt": ("nome", "apelido", "nome de utilizador", "número de identificação", "endereço de e-mail|e-mail"),
    "pt_br": (
        "nome",
        "sobrenome",
        "identificação de usuário|nome de usuário",
        "número de identificação",
        "endereço de email|endereço de e-mail",
    ),
    "sv": ("förnamn", "efternamn", "användarnamn", "id-nummer", "e-postadress"),
    "zh_cn": ("名", "姓氏|姓", "用户名", "学号|编号", "电子邮件地址|email地址"),
}
_WORDS = {
    code: {word: english for words, english in zip(pack, _MOODLES, strict=True) for word in words.split("|")}
    for code, pack in PACKS.items()
}


def in_english(headings: Sequence[str]) -> list[str]:
    """The headings of a list, in small letters; those of Moodle in English, if they are in the language of a pack.

    >>> in_english(["Prénom", "Nom de famille", "Numéro d’identification", "Groupe"])
    ['first name', 'last name', 'id number', 'groupe']
    """
    given = [_plain(heading) for heading in headings]
    words = max(_WORDS.values(), key=lambda known: sum(heading in known for heading in given))
    known = sum(heading in words for heading in given)
    return [words.get(heading, heading) for heading in given] if known > 1 else given


def _plain(heading: str) -> str:
    return unicodedata.normalize("NFC", heading.strip().casefold()).replace("’", "'")


def in_words_of(heading: str, given: Sequence[str], english: Sequence[str]) -> str:
    """A heading that somebody names, in the words in which `in_english` has it: `given` are the list's own headings,
    `english` the same in English. One that isn't in the list is only put in small letters."""
    plain = [_plain(title) for title in given]
    return english[plain.index(_plain(heading))] if _plain(heading) in plain else _plain(heading)
