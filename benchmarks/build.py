"""How long `grader build` takes: from nothing, with one lesson changed, with nothing changed, and `--check`.

Runs the command itself in a copy of the repository's lessons, so that nothing here is written. With arguments, of the
lessons whose files begin so: `python benchmarks/build.py 01 02`.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).parents[1]
GRADER = [str(Path(sys.executable).parent / "grader"), "build"]


def copy_of_repository(folder: Path, numbers: tuple[str, ...]) -> None:
    """Copy everything that a build reads, of the lessons whose numbers are given (or all); its kernels import the
    installed grader."""
    for name in ("lessons", "grader"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "requirements.lock"):
        shutil.copy(ROOT / name, folder)
    for lesson in (folder / "lessons").glob("*.py"):
        if numbers and not lesson.name.startswith(numbers):
            lesson.unlink()


def edit_one_lesson(folder: Path) -> None:
    """Add a few words to the last lesson, as an author would."""
    last = sorted((folder / "lessons").glob("*.py"))[-1]
    last.write_text(last.read_text("utf-8") + "\n# %% [markdown]\n# One more sentence.\n", "utf-8")


def seconds(folder: Path, *options: str) -> float:
    """The seconds that one build takes, by the clock."""
    environment = {name: value for name, value in os.environ.items() if name != "CI"}  # CI ignores the cache
    start = time.monotonic()
    subprocess.run([*GRADER, *options], cwd=folder, env=environment, check=True, stdout=subprocess.DEVNULL)
    return time.monotonic() - start


def main() -> None:
    """Print the table."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        copy_of_repository(folder, tuple(sys.argv[1:]))
        number = len(list((folder / "lessons").glob("*.py")))
        print(f"grader build, {number} lesson(s), {os.cpu_count()} cores\n")
        steps: list[tuple[str, Callable[[], object], tuple[str, ...]]] = [
            ("from nothing", lambda: None, ()),
            ("nothing changed", lambda: None, ()),
            ("one lesson changed", lambda: edit_one_lesson(folder), ()),
            ("--check", lambda: None, ("--check",)),
        ]
        for title, prepare, options in steps:
            prepare()
            print(f"{title:20} {seconds(folder, *options):7.1f} s", flush=True)


if __name__ == "__main__":
    main()
