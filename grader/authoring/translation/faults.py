"""What an entry may not lose, add or break, whatever it says; and, for a language, what its own rules refuse."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

from markdown_it import MarkdownIt

from grader.authoring.translation.catalogue import Written
from grader.sentences import PLACEHOLDER

INLINE = MarkdownIt("commonmark")
FORMULA = re.compile(r"\$\$.+?\$\$|(?<![\\$\w])\$[^$\n]+\$", re.DOTALL)
CODE = re.compile(r"(`+)(.+?)\1")
NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
TAG = re.compile(r"</?[a-zA-Z][^>]*>|<!--.*?-->")
LINK = re.compile(r"\]\(([^)]*)\)")
QUOTED = re.compile(r"(?<!\*)\*{1,2}(?!\*)([^*]+?)\*{1,2}")
ALLOW = "allow: "  # begins a translator's comment that allows a fault, by the beginning of its sentence

# A particle whose form depends on the sound before it, right behind what a program inserts.
PARTICLE = re.compile(
    r"\}[`\"”]?(?:(?:은|는|이|가|을|를|과|와|으로|로|이라|라|이다|다|아|야|이나|나|이며|며)(?![가-힣])|이?라(?:고|는)|이란)"
)
BOTH = re.compile(r"은\(는\)|는\(은\)|이\(가\)|가\(이\)|을\(를\)|를\(을\)|와\(과\)|과\(와\)|\(으\)로")


def faults_of(
    entry: Written, language: str, glossary: Mapping[str, str] | None = None, interface: Mapping[str, str] | None = None
) -> Iterator[str]:
    """A sentence for each fault of a translated entry that no comment of it allows. `glossary`: the words that it
    refuses, each with the one to use; `interface`: what the screen shows, by its English text."""
    allowed = [comment.strip()[len(ALLOW) :] for comment in entry.comments if comment.strip().startswith(ALLOW)]
    found = [*faults(entry.english, entry.translation, language)]
    found += [*against_glossary(entry, glossary or {}), *quoted_otherwise(entry, interface or {})]
    for fault in found:
        if not any(fault.startswith(beginning) for beginning in allowed if beginning):
            yield fault


def faults(english: str, translation: str, language: str) -> Iterator[str]:
    """A sentence for each thing that a translation has lost, added or broken."""
    yield from _differ("placeholders", PLACEHOLDER.findall(english), PLACEHOLDER.findall(translation))
    yield from RULES.get(language, lambda _text: ())(translation)
    before, after = _marks(english), _marks(translation)
    yield from _differ("code", *([found[1] for found in CODE.findall(text)] for text in (english, translation)))
    plain, said = CODE.sub(" ", english), CODE.sub(" ", translation)
    yield from _differ("formulas", FORMULA.findall(plain), FORMULA.findall(said))
    plain, said = FORMULA.sub(" ", plain), FORMULA.sub(" ", said)
    yield from _differ("links", LINK.findall(plain), LINK.findall(said))
    yield from _differ("tags", TAG.findall(plain), TAG.findall(said))
    lost = Counter(NUMBER.findall(plain)) - Counter(NUMBER.findall(said))
    if lost:
        yield f"numbers are missing: {', '.join(sorted(lost.elements()))}"
    for mark, name in (("strong", "bold"), ("em", "italic")):
        if before[0][mark] != after[0][mark]:
            yield f"{name} pieces in English: {before[0][mark]}, in the translation: {after[0][mark]}"
    if "**" in after[1] or ("*" in after[1] and "*" not in before[1]):
        yield "an asterisk stays visible: `**` doesn't close between a bracket or a quote and a letter"
    if said.count("~") > plain.count("~"):
        yield "a tilde: two of them in a paragraph strike out what is between them"
    cells = english.count("|") - 1, translation.count("|") - 1
    if english.startswith("|") and cells[0] != cells[1]:
        yield f"cells of this row in English: {cells[0]}, in the translation: {cells[1]}"
    if _blanks(english) != _blanks(translation):
        yield "the blanks at its ends, or its lines, aren't those of the English text"
    if english == translation and len(re.findall(r"[A-Za-z]{2,}", TAG.sub("", PLACEHOLDER.sub("", plain)))) > 1:
        yield "this is still the English text"


def _blanks(text: str) -> tuple[str, str, int]:
    return text[: len(text) - len(text.lstrip())], text[len(text.rstrip()) :], text.count("\n")


def _korean(text: str) -> Iterator[str]:
    found = PARTICLE.search(text)
    if found:
        yield f"a particle follows a placeholder: {found[0]!r}; put a noun between them"
    found = BOTH.search(text)
    if found:
        yield f"two particles at once: {found[0]!r}; choose one, or put a noun before it"


RULES: Mapping[str, Callable[[str], Iterable[str]]] = {"ko": _korean}  # of a language, by its code


def _differ(what: str, english: list[str], translation: list[str]) -> Iterator[str]:
    missing, extra = Counter(english) - Counter(translation), Counter(translation) - Counter(english)
    if missing:
        yield f"{what} missing: {', '.join(missing.elements())}"
    if extra:
        yield f"{what} that English doesn't have: {', '.join(extra.elements())}"


def _marks(text: str) -> tuple[Counter[str], str]:
    """How many bold and italic pieces a text has, and its text without them."""
    text = FORMULA.sub("`f`", text)  # punctuation, as `$` is, to what decides where emphasis begins and ends
    tokens = INLINE.parseInline(text)[0].children or []
    kinds = Counter(token.type.removesuffix("_open") for token in tokens if token.type.endswith("_open"))
    return kinds, "".join(token.content for token in tokens if token.type == "text")


def unwanted(glossary: Path) -> dict[str, str]:
    """The words that no translation has, each with the one to use, from a language's `glossary.csv`; none without one.
    A word in brackets there is advice for a reader, since it is right in other sentences."""
    if not glossary.exists():
        return {}
    with glossary.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    words = ((word.strip(), row["translation"]) for row in rows for word in row["do not use"].split(";"))
    return {word: instead for word, instead in words if word and not word.startswith("(")}


def against_glossary(entry: Written, words: Mapping[str, str]) -> Iterator[str]:
    """A sentence for each word of an entry that the glossary refuses."""
    for word, instead in words.items():
        if word in entry.translation:
            yield f"the glossary has {instead!r} in place of {word!r}"


def quoted_otherwise(entry: Written, interface: Mapping[str, str]) -> Iterator[str]:
    """A sentence for each text of the `interface`, of two words or more, that an entry quotes in italics or bold, as in
    *not passed yet*, in another translation than the one on the screen."""
    for quoted in QUOTED.findall(entry.english):
        if " " in quoted and quoted in interface and interface[quoted] not in entry.translation:
            yield f"{quoted!r} is {interface[quoted]!r} on the screen"
