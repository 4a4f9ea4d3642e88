"""What students put into a folder is read, walked and copied without following a link."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from grader.course.class_directory import Submission, students_root, submitted_folder
from grader.course.files import MAX_DEPTH, MAX_FILES, UntrustedFolder
from grader.course.lateness import timestamp
from grader.errors import FileTooLarge, Unreadable
from grader.handed_in.links import remove_links
from tests.classroom import LESSON

NOTEBOOK = f"{LESSON}.ipynb"
PRIVATE = b"a neighbour's"


@pytest.fixture
def submitted(tmp_path: Path) -> Path:
    """bo's submission; ann's folder is a link to it, cy's lesson, dee's notebook, and folders within eve's."""
    bo = tmp_path / "submitted" / "bo" / LESSON
    (bo / "data").mkdir(parents=True)
    for name in (NOTEBOOK, "notes.txt", "data/more.txt"):
        (bo / name).write_bytes(PRIVATE)
    (bo / "timestamp.txt").write_text("2026-11-20 10:00:00 UTC")
    root = tmp_path / "submitted"
    (root / "ann").symlink_to("bo")
    (root / "cy").mkdir()
    (root / "cy" / LESSON).symlink_to(bo)
    for name in ("dee", "eve"):
        (root / name / LESSON).mkdir(parents=True)
    (root / "dee" / LESSON / NOTEBOOK).symlink_to(bo / NOTEBOOK)
    (root / "eve" / LESSON / "data").symlink_to(bo / "data")
    (root / "eve" / LESSON / "notes.txt").symlink_to(bo / "notes.txt")
    (root / "eve" / LESSON / NOTEBOOK).write_text("{}")
    os.mkfifo(root / "eve" / LESSON / "pipe")
    return root


def folder(submitted: Path, student: str) -> UntrustedFolder:
    return UntrustedFolder(submitted, Path(student, LESSON))


@pytest.mark.parametrize("student", ["ann", "cy", "dee"])
def test_nothing_is_read_through_a_link(submitted, student):
    with pytest.raises(Unreadable, match="Links are not followed"):
        folder(submitted, student).read(NOTEBOOK, 1000)
    assert Submission(student, folder(submitted, student), LESSON).read(1000)[0] == b""
    assert timestamp(folder(submitted, student)) is None


@pytest.mark.parametrize("student", ["ann", "cy", "dee", "eve"])
def test_nothing_is_copied_through_a_link(submitted, student, tmp_path):
    folder(submitted, student).copy_to(tmp_path / "copy", 10**6)
    copied = [path for path in (tmp_path / "copy").rglob("*") if path.is_file()]
    assert not any(PRIVATE in path.read_bytes() for path in copied)
    assert [path.name for path in copied] == ([NOTEBOOK] if student == "eve" else [])


def test_linked_notebook_stays_one_in_the_copy_and_leads_nowhere(submitted, tmp_path):
    left_out = folder(submitted, "dee").copy_to(tmp_path / "copy", 10**6)
    assert left_out == [f"{NOTEBOOK}: The file can't be read because it is a link or is in a linked folder. "
                        "Links are not followed."]  # fmt: skip
    copy = tmp_path / "copy" / NOTEBOOK
    assert copy.is_symlink()
    assert not copy.exists()


def test_files_of_ones_own_are_read_and_copied(submitted, tmp_path):
    mine = folder(submitted, "bo")
    assert mine.read(NOTEBOOK, 1000) == PRIVATE
    assert timestamp(mine) is not None
    assert mine.copy_to(tmp_path / "copy", 10**6) == []
    assert (tmp_path / "copy" / "data" / "more.txt").read_bytes() == PRIVATE


def test_folder_of_the_teachers_may_be_a_link(submitted, tmp_path):
    (tmp_path / "elsewhere").symlink_to(submitted)
    assert UntrustedFolder(tmp_path / "elsewhere", Path("bo", LESSON)).read(NOTEBOOK, 1000) == PRIVATE


