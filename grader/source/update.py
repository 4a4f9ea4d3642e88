"""`grader course update`: brings a new release's lessons into a course, and leaves alone what students have."""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from packaging.version import InvalidVersion, Version

from grader import __version__
from grader.book.results_log import latest
from grader.course.class_directory import ClassDirectory, outline_of, submissions_of
from grader.course.folder import RESULTS
from grader.course.json_lines import lines_file
from grader.errors import CourseError
from grader.source import base
from grader.source.check import source_of
from grader.source.merge import Conflict, Merged, Side, merge
from grader.source.notebook import Cell, dumped, load, parsed, replace
from grader.source.rules import CourseLesson, SourceProblem, check_lesson, first_line
from grader.spec.exercise import Exercise

ENTRY = re.compile(r"(?m)^## \[(?P<version>[^\]]+)\].*\n")


@dataclass(frozen=True)
class UpdateStep:
    """What happens to one lesson."""

    lesson: str
    # "new", "taken over", "as it was", "held back", "yours" (not the release's) or "left out" (not the course's).
    state: str
    held: str = ""  # why it is held back
    merged: Merged | None = None
    notebook: dict[str, Any] | None = None  # that is to be written
    base: bytes = b""  # what it is made from then
    marks: bool = False  # those that are given were given by other code, or for other cells, than there are now

    @property
    def conflicts(self) -> tuple[Conflict, ...]:
        """The cells that the teacher and the release both changed."""
        return self.merged.conflicts if self.merged else ()

    @property
    def unsettled(self) -> list[Conflict]:
        """The cells that both changed and of which nobody has said whose they are to be."""
        return [conflict for conflict in self.conflicts if not conflict.side]


Settled = Mapping[str, Side]  # by LESSON, or LESSON/CELL with the cell's id in the teacher's notebook


def steps(layout: Any, solutions: Path, also: Collection[str] = (), settled: Settled | None = None) -> list[UpdateStep]:
    """What an update from the notebooks in `solutions` would do, lesson by lesson. `also` are lessons to take over
    although students have them; `settled` says whose a cell that both changed is to be. `CourseError` if a name is no
    lesson's or no such cell's, `BrokenNotebook` if one of the course's can't be read."""
    folder = source_of(layout)
    release = {path.stem: path for path in sorted(solutions.glob("*.ipynb"))}
    if not release:
        raise CourseError(f"{solutions} has no notebooks.")
    here = {path.name for path in folder.glob("*") if (path / f"{path.name}.ipynb").is_file()}
    wrong = sorted(set(also) - here)
    if wrong:
        raise CourseError(f"{wrong[0]!r} isn't one of the course's lessons ({', '.join(sorted(here))}).")
    found = []
    for name in sorted(here | release.keys()):
        if name not in release:
            found.append(UpdateStep(name, "yours"))
        elif name not in here:
            state = "left out" if base.path_in(Path(layout.root), name).is_file() else "new"
            new = release[name].read_bytes()
            found.append(
                UpdateStep(name, state, notebook=parsed(release[name], new) if state == "new" else None, base=new)
            )
        else:
            found.append(_step(layout, folder / name / f"{name}.ipynb", release[name], name in also, settled or {}))
    _require_used(found, settled or {})
    return found


def _require_used(planned: Sequence[UpdateStep], settled: Settled) -> None:
    """Raise `CourseError` if something that is settled isn't a cell that both changed, or if the release's version is
    to be taken in a lesson that is held back."""
    by_name = {step.lesson: step for step in planned}
    for name, side in settled.items():
        lesson, _, cell = name.partition("/")
        step = by_name[lesson]
        if not step.conflicts or (cell and cell not in [conflict.name for conflict in step.conflicts]):
            known = [f"{step.lesson}/{clash.name}" for step in planned for clash in step.conflicts]
            raise CourseError(
                f"--{side} {name}: you and the release didn't both change {'this cell' if cell else 'a cell in it'}. "
                f"Changed by both: {', '.join(known) or 'no cell'}."
            )
        if step.state == "held back" and side == "theirs":
            raise CourseError(
                f"--theirs {name}: this lesson is held back because {step.held}. To take the release's version "
                f"anyway, add --also {lesson}"
            )


