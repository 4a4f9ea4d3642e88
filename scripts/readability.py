"""How long and how hard to read the lessons are, and how often they fall into the turns that docs/writing.md lists.
The same of other texts: documents, and what is said of mistakes.

    python scripts/readability.py                        # all lessons
    python scripts/readability.py --against HEAD~5 01    # lesson 01, compared with that revision
    python scripts/readability.py --turns 03             # its sentences that have a listed turn, or no verb
    python scripts/readability.py --sample 7 03          # 100 sentences of lesson 03, drawn with seed 7, to read aloud
    python scripts/readability.py docs README.md         # each document
    python scripts/readability.py grader/exercises/*/    # what is said of mistakes, by folder

Code, formulas, tables and headings are left out, code and formulas inside a sentence too.
`words` are those that everybody reads, `folded` those inside <details>; all other figures are of both together.
`colons`: sentences with one, in per cent. `short`: those of eight words or fewer. `no verb`: those in which a small
rule sees none. `turns`: how many of the listed turns there are. `mean`: words in a sentence.
Flesch (1948): 206.835 - 1.015 * words / sentences - 84.6 * syllables / words; 60 to 70 is plain English, 30 to 50 hard.

Syllables of a word: its groups of vowels (a, e, i, o, u, y), less one for a silent e at its end or in its -ed or -es;
at least one.
"""

from __future__ import annotations

import random
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import click

from grader.authoring.lesson import Lesson, read_lesson
from grader.authoring.prose import plain, unfolded, words

ROOT = Path(__file__).parents[1]
# A blank line ends a sentence, and so does the next item of a list.
BLOCK = re.compile(r"\n\s*\n|\n\s*(?:[-*]|\d+\.|[a-z]\.)\s")
NO_SENTENCE = re.compile(r"(?m)^Difficulty \d of 5$|^\*\*Time:\*\*.*$|^\s*(?:[-*] )?[a-f]\. .*$")
# Blocks of code, headings, tables and marks, of which nobody reads aloud.
NOT_READ = re.compile(r"(?ms)^```.*?^```|^#+ .*?$|^\|.*?$|<[^>]+>|^<!--.*?-->")
END = re.compile(r"(?<!et al)[.!?]+(?=\W*\s|\W*$)")


# The e of "score" and "whole" but not of "table", that of "scored" but not of "needed", of "rules" but not of "pages".
SILENT = re.compile(r"(?<![aeiouyl])e$|(?<=[aeiouy]l)e$|(?<![aeiouytd])ed$|(?<![aeiouysxzgc])(?<!ch)(?<!sh)es$")


SHORT = 8  # words
SAMPLE = 100  # sentences
# Turns that make a native reader stop (docs/writing.md), by name.
TURNS = {
    "nothing as the subject": (
        r"(?:^|[;:,(] |\b(?:and|but|so|where|if|that|because|since|while|when) )(?i:nothing) "
        r"(?:is|are|was|has|in (?:it|them)|\w+(?<!s)s)\b(?! but)"
    ),
    "a thing that says": (
        r"\b(?:numbers?|rows?|columns?|tables?|models?|cells?|lines?|outputs?|pictures?|figures?|masks?|names?|rules?|"
        r"curves?|heads?|scores?|weights?|losses|loss) (?:says?|said|tells?|told)\b"
    ),
    "an attention": r"\b[Aa]n attention(?= (?:is|are|has|that|which|of|with|in|to|and|over|on|by)\b|[.,;:)])",
    "some of time or number": r"\b[Ss]ome (?:seconds|minutes|hours|days|ten|twelve|twenty|thirty|fifty|hundred)\b",
    "numbers a word": r"\bnumbers? an? (?:word|token|row|head|position)\b",
    "spread": r"\b(?:the|a|its|their|whose|same) spread\b",
    "how many ... has": r"\bHow many \w+ has\b|\b(?:What|Which) \w+ (?:has|have) (?:the|your|its|each)\b",
    "of which one": r"\bof which (?:one|two|each)\b",
    "share for accuracy": r"\bshares? (?:of )?(?:right|correct|that is right|it gets right)\b",
    "stands in": r"\bstands? in for\b|\bdoes without\b|\bminds? no\b",
}
# Common verbs: auxiliaries and past forms as they are, then, below a blank line, those that a rule inflects.
AS_THEY_ARE, INFLECTED = (
    frozenset(part.split()) for part in (ROOT / "scripts" / "verbs.txt").read_text("utf-8").split("\n\n")
)


