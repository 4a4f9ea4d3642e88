"""`make demo`: the term of docs/teaching.md, run as it is written there.

Every command of the page is run, its output printed and compared with what the page shows. In a temporary folder, which
goes at the end; with --keep FOLDER in a new folder that stays. Exit code 1 if anything differs from the page.
"""

from __future__ import annotations

import argparse
import contextlib
import doctest
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
BIN = Path(sys.executable).parent
PAGE = ROOT / "docs" / "teaching.md"
HEADING, BLOCK = re.compile(r"#+ (.*)"), re.compile(r"```(\w*)")


@dataclass
class Step:
    """A command of the page. `shown` is what the page says that it prints; "..." stands for anything."""

    heading: str
    command: str
    shown: str = ""


def steps(text: str) -> Iterator[Step]:
    """The commands of a page: what follows "$ " in its console blocks. What it prints stands below."""
    heading, block, step = "", "", None
    for line in text.splitlines():
        if match := BLOCK.match(line):
            if step is not None:
                yield step
            block, step = ("" if block else match[1] or "text"), None
        elif block == "console" and line.startswith("$ "):
            if step is not None:
                yield step
            step, heading = Step(heading, line[2:]), ""
        elif block == "console" and step is not None:
            step.shown += f"{line}\n"
        elif not block and (match := HEADING.match(line)):
            heading = match[1]


def run(command: str, folder: Path) -> str:
    """What a command prints, and its exit code if that isn't 0. What it says beside it (its progress, nbgrader's log)
    is printed only if it fails."""
    environment = {**os.environ, "PATH": f"{BIN}{os.pathsep}{os.environ.get('PATH', os.defpath)}"}
    shell = ["bash", "-c", command]
    done = subprocess.run(shell, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    if done.returncode > 1 or (done.returncode and not done.stdout):
        return f"{done.stdout}{done.stderr[-3000:]}[exit code {done.returncode}]\n"
    return done.stdout + (f"[exit code {done.returncode}]\n" if done.returncode else "")


def as_shown(shown: str, printed: str) -> bool:
    """Whether a command prints what the page shows; where it shows nothing, whether it ended well."""
    if not shown:
        return "[exit code" not in printed
    return doctest.OutputChecker().check_output(shown, printed, doctest.ELLIPSIS)


def walk(text: str, folder: Path) -> tuple[Path, list[str]]:
    """Run a page in a folder; the folder that it ends in, and the commands that don't print what it shows."""
    different = []
    for step in steps(text):
        if step.heading:
            print(f"\n== {step.heading} ==", flush=True)
        print(f"\n$ {step.command}", flush=True)
        if step.command.startswith("cd "):
            folder = folder / step.command.removeprefix("cd ")
            continue
        printed = run(step.command, folder)
        print(printed, end="", flush=True)
        if not as_shown(step.shown, printed):
            different.append(step.command)
            print(f"[the page shows:]\n{step.shown or '(no error)'}")
    return folder, different


def main(arguments: list[str], page: Path = PAGE) -> int:
    """Run the page; 0 if all is as it is written there."""
    sys.path.insert(0, str(ROOT))
    from demo.moodle import write

    parser = argparse.ArgumentParser(prog="python -m demo", description=__doc__)
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="a new folder, which stays")
    kept = parser.parse_args(arguments).keep
    with tempfile.TemporaryDirectory(prefix="attention-demo-") as temporary:
        folder = (kept or Path(temporary)).resolve()
        write(folder / "moodle")
        print(f"What the learning platform gives is in {folder / 'moodle'}")
        course, different = walk(page.read_text("utf-8"), folder)
        print("\nLook around, with Formgrader in JupyterLab:")
        print(f"  cd {shlex.quote(str(course))}")
        print(f"  {shlex.join([str(BIN / 'jupyter'), 'lab', *(['--allow-root'] if os.geteuid() == 0 else [])])}")
        if kept is None and sys.stdin.isatty():
            with contextlib.suppress(KeyboardInterrupt, EOFError):
                input("Enter removes it all. ")
    if kept is None:
        print(f"{folder} is removed. To keep it: make demo ARGS='--keep FOLDER'")
    for command in different:
        print(f"Not as {page.name} shows it: {command}", file=sys.stderr)
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
