"""What became of what was given to `grader collect`, as data and as text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from grader.printable import printable

LISTED = 1000  # of a kind, on a terminal
FOLDED = 10  # names of those who handed in nothing, or nothing new
NAMED = 20  # files of one student


@dataclass
class Collected:
    """What became of it all. Each list has students' ids, but for `unknown` and `odd`: names of files, with the reason.
    `twice` has those of whom more than one is there, with the one that counts; `to_settle` those who may have handed in
    something of which it isn't known whose it is, `no_notebook` those in whose work there is none, with its files:
    neither are `missing`. `passed_over` has by student, or by a name that is nobody's, the other files; `copied` whose
    work was copied by hand and has the time of the platform's archive."""

    lesson: str
    taken: list[str] = field(default_factory=list)
    unchanged: list[str] = field(default_factory=list)
    earlier: list[str] = field(default_factory=list)
    late: list[str] = field(default_factory=list)
    copied: list[str] = field(default_factory=list)
    twice: dict[str, str] = field(default_factory=dict)
    missing: list[str] = field(default_factory=list)
    to_settle: list[str] = field(default_factory=list)
    no_notebook: dict[str, list[str]] = field(default_factory=dict)
    unknown: dict[str, str] = field(default_factory=dict)
    odd: dict[str, str] = field(default_factory=dict)
    passed_over: dict[str, list[str]] = field(default_factory=dict)

    def sort_others(self, others: Mapping[str, list[str]], with_notebook: set[str], people: Iterable[str]) -> None:
        """`others` are the files that are no notebooks, by student or by what is nobody's."""
        known = set(people)
        for who, names in sorted(others.items()):
            more = [f"and {len(names) - NAMED} more"] if names[NAMED:] else []
            is_work = who in known and who not in with_notebook
            (self.no_notebook if is_work else self.passed_over)[who] = [*names[:NAMED], *more]


def as_text(outcome: Collected, everybody: bool = False) -> str:
    """For a terminal: how many of each kind, and who or which. `everybody`: the long lists at the end too."""
    lines = [f"{outcome.lesson}: {len(outcome.taken)} taken"]
    folded = LISTED if everybody else FOLDED
    lines += _listed("as before", outcome.unchanged, folded, "--all names them")
    kinds: list[tuple[str, Iterable[str]]] = [
        ("late", outcome.late),
        ("copied; the platform's time", outcome.copied),
        ("more than one; this counts", _pairs(outcome.twice)),
        ("to be settled, see below", outcome.to_settle),
        ("no notebook in it", _pairs({who: ", ".join(names) for who, names in outcome.no_notebook.items()})),
        ("nobody's", _pairs(outcome.unknown)),
        ("odd", _pairs(outcome.odd)),
    ]
    for title, entries in kinds:
        lines += _listed(title, list(entries), LISTED, "--json has all")
    others = _pairs({who: ", ".join(names) for who, names in outcome.passed_over.items()})
    lines += _listed("with other files, left alone", others, LISTED if everybody else 0, "--all names them")
    return "\n".join([*lines, *_listed("not handed in", outcome.missing, folded, "--all names them")])


def _pairs(sentences: Mapping[str, str]) -> list[str]:
    return [f"{name}: {said}" if said else name for name, said in sorted(sentences.items())]


def _listed(title: str, entries: list[str], most: int, where: str) -> list[str]:
    """`where` the rest is to be seen."""
    if not entries:
        return []
    more = len(entries) - most
    head = f"{title + ':':28} {len(entries)}" + (f" ({where})" if most == 0 else "")
    shown = [f"    {printable(entry)}" for entry in entries[:most]]
    return [head, *shown, *([f"    and {more} more ({where})"] if most and more > 0 else [])]
