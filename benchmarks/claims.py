"""What the lessons conclude from their experiments, with other seeds and with the edits that a curious student makes.

    python benchmarks/claims.py [NAME ...]     # `make claims`; without a name, all of them

A cell of a lesson whose outcome its text draws a conclusion from carries `claim="name"`; what has to hold is in
`claims_by_lesson/`. Every claim is run with five seeds as the lesson has it, and every edit with two. The lesson's own
cells run, those that the claim's cell needs, in a namespace of their own. An edit replaces text in them, as a student
would. Another seed is another start for every generator at once, so data that is drawn at random is drawn anew, too.
Lesson 10 then looks into another model, trained by lesson 08's cells from that start.

Prints a table, and exits with 1 if a line of it fails.
"""

from __future__ import annotations

import ast
import builtins
import contextlib
import functools
import io
import random
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

import matplotlib.pyplot  # noqa: E402

matplotlib.use("agg")

import torch  # noqa: E402

import grader  # noqa: E402
from benchmarks.claims_by_lesson import CLAIMS  # noqa: E402
from benchmarks.claims_by_lesson.claim import Claim, Names  # noqa: E402
from grader.authoring.lesson import Lesson, LessonCell, read_folder  # noqa: E402
from grader.judge.needed import names_of_example  # noqa: E402
from grader.models.dates import Trained, trained_dates  # noqa: E402
from grader.subject.names import names_of  # noqa: E402

SEEDS = range(5)
OF_AN_EDIT = range(2)
APART = 1000  # a lesson's own seeds are smaller
# These run only where the claim is their own; a cell that defines how something is drawn runs where that is called.
LEFT_OUT = ("check", "draw")
BUILT_IN = frozenset(dir(builtins))  # a cell that calls `sum` doesn't change it

Figures = tuple[float, ...]


def claims_of(lessons: Mapping[str, Lesson]) -> dict[str, tuple[Lesson, int]]:
    """The claims in the lessons' cells by name: the lesson, and the place of the cell in it."""
    return {cell.claim: (lesson, i) for lesson in lessons.values() for i, cell in enumerate(lesson.cells) if cell.claim}


def cells_for(lesson: Lesson, place: int) -> list[LessonCell]:
    """The cell at `place` and those before it that it needs, in order. A name that a cell binds itself is its own, such
    as that of a loop."""
    cells = [cell for cell in lesson.cells[:place] if cell.is_code and (cell.role not in LEFT_OUT or _defines(cell))]
    functions = {name for cell in cells for name in names_of_example(cell.source, definitions=True).makes}
    wanted = [lesson.cells[place]]
    words = names_of_example(wanted[0].source).uses - _binds(wanted[0])
    for cell in reversed(cells):
        names = names_of_example(cell.source)
        changed = names.makes - functions  # that call a function, and change what they hand it
        if (words - BUILT_IN) & (changed | _binds(cell)):
            wanted.append(cell)
            words |= names.uses - _binds(cell)
    return wanted[::-1]


def _defines(cell: LessonCell) -> bool:
    return any(isinstance(node, ast.FunctionDef) for node in ast.parse(cell.source).body)


def _binds(cell: LessonCell) -> frozenset[str]:
    return names_of(compile(cell.source, "<cell>", "exec")).binds


def edited(cells: Sequence[LessonCell], edit: Mapping[str, str]) -> list[str]:
    """The cells' sources with an edit made. ValueError if none holds a text that it replaces."""
    sources = [cell.source for cell in cells]
    for text, instead in edit.items():
        if not any(text in source for source in sources):
            raise ValueError(f"no cell of this claim holds {text!r}")
        sources = [source.replace(text, instead) for source in sources]
    return sources


