"""The order of work for one submission: which cells run, and where each check stands.

A student's notebook is taken as it is: cells in the student's order, extra cells run, a moved or copied check cell
still means one check. Nothing of it is parsed as Python here: a regular expression finds the names that a cell defines.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

from grader.judge.outline import EXAMPLES, SKIPPED, Outline, normal
from grader.judge.reader import OWN_ANSWER, OWN_TEST, NotebookCell
from grader.sentences import say


@dataclass(frozen=True)
class RunStep:
    """A step of the plan: run a cell."""

    source: str
    definitions: bool = False  # only its functions, classes and imports
    exercise: str = ""  # whose solution cell it is, "" if it is none
    example: bool = False  # a worked example of the course's, unchanged, which may be left out if nothing needs it
    number: int = 0  # in a kernel that runs the submission from top to bottom; 0 for a cell that was put back or in


@dataclass(frozen=True)
class CheckStep:
    """A step of the plan: check this exercise when all cells before have run."""

    exercise: str


@dataclass(frozen=True)
class TestStep:
    """A step of the plan: run a test cell of the teacher's own, when all cells before have run."""

    grade_id: str
    source: str


Step = RunStep | CheckStep | TestStep


@dataclass(frozen=True)
class Plan:
    """Steps in order, and `notes`: sentences on what was odd about the notebook."""

    steps: tuple[Step, ...]
    notes: tuple[str, ...]

    def without(self, unneeded: set[int]) -> Plan:
        """The plan without the steps at these places."""
        return Plan(tuple(step for i, step in enumerate(self.steps) if i not in unneeded), self.notes)


def make(outline: Outline, cells: Sequence[NotebookCell]) -> Plan:
    """What is run and checked, in order: the submission's cells, placed by the instructor's outline."""
    code, notes = as_code(outline, cells)
    return _Planner(outline, [cell for cell in code if cell.kind == "code"], notes).plan()


# What one key of a notebook's editor makes of a cell of code.
KINDS = {"markdown": "Markdown", "raw": "raw"}
ANSWERS = ("solution", OWN_ANSWER)


def as_code(outline: Outline, cells: Sequence[NotebookCell]) -> tuple[list[NotebookCell], list[str]]:
    """The cells with those as code again that are code in the instructor's notebook and text here, and a sentence on
    each of them. Where there is such a cell as code too, the text was meant as text; and so was an example's that isn't
    the course's own any more."""
    places = [outline.match(cell) for cell in cells]
    found = {place for place, cell in zip(places, cells, strict=True) if cell.kind == "code"}
    made, notes = [], []
    for place, cell in zip(places, cells, strict=True):
        kind = KINDS.get(cell.kind)
        if kind and place is not None and place not in found and _was_code(outline, place, cell, cells):
            found.add(place)
            own = outline.cells[place]
            if own.role in ANSWERS:
                said = "A cell of the answer `{name}` was a {kind} cell, and its text was run as code."
                notes.append(say(said, name=own.exercise or own.grade_id, kind=kind))
            else:
                notes.append(say("A cell of the course's was a {kind} cell, and its text was run as code.", kind=kind))
            cell = replace(cell, kind="code")
        made.append(cell)
    return made, notes


def _was_code(outline: Outline, place: int, cell: NotebookCell, cells: Sequence[NotebookCell]) -> bool:
    """Whether a cell of text is an answer in code that no other cell gives, or one of the course's examples."""
    own = outline.cells[place]
    if own.role in ANSWERS:
        given = (other.source for other in cells if other.kind == "code" and own.exercise in other.source)
        return own.kind == "code" and not (
            own.exercise and any(own.exercise in defined_names(source) for source in given)
        )
    return own.kind == "code" and own.role in EXAMPLES and normal(cell.source) == outline.texts[place]


