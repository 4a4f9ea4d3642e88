"""Which submissions look alike: fingerprints of their code after renaming, by winnowing (Schleimer, Wilkerson and
Aiken 2003, section 3). A place to look, not a verdict: short right answers resemble each other by themselves.
"""

from __future__ import annotations

import io
import keyword
import re
import tokenize
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from zlib import crc32

from grader.judge.outline import Outline, normal
from grader.judge.reader import NotebookCell
from grader.regions import without_marks

# Copies of fewer than LENGTH tokens go unnoticed; every copy of LENGTH + WINDOW - 1 tokens leaves a fingerprint.
LENGTH, WINDOW = 12, 6
# What more than this share of a class has in common is how one writes it; at least three may always share.
COMMON = 0.1
LEAST = 6  # fingerprints in common, below which a likeness says nothing
NEAR_THE_MODEL = 0.8  # of the model solution's fingerprints
# Who a submission may be like, beside other students.
MODEL = "the model solution"
WORD_FOR_WORD = f"{MODEL}, word for word"
# Characters of a cell, and of all cells of a submission, that are looked at: those of the longest lesson are 110,000.
MOST_OF_A_CELL, MOST = 50_000, 200_000
SKIPPED = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.ENCODING, tokenize.ENDMARKER}
SURROGATE = re.compile("[\ud800-\udfff]")
KEPT = {tokenize.INDENT: "{", tokenize.DEDENT: "}"}


@dataclass(frozen=True)
class Pair:
    """Two submissions by their students, or a submission and the model solution (`right`). `share`, 0 to 1, is how much
    of the smaller one's own code the other has too, or how much of the model's the submission has."""

    left: str
    right: str
    share: float


def tokens(source: str) -> list[str]:
    """The tokens of a piece of Python, with own names and texts replaced: what stays if a copy is renamed. One that
    isn't Python is read as far as it goes.

    >>> tokens("total = x.sum(-1)  # add up")
    ['name', '=', 'name', '.', 'sum', '(', '-', '1', ')']
    """
    found: list[str] = []
    # Half of a surrogate pair is no character, and Python 3.12 reads none.
    readable = SURROGATE.sub("_", source)
    try:
        for token in tokenize.generate_tokens(io.StringIO(readable).readline):
            if token.type in SKIPPED:
                continue
            renamed = token.type == tokenize.NAME and not keyword.iskeyword(token.string) and found[-1:] != ["."]
            text = token.type == tokenize.STRING
            found.append("name" if renamed else "text" if text else KEPT.get(token.type, token.string))
    except (tokenize.TokenError, SyntaxError):  # a cell that doesn't parse is compared as far as it goes
        pass
    return found


def fingerprints(source: str) -> frozenset[int]:
    """The fingerprints of a piece of Python: of every WINDOW neighbouring sequences of LENGTH tokens the one with the
    least digest. Empty if it is shorter than LENGTH tokens."""
    stream = tokens(source)
    digests = [crc32(" ".join(stream[i : i + LENGTH]).encode()) for i in range(len(stream) - LENGTH + 1)]
    return frozenset(min(digests[i : i + WINDOW]) for i in range(max(len(digests) - WINDOW + 1, min(len(digests), 1))))


def own_code(cells: Sequence[NotebookCell], outline: Outline) -> frozenset[int]:
    """The fingerprints of a submission that don't come from the course, neither from its cells nor from its solutions.
    Cells that nobody writes by hand, being too long, are passed over."""
    course = {normal(cell.source) for cell in outline.cells}
    small = (cell.source for cell in cells if cell.kind == "code" and len(cell.source) <= MOST_OF_A_CELL)
    mine = _up_to((source for source in small if normal(source) not in course), MOST)
    given = frozenset().union(*(fingerprints(cell.source) for cell in outline.cells))
    return frozenset().union(*map(fingerprints, mine)) - given


class ModelSolution:
    """The code of a lesson's solutions, without what students start from: `stubs` has that by exercise."""

    def __init__(self, outline: Outline, stubs: Mapping[str, str]) -> None:
        solutions = {cell.exercise: cell.source for cell in outline.cells if cell.role == "solution"}
        others = [cell.source for cell in outline.cells if cell.role != "solution"]
        given = frozenset().union(*map(fingerprints, [*others, *stubs.values()]))
        self._texts = {name: _without_marks(source) for name, source in solutions.items()}
        self._prints = {name: fingerprints(source) - given for name, source in solutions.items()}

    def pair(self, student: str, cells: Sequence[NotebookCell], answered: Sequence[str]) -> Pair | None:
        """How much of the solutions of the exercises that a student has `answered` is in their notebook; None if that
        isn't so much that it is worth a look. Right answers that were written independently have two thirds of it at
        most."""
        small = [cell.source for cell in cells if cell.kind == "code" and len(cell.source) <= MOST_OF_A_CELL]
        theirs = frozenset().union(*map(fingerprints, _up_to(small, MOST)))
        model = frozenset().union(*(self._prints.get(name, frozenset()) for name in answered))
        common = len(model & theirs)
        if common < LEAST or common / len(model) < NEAR_THE_MODEL:
            return None
        texts = set(map(_without_marks, small))
        is_copy = all(self._texts[name] in texts for name in answered if name in self._texts)
        return Pair(student, WORD_FOR_WORD if is_copy else MODEL, common / len(model))


def _without_marks(source: str) -> str:
    return normal(without_marks(source))


def _up_to(sources: Iterable[str], most: int) -> Iterator[str]:
    """Those of the sources that fit, one after the other, into so many characters together."""
    for source in sources:
        if len(source) <= most:
            most -= len(source)
            yield source


def similar_pairs(prints: Mapping[str, frozenset[int]], least_share: float = 0.6) -> list[Pair]:
    """The pairs that share at least `least_share`, 0 to 1, of what the smaller one has of its own, the likest first.
    `prints` has each student's own fingerprints."""
    holders: dict[int, list[str]] = defaultdict(list)
    for who in sorted(prints):
        for fingerprint in prints[who]:
            holders[fingerprint].append(who)
    most = max(3, int(COMMON * len(prints)))
    rare = [every for every in holders.values() if len(every) <= most]
    together = Counter(pair for every in rare for pair in combinations(every, 2))
    own = Counter(who for every in rare for who in every)
    pairs = [
        Pair(left, right, count / min(own[left], own[right]))
        for (left, right), count in together.items()
        if count >= LEAST
    ]
    return sorted((p for p in pairs if p.share >= least_share), key=lambda p: (-p.share, p.left, p.right))
