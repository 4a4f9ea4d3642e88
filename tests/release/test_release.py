"""The packages to hand out: what is in them, what is not, and that they work in an environment made from them alone."""

from __future__ import annotations

import ast
import contextlib
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from collections.abc import Iterable, Iterator
from importlib import metadata
from importlib.metadata import distribution
from pathlib import Path

import pytest
from click.testing import CliRunner
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from grader import __version__
from grader.authoring.release import SHARED_FILES
from grader.cli.main import main
from grader.exercises.registry import exercises

ROOT = Path(__file__).parents[2]
LESSON = "01_self_attention"


def released(out: Path, *options: str) -> Path:
    """A zip, as `make release` writes it."""
    with contextlib.chdir(ROOT):
        done = CliRunner().invoke(main, ["release", "--out", str(out), *options])
    assert done.exit_code == 0, done.output
    return Path(done.output.strip())


@pytest.fixture(scope="module")
def package(tmp_path_factory) -> Path:
    return released(tmp_path_factory.mktemp("dist"))


@pytest.fixture(scope="module")
def unpacked(package, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("student")
    with zipfile.ZipFile(package) as archive:
        archive.extractall(folder)
    return folder / "attention-course"


def texts(unpacked: Path) -> Iterator[tuple[str, str]]:
    """Every text in the package, also those inside the wheel, but for what the lessons give from earlier ones."""
    for path in sorted(unpacked.rglob("*")):
        if path.suffix == ".whl":
            with zipfile.ZipFile(path) as wheel:
                names = [name for name in wheel.namelist() if not name.endswith(".safetensors")]
                yield from ((name, wheel.read(name).decode()) for name in names)
        elif path.suffix == ".ipynb":
            cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
            kept = [cell for cell in cells if cell["metadata"].get("course", {}).get("role") != "given"]
            yield path.name, "\n".join("".join(cell["source"]) for cell in kept)
        elif path.is_file():
            yield path.name, path.read_text(encoding="utf-8")


def model_solutions() -> dict[str, list[str]]:
    """The solution regions of every exercise."""
    found: dict[str, list[str]] = {}
    for path in sorted((ROOT / "lessons").glob("*.py")):
        cells = re.split(r"(?m)^# %%", path.read_text(encoding="utf-8"))
        for cell in cells:
            head = re.match(r' exercise="(\w+)" role="solution"', cell)
            if head:
                found[head[1]] = re.findall(r"(?s)### BEGIN SOLUTION[^\n]*\n(.*?)### END SOLUTION", cell)
    return found


def squeezed(text: str) -> str:
    return re.sub(r"\s+", "", text)


def filled_in() -> dict[str, str]:
    """The solution cells of lesson 01, as a student might have written them."""
    notebook = json.loads((ROOT / "solutions" / f"{LESSON}.ipynb").read_text(encoding="utf-8"))
    about = [(cell["metadata"].get("course", {}), "".join(cell["source"])) for cell in notebook["cells"]]
    return {course["exercise"]: source for course, source in about if course.get("role") == "solution"}


def test_it_holds_notebooks_wheel_and_set_up(unpacked):
    names = {path.relative_to(unpacked).as_posix() for path in unpacked.rglob("*") if path.is_file()}
    wheels = {name for name in names if name.endswith(".whl")}
    notebooks = {path.relative_to(ROOT).as_posix() for path in (ROOT / "notebooks").rglob("*.ipynb")}
    assert {"notebooks/00_start_here.ipynb", "notebooks/ko/00_start_here.ipynb"} <= notebooks
    assert len(wheels) == 1
    jupyter = {f"jupyter/{name}" for name in ("lab.py", "page_config.json", "overrides.json")}
    assert names == {"README.md", "README.ko.md", "environment.yml", *SHARED_FILES} | jupyter | notebooks | wheels


def test_its_name_has_the_version(package):
    assert package.name == f"attention-course-{__version__}-student.zip"


def test_what_installs_it_names_the_wheel(unpacked):
    (wheel,) = unpacked.glob("*.whl")
    assert f"- ./{wheel.name}[lab]" in (unpacked / "environment.yml").read_text()
    for name in ("README.md", "README.ko.md"):
        readme = (unpacked / name).read_text()
        assert f"pip install './{wheel.name}[lab]' -c requirements.lock" in readme
        assert "--index-url https://download.pytorch.org/whl/cpu" in readme
        assert "{" not in readme


def test_it_holds_no_model_solution(unpacked):
    packed = {name: squeezed(text) for name, text in texts(unpacked)}
    solutions = {name: [squeezed(region) for region in regions] for name, regions in model_solutions().items()}
    assert set(solutions) >= {name for name, exercise in exercises().items() if exercise.lesson <= LESSON}
    leaks = [
        f"{exercise} in {name}"
        for exercise, regions in solutions.items()
        for region in regions
        for name, text in packed.items()
        if region in text
    ]
    assert leaks == []


def test_the_search_for_solutions_would_find_one(unpacked):
    regions = model_solutions()["stable_softmax"]
    assert all(squeezed(region) in squeezed((ROOT / "lessons" / f"{LESSON}.py").read_text()) for region in regions)


def test_a_wheel_that_is_built_as_any_other_is_the_students(unpacked, tmp_path):
    """What pip makes of an address or an index of packages: by way of a source distribution, from nothing but it."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).is_file() and not name.startswith(("tests/", "solutions/")):
            (tmp_path / "clone" / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, tmp_path / "clone" / name)
    make = "from setuptools import build_meta; build_meta.build_sdist('..')"
    subprocess.run([sys.executable, "-c", make], cwd=tmp_path / "clone", capture_output=True, check=True)
    (packed,) = tmp_path.glob("*.tar.gz")
    pip = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "--quiet",
        "--no-deps",
        "--no-build-isolation",
        "--wheel-dir",
        "wheels",
    ]
    subprocess.run([*pip, packed.name], cwd=tmp_path, check=True)
    (plain,), (ours,) = (tmp_path / "wheels").glob("*.whl"), unpacked.glob("*.whl")
    assert contents(plain) == contents(ours)


def contents(wheel: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist() if not name.endswith("RECORD")}


def test_the_wheel_brings_styles_scripts_and_original_cells(unpacked):
    packed = dict(texts(unpacked))
    assert {"grader/report/report.css", "grader/views/base.css", "grader/views/attention_explorer.js"} <= set(packed)
    starters = json.loads(packed["grader/learner/starter_code.json"])
    assert set(filled_in()) <= set(starters)
    for source in starters.values():
        ast.parse(source)


@pytest.mark.parametrize("pattern", ["exercises/lesson_*/*.md", "learner/answers/*.json"])
def test_the_wheel_brings_the_words_of_mistakes_and_of_answers(unpacked, pattern):
    packed = {name for name, _text in texts(unpacked)}
    words = {path.relative_to(ROOT).as_posix() for path in (ROOT / "grader").glob(pattern)}
    assert words
    assert words <= packed


def first_cells(folder: Path) -> set[str]:
    documents = [json.loads(path.read_text(encoding="utf-8")) for path in (folder / "notebooks").glob("*.ipynb")]
    assert {document["cells"][0]["id"] for document in documents} == {"install-the-course"}
    return {"".join(document["cells"][0]["source"]) for document in documents}


def ran_without_the_course(cell: str, folder: Path) -> str:
    """What the cell prints where there is no course. pip is a stand-in that says what it is asked to install."""
    script = """
import sys
from IPython.core.interactiveshell import InteractiveShell
sys.modules["grader"] = None
shell = InteractiveShell.instance()
shell.register_magic_function(lambda line: print("pip", line), magic_name="pip")
print(shell.run_cell(sys.stdin.read()).success)
"""
    command = [sys.executable, "-c", script]
    environment = os.environ | {"IPYTHONDIR": str(folder / "ipython")}
    done = subprocess.run(command, input=cell, cwd=folder, env=environment, capture_output=True, text=True, check=True)
    return done.stdout


def test_the_first_cell_installs_the_wheel_that_lies_beside_it(unpacked, tmp_path):
    (wheel,) = unpacked.glob("*.whl")
    (cell,) = first_cells(unpacked)
    said = ran_without_the_course(cell, tmp_path)
    assert "put the course's wheel,\nattention_course-….whl from its zip, beside this notebook" in said
    assert said.endswith("True\n")
    for name in (wheel.name.replace(__version__, "0.0.1"), wheel.name):
        (tmp_path / name).touch()
    assert ran_without_the_course(cell, tmp_path) == f'pip install --quiet "./{wheel.name}"\nTrue\n'


def test_with_an_address_it_installs_from_there(tmp_path):
    with zipfile.ZipFile(released(tmp_path, "--wheel", "https://example.org/course.whl")) as archive:
        archive.extractall(tmp_path)
    (cell,) = first_cells(tmp_path / "attention-course")
    said = 'pip install --quiet "https://example.org/course.whl"\nTrue\n'
    assert ran_without_the_course(cell, tmp_path) == said


def test_two_releases_are_the_same_zip(package, tmp_path):
    assert released(tmp_path).read_bytes() == package.read_bytes()


def asked_for(requirements: Iterable[str], extra: str = "", found: set[str] | None = None) -> set[str]:
    """The names of the distributions that these requirements name, and of those that they ask for in turn."""
    found = set() if found is None else found
    for requirement in map(Requirement, requirements):
        if requirement.marker is not None and not requirement.marker.evaluate({"extra": extra}):
            continue
        name = canonicalize_name(requirement.name)
        for one in ("", *requirement.extras):
            if f"{name}[{one}]" not in found:
                found.add(f"{name}[{one}]")
                asked_for(distribution(name).requires or [], one, found)
    return {name.partition("[")[0] for name in found}


def lend(names: Iterable[str], programs: Path) -> None:
    """Put what is installed here into another environment: the files that pip has noted for these distributions."""
    of_here, of_there = (Path(sysconfig.get_path("purelib", vars=v)) for v in ({}, bases(programs.parent)))
    files = [Path(os.path.normpath(of_there / file)) for name in names for file in distribution(name).files or []]
    # Compiled ones may have been made by others than pip.
    files += [Path(importlib.util.cache_from_source(str(file))) for file in files if file.suffix == ".py"]
    for target in dict.fromkeys(files):
        source = Path(os.path.normpath(of_here / os.path.relpath(target, of_there)))
        # Programs start with the path of this Python; nothing here needs them.
        if target.is_relative_to(programs) or not source.exists():
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            os.link(source, target)
        except OSError:  # another file system
            target.symlink_to(source)


def bases(folder: Path) -> dict[str, str]:
    return {"base": str(folder), "platbase": str(folder)}


@pytest.fixture(scope="module")
def environment(unpacked, tmp_path_factory) -> Path:
    """The folder of programs of a fresh environment with nothing but the wheel and what it asks for.

    pip finds there what the wheel asks for, and nothing else: it was downloaded for the project's own environment.
    """
    folder = tmp_path_factory.mktemp("fresh") / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    programs = folder / ("Scripts" if os.name == "nt" else "bin")
    (wheel,) = unpacked.glob("*.whl")
    (about,) = metadata.Distribution.discover(path=[str(wheel)])
    lend(asked_for(about.requires or [], "lab"), programs)
    pip = [sys.executable, "-m", "pip", "--python", str(programs / "python"), "--disable-pip-version-check"]
    # Without an index: whatever is missing or of another version ends this.
    subprocess.run([*pip, "install", "--quiet", "--no-input", "--no-index", f"{wheel}[lab]"], check=True, cwd=unpacked)
    subprocess.run([*pip, "check"], check=True)
    return programs


@pytest.fixture
def run(environment, unpacked, tmp_path):
    """Runs a program of the fresh environment in the unpacked folder."""
    clean = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    clean |= {
        "PATH": f"{environment}{os.pathsep}{os.environ['PATH']}",
        "GRADER_PROGRESS": str(tmp_path / "progress.json"),
        "IPYTHONDIR": str(tmp_path / "ipython"),
        "JUPYTER_DATA_DIR": str(tmp_path / "data"),
    }

    def start(program: str, *args: str, answers: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
        command = [str(environment / program), *args]
        folder = unpacked / "notebooks"
        return subprocess.run(
            command, input=json.dumps(answers or {}), env=clean, cwd=folder, capture_output=True, text=True
        )

    return start


def test_lesson_01_is_checked_in_an_environment_made_from_the_zip_alone(run):
    script = str(Path(__file__).with_name("in_fresh_environment.py"))
    done = run("python", script, f"{LESSON}.ipynb", answers=filled_in())
    assert done.returncode == 0, done.stderr
    points = {name: exercise.points for name, exercise in exercises().items() if exercise.lesson == LESSON}
    right = {name: f"{name}: passed, {p:g} of {p:g} points" for name, p in points.items()}
    assert json.loads(done.stdout) == right
    # A program ran the notebook, so what it passed is nobody's progress.
    assert run("grader", "progress").stdout.splitlines()[-1].startswith("0 of ")


def test_the_doctor_finds_the_fresh_environment_ready(run):
    done = run("grader", "doctor")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith("Everything is ready.")


def test_there_originals_are_known_and_solutions_are_not(run):
    done = run(
        "python",
        "-c",
        "from grader.learner.starter_code import original, solutions_folder\nprint(original('first_steps'))",
    )
    assert done.stdout.rstrip().endswith("raise NotImplementedError()"), done.stderr
    done = run("python", "-c", "from grader.learner.starter_code import solutions_folder\nprint(solutions_folder())")
    assert done.stdout.strip() == "None"


def test_teachers_commands_say_what_is_missing_there(run):
    done = run("grader", "autograde", ".", "01")
    assert done.returncode == 2
    assert "is not installed. Teachers need: pip install 'attention-course[teacher]'" in done.stderr


def test_authors_commands_say_what_is_missing_there(run):
    done = run("grader", "build")
    assert done.returncode == 2
    assert "Authors need: pip install" in done.stdout + done.stderr


def test_there_is_no_course_to_make_there_and_where_there_is_one_is_told(run):
    done = run("grader", "course", "create", "attention")
    assert done.returncode == 2
    assert "The instructor's notebooks are not installed here. The teacher's package has them" in done.stderr
