"""Reads the sample submissions: `tests/exercises/lesson_NN/EXERCISE.py`, a cell for every submission.

A cell opens with `# %% right: TITLE`, `# %% wrong MISTAKE-ID: TITLE` (`-`: nobody listed it; it must fail,
unnamed) or `# %% prelude`, which stands before every other cell of its file. A cell that holds the word TODO is not
written yet, and is left out.

`prelude.py` beside the files stands before all cells of its lesson: imports, then a cell `# %% EXERCISE` with a right
answer to each exercise that others build on. A file gets what stands before its own exercise.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from grader.authoring.lesson import Problem
from grader.errors import CourseError
from grader.spec.exercise import Exercise

FOLDER = Path("tests/exercises")  # in the repository
ROOT = Path(__file__).parents[2]
SHARED = "prelude.py"
MARKER = re.compile(r"^# %% (?P<kind>right|wrong|prelude)(?: (?P<mistake>[\w-]+))?(?:: (?P<title>.+))?$")
TODO = "TODO"
RIGHT_ANSWERS, WORDINGS = 3, 2
UNLISTED, EXCLUDED = "-", "excluded-function"


@dataclass(frozen=True)
class Sample:
    """One way of solving an exercise, or of getting it wrong. `mistake` is the id of its mistake, "-" if nobody listed
    that, "" for a right answer; `source` has what stands before it too."""

    exercise: str
    title: str
    mistake: str
    source: str

    def __str__(self) -> str:
        return f"{self.exercise}-{self.mistake or 'right'}-{self.title}"


@cache
def submissions() -> tuple[Sample, ...]:
    """Every sample submission of the course's own exercises."""
    paths = sorted((ROOT / FOLDER).glob("lesson_*/*.py"))
    return tuple(submission for path in paths if path.name != SHARED for submission in read(path))


def read(path: Path) -> list[Sample]:
    """The sample submissions of one file, in its order; those with the word TODO are left out. `CourseError` for a cell
    that doesn't open as the top of this module says."""
    submissions: list[Sample] = []
    shared = prelude = _before(path)
    for chunk in re.split(r"(?m)^(?=# %% )", path.read_text("utf-8"))[1:]:
        head, _, source = chunk.partition("\n")
        match = MARKER.match(head)
        if match is None:
            raise CourseError(f"{path.name}: a cell can't begin with {head!r}")
        if match["kind"] == "prelude":
            prelude = f"{shared}\n{source}"
            continue
        if not match["title"] or (match["kind"] == "wrong") != bool(match["mistake"]):
            raise CourseError(
                f"{path.name}: {head!r} needs a title, and the id of a mistake if, and only if, the answer is wrong"
            )
        if TODO not in chunk:
            submissions.append(Sample(path.stem, match["title"], match["mistake"] or "", f"{prelude}\n{source}"))
    return submissions


def _before(path: Path) -> str:
    """What the lesson's shared prelude holds for one file: all that stands before its exercise; "" if there is no
    prelude."""
    shared = path.with_name(SHARED)
    return re.split(rf"(?m)^# %% {path.stem}$", shared.read_text("utf-8"))[0] if shared.exists() else ""


def missing(exercise: Exercise, root: Path = ROOT) -> list[Problem]:
    """A problem for each kind of sample that an exercise lacks: three right answers, two wordings of every mistake, and
    a wrong answer that nobody listed. A quiz has none: `tests/exercises/quizzes.py` says what its test holds."""
    if exercise.kind == "answers":
        return []
    path = FOLDER / f"lesson_{exercise.lesson[:2]}" / f"{exercise.name}.py"
    lacking = (
        lacks(exercise, read(root / path))
        if (root / path).exists()
        else ["there are no sample submissions, since this file is missing"]
    )
    return [Problem(path.as_posix(), 1, exercise.name, message) for message in lacking]


def lacks(exercise: Exercise, samples: Iterable[Sample]) -> Iterator[str]:
    """A sentence for each kind of sample that an exercise should have and that isn't among these."""
    count = Counter(sample.mistake for sample in samples)
    if count[""] < RIGHT_ANSWERS:
        yield f"{count['']} of {RIGHT_ANSWERS} right answers written so far; add cells `# %% right: TITLE`"
    for mistake in [*(mistake.id for mistake in exercise.mistakes), *([EXCLUDED] if exercise.excluded else [])]:
        if count[mistake] < WORDINGS:
            yield (
                f"{count[mistake]} of {WORDINGS} wordings of {mistake} written so far; "
                f"add cells `# %% wrong {mistake}: TITLE`"
            )
    if not count[UNLISTED]:
        yield "there is no wrong answer with an unlisted mistake; write a cell `# %% wrong -: TITLE`"