class Figures(NamedTuple):
    """Of one lesson."""

    words: int  # outside of folds
    folded: int  # words inside of folds
    ease: float  # the Flesch reading ease
    colons: float  # per cent of the sentences with one
    short: float  # per cent of the sentences
    verbless: float  # per cent of the sentences
    turns: int  # how many listed ones
    mean: float  # words in a sentence


def syllables(word: str) -> int:
    """The syllables of an English word, by the rule above.

    >>> [syllables(word) for word in ("be", "table", "score", "scored", "needed", "pages", "query", "attention")]
    [1, 2, 1, 1, 2, 2, 2, 3]
    """
    groups = len(re.findall(r"[aeiouy]+", word.lower()))
    return max(1, groups - bool(SILENT.search(word.lower())))


def texts(text: str) -> list[str]:
    """The sentences of a plain text, with their marks."""
    found = []
    for block in BLOCK.split(text):
        start = 0
        for end in [*(match.end() for match in END.finditer(block)), len(block)]:
            found.append(" ".join(block[start:end].split()))
            start = end
    return [sentence for sentence in found if words(sentence)]


def sentences(text: str) -> list[list[str]]:
    """The words of each sentence of a plain text."""
    return [words(sentence) for sentence in texts(text)]


def has_verb(sentence: str) -> bool:
    """Whether a small rule sees a verb in a sentence.

    >>> [has_verb(one) for one in ("Rows sum to one.", "Scale, then softmax.", "Two shapes, one rule.", "We stopped.")]
    [True, True, False, True]
    """
    return any(_is_verb(word.lower()) for word in re.findall(r"[\w']+", sentence.replace("\u2019", "'")))


def _is_verb(word: str) -> bool:
    if word in AS_THEY_ARE:
        return True
    stems = {word} | {word.removesuffix(end) for end in ("s", "es", "ed", "d") if word.endswith(end)}
    stems |= {f"{word[:-3]}y"} if word.endswith(("ies", "ied")) else set()
    stems |= {stem[:-1] for stem in stems if len(stem) > 3 and stem[-1:] == stem[-2:-1]}  # "stopped"
    return not stems.isdisjoint(INFLECTED)


def turns(sentence: str) -> list[str]:
    """The names of the listed turns that a sentence has.

    >>> turns("Nothing fails, and the table says so.")
    ['nothing as the subject', 'a thing that says']
    """
    return [name for name, pattern in TURNS.items() if re.search(pattern, sentence)]


def flesch(text: str) -> float:
    """The Flesch reading ease of a plain text with at least one word."""
    found = sentences(text)
    every = [word for sentence in found for word in sentence]
    return 206.835 - 1.015 * len(every) / len(found) - 84.6 * sum(map(syllables, every)) / len(every)


def prose(lesson: Lesson) -> str:
    """All prose of a lesson, as Markdown, without the options of quizzes and what the build adds to."""
    return NO_SENTENCE.sub("", "\n\n".join(cell.source for cell in lesson.cells if not cell.is_code))


def figures(markdown: str) -> Figures:
    """What a text measures. A picture in words is folded by the build."""
    text = plain(markdown)
    shown, found = len(words(plain(unfolded(markdown)))), texts(text)

    def per_cent(true: Callable[[str], bool]) -> float:
        return 100 * sum(map(true, found)) / len(found)

    return Figures(
        words=shown,
        folded=len(words(text)) - shown,
        ease=flesch(text),
        colons=per_cent(lambda sentence: ":" in sentence),
        short=per_cent(lambda sentence: len(words(sentence)) <= SHORT),
        verbless=per_cent(lambda sentence: not has_verb(sentence)),
        turns=sum(len(turns(sentence)) for sentence in found),
        mean=len(words(text)) / len(found),
    )


def texts_of(path: Path, read: Callable[[Path], str | None]) -> str:
    """The text to read in a file, or in all Markdown files of a folder. `read` gives None for one that isn't there."""
    files = sorted(path.rglob("*.md")) if path.is_dir() else [path]
    found = [(file, text) for file in files if (text := read(file)) is not None]
    return "\n\n".join(prose(read_lesson(file.stem, text)) if file.suffix == ".py" else text for file, text in found)


