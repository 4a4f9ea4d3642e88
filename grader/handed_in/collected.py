"""What became of what was given to `grader collect`, as data and as text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from grader.course.called import BY_ID, Called
from grader.printable import printable, shortened

LISTED = 1000  # of a kind, on a terminal
FOLDED = 10  # names of those who handed in nothing, or nothing new
NAMED = 20  # files of one student


@dataclass
class Collected:
    """What became of it all: students by their ids, files by their names."""

    lesson: str
    taken: list[str] = field(default_factory=list)
    unchanged: list[str] = field(default_factory=list)
    earlier: list[str] = field(default_factory=list)  # the one that was there still counts
    late: list[str] = field(default_factory=list)
    copied: list[str] = field(default_factory=list)  # by hand, with the archive's time
    twice: dict[str, str] = field(default_factory=dict)  # of those with more than one, which counts
    missing: list[str] = field(default_factory=list)
    to_settle: list[str] = field(default_factory=list)  # something that waits to be settled may be theirs
    by_zip: list[str] = field(default_factory=list)  # known only by names in a zip that no platform named so
    no_notebook: dict[str, list[str]] = field(default_factory=dict)  # by student the files there are
    unknown: dict[str, str] = field(default_factory=dict)  # nobody's, and why
    odd: dict[str, str] = field(default_factory=dict)  # can't be read, and why
    # Other files, by student or a name that is nobody's.
    passed_over: dict[str, list[str]] = field(default_factory=dict)

    def sort_others(self, others: Mapping[str, list[str]], with_notebook: set[str], people: Iterable[str]) -> None:
        """Sort files that are no notebooks into `no_notebook` and `passed_over`. `others` has them by student or by a
        name that is nobody's; `people` are the students."""
        known = set(people)
        for who, names in sorted(others.items()):
            is_work = who in known and who not in with_notebook
            (self.no_notebook if is_work else self.passed_over)[who] = shortened(names, NAMED)


def as_text(outcome: Collected, everybody: bool = False, called: Called = BY_ID) -> str:
    """What was collected, as text for a terminal: how many of each kind, and who or which, as people are `called`.
    `everybody`: the long lists at the end too."""
    lines = [f"{outcome.lesson}: {len(outcome.taken)} taken"]
    folded = LISTED if everybody else FOLDED
    lines += _listed("as before", [*map(called, outcome.unchanged)], folded, "--all names them")
    lines += _listed("known by a zip's own names", [*map(called, outcome.by_zip)], folded, "--all names them")
    kinds: list[tuple[str, Iterable[str]]] = [
        ("late", map(called, outcome.late)),
        ("copied; time from the zip", map(called, outcome.copied)),
        ("more than one; this counts", _pairs({called(who): said for who, said in outcome.twice.items()})),
        ("to be settled, see below", map(called, outcome.to_settle)),
        ("no notebook in it", _pairs({called(who): ", ".join(names) for who, names in outcome.no_notebook.items()})),
        ("owner not known", _pairs(outcome.unknown)),
        ("odd", _pairs(outcome.odd)),
    ]
    for title, entries in kinds:
        lines += _listed(title, list(entries), LISTED, "--json has all")
    others = _pairs({called(who): ", ".join(names) for who, names in outcome.passed_over.items()})
    lines += _listed("with other files, left alone", others, LISTED if everybody else 0, "--all names them")
    missing = [*map(called, outcome.missing)]
    return "\n".join([*lines, *_listed("not handed in", missing, folded, "--all names them")])


def _pairs(sentences: Mapping[str, str]) -> list[str]:
    return [f"{name}: {said}" if said else name for name, said in sorted(sentences.items())]


def _listed(title: str, entries: list[str], most: int, where: str) -> list[str]:
    """Lines with a title, the number of entries and the first `most` of them; none if there are no entries. `where`
    says where the rest is to be seen."""
    if not entries:
        return []
    head = f"{title + ':':28} {len(entries)}"
    if most == 0:
        return [f"{head} ({where})"]
    return [head, *shortened([f"    {printable(entry)}" for entry in entries], most, f"    and {{}} more ({where})")]
