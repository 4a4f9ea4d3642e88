"""`grader translate`: brings the catalogues of a language up to date, and says what is wrong with them."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from grader.authoring.repository import Repository
from grader.authoring.translation import faults, texts
from grader.authoring.translation.catalogue import Written, brought_up_to_date, read, text_of, write
from grader.errors import CourseError

INTERFACE = ("words", "views")  # the catalogues of what a screen shows


@dataclass(frozen=True)
class Language:
    """A language of `translations/languages.toml`: its code, its own name, and the catalogues that must be complete."""

    code: str
    name: str
    gate: tuple[str, ...]


def languages(root: Path) -> dict[str, Language]:
    """The languages besides English, by their codes; none where the repository has no such file. `CourseError` where it
    isn't as it should be."""
    path = root / "translations" / "languages.toml"
    if not path.exists():
        return {}
    try:
        read = tomllib.loads(path.read_text("utf-8"))
        return {code: Language(code, one["name"], tuple(one["gate"])) for code, one in read.items()}
    except (tomllib.TOMLDecodeError, KeyError, TypeError) as error:
        raise CourseError(
            f'translations/languages.toml: {error}; expected a table for each language, with name = "…" and gate = […]'
        ) from error


def complete(root: Path) -> dict[str, Language]:
    """The languages all of whose catalogues are in the gate: those that the site has."""
    found = languages(root)
    names = {code: set(names_in(root / "translations" / code)) for code in found}
    return {code: one for code, one in found.items() if "site" in names[code] and names[code] <= set(one.gate)}


def folder_of(root: Path, language: str) -> Path:
    """The folder of a language's catalogues. `CourseError` for one that languages.toml doesn't have."""
    known = languages(root)
    if language not in known:
        listed = ", ".join(known) or "none"
        raise CourseError(
            f"There is no language {language!r} in translations/languages.toml, which has: {listed}. Add a table "
            f'[{language}] with name = "…" and gate = [].'
        )
    return root / "translations" / language


def read_all(folder: Path) -> dict[str, list[Written]]:
    """All catalogues of a language, by their names such as "lessons/01_self_attention"."""
    return {name: read(folder / f"{name}.po") for name in names_in(folder)}


def names_in(folder: Path) -> list[str]:
    """The names of all catalogues of a language."""
    return [path.relative_to(folder).with_suffix("").as_posix() for path in sorted(folder.rglob("*.po"))]


def up_to_date(repository: Repository, language: str) -> dict[str, list[Written]]:
    """All catalogues of a language, as the sources of today want them."""
    return brought_up_to_date(read_all(folder_of(repository.root, language)), texts.entries(repository))


def merge(repository: Repository, language: str, forget: bool, tell: Callable[[str], object]) -> None:
    """Bring the files of a language up to date, and tell a line for each and one for all. `forget` drops what is
    obsolete."""
    folder = folder_of(repository.root, language)
    made = up_to_date(repository, language)
    if forget:
        made = {name: [one for one in entries if not one.obsolete] for name, entries in made.items()}
    for name, entries in made.items():
        write(folder / f"{name}.po", entries, language)
    for path in sorted(folder.rglob("*.po")):
        if not made.get(path.relative_to(folder).with_suffix("").as_posix()):
            path.unlink()
    for line in table(made):
        tell(line)


class Counts(NamedTuple):
    """How much of a catalogue is translated."""

    units: int
    done: int  # of the units
    words: int  # English ones
    words_done: int
    fuzzy: int
    obsolete: int


