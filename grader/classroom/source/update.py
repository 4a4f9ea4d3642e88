"""`grader course update`: brings a new release's lessons into a course, and leaves alone what students have."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from packaging.version import InvalidVersion, Version

from grader import __version__
from grader.classroom.class_directory import ClassDirectory, code_of, submissions_of
from grader.classroom.results_log import latest, path_of
from grader.classroom.source import base
from grader.classroom.source.check import source_of
from grader.classroom.source.merge import Merged, merge
from grader.classroom.source.notebook import Cell, dumped, load, parsed, replace
from grader.classroom.source.rules import Lesson, Problem, check_lesson, first_line
from grader.errors import CourseError
from grader.spec.exercise import Exercise

ENTRY = re.compile(r"(?m)^## \[(?P<version>[^\]]+)\].*\n")


@dataclass(frozen=True)
class Step:
    """What happens to one lesson. `state`: "new", "taken over", "as it was", "held back" (why is `held`), "yours" (the
    release doesn't have it), "left out" (the course doesn't). `notebook` is to be written; `new` is what it is made
    from then. `marks`: those that are given were given by other code, or for other cells, than there are now."""

    lesson: str
    state: str
    held: str = ""
    merged: Merged | None = None
    notebook: dict[str, Any] | None = None
    new: bytes = b""
    marks: bool = False


def steps(layout: Any, solutions: Path, also: Collection[str] = ()) -> list[Step]:
    """What an update would do, lesson by lesson; `also` are lessons to take over although students have them.
    `BrokenNotebook` if one of the course's can't be read."""
    folder = source_of(layout)
    release = {path.stem: path for path in sorted(solutions.glob("*.ipynb"))}
    if not release:
        raise CourseError(f"{solutions} holds no notebooks.")
    here = {path.name for path in folder.glob("*") if (path / f"{path.name}.ipynb").is_file()}
    wrong = sorted(set(also) - here)
    if wrong:
        raise CourseError(f"{wrong[0]!r} is none of the course's lessons: {', '.join(sorted(here))}.")
    found = []
    for name in sorted(here | release.keys()):
        if name not in release:
            found.append(Step(name, "yours"))
        elif name not in here:
            state = "left out" if base.path_in(Path(layout.root), name).is_file() else "new"
            new = release[name].read_bytes()
            found.append(Step(name, state, notebook=parsed(release[name], new) if state == "new" else None, new=new))
        else:
            found.append(_step(layout, folder / name / f"{name}.ipynb", release[name], name in also))
    return found


def _step(layout: Any, path: Path, release: Path, also: bool) -> Step:
    """A lesson that both have."""
    name, data, mine = path.stem, release.read_bytes(), load(path)
    new = parsed(release, data)
    kept = base.path_in(Path(layout.root), name)
    # Without the release that it was made from, all that differs is the teacher's.
    old = load(kept) if kept.is_file() else new
    merged = merge(old["cells"], mine["cells"], new["cells"])
    notebook = {**mine, "nbformat_minor": max(mine["nbformat_minor"], new["nbformat_minor"]), "cells": [*merged.cells]}
    held = in_use(layout, name)
    results, marks = latest(Path(layout.root), name), False
    if results:
        settings = ClassDirectory(Path(layout.root), name).settings()
        marks = not any(settings.key(who, one.submission) == one.key for who, one in results.items())
    if not _differs(mine["cells"], merged.cells):
        return Step(name, "as it was", held, merged, None, data, marks)
    if held and not also:
        return Step(name, "held back", held, merged, None, data, marks)
    root = Path(layout.root)
    code = code_of(dumped(mine), root, name) != code_of(dumped(notebook), root, name)
    return Step(name, "taken over", held, merged, notebook, data, marks or bool(results and code))


def _differs(mine: Sequence[Cell], merged: Sequence[Cell]) -> bool:
    def said(cells: Sequence[Cell]) -> list[object]:
        return [(one["cell_type"], one["source"], one["metadata"].get("nbgrader")) for one in cells]

    return said(mine) != said(merged)


def in_use(layout: Any, lesson: str) -> str:
    """Why a lesson's notebook isn't touched: what students have of it; empty where they have nothing."""
    if path_of(Path(layout.root), lesson).is_file():
        return "it has been graded"
    if submissions_of(layout, lesson)[0]:
        return "it has been handed in"
    if Path(layout.format_path(layout.release_directory, ".", lesson)).is_dir():
        return f"it has been handed out ({layout.release_directory}/ has it)"
    return ""


def apply(layout: Any, planned: Sequence[Step]) -> list[Path]:
    """Write what is planned; where the notebooks are kept that were there."""
    folder, root = source_of(layout), Path(layout.root)
    kept = []
    taken: dict[str, bytes] = {}
    for step in planned:
        path = folder / step.lesson / f"{step.lesson}.ipynb"
        if step.state == "new":
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(step.new)
        elif step.notebook is not None:
            kept.append(replace(root, path, step.notebook))
        if step.state in ("new", "taken over") or (step.state == "as it was" and not step.held):
            taken[step.lesson] = step.new
    base.keep(root, taken)
    return kept


def problems(layout: Any, planned: Sequence[Step], known: Mapping[str, Exercise]) -> Iterator[Problem]:
    """What doesn't fit in the lessons that are taken over."""
    for step in planned:
        if step.state == "taken over" and step.notebook is not None:
            lesson = Lesson(source_of(layout) / step.lesson / f"{step.lesson}.ipynb", step.notebook)
            check_lesson(lesson, known, (), Path(layout.root))
            yield from (problem for problem in lesson.found if not problem.note)


