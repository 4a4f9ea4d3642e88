"""`grader autograde`: the class at once."""

from __future__ import annotations

import gc
import json
from pathlib import Path

import click


@click.command()
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.argument("lesson")
@click.option("--workers", type=click.IntRange(min=1), help="Processes on this machine.  [default: one a core]")
@click.option("--scheduler", metavar="ADDRESS", help="Grade on the Dask cluster of this scheduler instead.")
@click.option("--force", is_flag=True, help="Grade everybody anew.")
@click.option("--json", "as_document", is_flag=True, help="Print one JSON document and nothing else.")
def autograde(
    folder: Path, lesson: str, workers: int | None, scheduler: str | None, force: bool, as_document: bool
) -> None:
    """Grade every submission of LESSON in the course directory DIR and fill the gradebook.

    LESSON is the lesson's name or number. What is graded already and hasn't changed is left as it is; a run that was
    interrupted is taken up again. Exit code 1 if anything could not be graded: the list says why.
    """
    gc.disable()  # until all is imported, which makes no garbage: looking for it takes a tenth of the time
    try:
        from grader.batch.run import Options, run
    except ModuleNotFoundError as error:
        from grader.errors import CourseError

        raise CourseError(f"{error.name} is not installed. Teachers need: pip install -e .") from error
    outcome = run(folder, lesson, Options(workers, scheduler, force))
    from grader.batch import report

    click.echo(json.dumps(report.as_json(outcome), indent=1) if as_document else report.as_text(outcome))
    # Or the interpreter looks through a million objects for garbage once more before it ends: a quarter of a second.
    gc.freeze()
    if outcome.problems or outcome.stopped:
        raise SystemExit(1)
