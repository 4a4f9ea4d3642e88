"""What somebody wrote into notebooks/ is never overwritten, released or published."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import nbformat
import pytest
from nbformat import NotebookNode

from grader.authoring import Repository, build, verify
from grader.authoring.notebook import dumps, loads
from grader.authoring.release import platform_release, release
from grader.authoring.written_in import cells_written
from grader.errors import CommandFailed, LessonError
from website import __main__ as website

from .conftest import TOY

ROOT = Path(__file__).parents[2]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
Change = Callable[[NotebookNode], object]


def _cell(notebook: NotebookNode, role: str) -> NotebookNode:
    return next(cell for cell in notebook.cells if cell.metadata.get("course", {}).get("role") == role)


def _solve(notebook: NotebookNode) -> None:
    _cell(notebook, "solution").source = "def double(x):\n    return x + x  # mine\n"


def _take_notes(notebook: NotebookNode) -> None:
    notebook.cells.append(nbformat.v4.new_markdown_cell("What I learnt"))


def _try_something(notebook: NotebookNode) -> None:
    notebook.cells.append(nbformat.v4.new_code_cell("1 + 1"))


def _edit_an_example(notebook: NotebookNode) -> None:
    _cell(notebook, "example").source += "\nprint('and now?')"


def _edit_the_text(notebook: NotebookNode) -> None:
    next(cell for cell in notebook.cells if cell.cell_type == "markdown").source += "\n\nMy note."


def _run_a_check(notebook: NotebookNode) -> None:
    _cell(notebook, "check").outputs.append(nbformat.v4.new_output("stream", text="passed"))


WRITING: dict[str, Change] = {
    change.__name__: change
    for change in (_solve, _take_notes, _try_something, _edit_an_example, _edit_the_text, _run_a_check)
}


def _write(path: Path, change: Change) -> str:
    """Change a notebook, as an editor does; returns what is in the file then."""
    notebook = loads(path.read_text("utf-8"))
    change(notebook)
    path.write_text(dumps(notebook), "utf-8")
    return path.read_text("utf-8")


def _quiet_build(repository: Repository, **options: bool) -> list[str]:
    said: list[str] = []
    build(repository, (), jobs=1, use_cache=True, tell=said.append, **options)
    return said


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_nobody_wrote_in_what_is_checked_in(path: Path):
    assert cells_written(path) == []


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
@pytest.mark.parametrize("change", WRITING.values(), ids=WRITING)
def test_whoever_writes_in_a_lesson_is_seen(path: Path, change: Change, tmp_path: Path):
    (tmp_path / "solutions").symlink_to(ROOT / "solutions")
    (tmp_path / "notebooks").mkdir()
    copy = tmp_path / "notebooks" / path.name
    copy.write_bytes(path.read_bytes())
    _write(copy, change)
    assert cells_written(copy) != []


@pytest.mark.parametrize("options", [{}, {"keep_outputs": True}], ids=["build", "--keep-outputs"])
@pytest.mark.parametrize("change", WRITING.values(), ids=WRITING)
def test_a_build_refuses_to_overwrite_it_in_a_few_lines(built: Repository, change: Change, options: dict[str, bool]):
    mine = built.notebooks / "01_toy.ipynb"
    written = _write(mine, change)
    (built.lessons / "01_toy.py").write_text(TOY.replace("return 2 * x", "return x + x"), "utf-8")
    with pytest.raises(CommandFailed) as caught:
        _quiet_build(built, **options)
    assert mine.read_text("utf-8") == written
    said = str(caught.value)
    assert said.startswith("notebooks/01_toy.ipynb: somebody has written in it, in ")
    assert "make start" in said
    assert "grader build --set-aside" in said
    assert len(said.splitlines()) <= 4


def test_told_to_go_on_a_build_keeps_it_beside_each_time(built: Repository):
    mine, as_built = built.notebooks / "01_toy.ipynb", (built.notebooks / "01_toy.ipynb").read_text("utf-8")
    kept = []
    for name in ("01_toy.ipynb.yours", "01_toy.ipynb.yours-2"):
        kept.append((built.notebooks / name, _write(mine, _solve)))
        said = _quiet_build(built, set_aside_written=True)
        assert any(line.startswith(f"notebooks/01_toy.ipynb: kept as notebooks/{name}") for line in said)
        assert mine.read_text("utf-8") == as_built
    assert [path.read_text("utf-8") for path, _ in kept] == [text for _, text in kept]


def test_only_the_lessons_meant_are_looked_at_and_states_alone_write_no_notebook(built: Repository):
    written = _write(built.notebooks / "01_toy.ipynb", _solve)
    _quiet_build(built, only_states=True)
    assert (built.notebooks / "01_toy.ipynb").read_text("utf-8") == written


def test_a_file_that_git_left_half_merged_is_nobodys(built: Repository):
    path = built.notebooks / "01_toy.ipynb"
    path.write_text(f"<<<<<<< HEAD\n{path.read_text('utf-8')}", "utf-8")
    _quiet_build(built)
    json.loads(path.read_text("utf-8"))


MERGE_CONFLICT = "<<<<<<< HEAD\n{text}=======\n>>>>>>> other\n"


def _leave_half_merged(path: Path) -> None:
    path.write_text(MERGE_CONFLICT.format(text=path.read_text("utf-8")), "utf-8")


def test_a_build_makes_an_instructors_notebook_anew_that_git_left_half_merged(built: Repository):
    path = built.solutions / "01_toy.ipynb"
    text = path.read_text("utf-8")
    _leave_half_merged(path)
    with pytest.raises(CommandFailed, match=r"solutions/01_toy\.ipynb: this isn't a notebook that a build wrote"):
        verify(built, ())
    with pytest.raises(LessonError, match=r"solutions/01_toy\.ipynb:1: .*merge conflict.*without --keep-outputs"):
        _quiet_build(built, keep_outputs=True)
    _quiet_build(built)
    assert path.read_text("utf-8") == text


@pytest.mark.parametrize("text", ["my notes", '{"cells": [], "nbformat": 4', ""])
def test_outputs_of_a_file_that_is_no_notebook_cant_be_kept(built: Repository, text: str):
    (built.solutions / "01_toy.ipynb").write_text(text, "utf-8")
    with pytest.raises(LessonError, match=r"solutions/01_toy\.ipynb:1: this can't be read as a notebook"):
        _quiet_build(built, keep_outputs=True)


def test_a_lesson_that_git_left_half_merged_is_refused_with_the_line(built: Repository):
    path = built.lessons / "01_toy.py"
    lines = path.read_text("utf-8").splitlines()
    path.write_text("\n".join([*lines[:20], "<<<<<<< HEAD", *lines[20:22], "=======", ">>>>>>> other", *lines[22:]]))
    with pytest.raises(LessonError, match=r"lessons/01_toy\.py:21: .*merge conflict"):
        _quiet_build(built)


def test_stored_states_that_git_left_half_merged_are_made_anew(built: Repository):
    for path in (built.states / "01_toy.json", built.answers / "01.json"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("{}\n" if not path.exists() else path.read_text("utf-8"), "utf-8")
        _leave_half_merged(path)
    with pytest.raises(CommandFailed, match=r"what a build would make"):
        verify(built, ())
    _quiet_build(built)
    verify(built, ())


def test_a_file_that_is_no_notebook_is_kept(built: Repository):
    path = built.notebooks / "01_toy.ipynb"
    path.write_text("my notes", "utf-8")
    with pytest.raises(CommandFailed, match=r"notebooks/01_toy\.ipynb: this isn't a notebook that a build wrote"):
        _quiet_build(built)
    assert path.read_text("utf-8") == "my notes"


def test_a_check_a_release_and_the_site_say_it_in_a_few_lines(built: Repository, tmp_path: Path):
    _write(built.notebooks / "01_toy.ipynb", _solve)
    commands: dict[str, Callable[[], object]] = {
        "check": lambda: verify(built, ()),
        "release": lambda: release(built, tmp_path / "dist"),
        "gradescope": lambda: platform_release(built, tmp_path / "dist", "gradescope", "01"),
        "site": lambda: website.refuse_what_somebody_wrote(built, ["01_toy"]),
    }
    for name, command in commands.items():
        with pytest.raises(CommandFailed, match=r"notebooks/01_toy\.ipynb: somebody has written in it") as caught:
            command()
        assert len(str(caught.value).splitlines()) <= 4, name


def test_a_release_of_what_is_not_built_names_the_files_without_the_differences(built: Repository, tmp_path: Path):
    (built.lessons / "01_toy.py").write_text(TOY.replace("return 2 * x", "return x + x"), "utf-8")
    with pytest.raises(CommandFailed) as caught:
        release(built, tmp_path / "dist")
    assert str(caught.value).splitlines() == [
        "solutions/01_toy.ipynb isn't what a build would make.",
        "Run `grader build`. `grader build --check` shows what differs.",
    ]