def _step(layout: Any, path: Path, release: Path, also: bool, settled: Settled) -> UpdateStep:
    """The step for a lesson that the course (`path`) and the new release both have; `also`: although students have
    it."""
    name, data, mine = path.stem, release.read_bytes(), load(path)
    new = parsed(release, data)
    kept = base.path_in(Path(layout.root), name)
    # Without the release that it was made from, all that differs is the teacher's.
    old = load(kept) if kept.is_file() else new
    whole: Side = settled.get(name, "")
    merged = merge(old["cells"], mine["cells"], new["cells"], lambda cell: settled.get(f"{name}/{cell}", whole))
    data = dumped({**new, "cells": [*merged.base]}) if any(not conflict.side for conflict in merged.conflicts) else data
    notebook = {**mine, "nbformat_minor": max(mine["nbformat_minor"], new["nbformat_minor"]), "cells": [*merged.cells]}
    held = in_use(layout, name)
    results, marks = latest(Path(layout.root), name), False
    if results:
        settings = ClassDirectory(Path(layout.root), name).settings()
        marks = not any(settings.key(who, record.submission) == record.key for who, record in results.items())
    if not _differs(mine["cells"], merged.cells):
        return UpdateStep(name, "as it was", held, merged, None, data, marks)
    if held and not also:
        return UpdateStep(name, "held back", held, merged, None, dumped(_without_settled(old, merged)), marks)
    root = Path(layout.root)
    before, now = (outline_of(dumped(version), root, name).digest for version in (mine, notebook))
    return UpdateStep(name, "taken over", held, merged, notebook, data, marks or bool(results and before != now))


def _without_settled(old: Mapping[str, Any], merged: Merged) -> dict[str, Any]:
    """The release that a lesson which is held back is made from, with the new cell wherever the teacher's version is to
    stay."""
    settled = [(conflict.old, conflict.new) for conflict in merged.conflicts if conflict.side == "mine"]
    cells: list[Cell] = []
    for cell in old["cells"]:
        new = next((new for before, new in settled if before is cell), cell)
        cells += [] if new is None else [{**new, "id": cell["id"]} if "id" in cell else new]
    return {**old, "cells": cells}


def _differs(mine: Sequence[Cell], merged: Sequence[Cell]) -> bool:
    def said(cells: Sequence[Cell]) -> list[object]:
        return [(cell["cell_type"], cell["source"], cell["metadata"].get("nbgrader")) for cell in cells]

    return said(mine) != said(merged)


def in_use(layout: Any, lesson: str) -> str:
    """Why a lesson's notebook isn't touched, in words: students have something of it; "" if they don't."""
    if lines_file(Path(layout.root), RESULTS, lesson).is_file():
        return "it has been graded"
    if submissions_of(layout, lesson)[0]:
        return "it has been handed in"
    if Path(layout.format_path(layout.release_directory, ".", lesson)).is_dir():
        return f"it has been handed out ({layout.release_directory}/ has it)"
    return ""


def apply(layout: Any, planned: Sequence[UpdateStep]) -> list[Path]:
    """Write what is planned; returns the paths at which the notebooks are kept that were there."""
    folder, root = source_of(layout), Path(layout.root)
    kept = []
    taken: dict[str, bytes] = {}
    for step in planned:
        path = folder / step.lesson / f"{step.lesson}.ipynb"
        if step.state == "new":
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(step.base)
        elif step.notebook is not None:
            kept.append(replace(root, path, step.notebook))
        settled = any(conflict.side for conflict in step.conflicts)
        if step.state in ("new", "taken over") or settled or (step.state == "as it was" and not step.held):
            taken[step.lesson] = step.base
    base.note_release(root, taken)
    return kept


def problems(layout: Any, planned: Sequence[UpdateStep], known: Mapping[str, Exercise]) -> Iterator[SourceProblem]:
    """What doesn't fit in the lessons that are taken over. `known` are the course's exercises by name."""
    for step in planned:
        if step.state == "taken over" and step.notebook is not None:
            lesson = CourseLesson(source_of(layout) / step.lesson / f"{step.lesson}.ipynb", step.notebook)
            check_lesson(lesson, known, (), Path(layout.root))
            yield from (problem for problem in lesson.found if not problem.note)


def news(solutions: Path, since: str) -> str:
    """The changelog's entries after the version `since`; if that is "", the newest; "" if there is no changelog."""
    found = next((path for path in (solutions, solutions.parent) if (path / "CHANGELOG.md").is_file()), None)
    if found is None:
        return ""
    text = (found / "CHANGELOG.md").read_text("utf-8")
    entries = {match["version"]: text[match.start() : end] for match, end in _entries(text)}
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


