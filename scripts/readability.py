"""How long and how hard to read the lessons are: words, and the Flesch reading ease of their prose.

    python scripts/readability.py                     # all lessons
    python scripts/readability.py --against HEAD~5 01 # lesson 01, compared with that revision

Code, formulas, tables and headings are left out, code and formulas inside a sentence too.
`words` are those that everybody reads, `folded` those inside <details>; the reading ease is that of both together.
Flesch (1948): 206.835 - 1.015 * words / sentences - 84.6 * syllables / words; 60 to 70 is plain English, 30 to 50 hard.

Syllables of a word: its groups of vowels (a, e, i, o, u, y), less one for a silent e at its end or in its -ed or -es;
at least one.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import NamedTuple

import click

from grader.authoring.lesson import Lesson, read_lesson
from grader.authoring.prose import plain, unfolded, words

ROOT = Path(__file__).parents[1]
# A blank line ends a sentence, and so does the next item of a list.
BLOCK = re.compile(r"\n\s*\n|\n\s*(?:[-*]|\d+\.|[a-z]\.)\s")
END = re.compile(r"(?<!et al)[.!?]+(?=\W*\s|\W*$)")


# The e of "score" and "whole" but not of "table", that of "scored" but not of "needed", of "rules" but not of "pages".
SILENT = re.compile(r"(?<![aeiouyl])e$|(?<=[aeiouy]l)e$|(?<![aeiouytd])ed$|(?<![aeiouysxzgc])(?<!ch)(?<!sh)es$")


class Figures(NamedTuple):
    """Of one lesson: words outside and inside of folds, and the Flesch reading ease."""

    words: int
    folded: int
    ease: float


def syllables(word: str) -> int:
    """The syllables of an English word, by the rule above.

    >>> [syllables(word) for word in ("be", "table", "score", "scored", "needed", "pages", "query", "attention")]
    [1, 2, 1, 1, 2, 2, 2, 3]
    """
    groups = len(re.findall(r"[aeiouy]+", word.lower()))
    return max(1, groups - bool(SILENT.search(word.lower())))


def sentences(text: str) -> list[list[str]]:
    """The words of each sentence of a plain text."""
    found = [words(sentence) for block in BLOCK.split(text) for sentence in END.split(block)]
    return [sentence for sentence in found if sentence]


def flesch(text: str) -> float:
    """The Flesch reading ease of a plain text with at least one word."""
    found = sentences(text)
    every = [word for sentence in found for word in sentence]
    return 206.835 - 1.015 * len(every) / len(found) - 84.6 * sum(map(syllables, every)) / len(every)


def figures(lesson: Lesson) -> Figures:
    """What the prose of a lesson measures. A picture in words is folded by the build."""
    text = "\n\n".join(cell.source for cell in lesson.cells if not cell.is_code)
    shown = len(words(plain(unfolded(text))))
    return Figures(shown, len(words(plain(text))) - shown, flesch(plain(text)))


def at_revision(path: Path, revision: str) -> Lesson | None:
    """A lesson as it was; None if it did not exist."""
    name = path.relative_to(ROOT).as_posix()
    done = subprocess.run(["git", "show", f"{revision}:{name}"], cwd=ROOT, capture_output=True, text=True)
    return read_lesson(path.stem, done.stdout) if done.returncode == 0 else None


@click.command()
@click.argument("wanted", nargs=-1)
@click.option("--against", metavar="GIT_REV", help="compare with this revision")
def main(wanted: tuple[str, ...], against: str | None) -> None:
    """Print words and reading ease of the lessons WANTED (their numbers), or of all."""
    if (
        against
        and subprocess.run(["git", "cat-file", "-e", f"{against}^{{commit}}"], cwd=ROOT, capture_output=True).returncode
    ):
        raise click.BadParameter(f"git knows no revision {against!r}", param_hint="--against")
    print(f"{'lesson':30} {'words':>16} {'folded':>14} {'Flesch reading ease':>24}")
    for path in sorted((ROOT / "lessons").glob("*.py")):
        if not wanted or path.stem[:2] in wanted:
            print(_line(path, against))


def _line(path: Path, against: str | None) -> str:
    now = figures(read_lesson(path.stem, path.read_text("utf-8")))
    then = at_revision(path, against) if against else None
    if then is None:
        return f"{path.stem:30} {now.words:16} {now.folded:14} {now.ease:24.1f}"
    old = figures(then)
    return (
        f"{path.stem:30} {f'{old.words} -> {now.words}':>16} {f'{old.folded} -> {now.folded}':>14} "
        f"{f'{old.ease:.1f} -> {now.ease:.1f}':>24}   words {100 * (now.words / old.words - 1):+.0f} %"
    )


if __name__ == "__main__":
    main()
