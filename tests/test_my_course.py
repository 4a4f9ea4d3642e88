"""The learner's folder: what somebody wrote is never overwritten, and a new version of a lesson comes beside it."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tools.my_course import FOLDER, RECORD, WHERE, folder_of, lay

ROOT = Path(__file__).parents[1]
NAMES = ("00_start_here.ipynb", "01_self_attention.ipynb")


class Course:
    """The course's notebooks in one folder, a learner's in another."""

    def __init__(self, root: Path) -> None:
        self.notebooks, self.mine = root / "notebooks", root / "mine"
        self.notebooks.mkdir()
        self.release("first")

    def release(self, version: str, *names: str) -> None:
        for name in names or NAMES:
            (self.notebooks / name).write_text(f"{name}, {version}")

    def start(self) -> list[str]:
        return lay(self.notebooks, self.mine)

    def files(self) -> dict[str, str]:
        return {path.name: path.read_text() for path in self.mine.iterdir() if path.name != RECORD}


@pytest.fixture
def course(tmp_path: Path) -> Course:
    return Course(tmp_path)


def test_the_first_start_lays_every_lesson_and_the_next_one_is_silent(course: Course):
    (said,) = course.start()
    assert said.startswith(f"The lessons are in {course.mine}.")
    assert course.files() == {name: f"{name}, first" for name in NAMES}
    assert course.start() == []


def test_other_languages_are_laid_in_their_folders_and_never_overwritten(course: Course):
    (course.notebooks / "ko").mkdir()
    course.release("first", f"ko/{NAMES[0]}")
    course.start()
    assert (course.mine / "ko" / NAMES[0]).read_text() == f"ko/{NAMES[0]}, first"
    (course.mine / "ko" / NAMES[0]).write_text("my answers")
    course.release("second", f"ko/{NAMES[0]}")
    (said,) = course.start()
    assert said.endswith("Yours stays as it is, and the new one lies beside it: ko/00_start_here.new.ipynb.")
    assert (course.mine / "ko" / NAMES[0]).read_text() == "my answers"


def test_what_somebody_wrote_stays_and_nothing_is_said_while_the_lesson_is_the_same(course: Course):
    course.start()
    (course.mine / NAMES[1]).write_text("my answers")
    assert course.start() == []
    assert course.files()[NAMES[1]] == "my answers"


def test_a_new_version_comes_beside_what_somebody_wrote_and_in_place_of_what_nobody_did(course: Course):
    course.start()
    (course.mine / NAMES[1]).write_text("my answers")
    course.release("second")
    assert course.start() == [
        "00_start_here.ipynb is now the lesson's new version. You had not changed the old one.",
        "There is a new version of 01_self_attention.ipynb. Yours stays as it is, and the new one lies beside it: "
        "01_self_attention.new.ipynb.",
    ]
    second = {name: f"{name}, second" for name in NAMES}
    assert course.files() == {**second, NAMES[1]: "my answers", "01_self_attention.new.ipynb": second[NAMES[1]]}
    assert course.start() == []
    (course.mine / "01_self_attention.new.ipynb").unlink()
    assert course.start() == []  # told once


def test_a_version_beside_that_somebody_works_in_stays_too(course: Course):
    course.start()
    (course.mine / NAMES[1]).write_text("my answers")
    course.release("second", NAMES[1])
    course.start()
    (course.mine / "01_self_attention.new.ipynb").write_text("more answers")
    course.release("third", NAMES[1])
    assert course.start()[0].endswith("01_self_attention.new-2.ipynb.")
    files = course.files()
    assert (files[NAMES[1]], files["01_self_attention.new.ipynb"]) == ("my answers", "more answers")
    assert files["01_self_attention.new-2.ipynb"] == "01_self_attention.ipynb, third"


def test_a_lesson_that_somebody_removed_is_laid_again(course: Course):
    course.start()
    (course.mine / NAMES[0]).unlink()
    course.start()
    assert course.files()[NAMES[0]] == "00_start_here.ipynb, first"


@pytest.mark.parametrize("record", [None, "", "[]", "half of it {", '{"laid": 3, "told": {}}'])
def test_without_a_record_every_file_counts_as_the_learners(course: Course, record: str | None):
    course.start()
    (course.mine / NAMES[0]).write_text("my answers")
    (course.mine / RECORD).unlink()
    if record is not None:
        (course.mine / RECORD).write_text(record)
    course.release("second", NAMES[1])
    course.start()
    files = course.files()
    assert files[NAMES[0]] == "my answers"
    assert files[NAMES[1]] == "01_self_attention.ipynb, first"
    assert files["01_self_attention.new.ipynb"] == "01_self_attention.ipynb, second"


@pytest.mark.parametrize("moves", list(itertools.product("WRSD", repeat=4)), ids="".join)
def test_in_any_order_of_writing_releasing_starting_and_deleting_nothing_written_is_lost(course: Course, moves: tuple):
    written: dict[str, str] = {}
    for count, move in enumerate(("S", *moves, "S")):
        path = course.mine / NAMES[1]
        if move == "S":
            course.start()
        elif move == "R":
            course.release(f"version {count}")
        elif move == "W":
            for one in sorted(course.mine.glob("01*.ipynb")):
                written[one.name] = f"what I wrote into {one.name} at {count}"
                one.write_text(written[one.name])
        else:
            path.unlink(missing_ok=True)
            written.pop(path.name, None)
    files = course.files()
    assert {name: files.get(name) for name in written} == written
    assert f"{NAMES[1]}" in files


def test_an_interrupted_start_is_taken_up_again(course: Course, monkeypatch: pytest.MonkeyPatch):
    course.start()
    (course.mine / NAMES[1]).write_text("my answers")
    course.release("second")
    before = (course.mine / RECORD).read_text()
    course.start()
    (course.mine / RECORD).write_text(before)  # as if it was ended before it had written down what it did
    files = course.files()
    course.start()
    assert course.files() == files


def test_it_is_in_the_repository_or_where_somebody_says(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.delenv(WHERE, raising=False)
    assert folder_of(ROOT) == ROOT / FOLDER
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv(WHERE, "~/attention")
    assert folder_of(ROOT) == tmp_path / "attention"


@pytest.mark.parametrize("name", ["notebooks", "solutions", "lessons", ".", "notebooks/../solutions"])
def test_the_folders_that_are_built_are_refused(monkeypatch: pytest.MonkeyPatch, name: str):
    monkeypatch.setenv(WHERE, str(ROOT / name))
    with pytest.raises(SystemExit, match=r"would be lost\. Choose another one"):
        folder_of(ROOT)


def test_git_ignores_it():
    done = subprocess.run(["git", "check-ignore", f"{FOLDER}/00_start_here.ipynb"], cwd=ROOT, capture_output=True)
    assert done.returncode == 0


def _settings(config: Path, folder: Path | None) -> list[str]:
    """The folder that JupyterLab would show with this configuration, and the address that it would open."""
    read = (
        "import sys; from traitlets.config.loader import PyFileConfigLoader as Loader; "
        "c = Loader(sys.argv[1]).load_config(); print(c.ServerApp.root_dir); print(c.LabApp.default_url); "
        "assert c.JupyterNotebookApp.app_settings_dir == c.LabApp.app_settings_dir"
    )
    environment = {**os.environ, **({WHERE: str(folder)} if folder else {})}
    done = subprocess.run(
        [sys.executable, "-c", read, str(config)], env=environment, capture_output=True, text=True, check=True
    )
    return done.stdout.splitlines()


def test_jupyterlab_opens_lesson_00_in_the_learners_folder_and_leaves_the_built_one_alone(tmp_path: Path):
    mine = tmp_path / "a folder"
    before = {path: path.stat().st_mtime_ns for path in (ROOT / "notebooks").iterdir()}
    said, root_dir, url = _settings(ROOT / "release" / "student" / "jupyter" / "lab.py", mine)
    assert said.startswith(f"The lessons are in {mine}.")
    assert (root_dir, url) == (str(mine), "/lab/tree/00_start_here.ipynb")
    assert (mine / "00_start_here.ipynb").read_bytes() == (ROOT / "notebooks" / "00_start_here.ipynb").read_bytes()
    assert {path: path.stat().st_mtime_ns for path in (ROOT / "notebooks").iterdir()} == before


def test_in_the_package_the_notebooks_are_the_learners(tmp_path: Path):
    for name in ("jupyter", "notebooks"):
        (tmp_path / name).mkdir()
    config = tmp_path / "jupyter" / "lab.py"
    config.write_bytes((ROOT / "release" / "student" / "jupyter" / "lab.py").read_bytes())
    assert _settings(config, None) == [str(tmp_path / "notebooks"), "/lab/tree/00_start_here.ipynb"]