def as_text(planned: Sequence[UpdateStep], preview: bool, folder: Path, command: str) -> str:
    """The update as a table, and below it what to look at. `preview`: nothing was written. `folder` is the course's,
    `command` the command line of an update of it: what is to be done next is printed as whole command lines."""
    lines, same = [], []
    for step in planned:
        if step.state == "as it was" and not (step.unsettled or step.marks):
            same.append(step.lesson)
            continue
        lines.append(f"{step.lesson}: {_state(step, preview, command)}")
        if step.merged is not None and step.state in ("taken over", "held back"):
            lines += _cells(step.merged)
        for conflict in step.unsettled:
            name = conflict.name if preview or step.notebook is None else conflict.name_then
            lines += [*_conflict(name, conflict), *_choices(command, step, f"{step.lesson}/{name}", "    ")]
        if step.marks:
            lines.append(
                "  Hand-ins were graded with other code or other cells. Where cells have changed, the next `grader "
                "autograde` grades them again. To see beforehand what would change: "
                f"{shlex.join(['grader', 'regrade', str(folder), step.lesson])} --preview"
            )
    if same:
        lines.append(f"nothing new: {', '.join(same)}")
    several = [step for step in planned if len(step.unsettled) > 1]
    if several:
        lines += ["To settle a whole lesson at once:", *_choices(command, several[0], several[0].lesson, "  ")]
    taken = [step.lesson for step in planned if step.notebook is not None]
    if taken and not preview:
        lines.append(f"Next, in {folder}:")
        lines += [f"  nbgrader generate_assignment {shlex.quote(lesson)} --force" for lesson in taken]
    return "\n".join(lines)


def _choices(command: str, step: UpdateStep, place: str, indent: str) -> Iterator[str]:
    """Lines with the two commands that settle whose a cell, or all cells of a lesson (`place`), is to be."""
    also = f" --also {shlex.quote(step.lesson)}" if step.state == "held back" else ""
    yield f"{indent}to take the release's version: {command}{also} --theirs {shlex.quote(place)}"
    yield f"{indent}to keep yours and not be asked again: {command} --mine {shlex.quote(place)}"


def _state(step: UpdateStep, preview: bool, command: str) -> str:
    if step.state == "held back":
        return f"held back because {step.held}. To update it anyway: {command} --also {shlex.quote(step.lesson)}"
    words: Mapping[str, str] = {
        "new": "new, would be added" if preview else "new, added",
        "taken over": "would be taken over" if preview else "taken over",
        "as it was": "nothing new except what you and the release both changed" if step.unsettled else "nothing new",
        "yours": "yours, not in the release",
        "left out": "left out of this course",
    }
    return words[step.state]


def _cells(merged: Merged) -> Iterator[str]:
    for what, cells in (("changed", merged.changed), ("new", merged.added), ("gone", merged.removed)):
        if cells:
            yield f"  {what}: {_listed(cells)}"


def _conflict(name: str, conflict: Conflict) -> Iterator[str]:
    """Lines on a cell that both changed, whose id is `name`: where both begin to differ."""
    both = "you and the release both changed"
    if conflict.new is None:
        yield f"  {both} cell {name}, and yours stays: {first_line(conflict.mine)}"
        yield "    the release no longer has it"
    elif conflict.new["source"] == conflict.mine["source"]:
        yield f"  {both} the settings of cell {name}, and yours stay: {first_line(conflict.mine)}"
        yield f"    {_settings(conflict.mine, conflict.new)}"
    else:
        yield f"  {both} cell {name}, and yours stays: {_beginning(conflict.new, conflict.mine)}"
        yield f"    the release has: {_beginning(conflict.mine, conflict.new)}"


def _beginning(known: Cell, cell: Cell) -> str:
    """The first line of `cell` that isn't in `known`; if there is none, its first line."""
    lines = set(known["source"].splitlines())
    fresh = [line.strip() for line in cell["source"].splitlines() if line.strip() and line not in lines]
    return first_line({"source": fresh[0]} if fresh else cell)


def _settings(mine: Cell, new: Cell) -> str:
    """In words, the settings of nbgrader's in which two cells differ."""
    own, other = (cell["metadata"].get("nbgrader", {}) for cell in (mine, new))
    names = sorted(key for key in {*own, *other} if own.get(key) != other.get(key))
    said = [f"{name} {own.get(name, '(none)')}, the release has {other.get(name, '(none)')}" for name in names]
    return "; ".join(said) or "the release has different metadata"


def _listed(cells: Sequence[Cell], most: int = 4) -> str:
    more = f" and {len(cells) - most} more" if len(cells) > most else ""
    return "; ".join(first_line(cell) for cell in cells[:most]) + more
