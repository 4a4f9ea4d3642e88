"""`grader watch`: marks and feedback as submissions arrive."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from grader.cli.teachers import FOLDER, teachers_packages
from grader.interrupt import stopped


@click.command()
@FOLDER
@click.option(
    "--workers", type=click.IntRange(min=2), help="Processes on this machine.  [default: one per core, at least two]"
)
@click.option("--scheduler", metavar="ADDRESS", help="Grade on the Dask cluster of this scheduler instead.")
@click.option("--add-students", is_flag=True, help="Also grade students who aren't on the roster, and add them.")
@click.option(
    "--port",
    type=click.IntRange(min=0, max=65535),
    help="Serve the page to this machine too, at an address that is printed; 0 for any free port.",
)
@stopped("Start the watch again, and it does what is left.")
def watch(folder: Path, workers: int | None, scheduler: str | None, add_students: bool, port: int | None) -> None:
    """Collect, grade and release feedback in the course directory DIR as submissions arrive in nbgrader's exchange.

    It runs until Ctrl+C or SIGTERM. It may also be killed; when started again, it goes on where it was.
    DIR/watch.html shows what arrives, what it earns, which mistakes are frequent, and any problems.
    """
    with teachers_packages():
        from grader.watch.service import Watch, WatchOptions

        Watch(folder, WatchOptions(workers, scheduler, add_students, port), sys.stderr).run()