@contextlib.contextmanager
def seed_moved(by: int) -> Iterator[None]:
    """Inside the block, every seed given to a generator is raised by `by`; torch and random start from `by` itself."""
    kept = torch.manual_seed, torch.Generator, random.Random, random.seed

    class Generator(torch.Generator):
        def manual_seed(self, seed: int) -> torch.Generator:
            return super().manual_seed(seed + by)

    class Random(random.Random):
        def __init__(self, seed: Any = None) -> None:
            super().__init__(seed + by if isinstance(seed, int) else seed)

    torch.manual_seed, torch.Generator = (lambda seed: kept[0](seed + by)), Generator  # type: ignore[misc]
    random.Random, random.seed = Random, (lambda seed=None: kept[3]((seed or 0) + by))  # type: ignore[misc]
    try:
        torch.manual_seed(0)
        random.seed(0)
        yield
    finally:
        torch.manual_seed, torch.Generator, random.Random, random.seed = kept  # type: ignore[misc]


@functools.cache
def translator(seed: int) -> Trained:
    """The model that lesson 10 looks into: the stored one for seed 0, for another seed one that lesson 08's cells
    train."""
    stored = trained_dates()
    if seed == 0:
        return stored
    lesson, place = claims_of(read_folder(ROOT / "lessons"))["dates_are_learnt"]
    names = run([cell.source for cell in cells_for(lesson, place)], seed)
    return replace(stored, weights=names["my_translator"].state_dict(), pairs=names["held_out"][: len(stored.pairs)])


@contextlib.contextmanager
def another_translator(sources: Sequence[str], seed: int) -> Iterator[None]:
    """Inside the block, cells that ask for the trained model get that of the seed, if the `sources` ask for it."""
    if any("trained_dates()" in source for source in sources):
        trained = translator(seed)
        grader.trained_dates = lambda: trained
    try:
        yield
    finally:
        grader.trained_dates = trained_dates


def run(sources: Sequence[str], seed: int) -> Names:
    """The names that cells leave behind when their generators' seeds are moved by `seed`."""
    namespace: dict[str, Any] = {"__name__": "lesson"}
    asked = another_translator(sources, seed)
    with asked, seed_moved(APART * seed), contextlib.redirect_stdout(io.StringIO()):
        for source in sources:
            exec(compile(source, "<lesson>", "exec"), namespace)
    matplotlib.pyplot.close("all")
    return namespace


def table(name: str, claim: Claim, cells: Sequence[LessonCell]) -> Iterator[tuple[str, bool]]:
    """The lines of a claim's table, each with whether it holds; `cells` are those that the claim needs."""
    threads = {"two threads": {"set_num_threads(1)": "set_num_threads(2)"}}
    several = any("set_num_threads(1)" in cell.source for cell in cells)
    yield f"{name}: {claim.says}", True
    for title, edit in {"as it is": {}, **claim.edits, **(threads if several else {})}.items():
        found: list[Figures] = []
        start = time.process_time()
        for seed in SEEDS if title == "as it is" else OF_AN_EDIT:
            found.append(tuple(float(figure) for figure in claim.figures(run(edited(cells, edit), seed))))
        holds = claim.exceptions.get(title, claim.holds)
        fine = all(holds(*figures) for figures in found)
        shown = "  ".join(" ".join(f"{figure:.3g}" for figure in figures) for figures in found)
        seconds = (time.process_time() - start) / len(found)
        yield f"  {'holds' if fine else 'FAILS'}  {title:28} {shown}   ({seconds:.0f} s each)", fine


def main() -> int:
    """Print the table of the claims asked for. Returns the exit code: 1 if a line fails, 2 for a claim that isn't
    known."""
    found = claims_of(read_folder(ROOT / "lessons"))
    asked = sys.argv[1:] or list(found)
    if unknown := [name for name in asked if name not in found or name not in CLAIMS]:
        print(f"no such claim: {', '.join(unknown)}; there are {', '.join(sorted(found))}", file=sys.stderr)
        return 2
    failed = 0
    for name in asked:
        lesson, place = found[name]
        for line, fine in table(f"{lesson.number} {name}", CLAIMS[name], cells_for(lesson, place)):
            print(line, flush=True)
            failed += not fine
    print(f"{len(asked)} claims, {failed} lines fail")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