def as_it_is(path: Path) -> str:
    return path.read_text("utf-8")


def at_revision(path: Path, revision: str) -> str | None:
    """A file as it was; None if it did not exist."""
    name = path.relative_to(ROOT).as_posix()
    done = subprocess.run(["git", "show", f"{revision}:{name}"], cwd=ROOT, capture_output=True, text=True)
    return done.stdout if done.returncode == 0 else None


def paths_of(wanted: tuple[str, ...]) -> list[Path]:
    """The lessons of these numbers, and the files and folders of these names; all lessons, if nothing is wanted."""
    lessons = sorted((ROOT / "lessons").glob("*.py"))
    numbers = [name for name in wanted if name.isdecimal()]
    paths = [ROOT / name for name in wanted if not name.isdecimal()]
    if lost := [path.relative_to(ROOT).as_posix() for path in paths if not path.exists()]:
        raise click.BadParameter(f"no such file or folder in the project: {', '.join(lost)}", param_hint="WANTED")
    if unknown := set(numbers) - {path.stem[:2] for path in lessons}:
        raise click.BadParameter(f"no lesson has the number {', '.join(sorted(unknown))}", param_hint="WANTED")
    return [path for path in lessons if not wanted or path.stem[:2] in numbers] + paths


@click.command()
@click.argument("wanted", nargs=-1)
@click.option("--against", metavar="GIT_REV", help="compare with this revision")
@click.option("--turns", "list_turns", is_flag=True, help="list the sentences with a listed turn or without a verb")
@click.option("--sample", type=int, metavar="SEED", help=f"print {SAMPLE} sentences of each, drawn with this seed")
def main(wanted: tuple[str, ...], against: str | None, list_turns: bool, sample: int | None) -> None:
    """Print words and reading ease of what is WANTED, lessons by their numbers, other files and folders by their
    names; of all lessons, if nothing is."""
    if (
        against
        and subprocess.run(["git", "cat-file", "-e", f"{against}^{{commit}}"], cwd=ROOT, capture_output=True).returncode
    ):
        raise click.BadParameter(f"git knows no revision {against!r}", param_hint="--against")
    paths = paths_of(wanted)
    if not list_turns and sample is None:
        print(HEADINGS)
    for path in paths:
        text = texts_of(path, as_it_is)
        name = path.stem if path.parent.name == "lessons" else path.relative_to(ROOT).as_posix()
        if not texts(plain(text)):
            print(f"{name}: no sentence in Markdown")
        elif list_turns:
            _list_turns(text)
        elif sample is not None:
            _print_sample(text, sample)
        else:
            before = texts_of(path, lambda file: at_revision(file, against)) if against else ""
            print(_line(name, text, before))


FORMS = {
    "words": ".0f", "folded": ".0f", "Flesch": ".1f", "colons %": ".0f", "short %": ".0f", "no verb %": ".0f",
    "turns": ".0f", "mean": ".1f",
}  # fmt: skip
HEADINGS = f"{'lesson':36}" + "".join(f"{name:>16}" for name in FORMS)


def _line(name: str, text: str, before: str) -> str:
    now = [format(value, form) for value, form in zip(figures(text), FORMS.values(), strict=True)]
    if before:
        then = [format(value, form) for value, form in zip(figures(before), FORMS.values(), strict=True)]
        now = [f"{old} -> {new}" for old, new in zip(then, now, strict=True)]
    return f"{name:36}" + "".join(f"{value:>16}" for value in now)


def _list_turns(text: str) -> None:
    for sentence in texts(plain(text)):
        found = turns(sentence) + ([] if has_verb(sentence) else ["no verb"])
        if found:
            print(f"{', '.join(found)}: {sentence}")


def _print_sample(text: str, seed: int) -> None:
    """Code and formulas stand in the sentences here: who reads them aloud needs them."""
    found = texts(NOT_READ.sub("", text))
    for sentence in random.Random(seed).sample(found, min(SAMPLE, len(found))):
        print(sentence)


if __name__ == "__main__":
    main()