class _Planner:
    def __init__(self, outline: Outline, cells: list[NotebookCell], notes: list[str]) -> None:
        self.outline, self.cells = outline, cells
        self.texts = [normal(cell.source) for cell in cells]
        self.matches = [outline.match(cell, text) for cell, text in zip(cells, self.texts, strict=True)]
        self.roles = [self._role(found) for found in self.matches]
        self.notes = notes
        self.names = [defined_names(cell.source) for cell in cells]
        self.numbers = [*accumulate(bool(cell.source.strip()) for cell in cells)]  # a kernel doesn't count empty cells

    def _role(self, found: int | None) -> tuple[str, str]:
        return ("", "") if found is None else (self.outline.cells[found].role, self.outline.cells[found].exercise)

    def _unchanged(self, i: int) -> bool:
        """Whether the submission's cell `i` is one of the course's that the student left as it was."""
        found = self.matches[i]
        return found is not None and self.texts[i] == self.outline.texts[found]

    def plan(self) -> Plan:
        before, after = self._places_of_checks()
        given = self._places_of_given()
        steps: list[Step] = list(given.get(-1, ()))
        for i, cell in enumerate(self.cells):
            steps += self._runs(i, cell)
            steps += [CheckStep(name) for name in (*before.get(i, ()), *after.get(i, ()))]
            steps += given.get(i, ())
        steps += [CheckStep(name) for name in after.get(len(self.cells), ())]
        for own in self.outline.cells:
            if own.role == OWN_TEST and not any(isinstance(s, TestStep) and s.grade_id == own.grade_id for s in steps):
                self.notes.append(say("The test cell `{name}` was missing and was put back.", name=own.grade_id))
                steps.append(TestStep(own.grade_id, own.source))
        return Plan(tuple(steps), tuple(dict.fromkeys(self.notes)))

    def _runs(self, i: int, cell: NotebookCell) -> list[Step]:
        (role, exercise), found, unchanged = self.roles[i], self.matches[i], self._unchanged(i)
        if role == "given" and found is not None:
            if not unchanged:
                self.notes.append("A locked cell from the course was changed, so the original was used.")
            own, first = self.outline.cells[found], self.matches.index(found) == i
            return [RunStep(own.source, number=self.numbers[i])] if first and own.kind == "code" else []
        if role == OWN_TEST and found is not None:
            if not unchanged:
                said = "The test cell `{name}` was changed, so the original was used."
                self.notes.append(say(said, name=self.outline.cells[found].grade_id))
            first = self.matches.index(found) == i
            return [TestStep(self.outline.cells[found].grade_id, self.outline.cells[found].source)] if first else []
        if role == "check" and unchanged:
            return []
        if role == "check":
            said = "The check cell of `{name}` was changed, so the course's own check was used."
            self.notes.append(say(said, name=exercise))
        example = unchanged and role in EXAMPLES
        if role in SKIPPED and (role != "try" or unchanged):
            return [RunStep(cell.source, definitions=True, example=example, number=self.numbers[i])]
        if not cell.source.strip():
            return []
        return [RunStep(cell.source, False, exercise if role == "solution" else "", example, self.numbers[i])]

    def _places_of_checks(self) -> tuple[dict[int, list[str]], dict[int, list[str]]]:
        """By cell, the exercises that are checked there: first where their own check cell stands, then where it had to
        be put back."""
        before: dict[int, list[str]] = {}
        after: dict[int, list[str]] = {}
        for name in self.outline.exercises:
            mine = [i for i, role in enumerate(self.roles) if role == ("check", name)]
            defined = [i for i, role in enumerate(self.roles) if role == ("solution", name) or name in self.names[i]]
            if len(mine) > 1:
                said = "The check cell of `{name}` appears {count} times, and only one of them counts."
                self.notes.append(say(said, name=name, count=len(mine)))
            usable = [i for i in mine if not defined or i >= defined[0]]
            if usable:
                place = self._original(usable)
                before.setdefault(place, []).append(name)
                self._note_copies(name, [i for i in defined if not self._unchanged(i)], place)
                continue
            if mine:
                said = "The check cell of `{name}` comes before its exercise, so it was run later, after the exercise."
                self.notes.append(say(said, name=name))
            else:
                self.notes.append(say("The check cell of `{name}` was missing and was put back.", name=name))
            after.setdefault(defined[-1] if defined else len(self.cells), []).append(name)
        return before, after

    def _note_copies(self, name: str, defined: list[int], place: int) -> None:
        """Note that a function or class is defined more than once, in the student's cells `defined`; its check stands
        at `place`."""
        earlier = [i for i in defined if i <= place]
        if earlier and earlier != defined:
            self.notes.append(say(DEFINED_BELOW, name=name))
        elif len(earlier) > 1:
            said = "`{name}` is defined in {count} cells above its check, which used the last of them."
            self.notes.append(say(said, name=name, count=len(earlier)))

    def _original(self, places: list[int]) -> int:
        """The place, of those of copies, of the one that still has the cell's own id; the first if none has."""
        ids = {cell.id for cell in self.outline.cells if cell.id}
        return next((i for i in places if self.cells[i].id in ids), places[0])

    def _places_of_given(self) -> dict[int, list[Step]]:
        """The given cells that are missing, as steps, by the place of the cell that they are put back behind (-1:
        before all)."""
        places: dict[int, list[Step]] = {}
        for k, own in enumerate(self.outline.cells):
            if own.role == "given" and own.kind == "code" and k not in self.matches:
                self.notes.append("A locked cell from the course was missing and was put back.")
                earlier = [i for i, found in enumerate(self.matches) if found is not None and found < k]
                places.setdefault(max(earlier, default=-1), []).append(RunStep(own.source))
        return places


DEFINED_BELOW = (
    "`{name}` is defined again below its check. The check used the definition above it, but the cells below, and the "
    "checks of later exercises, use the one that was run last."
)


# A name at the top level that a cell's text defines, gives a value to, or imports: in an import, any of its words.
_DEFINED = re.compile(
    r"(?m)^(?:(?:async +def|def|class) +(?P<defined>\w++)|(?P<bound>\w++)\s*+(?::[^=\n]++)?=(?!=)"
    r"|(?:from|import) (?P<imported>[^#\n]{0,400}))"
)
_WORD = re.compile(r"\w+")


def defined_names(source: str) -> frozenset[str]:
    """The names to which a cell's text gives a function, a class or a value at its top level, found in one pass over
    the text, however many names somebody then looks for.

    >>> sorted(defined_names("x: int = 1\\ndef f(y): ...\\nfrom a import b as c\\ng == 1\\n    h = 1"))
    ['a', 'as', 'b', 'c', 'f', 'import', 'x']
    """
    found: set[str] = set()
    for match in _DEFINED.finditer(source):
        found.update(filter(None, (match["defined"], match["bound"])))
        found.update(_WORD.findall(match["imported"] or ""))
    return frozenset(found)
