"""What a kept mark depends on: the files that decide it, lesson by lesson, and nothing else."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from grader.exercises.registry import exercises
from grader.judge import fingerprint
from grader.judge.outline import Outline
from tools import notebooks as nb


def exercises_of(lesson: str) -> list[str]:
    return [exercise.name for exercise in exercises().values() if exercise.lesson.startswith(lesson)]


FIRST, LAST = exercises_of("01"), exercises_of("10")


@pytest.fixture
def copy(tmp_path, monkeypatch) -> Path:
    """A copy of the package that may be changed."""
    copied = tmp_path / "grader"
    shutil.copytree(fingerprint.PACKAGE, copied, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(fingerprint, "PACKAGE", copied)
    return copied


@pytest.mark.parametrize(
    ("file", "changes_first", "changes_last"),
    [
        ("spec/parts.py", True, True),
        ("judge/runner.py", True, True),
        ("subject/wire.py", True, True),
        ("judge/inside/grader_stub.py", True, True),
        ("exercises/lesson_01/self_attention.py", True, False),
        ("exercises/lesson_01/shared.md", True, False),
        ("exercises/lesson_01/self_attention.md", True, False),
        ("exercises/lesson_10/quiz_10.py", False, True),
        ("models/attentions.py", False, True),
        ("report/heat.py", False, False),
        ("report/report.css", False, False),
        ("learner/check.py", False, False),
        ("views/base.py", False, False),
        ("book/gradebook.py", False, False),
        ("cli/main.py", False, False),
    ],
)
def test_a_change_regrades_the_lessons_whose_marks_depend_on_it(copy, file, changes_first, changes_last):
    before = fingerprint.code_version(FIRST), fingerprint.code_version(LAST)
    with (copy / file).open("a", encoding="utf-8") as changed:
        changed.write("\n# changed\n")
    after = fingerprint.code_version(FIRST), fingerprint.code_version(LAST)
    assert (before[0] != after[0], before[1] != after[1]) == (changes_first, changes_last)


def _edited(change) -> str:
    """The digest of an instructor's notebook after a change of its JSON."""
    document = json.loads(nb.instructor())
    change(document)
    return Outline.of(json.dumps(document).encode()).digest


AS_IT_IS = _edited(lambda _: None)


@pytest.mark.parametrize(
    "change",
    [
        lambda d: d["metadata"].update(
            language_info={"name": "python", "version": "3.13.1"}, kernelspec={"name": "mine"}
        ),
        lambda d: d.update(nbformat_minor=4, signature="x"),
        lambda d: [
            cell["metadata"].update(collapsed=True, execution={"iopub": "now"}, tags=["a"]) for cell in d["cells"]
        ],
        lambda d: [cell.update(source=cell["source"].splitlines(keepends=True)) for cell in d["cells"]],
        lambda d: [cell.update(execution_count=3, outputs=[{"output_type": "stream"}]) for cell in d["cells"]],
        lambda d: d["cells"].insert(0, {"cell_type": "markdown", "metadata": {}, "source": "# Prose"}),
    ],
)
def test_what_an_editor_writes_when_it_saves_a_notebook_grades_nobody_again(change):
    assert _edited(change) == AS_IT_IS


@pytest.mark.parametrize(
    "change",
    [
        lambda d: d["cells"][3].update(source="x = 1"),
        lambda d: d["cells"][3].update(id="another"),
        lambda d: d["cells"][3].update(cell_type="markdown", metadata={"nbgrader": {"grade_id": "x"}}),
        lambda d: [
            cell["metadata"]["nbgrader"].update(points=9) for cell in d["cells"] if "nbgrader" in cell["metadata"]
        ],
        lambda d: d["cells"][0]["metadata"]["course"].update(role="given"),
        lambda d: d["cells"].reverse(),
    ],
)
def test_what_decides_a_mark_in_the_instructor_s_notebook_makes_another_digest(change):
    assert _edited(change) != AS_IT_IS


def test_data_beside_a_module_counts(copy):
    before = fingerprint.code_version(LAST)
    (copy / "models" / "dates.safetensors").write_bytes(b"other parameters")
    assert fingerprint.code_version(LAST) != before


def test_every_module_that_grading_loads_is_among_the_files(copy):
    """What Python itself imports for grading a lesson: nothing of it is missing, so no import can go unseen."""
    import subprocess
    import sys

    lesson = "grader.exercises.lesson_10"
    modules = ["grader.judge.grading", *(f"{lesson}.{name}" for name in LAST)]
    script = (
        f"import importlib, sys\nfor name in {modules!r}: importlib.import_module(name)\n"
        "print(*(m.__file__ for n, m in sys.modules.items() if n.startswith('grader') and m.__file__), sep='\\n')"
    )
    loaded = subprocess.run(
        [sys.executable, "-c", script], cwd=copy.parent, env={"PYTHONPATH": str(copy.parent), "PATH": ""},
        capture_output=True, text=True, check=True,
    ).stdout.split("\n")  # fmt: skip
    counted = {str(path) for path in fingerprint.files_that_decide(LAST)}
    missing = {path for path in loaded if path and path not in counted}
    assert {Path(path).name for path in missing} <= {"__init__.py"}, missing


def test_an_exercise_of_a_teachers_own_counts_with_what_it_imports(copy):
    own = (("mine", "from grader.exercises.lesson_03.split_heads import reference"),)
    before = fingerprint.code_version(["mine"], own), fingerprint.code_version(["mine"], (("mine", ""),))
    with (copy / "exercises/lesson_03/split_heads.py").open("a", encoding="utf-8") as changed:
        changed.write("\n# changed\n")
    after = fingerprint.code_version(["mine"], own), fingerprint.code_version(["mine"], (("mine", ""),))
    assert (before[0] != after[0], before[1] != after[1]) == (True, False)
