"""How what a teacher reads calls people: by the id and, where that says more, by the name."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from grader.course.roster import Roster, full_names, plain


class Called:
    """Calls people by their names beside their ids; `names` are by id.

    >>> called = Called({"0042016": "Mary Ann Smith", "ann-lee": "Ann Lee"})
    >>> called("0042016"), called("ann-lee"), called("bo")
    ('0042016 (Mary Ann Smith)', 'ann-lee', 'bo')
    """

    def __init__(self, names: Mapping[str, str]) -> None:
        self._names = names

    @classmethod
    def of(cls, course: Path) -> Called:
        """As the roster of a course has the names; `CourseError` if its file can't be read."""
        return cls(full_names(Roster.of(course).people))

    def __call__(self, who: str) -> str:
        """What to call the person with an id; an id that has no name, or a text that is no id, as it is."""
        name = self._names.get(who, "")
        return who if plain(name) in plain(who) else f"{who} ({name})"


BY_ID = Called({})
