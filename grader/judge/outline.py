"""What the judge takes from the instructor's notebook: which cells there are, what each is for, in which order."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property, lru_cache

from grader.exercises.own import OwnFiles
from grader.judge.reader import OWN_ANSWER, OWN_TEST, NotebookCell, read

# Where the files of a course's own exercises stand in the notebook that the judge gets.
OWN_EXERCISES = "own_exercises"
MAX_BYTES, MAX_CELLS = 200 * 2**20, 5000
# Nothing that a check needs comes from these: they draw, they train, they install the course, they answer a prediction
# (often by training something), or they call what the check calls anyway.
SKIPPED = ("draw", "train", "install", "answer", "try")
# Cells that the course wrote: unchanged, they run only if something needs them.
EXAMPLES = ("example", "", *SKIPPED)


@dataclass(frozen=True)
class Outline:
    """The code cells of the instructor's notebook, and the text cells that nbgrader knows. `own` are the files of the
    course's own exercises among them."""

    cells: tuple[NotebookCell, ...]
    own: OwnFiles = ()

    @classmethod
    def of(cls, notebook: bytes) -> Outline:
        """From the bytes of `solutions/NN_name.ipynb` (or of the students' own `notebooks/NN_name.ipynb`)."""
        cells = tuple(cell for cell in read(notebook, MAX_BYTES, MAX_CELLS) if cell.kind == "code" or cell.grade_id)
        return cls(cells, tuple(sorted(json.loads(notebook).get(OWN_EXERCISES, {}).items())))

    @property
    def exercises(self) -> tuple[str, ...]:
        """The names of the exercises, in the order of their check cells."""
        return tuple(cell.exercise for cell in self.cells if cell.role == "check")

    @property
    def tests(self) -> tuple[str, ...]:
        """The teacher's own test cells, by grade_id."""
        return tuple(cell.grade_id for cell in self.cells if cell.role == OWN_TEST)

    @cached_property
    def _index(self) -> tuple[dict[str, int], dict[str, int], dict[str, int]]:
        numbered = list(enumerate(self.cells))[::-1]  # the first of equals is to win
        return (
            {cell.grade_id: i for i, cell in numbered if cell.grade_id},
            {cell.id: i for i, cell in numbered if cell.id},
            {self.texts[i]: i for i, cell in numbered if cell.role not in ("solution", OWN_ANSWER) and self.texts[i]},
        )

    @cached_property
    def texts(self) -> tuple[str, ...]:
        """The normal text of each cell, as students have it."""
        return tuple(normal(visible(cell.source) if cell.role == OWN_TEST else cell.source) for cell in self.cells)

    def match(self, cell: NotebookCell, text: str = "") -> int | None:
        """Which of the outline's cells a student's cell is, by its grade_id, its id, or its source (`text` is its
        normal text, where that is known)."""
        by_grade_id, by_id, by_source = self._index
        for index, key in ((by_grade_id, cell.grade_id), (by_id, cell.id), (by_source, text or normal(cell.source))):
            if key and key in index:
                return index[key]
        return None


# Of one class all are graded against the same notebook.
outline_of = lru_cache(maxsize=4)(Outline.of)


def normal(source: str) -> str:
    """The text of a cell without what an editor may change: white space at the ends of lines."""
    return "\n".join(line.rstrip() for line in source.strip().splitlines())


def visible(source: str) -> str:
    """A test cell without its hidden tests, as nbgrader cuts them.

    >>> visible("a\\n### BEGIN HIDDEN TESTS\\nb\\n### END HIDDEN TESTS\\nc")
    'a\\nc'
    """
    kept, hidden = [], False
    for line in source.split("\n"):
        if "BEGIN HIDDEN TESTS" in line or "END HIDDEN TESTS" in line:
            hidden = "BEGIN HIDDEN TESTS" in line
        elif not hidden:
            kept.append(line)
    return "\n".join(kept)
