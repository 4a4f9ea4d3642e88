"""What somebody wrote into notebooks/, which a build would overwrite: told cell by cell, and kept where that is wanted.

A built cell is known by itself: nbgrader's checksum is that of the cell as it was built, and the id of a worked example
is made from its source. Text is compared with the same cell in solutions/, and so is code to which the build has added
something. So a lesson that has changed since the last build isn't taken for somebody's work.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from nbformat import NotebookNode
from nbgrader.utils import compute_checksum

from grader.authoring.lesson import HALF_MERGED
from grader.authoring.notebook import id_of, loads
from grader.authoring.repository import Repository
from grader.errors import CommandFailed

OWN_ID = re.compile(r"[0-9a-f]{12}(-\d+)?")
# Cells whose output a build takes away: where there is one, somebody has run them.
WITHOUT_OUTPUT = ("solution", "check", "try")
# Cells that stay as the lesson has them, so that their ids can be made once more.
AS_WRITTEN = ("example", "draw", "train", "try")
NAMED = 3  # cells that a message names
NO_NOTEBOOK = "{path}: this isn't a notebook that a build wrote. Move it away, and build again."
WRITTEN = """\
{path}: somebody has written in it, in {cells}.
A build would overwrite that. `make start` opens copies to work in, in a folder of one's own.
To keep this one beside it, as {kept}, and build: grader build --set-aside {number}"""
KEPT = "{}: kept as {}, since somebody has written in it"


class _NoNotebook(Exception):
    """A file that no build wrote, and that can't be read."""


def cells_written(path: Path) -> list[str]:
    """The ids of the cells of a student's notebook, in notebooks/ or a language's folder there, that aren't as a build
    wrote them; none where there is no file."""
    notebook = _read(path)
    if notebook is None:
        return []
    language = path.parent.name if path.parents[1].name == "notebooks" else ""
    root = path.parents[2 if language else 1]
    try:
        solution = _read(root / "solutions" / path.name)
    except _NoNotebook:
        solution = None
    texts = {cell.id: cell.source for cell in (solution.cells if solution else ())}
    if language:
        texts |= _texts_in(language, root / "grader" / "words" / "cells" / f"{path.stem[:2]}.json")
    return [cell.get("id", "?") for cell in notebook.cells if _is_written(cell, texts.get(cell.get("id")))]


def _texts_in(language: str, file: Path) -> dict[str, str]:
    """The texts of cells in a language, by their ids, as the last build made them."""
    try:
        return {name: texts[language] for name, texts in json.loads(file.read_text("utf-8")).items()}
    except (OSError, ValueError, KeyError):
        return {}


def _read(path: Path) -> NotebookNode | None:
    """A notebook; None where there is none, or where git has left it half merged."""
    if not path.exists():
        return None
    try:
        text = path.read_text("utf-8")
        return None if HALF_MERGED.search(text) else loads(text)
    except Exception as error:  # nbformat raises whatever its parsers raise; all of it means the same here
        raise _NoNotebook from error


def _is_written(cell: NotebookNode, text: str | None) -> bool:
    """Whether a cell isn't as a build wrote it. `text` is the source of the same cell in solutions/, None where there
    is none."""
    role = cell.metadata.get("course", {}).get("role")
    if role in WITHOUT_OUTPUT and cell.get("outputs"):
        return True
    checksum = cell.metadata.get("nbgrader", {}).get("checksum")
    if checksum is not None:
        return bool(checksum != compute_checksum(cell))
    if text == cell.source:
        return False
    if role in AS_WRITTEN:
        return str(cell.id).partition("-")[0] != id_of("code", cell.source)
    is_built = role is not None or (cell.cell_type == "markdown" and OWN_ID.fullmatch(cell.get("id", "")))
    return not is_built or text is not None


def _students(repository: Repository, names: Iterable[str]) -> Iterator[Path]:
    """The places of the students' notebooks of these lessons, in all languages."""
    for name in names:
        yield repository.notebooks / f"{name}.ipynb"
        yield from sorted(repository.notebooks.glob(f"[a-z]*/{name}.ipynb"))


def refuse(repository: Repository, names: Iterable[str]) -> None:
    """`CommandFailed`, in a few lines, if somebody has written in a student's notebook of one of these lessons."""
    for path in _students(repository, names):
        shown = path.relative_to(repository.root).as_posix()
        try:
            cells = cells_written(path)
        except _NoNotebook:
            raise CommandFailed(NO_NOTEBOOK.format(path=shown)) from None
        if cells:
            kept = _beside(path).relative_to(repository.root).as_posix()
            raise CommandFailed(WRITTEN.format(path=shown, cells=_listed(cells), kept=kept, number=path.name[:2]))


def set_aside(repository: Repository, names: Iterable[str]) -> Iterator[str]:
    """Keep each student's notebook of these lessons in which somebody has written, or that is none, beside its place;
    yields a sentence on each."""
    for path in _students(repository, names):
        try:
            is_somebodys = bool(cells_written(path))
        except _NoNotebook:
            is_somebodys = True
        if is_somebodys:
            kept = _beside(path)
            path.rename(kept)
            yield KEPT.format(*(one.relative_to(repository.root).as_posix() for one in (path, kept)))


def _beside(path: Path) -> Path:
    """The first name beside a notebook that is free: NAME.ipynb.yours, NAME.ipynb.yours-2, …"""
    kept, count = path.with_name(f"{path.name}.yours"), 1
    while kept.exists():
        count += 1
        kept = path.with_name(f"{path.name}.yours-{count}")
    return kept


def _listed(cells: list[str]) -> str:
    shown, more = ", ".join(cells[:NAMED]), len(cells) - NAMED
    one = "the cell" if len(cells) == 1 else "the cells"
    return f"{one} {shown} and {more} more" if more > 0 else f"{one} {shown}"
