"""What the lessons conclude from their experiments, with other seeds and with the edits that a curious student makes.

    python benchmarks/claims.py [NAME ...]     # `make claims`; without a name, all of them

A cell of a lesson whose outcome its text draws a conclusion from carries `claim="name"`; what has to hold is in
`claims_by_lesson/`. Every claim is run with five seeds as the lesson has it, and every edit with two. The lesson's own
cells run, those that the claims' cells need, in a namespace of their own. Claims of a lesson that are asked for
together share a run, so what they train is trained once for each seed and edit. An edit replaces text in the cells, as
a student would. Another seed is another start for every generator at once, so data that is drawn at random is drawn
anew, too. Lesson 10 then looks into another model, trained by lesson 08's cells from that start.

Prints a line for each claim and edit, and exits with 1 if one fails.
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
from collections.abc import Callable, Iterator, Mapping, Sequence
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
from benchmarks.claims_by_lesson.claim import Names  # noqa: E402
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

AS_IT_IS = "as it is"

Figures = tuple[float, ...]
Edit = tuple[tuple[str, str], ...]  # what is replaced, and by what


def claims_of(lessons: Mapping[str, Lesson]) -> dict[str, tuple[Lesson, int]]:
    """The claims in the lessons' cells by name: the lesson, and the place of the cell in it."""
    return {cell.claim: (lesson, i) for lesson in lessons.values() for i, cell in enumerate(lesson.cells) if cell.claim}


def cells_for(lesson: Lesson, *places: int) -> list[LessonCell]:
    """The cells at these places and those before them that they need, in order. A name that a cell binds itself is its
    own, such as that of a loop."""
    functions = {
        name
        for cell in lesson.cells[: max(places)]
        if _may_be_needed(cell)
        for name in names_of_example(cell.source, definitions=True).makes
    }
    wanted: list[LessonCell] = []
    words: frozenset[str] = frozenset()
    for i in range(max(places), -1, -1):
        cell = lesson.cells[i]
        if i not in places and not _may_be_needed(cell):
            continue
        names = names_of_example(cell.source)
        changed = names.makes - functions  # that call a function, and change what they hand it
        if i in places or (words - BUILT_IN) & (changed | _binds(cell)):
            wanted.append(cell)
            words |= names.uses - _binds(cell)
    return wanted[::-1]


def _may_be_needed(cell: LessonCell) -> bool:
    return cell.is_code and (cell.role not in LEFT_OUT or _defines(cell))


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


def run(sources: Sequence[str], seed: int, after: Callable[[int, Names], None] = lambda cell, names: None) -> Names:
    """The names that cells leave behind when their generators' seeds are moved by `seed`. `after` is called after each
    cell, with its place among the `sources` and the names so far."""
    namespace: dict[str, Any] = {"__name__": "lesson"}
    asked = another_translator(sources, seed)
    with asked, seed_moved(APART * seed), contextlib.redirect_stdout(io.StringIO()):
        for i, source in enumerate(sources):
            exec(compile(source, "<lesson>", "exec"), namespace)
            after(i, namespace)
    matplotlib.pyplot.close("all")
    return namespace


def runs_of(lesson: Lesson, places: Mapping[str, int]) -> dict[tuple[str, Edit], list[str]]:
    """The runs that claims of a lesson need, by title and edit the claims that share one; `places` has their cells'."""
    runs: dict[tuple[str, Edit], list[str]] = {}
    for name, place in places.items():
        several = any("set_num_threads(1)" in cell.source for cell in cells_for(lesson, place))
        threads = {"two threads": {"set_num_threads(1)": "set_num_threads(2)"}} if several else {}
        for title, edit in {AS_IT_IS: {}, **CLAIMS[name].edits, **threads}.items():
            runs.setdefault((title, tuple(edit.items())), []).append(name)
    return runs


def figures_of(cells: Sequence[LessonCell], wanted: Sequence[str], edit: Edit, seed: int) -> dict[str, Figures]:
    """The figures of several claims from one run of the cells that they need, each taken after its own cell."""
    found: dict[str, Figures] = {}

    def after(i: int, left: Names) -> None:
        if (name := cells[i].claim) in wanted:
            with torch.random.fork_rng():
                found[name] = tuple(float(figure) for figure in CLAIMS[name].figures(left))

    run(edited(cells, dict(edit)), seed, after)
    return found


def table(lesson: Lesson, places: Mapping[str, int]) -> Iterator[tuple[str, bool]]:
    """The lines of the table of a lesson's claims, each with whether it holds; `places` has their cells'."""
    for name in places:
        yield f"{lesson.number} {name}: {CLAIMS[name].says}", True
    for (title, edit), wanted in runs_of(lesson, places).items():
        cells = cells_for(lesson, *(places[name] for name in wanted))
        start, seeds = time.process_time(), SEEDS if title == AS_IT_IS else OF_AN_EDIT
        found = [figures_of(cells, wanted, edit, seed) for seed in seeds]
        seconds = (time.process_time() - start) / len(found)
        for name in wanted:
            holds = CLAIMS[name].exceptions.get(title, CLAIMS[name].holds)
            fine = all(holds(*figures[name]) for figures in found)
            shown = "  ".join(" ".join(f"{figure:.3g}" for figure in figures[name]) for figures in found)
            yield f"  {'holds' if fine else 'FAILS'}  {name:28} {title:28} {shown}", fine
        yield f"         ({seconds:.0f} s for each seed)", True


def main() -> int:
    """Print the table of the claims asked for. Returns the exit code: 1 if a line fails, 2 for a claim that isn't
    known."""
    found = claims_of(read_folder(ROOT / "lessons"))
    asked = sys.argv[1:] or list(found)
    if unknown := [name for name in asked if name not in found or name not in CLAIMS]:
        print(f"no such claim: {', '.join(unknown)}; there are {', '.join(sorted(found))}", file=sys.stderr)
        return 2
    failed = 0
    for lesson in dict.fromkeys(found[name][0].number for name in asked):
        places = {name: found[name][1] for name in asked if found[name][0].number == lesson}
        for line, fine in table(found[next(iter(places))][0], places):
            print(line, flush=True)
            failed += not fine
    print(f"{len(asked)} claims, {failed} lines fail")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
