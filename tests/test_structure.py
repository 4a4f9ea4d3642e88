"""The folders of `grader/` import each other in one direction only, and nothing outside `tests/` imports the tests."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
# The lowest first: a room imports those above it in this list, never those below.
ORDER = (
    "printable",
    "sentences",
    "errors",
    "interrupt",
    "lesson_names",
    "atomic",
    "markup",
    "plain",
    "kernel",
    "languages",
    "regions",
    "server",
    "nbgrader_settings",
    "tolerance",
    "subject",
    "report",
    "spec",
    "models",
    "exercises",
    "views",
    "learner",
    "judge",
    "platforms",
    "course",
    "book",
    "source",
    "handed_in",
    "feedback",
    "insights",
    "batch",
    "watch",
    "nbgrader_plugins",
    "authoring",
    "cli",
    "__main__",
)
OUTSIDE_TESTS = ("grader", "demo", "benchmarks", "scripts", "tools", "lessons", "website")


def imports(path: Path, package: str) -> Iterator[tuple[int, str]]:
    """Line and full name of every import of a file, those inside functions and under TYPE_CHECKING too. `package` is
    the one that the file is in."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package.split(".")[: len(package.split(".")) + 1 - node.level] if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            yield from ((node.lineno, f"{module}.{alias.name}") for alias in node.names)


def wrong_direction(folder: Path) -> list[str]:
    """Every import of a package's room from a room that is not below it, in `ORDER`."""
    wrong = []
    for path in sorted(folder.rglob("*.py")):
        inside = path.relative_to(folder)
        if inside.name == "__init__.py" and len(inside.parts) == 1:
            continue  # the names that a notebook imports: `from grader import check`
        package = ".".join([folder.name, *inside.parts[:-1]])
        room = Path(inside.parts[0]).stem
        for line, name in imports(path, package):
            parts = name.split(".")
            target = parts[1] if parts[0] == folder.name and len(parts) > 1 else room
            if target == "__version__":  # of the package itself
                continue
            if target != room and not ORDER.index(target) < ORDER.index(room):
                wrong.append(f"{folder.name}/{inside.as_posix()}:{line}: {room} imports {target}")
    return wrong


def importing_tests(root: Path, folders: tuple[str, ...] = OUTSIDE_TESTS) -> list[str]:
    """Every import of `tests` from one of the folders."""
    return [
        f"{path.relative_to(root).as_posix()}:{line}: imports {name}"
        for folder in folders
        for path in sorted((root / folder).rglob("*.py"))
        for line, name in imports(path, folder)
        if name.split(".")[0] == "tests"
    ]


# What a teacher's commands are made of: what they print may hold what a student named.
COMMANDS = ORDER[ORDER.index("course") :]
PRINTS = {"print", "echo", "secho", "print_exc", "print_exception"}


def printing(folder: Path) -> list[str]:
    """Every call that prints past `grader.printable.echo`."""
    return [
        f"{path.relative_to(folder).as_posix()}:{node.lineno}"
        for room in COMMANDS
        for path in sorted((folder / room).rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if (
            isinstance(node, ast.Name) and node.id in PRINTS - {"echo"}
        )  # `echo` alone is ours, wherever it is imported
        or (isinstance(node, ast.Attribute) and node.attr in PRINTS)
        or (isinstance(node, ast.ImportFrom) and node.module == "click" and PRINTS & {one.name for one in node.names})
    ]


def test_commands_print_in_one_way():
    assert printing(ROOT / "grader") == []


@pytest.mark.parametrize(
    "source", ["print(1)", "import click\nclick.echo(1)", "tell = click.echo", "from click import echo"]
)
def test_another_way_to_print_is_found(tmp_path, source):
    (tmp_path / "cli").mkdir()
    (tmp_path / "cli" / "new.py").write_text(source)
    assert printing(tmp_path) == [f"cli/new.py:{len(source.splitlines())}"]


def test_the_rooms_of_grader_import_each_other_in_one_direction():
    assert wrong_direction(ROOT / "grader") == []


def test_what_runs_beside_a_students_code_imports_nothing_else_of_the_course():
    """The sandbox shows nothing else of the package (`grader/judge/sandbox.py`)."""
    folder = ROOT / "grader" / "subject"
    found = [name for path in folder.glob("*.py") for _, name in imports(path, "grader.subject")]
    assert [name for name in found if f"{name}.".startswith("grader.") and not name.startswith("grader.subject")] == []


def test_every_room_has_its_place_in_the_order():
    rooms = {
        path.stem for path in (ROOT / "grader").iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()
    }
    assert rooms - {"__init__"} == set(ORDER)


def test_a_class_name_means_one_thing():
    """Among the public classes outside `exercises/`, whose modules have one each."""
    places: dict[str, list[str]] = {}
    for path in sorted((ROOT / "grader").rglob("*.py")):
        if "exercises" not in path.parts:
            for node in ast.parse(path.read_bytes()).body:
                if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                    places.setdefault(node.name, []).append(path.relative_to(ROOT).as_posix())
    assert {name: files for name, files in places.items() if len(files) > 1} == {}


def explained_above(folder: Path) -> list[str]:
    """The wide classes of data (five fields or more) whose docstring explains a field, which has a line of its own."""
    found = []
    for path in sorted(folder.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_bytes())):
            if isinstance(node, ast.ClassDef):
                fields = {ast.unparse(field.target) for field in node.body if isinstance(field, ast.AnnAssign)}
                explained = re.findall(r"`(\w+)`(?=(?:, `\w+`)*:)", ast.get_docstring(node) or "")
                if len(fields) >= 5 and fields & {*explained}:
                    found.append(f"{path.relative_to(folder).as_posix()}:{node.lineno} {node.name}")
    return found