def test_what_is_missing_or_too_large_is_told(submitted):
    with pytest.raises(Unreadable, match=r"There is no other\.ipynb among the files handed in"):
        folder(submitted, "bo").read("other.ipynb", 1000)
    with pytest.raises(FileTooLarge, match="has 13 bytes; at most 5 are read"):
        folder(submitted, "bo").read(NOTEBOOK, 5)
    data, why = Submission("bo", folder(submitted, "bo"), LESSON).read(5)
    assert not data
    assert "Clear its outputs" in why


def test_notebook_comes_first_and_files_and_depth_are_bounded(tmp_path):
    for i in range(MAX_FILES + 50):
        (tmp_path / f"{i:03}.txt").write_text("x")
    (tmp_path / "z.ipynb").write_text("x")
    names = [path.name for path, data in UntrustedFolder(tmp_path).contents(10**6) if isinstance(data, bytes)]
    assert names[0] == "z.ipynb"
    assert len(names) == MAX_FILES
    deep = tmp_path.joinpath("deep", *["d"] * (2 * MAX_DEPTH))
    deep.mkdir(parents=True)
    (deep / "far").write_text("x")
    assert not any(path.name == "far" for path, _data in UntrustedFolder(tmp_path / "deep").contents(10**6))


class Layout:
    """nbgrader's `CourseDirectory`, as far as it is asked."""

    submitted_directory, assignment_id = "handed/in", LESSON

    def __init__(self, root: Path, structure: str) -> None:
        self.root, self.directory_structure = str(root), structure

    def format_path(self, step: str, student: str, lesson: str) -> str:
        names = {"nbgrader_step": step, "student_id": student, "assignment_id": lesson}
        return os.path.join(self.root, self.directory_structure.format(**names))


@pytest.mark.parametrize(
    ("structure", "root", "path"),
    [
        ("{nbgrader_step}/{student_id}/{assignment_id}", "handed/in", f"bo/{LESSON}"),
        ("{nbgrader_step}/{assignment_id}/{student_id}", f"handed/in/{LESSON}", "bo"),
        ("all/{student_id}/{nbgrader_step}/{assignment_id}", "all", f"bo/handed/in/{LESSON}"),
    ],
)
def test_students_can_write_from_their_names_on(tmp_path, structure, root, path):
    layout = Layout(tmp_path, structure)
    assert students_root(layout, LESSON) == tmp_path / root
    assert submitted_folder(layout, "bo", LESSON) == UntrustedFolder(tmp_path / root, Path(path))


class Log:
    def __init__(self) -> None:
        self.said: list[str] = []

    def warning(self, text: str, *words: object) -> None:
        self.said.append(text % words)

    error = warning


def test_nbgrader_finds_no_link_but_to_nowhere(submitted, monkeypatch):
    layout = Layout(submitted.parent, "{nbgrader_step}/{student_id}/{assignment_id}")
    layout.submitted_directory = "submitted"
    names = ("ann", "bo", "cy", "dee", "eve")
    assignments = {str(submitted / name / LESSON): [str(submitted / name / LESSON / NOTEBOOK)] for name in names}
    for _ in range(2):  # the second time there is nothing to do
        remove_links(layout, assignments, log := Log())
        for name in ("ann", "cy", "dee"):
            assert [path.name for path in (submitted / name / LESSON).iterdir()] == [NOTEBOOK]
            assert not (submitted / name / LESSON / NOTEBOOK).exists()
            with pytest.raises(Unreadable, match="Links are not followed"):
                folder(submitted, name).read(NOTEBOOK, 1000)
        assert {path.name for path in (submitted / "eve" / LESSON).iterdir()} == {NOTEBOOK}
        assert len(list((submitted / "bo").rglob("*"))) == 6
        assert len(assignments) == len(names)
    assert not log.said

    def refuse(_folder: UntrustedFolder) -> bool:
        raise PermissionError("not yours")

    monkeypatch.setattr(UntrustedFolder, "remove_link", refuse)
    remove_links(layout, assignments, log)
    assert not assignments  # rather not graded at all
