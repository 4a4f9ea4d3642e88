"""What `grader build` writes, when it runs a lesson, and what it says of a lesson that fails."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import nbformat
import pytest
from nbgrader.nbgraderformat import MetadataValidator
from nbgrader.utils import compute_checksum

from grader.authoring import Repository, build, builder, find_root, verify
from grader.errors import CommandFailed, CourseError, LessonError

from .conftest import EXERCISES, TOY, MakeCourse

SAME = TOY[: TOY.index('# %%\nprint("the same")')].count("\n") + 1


def _read(path: Path) -> nbformat.NotebookNode:
    return nbformat.read(path, as_version=nbformat.NO_CONVERT)


def _by_role(notebook: nbformat.NotebookNode, role: str) -> list[nbformat.NotebookNode]:
    return [cell for cell in notebook.cells if cell.metadata.get("course", {}).get("role") == role]


def _build(repository: Repository, *, use_cache: bool = True) -> list[str]:
    told: list[str] = []
    build(repository, (), jobs=2, use_cache=use_cache, tell=told.append)
    return [re.sub(r" +", " ", line).rsplit(" ", 2)[0] for line in told]


def _fails(make_course: MakeCourse, old: str, new: str) -> str:
    assert old in TOY
    with pytest.raises(LessonError) as caught:
        _build(make_course(**{"01_toy": TOY.replace(old, new, 1)}), use_cache=False)
    return str(caught.value)


@pytest.fixture
def solution(built_once: Path) -> nbformat.NotebookNode:
    return _read(built_once / "solutions" / "01_toy.ipynb")


@pytest.fixture
def student(built_once: Path) -> nbformat.NotebookNode:
    return _read(built_once / "notebooks" / "01_toy.ipynb")


def test_both_notebooks_are_valid(solution, student):
    for notebook in (solution, student):
        nbformat.validate(notebook)
        MetadataValidator().validate_nb(notebook)
        assert (notebook.nbformat, notebook.nbformat_minor) == (4, 5)


def test_ids_come_from_the_exercise_or_the_source(solution, student):
    ids = [cell.id for cell in solution.cells]
    assert ids == [cell.id for cell in student.cells]
    assert {"double-solution", "double-check", "quiz-solution", "quiz-check"} <= set(ids)
    first, second = (cell.id for cell in solution.cells if cell.source == 'print("the same")')
    assert second == f"{first}-2"


def test_the_first_cell_installs_the_course_and_has_not_been_run(solution, student):
    for notebook in (solution, student):
        first = notebook.cells[0]
        assert (first.id, first.metadata.course.role) == ("install-the-course", "install")
        assert (first.outputs, first.execution_count) == ([], None)
        assert first.source.endswith('Then run this cell again.")')


def test_an_address_gets_into_the_first_cell_and_nothing_is_run(built: Repository, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(builder, "execute", None)  # calling it would raise
    setting = '[tool.attention-course]\nwheel = "https://example.org/course.whl"\n'
    (built.root / "pyproject.toml").write_text(setting)
    before = [_read(folder / "01_toy.ipynb").cells[1:] for folder in (built.solutions, built.notebooks)]
    build(built, (), jobs=1, use_cache=False, keep_outputs=True, tell=lambda _line: None)
    for folder, cells in zip((built.solutions, built.notebooks), before, strict=True):
        first, *rest = _read(folder / "01_toy.ipynb").cells
        assert first.source.endswith('    %pip install --quiet "https://example.org/course.whl"')
        assert rest == cells
    verify(built, ())


def test_outputs_are_kept_where_prose_has_changed_and_refused_where_code_has(built: Repository):
    lesson = built.lessons / "01_toy.py"
    before = (built.solutions / "01_toy.ipynb").read_text("utf-8")

    def rebuild(text: str) -> None:
        lesson.write_text(text, "utf-8")
        build(built, (), jobs=1, use_cache=True, keep_outputs=True, tell=lambda _line: None)

    rebuild(TOY + "\n# %% [markdown]\n# More to read.\n")
    assert _read(built.solutions / "01_toy.ipynb").cells[:-1] == nbformat.reads(before, 4).cells
    for changed, line in ((TOY.replace('print("the same")', "print(1)", 1), SAME), (TOY + "\n# %%\n1\n", r"\d+")):
        with pytest.raises(
            LessonError, match=rf"01_toy.py:{line}: from here on the code differs from the code that was last run"
        ):
            rebuild(changed)


def test_the_solution_is_executed_from_top_to_bottom(solution):
    code = [cell for cell in solution.cells[1:] if cell.cell_type == "code"]
    assert [cell.execution_count for cell in code] == list(range(1, len(code) + 1))
    assert [output.text for cell in _by_role(solution, "check") for output in cell.outputs] == ["passed\n"] * 2
    assert all("execution" not in cell.metadata for cell in code)


def test_outputs_are_stored_in_the_order_in_which_they_came(solution):
    (shown,) = (cell for cell in solution.cells if cell.source.startswith('print("first")'))
    texts = [output.get("text") or output.data["text/plain"] for output in shown.outputs]
    assert texts == ["first\n", "['four', 'one', 'three', 'two']", "then\nlast\n"]


def test_points_come_from_the_specification(solution):
    checks = _by_role(solution, "check")
    assert [cell.metadata.nbgrader.points for cell in checks] == [2, 1.5]
    assert [cell.metadata.nbgrader.grade_id for cell in checks] == ["double-check", "quiz-check"]


def test_solutions_are_cut_for_students(student):
    double, quiz = _by_role(student, "solution")
    assert double.source == 'def double(x):\n    """Twice x."""\n    # YOUR CODE HERE\n    raise NotImplementedError()'
    assert quiz.source.endswith("}\n# Replace each ... above with your answer.")


def test_students_see_the_examples_outputs_and_no_others(solution, student):
    for role in ("example", "draw", "train", "given"):
        assert [c.outputs for c in _by_role(student, role)] == [c.outputs for c in _by_role(solution, role)]
    for role in ("solution", "check", "try", "answer"):
        assert all(cell.outputs == [] and cell.execution_count is None for cell in _by_role(student, role))
    (figure,) = _by_role(student, "draw")
    assert "image/png" in figure.outputs[0].data


def test_the_cell_that_answers_a_prediction_is_there_without_its_output(solution, student):
    (shown,), (hidden,) = _by_role(solution, "answer"), _by_role(student, "answer")
    assert shown.outputs[0].text == "Result: 1725\n"
    assert shown.outputs[1].data["text/markdown"] == "One carries, $1_0$."
    assert hidden.source == shown.source
    assert hidden.metadata["jupyter"] == {"source_hidden": True}
    assert "One carries" not in nbformat.writes(student)
    assert (hidden.source, hidden.outputs, hidden.execution_count) == (shown.source, [], None)
    assert "raises-exception" not in hidden.metadata.get("tags", [])  # nbval runs it, and it has to run


def test_the_text_of_an_answer_is_in_a_file_of_the_package_and_is_kept_up_without_a_run(built: Repository):
    texts, lesson = built.answers / "01.json", built.lessons / "01_toy.py"
    assert json.loads(texts.read_text("utf-8")) == {"01_sum": "One carries, $1_0$."}
    lesson.write_text(TOY.replace("One carries", 'Two """carry"""'), "utf-8")
    with pytest.raises(CommandFailed) as caught:
        verify(built, ())
    assert "answers/01.json 01_sum: the text of this answer would change" in str(caught.value)
    assert re.search(r"solutions/01_toy.ipynb cell \w+: the text of its answer would change", str(caught.value))
    build(built, (), jobs=1, use_cache=False, keep_outputs=True, tell=lambda _line: None)
    assert json.loads(texts.read_text("utf-8")) == {"01_sum": 'Two """carry""", $1_0$.'}
    assert 'Two \\"\\"\\"carry' in (built.solutions / "01_toy.ipynb").read_text("utf-8")
    verify(built, ())
    (built.answers / "07.json").write_text("{}")
    with pytest.raises(CommandFailed, match=r"grader/learner/answers/07.json: no lesson has this name"):
        verify(built, ())


def test_only_students_cells_that_may_fail_are_tagged(solution, student):
    tags = {cell.id: cell.metadata.get("tags", []) for cell in solution.cells}
    assert {tag for found in tags.values() for tag in found} == {"nbval-ignore-output"}
    allowed = [cell for cell in student.cells if "raises-exception" in cell.metadata.get("tags", [])]
    assert allowed == [
        cell for cell in student.cells if cell.metadata.get("course", {}).get("role") in ("check", "try")
    ]


def test_checks_and_given_cells_are_locked(student):
    for cell in _by_role(student, "check") + _by_role(student, "given"):
        assert cell.metadata.editable is False
        assert cell.metadata.deletable is False
        assert cell.metadata.nbgrader.checksum == compute_checksum(cell)
    assert all(cell.metadata.deletable is False for cell in _by_role(student, "solution"))


def test_two_builds_are_the_same_to_the_byte(built_once: Path, make_course: MakeCourse):
    untimed = TOY.replace("print(time.time_ns())", "print(0)")
    courses = [make_course(**{"01_toy": untimed})]
    assert _build(courses[0], use_cache=False) == ["01_toy built"]
    first = [(courses[0].root / folder / "01_toy.ipynb").read_bytes() for folder in ("solutions", "notebooks")]
    for folder in ("solutions", "notebooks"):
        shutil.rmtree(courses[0].root / folder)
    assert _build(courses[0], use_cache=False) == ["01_toy built"]
    second = [(courses[0].root / folder / "01_toy.ipynb").read_bytes() for folder in ("solutions", "notebooks")]
    assert first == second
    assert str(courses[0].root).encode() not in b"".join(first)


def test_an_unchanged_lesson_is_not_run_again(built: Repository, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(builder, "execute", None)  # calling it would raise
    shutil.rmtree(built.notebooks)
    before = (built.solutions / "01_toy.ipynb").read_bytes()
    assert _build(built) == ["01_toy unchanged"]
    assert (built.solutions / "01_toy.ipynb").read_bytes() == before
    assert (built.notebooks / "01_toy.ipynb").exists()


@pytest.mark.parametrize(
    "change",
    [
        lambda course: (course.lessons / "01_toy.py").write_text(TOY + "\n# %%\nprint(1)\n", "utf-8"),
        lambda course: (course.root / "grader" / "check.py").write_text("1"),
        lambda course: (
            (course.root / "grader" / "views").mkdir(parents=True)
            or (course.root / "grader/views/view.js").write_text("1")
        ),
        lambda course: (course.root / "requirements.lock").write_text("torch==1\n"),
        lambda course: (course.cache / "01_toy.json").write_text("{"),
        lambda course: (course.cache / "01_toy.json").write_text("[]"),
        lambda course: _tamper(course.cache / "01_toy.json"),
    ],
    ids=[
        "lesson",
        "grader",
        "grader.views",
        "locked versions",
        "corrupt entry",
        "entry of another kind",
        "tampered entry",
    ],
)
def test_it_is_run_again_when_anything_it_depends_on_changes(built: Repository, monkeypatch, change):
    ran = []

    async def execute(_notebook, lesson):
        ran.append(lesson.name)
        raise LessonError([])

    monkeypatch.setattr(builder, "execute", execute)
    change(built)
    _build(built)
    assert ran == ["01_toy"]


def _tamper(path: Path) -> None:
    entry = json.loads(path.read_text())
    path.write_text(json.dumps(entry | {"notebook": entry["notebook"].replace("passed", "failed")}))


def test_a_cell_that_raises_is_named_with_its_line_and_exercise(make_course: MakeCourse):
    message = _fails(make_course, "return 2 * x", "return 2 * x + nothing")
    assert re.fullmatch(
        r"lessons/01_toy.py:45 double: the cell raises NameError: name 'nothing' is not defined", message
    )


@pytest.mark.parametrize("question", ["Is 1700 + 25 = 1725?", "Will it print Result: 1725 or less?"])
def test_a_question_that_holds_the_answer_is_refused(make_course: MakeCourse, question: str):
    message = _fails(make_course, "What is 1700 + 25?", question)
    assert re.match(r'lessons/01_toy.py:\d+: predict\("01_sum"\): its question contains the answer: ', message)


def test_a_wrong_model_solution_ends_the_build(make_course: MakeCourse):
    message = _fails(make_course, "return 2 * x", "return 3 * x")
    assert re.fullmatch(r"lessons/01_toy.py:\d+ double: the model solution fails its check: double is wrong", message)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("import warnings; warnings.warn('late')", "the cell writes to standard error: .*late"),
        ("print(object())", "the output has a memory address, which is different in every run: 0x"),
        ("import os; os._exit(1)", "the kernel died while it ran this cell"),
    ],
)
def test_what_cannot_be_repeated_is_refused(make_course: MakeCourse, source: str, expected: str):
    assert re.fullmatch(rf"lessons/01_toy.py:{SAME}: {expected}.*", _fails(make_course, 'print("the same")', source))


def test_a_lesson_that_fails_does_not_keep_others_from_being_built(make_course: MakeCourse):
    course = make_course(**{"02_fails": "# %%\n1 / 0\n", "03_works": "# %%\nprint(1)\n"})
    with pytest.raises(
        LessonError, match=r"lessons/02_fails.py:2: the cell raises ZeroDivisionError: division by zero"
    ):
        _build(course)
    assert [path.name for path in course.notebooks.iterdir()] == ["03_works.ipynb"]


def test_the_users_own_configuration_does_not_reach_the_lesson(make_course: MakeCourse, monkeypatch, tmp_path: Path):
    startup = tmp_path / "ipython" / "profile_default" / "startup"
    startup.mkdir(parents=True)
    (startup / "mine.py").write_text("mine = 1")
    (tmp_path / "matplotlibrc").write_text("figure.dpi: 31")
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    monkeypatch.setenv("MATPLOTLIBRC", str(tmp_path / "matplotlibrc"))
    monkeypatch.setenv("GRADER_PROGRESS", str(tmp_path / "progress.json"))
    source = (
        "# %%\nimport os\n\nimport matplotlib\n\n"
        'print("mine" in globals(), matplotlib.rcParams["figure.dpi"])\nprint(os.environ["GRADER_PROGRESS"])\n'
    )
    course = make_course(**{"02_users": source})
    _build(course)
    assert _read(course.solutions / "02_users.ipynb").cells[1].outputs[0].text == "False 100.0\noff\n"


def test_a_lesson_can_be_meant_by_name_number_or_file(built: Repository):
    for wanted in ("01_toy", "01", "1", "lessons/01_toy.py"):
        assert built.choose([wanted]) == ["01_toy"]
    with pytest.raises(CourseError, match=r"There is no lesson '7'. The lessons are: 01_toy"):
        built.choose(["7"])


def test_a_misnamed_lesson_is_refused(built: Repository):
    (built.lessons / "toy.py").write_text("# %%\n1\n")
    with pytest.raises(CourseError, match=r"lessons/toy.py:1: a lesson's file name must look like"):
        built.names()


def test_the_repository_is_found_from_anywhere_inside(built: Repository, tmp_path: Path):
    assert find_root(built.lessons) == find_root(built.root) == built.root
    with pytest.raises(CourseError, match="isn't in the course's repository"):
        find_root(Path("/"))


def test_a_notebook_without_a_lesson_is_pointed_out(built: Repository):
    (built.notebooks / "09_old.ipynb").write_text("{}")
    told: list[str] = []
    build(built, (), jobs=1, use_cache=True, tell=told.append)
    assert "notebooks/09_old.ipynb: no lesson has this name" in told[-1]


def test_exercises_of_the_toy_course_are_its_own():
    assert all(exercise.lesson == "01_toy" for exercise in EXERCISES.values())
