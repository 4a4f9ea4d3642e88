"""Every path and every command in CONTRIBUTING.md exists, and what it shows as printed is printed."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from grader.cli.main import main
from tests.stages import STAGES

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
# Not in this repository: made by a command, or a course's own.
ELSEWHERE = ("nbgrader_config.py", "autograded/")


def outside_blocks(text: str) -> str:
    return re.sub(r"(?ms)^```.*?^```$", "", text)


def paths(text: str) -> list[str]:
    """What looks like a path, in backticks or as the target of a link."""
    spans = re.findall(r"`([^`\n]+)`", outside_blocks(text)) + re.findall(r"\]\(([^)]+)\)", text)
    looks = re.compile(r"[\w.*/-]+/|[\w.*/-]*\.(py|md|css|toml)")
    return sorted({span for span in spans if looks.fullmatch(span) and span not in ELSEWHERE})


def commands(text: str) -> list[str]:
    """The lines of the blocks of commands, and commands in backticks, without prompts and comments."""
    blocks = re.findall(r"(?ms)^```console\n(.*?)^```$", text)
    lines = [line.removeprefix("$ ") for block in blocks for line in block.splitlines() if not line.startswith('"')]
    spans = re.findall(r"`((?:make|grader|python) [^`\n]+)`", outside_blocks(text))
    return sorted({line.split("  #")[0].strip() for line in [*lines, *spans]})


def names(text: str) -> list[tuple[str, str]]:
    """The names that a text says are in a file of Python, each with the file, as in `record` in `book/gradebook.py`."""
    found = re.findall(r"((?:`\w+`(?:, | and ))*`\w+`) in\s`([\w/]+\.py)`", outside_blocks(text))
    return sorted({(name, file) for several, file in found for name in re.findall(r"`(\w+)`", several)})


def is_in(name: str, file: str) -> bool:
    """Whether a file binds a name, or passes it by name as specifications do; of several files that are meant, one."""
    pattern = file.replace("NN", "[0-9][0-9]").replace("NAME", "*")
    binds = re.compile(rf"(?m)\b(?:def|class) {name}\b|\b{name}(?:: [^=\n]+)? ?=(?!=)")
    return any(binds.search(path.read_text("utf-8")) for path in ROOT.glob(pattern if "/" in file else f"**/{pattern}"))


def exists(path: str) -> bool:
    """Whether a path is there; NN and NAME stand for any lesson and any exercise, a name alone for a file anywhere."""
    pattern = path.rstrip("/").replace("NN", "[0-9][0-9]").replace("NAME", "*")
    return any(ROOT.glob(pattern if "/" in path else f"**/{pattern}"))


def unknown(command: str) -> str:
    """What a command names that doesn't exist; empty where all is known."""
    program, *words = shlex.split(command)
    if program == "make":
        targets = re.findall(r"(?m)^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"))
        stages = [stage for word in words[1:] for stage in word.removeprefix("ARGS=").split() if words[0] == "test"]
        return "".join({*words[:1]} - {*targets}) or "".join({*stages} - {*STAGES})
    if program == "grader":
        return "" if CliRunner().invoke(main, [*words, "--help"]).exit_code == 0 else command
    if program == "python":
        files = [word for word in words if word.startswith("tests/")]
        if words[:2] == ["-m", "pytest"]:
            return "" if all((ROOT / file).exists() for file in files) else command
        return "" if words[0] == "-m" and (ROOT / words[1].replace(".", "/")).with_suffix(".py").exists() else command
    return "" if command == ". .venv/bin/activate" else command


@pytest.mark.parametrize("path", paths(TEXT))
def test_every_path_exists(path: str):
    assert exists(path)


@pytest.mark.parametrize(
    "document", ["CONTRIBUTING.md", *(f"docs/{path.name}" for path in (ROOT / "docs").glob("*.md"))]
)
def test_every_name_is_in_the_file_that_a_document_says(document: str):
    said = names((ROOT / document).read_text("utf-8"))
    assert [f"{name} in {file}" for name, file in said if not is_in(name, file)] == []


@pytest.mark.parametrize("command", commands(TEXT))
def test_every_command_is_known(command: str):
    assert unknown(command) == ""


def test_the_digest_is_the_one_that_the_command_prints():
    [(words, printed)] = re.findall(r"(?m)^\$ grader (digest .+)\n(.+)$", TEXT)
    assert CliRunner().invoke(main, words.split()).output.strip() == printed
    assert printed in (ROOT / "grader/exercises/lesson_03/quiz_03.py").read_text("utf-8")


def test_every_folder_is_on_the_map():
    rooms = [f"grader/{path.name}" for path in (ROOT / "grader").iterdir() if (path / "__init__.py").exists()]
    folders = ["lessons", "solutions", "notebooks", "tests", "tools", "demo", "benchmarks", "scripts", "docs", *rooms]
    assert [folder for folder in folders if f"`{folder}/`" not in TEXT] == []


@pytest.mark.parametrize(
    "command", ["make tests", 'make test ARGS="types units"', "grader biuld", "grader new exam", "grader build --chek"]
)
def test_an_unknown_command_is_noticed(command: str):
    assert unknown(command)


def test_a_path_that_is_gone_is_noticed():
    assert paths("[a](docs/nothing.md) `grader/nothing.py` and `word`") == ["docs/nothing.md", "grader/nothing.py"]
    assert not exists("grader/nothing.py")


def test_a_name_that_is_gone_is_noticed():
    said = names(
        "`gone` and `exists` in `tests/test_contributing.py`, `points` in\n`grader/exercises/lesson_NN/NAME.py`"
    )
    assert [is_in(*each) for each in said] == [True, False, True]