def table(catalogues: Mapping[str, list[Written]]) -> Iterator[str]:
    """How much of each catalogue is translated, in units and in English words, as lines."""
    rows = {name: _counts(entries) for name, entries in catalogues.items()}
    rows["all"] = Counts(*map(sum, zip(*rows.values(), strict=True))) if rows else Counts(0, 0, 0, 0, 0, 0)
    width = max(map(len, rows))
    yield f"{'catalogue':{width}}  units  done     %  words   done     %  fuzzy  obsolete"
    for name, row in rows.items():
        pairs = ((row.done, row.units), (row.words_done, row.words))
        shares = [100 * part // whole if whole else 100 for part, whole in pairs]
        yield (
            f"{name:{width}}  {row.units:5}  {row.done:4}  {shares[0]:3}%  {row.words:5}  {row.words_done:5}  "
            f"{shares[1]:3}%  {row.fuzzy:5}  {row.obsolete:8}"
        )


def _counts(entries: Sequence[Written]) -> Counts:
    now = [one for one in entries if not one.obsolete]
    done = [one for one in now if one.is_final]
    words, words_done = (sum(len(one.english.split()) for one in ones) for ones in (now, done))
    return Counts(len(now), len(done), words, words_done, sum(one.fuzzy for one in now), len(entries) - len(now))


def problems(
    folder: Path, language: str, catalogues: Mapping[str, list[Written]], wanted: Sequence[str]
) -> Iterator[str]:
    """A line for everything that keeps the `wanted` catalogues from being complete: file, place, English text, what is
    wrong."""
    words = faults.unwanted(folder / "glossary.csv")
    interface = {one.english: one.translation for name in INTERFACE for one in catalogues.get(name, ()) if one.is_final}
    shown = f"translations/{language}"
    for name in wanted:
        for entry in catalogues[name]:
            place = f" {entry.places[0]}" if entry.places else ""
            for problem in _problems(entry, language, words, interface):
                yield f"{shown}/{name}.po:{place} “{_short(entry.english)}”: {problem}"


def _problems(entry: Written, language: str, words: Mapping[str, str], interface: Mapping[str, str]) -> Iterator[str]:
    if entry.obsolete:
        yield "obsolete, since English has no such text any more; use its translation elsewhere, or drop it (--forget)"
    elif not entry.translation:
        yield "not translated"
    elif entry.fuzzy:
        yield "fuzzy, since the English text has changed"
    else:
        yield from faults.faults_of(entry, language, words, interface)


def complete_notebooks(repository: Repository) -> list[Path]:
    """The notebooks in other languages whose lessons' catalogues are in the gate, so that they are handed out."""
    return [
        path
        for code, language in languages(repository.root).items()
        for path in sorted((repository.notebooks / code).glob("*.ipynb"))
        if f"lessons/{path.stem}" in language.gate
    ]


def gate(repository: Repository) -> list[str]:
    """A line for everything that keeps the catalogues of a language's `gate` from being complete and up to date."""
    found: list[str] = []
    for code, language in languages(repository.root).items():
        if language.gate:
            folder = folder_of(repository.root, code)
            catalogues = read_all(folder)
            found += [
                f"translations/languages.toml: there is no catalogue {name!r}, as the gate of {code} has it"
                for name in language.gate
                if name not in catalogues
            ]
            listed = [name for name in language.gate if name in catalogues]
            found += problems(folder, code, catalogues, listed)
            found += outdated(repository, code, listed)
    return found


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 70 else f"{line[:69]}…"


def names_of(repository: Repository, language: str, wanted: Sequence[str]) -> list[str]:
    """The catalogues meant by names, files or lessons' numbers ("05": lesson and exercises); all without any.
    `CourseError` for one that isn't there."""
    folder = folder_of(repository.root, language)
    known = list(read_all(folder))
    return [name for text in wanted for name in _meant(text, known)] if wanted else known


def _meant(text: str, known: Sequence[str]) -> list[str]:
    plain = text.removesuffix(".po")
    exact = [name for name in known if plain == name or plain.endswith(f"/{name}")]
    found = exact or [name for name in known if name.startswith((f"lessons/{plain}_", f"exercises/lesson_{plain}"))]
    if not found:
        raise CourseError(f"There is no catalogue {text!r}. The catalogues are: {', '.join(known)}.")
    return found


def outdated(repository: Repository, language: str, names: Sequence[str] = ()) -> Iterator[str]:
    """A line for each of these catalogues, or of all, that isn't what the sources of today want."""
    folder = folder_of(repository.root, language)
    made = up_to_date(repository, language)
    for name in names or sorted(made.keys() | read_all(folder).keys()):
        path = folder / f"{name}.po"
        if not path.exists() or path.read_text("utf-8") != text_of(made.get(name, ()), language):
            yield f"translations/{language}/{name}.po: it isn't up to date; run `grader translate {language}`"