@pytest.mark.parametrize("folder", OUTSIDE_TESTS)
def test_a_field_of_many_is_explained_where_it_stands(folder):
    assert explained_above(ROOT / folder) == []


@pytest.mark.parametrize(("fields", "found"), [("abcde", ["one.py:1 A"]), ("abcd", [])])
def test_a_field_that_is_explained_above_is_found(tmp_path, fields, found):
    lines = [
        '    """What is asked for. `a`, `c`: two figures; `b` is one too."""',
        *(f"    {name}: int" for name in fields),
    ]
    (tmp_path / "one.py").write_text("\n".join(["class A:", *lines]))
    assert explained_above(tmp_path) == found


def test_nothing_outside_the_tests_imports_them():
    assert importing_tests(ROOT) == []


@pytest.mark.parametrize(
    "source",
    [
        "from grader.learner.check import check",
        "import grader.learner.check",
        "from grader import learner",
        "from ..learner import check",
        "def later():\n    from grader.learner.check import check",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from grader.learner.check import check",
    ],
    ids=["from", "import", "from grader", "relative", "in a function", "for type checking"],
)
def test_an_import_of_a_higher_room_is_an_error_with_the_line(tmp_path, source):
    folder = tmp_path / "grader" / "spec"
    folder.mkdir(parents=True)
    (folder / "exercise.py").write_text(source)
    assert wrong_direction(tmp_path / "grader") == [
        f"grader/spec/exercise.py:{len(source.splitlines())}: spec imports learner"
    ]


def test_an_import_of_the_tests_is_an_error_with_the_line(tmp_path):
    (tmp_path / "demo").mkdir()
    (tmp_path / "demo" / "run.py").write_text("import os\nfrom tests.judge import notebooks\n")
    assert importing_tests(tmp_path) == ["demo/run.py:2: imports tests.judge.notebooks"]


def test_the_tree_of_errors_has_them_all():
    """What the module says of its classes, and of how they descend from each other."""
    text = (ROOT / "grader" / "errors.py").read_text()
    tree = ast.parse(text)
    classes = {node.name: ast.unparse(node.bases[0]) for node in tree.body if isinstance(node, ast.ClassDef)}
    above: list[str] = []
    drawn = {}
    for line in (ast.get_docstring(tree, clean=False) or "").splitlines():
        name = line.strip(" ├└─").partition(" ")[0]
        if name in classes:
            depth = (len(line) - len(line.lstrip(" ├└─"))) // 3
            above[depth - 1 :] = [name]
            drawn[name] = above[-2] if len(above) > 1 else ""
    assert drawn == {name: base if base in classes else "" for name, base in classes.items()}


@pytest.mark.parametrize(
    ("module", "heavy"),
    [
        ("grader.batch.run", ["torch"]),  # the command that grades a class
        ("grader.batch.worker", ["torch", "nbgrader", "sqlalchemy"]),
        ("grader.judge.judge", ["torch"]),  # its zygote starts first
    ],
)
def test_what_starts_first_imports_nothing_heavy(module, heavy):
    code = f"import sys, {module}; print(*(name for name in {heavy} if name in sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.split() == []
