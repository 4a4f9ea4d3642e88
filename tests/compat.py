"""`make compat`: the checks with the oldest and newest versions that pyproject.toml allows, on each Python, and with
Google Colab's. One environment after another is made in `.cache/compat`, and removed when its tests have passed. The
last row is this environment, with a GPU in sight, where there is one: every lesson has to run as it does without.

`python tests/compat.py oldest-3.12 colab -- -k right` makes the environments named and hands pytest the rest. Checks
and marks are compared, printed outputs are not.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parents[1]
PLACE = ROOT / ".cache" / "compat"
UV = str(Path(sys.executable).with_name("uv"))
PYTHONS = ("3.11", "3.12", "3.13")
COLAB = "colab"
GPU = "gpu"
# By name: the Python, and uv's word for which versions are taken. Colab's are in colab.txt.
ENVIRONMENTS = {
    **{f"oldest-{python}": (python, "lowest-direct") for python in PYTHONS},
    **{f"newest-{python}": (python, "highest") for python in PYTHONS},
    COLAB: ("3.13", ""),
}
# Tests that hold with every version: no stored output, no linter, no browser.
TESTED = ("exercises", "learner", "models", "report", "spec", "subject", "views", "insights")
# And what the sandbox lets honest code do: which system calls it makes depends on the versions. Not every machine has
# bubblewrap.
HONEST = "tests/judge/test_honest.py::test_honest_submission_gets_full_marks"
ANY_VERSION = [f"--deselect={HONEST}[confined in bubblewrap", HONEST, *(f"tests/{name}" for name in TESTED)]
# Every lesson with the outputs that are stored, as a learner's kernel runs it.
LESSONS = ["--nbval", "solutions", "notebooks"]
FAILED = "FAILED"
PYTEST = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", "auto", "--dist", "loadfile"]
# What the tests need in Colab's environment beside the course. nbgrader wants a later notebook than there is, for its
# extensions; the build's rules need its preprocessors only.
TOOLS = ["pytest", "pytest-timeout", "pytest-xdist", "jupytext", "babel", "nh3", "tabulate"]
WITHOUT_WHAT_THEY_ASK_FOR = ["nbgrader", "alembic", "mako", "rapidfuzz"]


class NotMade(RuntimeError):
    """An environment could not be made, or isn't what it should be."""


def said(*command: str) -> str:
    """What a command says; `NotMade` if it fails."""
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        raise NotMade(f"{' '.join(command[:4])} ...: {(done.stderr or done.stdout).strip()[-600:]}")
    return done.stdout.strip()


def interpreter(version: str) -> str:
    """A Python of this version: on the path, pyenv's, or one that uv has or can install."""
    own = sorted((Path.home() / ".pyenv" / "versions").glob(f"{version}.*/bin/python"))
    for candidate in (f"python{version}", *map(str, own)):
        try:
            return said(candidate, "-c", "import sys; print(sys.executable)")
        except (NotMade, OSError):  # a name on the path may be a shim without a Python behind it
            continue
    said(UV, "python", "install", version)
    return said(UV, "python", "find", "--managed-python", version)


def make(name: str) -> str:
    """Make an environment; its Python."""
    version, resolution = ENVIRONMENTS[name]
    folder = PLACE / name
    python = str(folder / "bin" / "python")
    said(UV, "venv", "--quiet", "--clear", "--python", interpreter(version), str(folder))
    install = [UV, "pip", "install", "--quiet", "--python", python]
    wanted = folder / "wanted.txt"
    if name == COLAB:
        shutil.copy(ROOT / "tests" / "colab.txt", wanted)
    else:
        compile = [UV, "pip", "compile", "--quiet", "--only-binary", ":all:", "--no-annotate", "--python", python]
        said(*compile, "--resolution", resolution, "--extra", "dev", "--output-file", str(wanted), "pyproject.toml")
    if os.environ.get("TORCH_INDEX"):
        said(*install, "--no-deps", "torch", "-c", str(wanted), "--index-url", os.environ["TORCH_INDEX"])
    said(*install, "-r", str(wanted))
    if name != COLAB:
        said(*install, "--no-deps", "-e", ".")
        return python
    before = installed(python)
    said(*install, "-e", ".")
    said(*install, *TOOLS)
    said(*install, "--no-deps", *WITHOUT_WHAT_THEY_ASK_FOR)
    replaced = sorted(before - installed(python))
    if replaced:
        raise NotMade(f"installing the course replaces {', '.join(replaced)}")
    return python


def installed(python: str) -> set[str]:
    """Names and versions."""
    return set(said(UV, "pip", "freeze", "--python", python).splitlines())


def versions_of(python: str) -> str:
    """Those of Python, torch, numpy and IPython."""
    shown = "import IPython, numpy, sys, torch; print(*map(lambda v: v.split('+')[0].split()[0], "
    shown += "(sys.version, torch.__version__, numpy.__version__, IPython.__version__)))"
    return said(python, "-c", shown)


def passes(python: str, tests: Sequence[str], **variables: str) -> bool:
    """Run tests with an environment's Python, and with these variables set."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", **variables}
    environment["PATH"] = f"{Path(python).parent}{os.pathsep}{environment.get('PATH', '')}"
    return not subprocess.run([python, *PYTEST, *tests], cwd=ROOT, env=environment, check=False).returncode


def with_versions(name: str, options: Sequence[str]) -> tuple[str, str]:
    """Make an environment and test it: its versions, and what came of it."""
    python = make(name)
    versions = versions_of(python)
    tests = ANY_VERSION[:-1] if name == COLAB else ANY_VERSION  # insights are a teacher's
    samples = os.environ.get("SAMPLES", "first")
    if not passes(python, [*tests, *options], SAMPLES=samples, GRADER_PROGRESS="off"):
        return versions, FAILED
    shutil.rmtree(PLACE / name)
    return versions, "passed"


def with_gpu(options: Sequence[str]) -> tuple[str, str]:
    """Run this environment's lessons where torch sees a GPU: the versions, and what came of it."""
    versions = versions_of(sys.executable)
    seen = said(sys.executable, "-c", "import torch; print(torch.cuda.device_count())")
    if seen == "0":
        return versions, "not run: torch sees no GPU here"
    return versions, "passed" if passes(sys.executable, [*LESSONS, *options]) else FAILED


def main(words: list[str]) -> int:
    """Make and test the environments; the exit code is 1 if one could not be made or a test failed."""
    place = words.index("--") if "--" in words else len(words)
    known = [*ENVIRONMENTS, GPU]
    names, options = words[:place] or known, words[place + 1 :]
    unknown = [name for name in names if name not in known]
    if unknown:
        print(f"no environment {unknown[0]!r}; there are: {', '.join(known)}", file=sys.stderr)
        return 2
    rows, failed = [], False
    for name in names:
        start, versions = time.monotonic(), ""
        print(f"\n=== {name} ===", flush=True)
        try:
            versions, outcome = with_gpu(options) if name == GPU else with_versions(name, options)
        except NotMade as error:
            outcome = f"NOT MADE: {error}"
        failed |= outcome.startswith((FAILED, "NOT MADE"))
        rows.append(f"{name:12} {time.monotonic() - start:8.1f}  {versions:32} {outcome}")
    print("\n".join(["", f"{'environment':12} {'seconds':>8}  {'Python, torch, numpy, IPython':32} result", *rows]))
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
