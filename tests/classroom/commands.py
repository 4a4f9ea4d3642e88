"""Runs several nbgrader commands one after another in one process: `python commands.py STEPS`, a JSON list of
[folder, argument, ...]. Each is nbgrader's own application with its own arguments, as its console script starts it;
only the second that Python takes to import nbgrader is paid once.
"""

from __future__ import annotations

import json
import os
import sys
from contextlib import suppress

from jupyter_core.application import NoStart
from nbgrader.apps.nbgraderapp import NbGraderApp


def run(folder: str, *arguments: str) -> None:
    """One command in a folder, which is its user's home; `SystemExit` as the command gives it."""
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


for step in json.loads(sys.argv[1]):
    try:
        run(*step)
    except SystemExit as done:
        if done.code:
            raise
