"""nbgrader's commands, each nbgrader's own application with its own arguments, as its console script starts it.

They run in forks of one process that has imported nbgrader and the judge: the seconds that this takes are paid once.
"""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache


def nbgrader(steps: Sequence[Sequence[str]], environment: Mapping[str, str]) -> tuple[int, str]:
    """Run [folder, argument, ...] one after another in one process; its exit code, and what it said."""
    with tempfile.NamedTemporaryFile("r", encoding="utf-8", errors="replace") as said:
        request = {"steps": [list(step) for step in steps], "environment": dict(environment), "said": said.name}
        server = _server()
        assert server.stdin is not None
        assert server.stdout is not None
        server.stdin.write(json.dumps(request) + "\n")
        server.stdin.flush()
        return int(server.stdout.readline()), said.read()


@cache
def _server() -> subprocess.Popen[str]:
    """Ends when this process does: nobody writes to it any more."""
    return subprocess.Popen([sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def _run(folder: str, *arguments: str) -> None:
    """One command in a folder, which is its user's home; `SystemExit` as the command gives it."""
    from jupyter_core.application import NoStart
    from nbgrader.apps.nbgraderapp import NbGraderApp

    os.chdir(folder)
    os.environ["JUPYTER_DATA_DIR"] = os.path.join(folder, ".jupyter_data")  # there lie copies of what was submitted
    print("$ nbgrader", *arguments, flush=True)
    app = NbGraderApp.instance()
    try:
        app.initialize(list(arguments))
        with suppress(NoStart):  # what jupyter raises when a subcommand has done the work
            app.start()
    finally:
        if app.subapp is not None:
            app.subapp.clear_instance()
        NbGraderApp.clear_instance()


def _in_child(steps: list[list[str]], environment: dict[str, str], said: str) -> None:
    os.environ.clear()
    os.environ.update(environment)
    nothing, log = os.open(os.devnull, os.O_RDONLY), os.open(said, os.O_WRONLY | os.O_APPEND)
    for here, there in ((nothing, 0), (log, 1), (log, 2)):
        os.dup2(here, there)
    for step in steps:
        try:
            _run(*step)
        except SystemExit as done:
            if done.code:
                raise
    raise SystemExit(0)


def remember_schema() -> None:
    """nbgrader asks a program, alembic, for the version of its schema whenever it makes a gradebook: ask once."""
    import nbgrader.api

    from grader.nbgrader_settings import programs_on_path

    programs_on_path()
    nbgrader.api.get_alembic_version = cache(nbgrader.api.get_alembic_version)
    nbgrader.api.get_alembic_version()


def _serve() -> None:
    import nbgrader.apps.nbgraderapp  # noqa: F401

    from grader.exercises.registry import exercises
    from grader.feedback import page  # noqa: F401
    from grader.nbgrader_plugins import autograde, hand_out  # noqa: F401

    exercises()
    remember_schema()
    gc.freeze()  # else a fork's first collection copies all of it
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            _in_child(**json.loads(line))
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)


if __name__ == "__main__":
    _serve()