def news(solutions: Path, since: str) -> str:
    """The entries of the changelog after a version; of an unknown one, the newest."""
    found = next((path for path in (solutions, solutions.parent) if (path / "CHANGELOG.md").is_file()), None)
    if found is None:
        return ""
    text = (found / "CHANGELOG.md").read_text("utf-8")
    entries = {one["version"]: text[one.start() : end] for one, end in _entries(text)}
    after = [entry for version, entry in entries.items() if since and _after(version, since)]
    return "".join(after if since else [*entries.values()][:1]).strip()


def _entries(text: str) -> Iterator[tuple[re.Match[str], int]]:
    marks = [*ENTRY.finditer(text)]
    ends = [*(mark.start() for mark in marks[1:]), len(text)]
    yield from zip(marks, ends, strict=True)


def _after(version: str, since: str) -> bool:
    try:
        return Version(since) < Version(version) <= Version(__version__)
    except InvalidVersion:
        return False


def as_text(planned: Sequence[Step], preview: bool) -> str:
    """The update as a table, and below it what to look at."""
    lines = []
    for step in planned:
        lines.append(f"{step.lesson}: {_state(step, preview)}")
        if step.merged is not None and step.state in ("taken over", "held back"):
            lines += _cells(step.merged)
        if step.marks:
            lines.append(
                "  What is graded was graded by other code, or with other cells: the next `grader autograde` grades it "
                f"anew. First look: grader regrade DIR {step.lesson} --preview"
            )
    taken = [step.lesson for step in planned if step.notebook is not None]
    if taken and not preview:
        lines.append(f"Next: nbgrader generate_assignment LESSON --force, for {', '.join(taken)}")
    return "\n".join(lines)


def _state(step: Step, preview: bool) -> str:
    if step.state == "held back":
        return f"held back, {step.held}. To take it over all the same: --also {step.lesson}"
    words: Mapping[str, str] = {
        "new": "new, would be added" if preview else "new, added",
        "taken over": "would be taken over" if preview else "taken over",
        "as it was": "nothing new",
        "yours": "yours, not in the release",
        "left out": "left out of this course",
    }
    return words[step.state]


def _cells(merged: Merged) -> Iterator[str]:
    for what, cells in (("changed", merged.changed), ("new", merged.added), ("gone", merged.removed)):
        if cells:
            yield f"  {what}: {_listed(cells)}"
    for mine, new in merged.conflicts:
        theirs = f"the release has: {_beginning(mine, new)}" if new is not None else "the release no longer has it"
        yield f"  yours stays: {first_line(mine)}; {theirs}"


def _beginning(mine: Cell, new: Cell) -> str:
    """The first line of the release's text that isn't in the teacher's."""
    known = set(mine["source"].splitlines())
    fresh = [line.strip() for line in new["source"].splitlines() if line.strip() and line not in known]
    return first_line({"source": fresh[0]} if fresh else new)


def _listed(cells: Sequence[Cell], most: int = 4) -> str:
    more = f" and {len(cells) - most} more" if len(cells) > most else ""
    return "; ".join(first_line(cell) for cell in cells[:most]) + more
