"""The authors' commands: `grader build`, `grader mutants`, `grader new`, `grader digest` and `grader release`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from grader.cli.elsewhere import VISIBILITY
from grader.errors import CommandFailed, CourseError
from grader.interrupt import stopped
from grader.printable import echo

if TYPE_CHECKING:
    from grader.authoring import Repository


def _repository() -> Repository:
    """The repository around the current folder. `CourseError` if there is none, or without the `dev` extra, which
    learners and teachers don't have."""
    try:
        import jupytext  # noqa: F401

        from grader.authoring import Repository, find_root
    except ModuleNotFoundError as error:
        raise CourseError(f"{error.name} is not installed. Authors need: pip install -e '.[dev]'") from error
    from grader.exercises.registry import exercises

    return Repository(find_root(Path.cwd()), exercises())


@click.command()
@click.argument("lessons", metavar="[LESSON]...", nargs=-1)
@click.option("--check", is_flag=True, help="Run nothing, and exit with 1 if a rebuild would change a notebook.")
@click.option(
    "--jobs",
    type=click.IntRange(min=1),
    default=os.cpu_count(),
    help="How many lessons run at once.  [default: one per core]",
)
@click.option("--no-cache", is_flag=True, help="Run unchanged lessons too. Setting CI=true has the same effect.")
@click.option("--keep-outputs", is_flag=True, help="Run nothing, and keep the outputs where the code hasn't changed.")
@click.option("--states", is_flag=True, help="Write only what the views show, and leave the notebooks as they are.")
@click.option(
    "--set-aside", is_flag=True, help="Keep what somebody wrote in notebooks/ as NAME.ipynb.yours, and build."
)
@stopped("The finished lessons are written and the others are as they were. Run the command again to build the rest.")
def build(
    lessons: tuple[str, ...],
    check: bool,
    jobs: int,
    no_cache: bool,
    keep_outputs: bool,
    states: bool,
    set_aside: bool,
) -> None:
    """Build solutions/ and notebooks/ from lessons/ and, for the site, what their views show.

    LESSON is a lesson's name, number or file; without it, all lessons are built.
    """
    repository = _repository()
    from grader import authoring

    if check:
        authoring.verify(repository, lessons)
        echo("solutions/ and notebooks/ are up to date, so a build wouldn't change them.")
    else:
        use_cache = not no_cache and os.environ.get("CI", "").lower() not in ("true", "1")
        authoring.build(
            repository,
            lessons,
            jobs=jobs,
            use_cache=use_cache,
            tell=echo,
            keep_outputs=keep_outputs,
            only_states=states,
            set_aside_written=set_aside,
        )


@click.command()
@click.argument("exercises", metavar="[EXERCISE]...", nargs=-1)
@click.option(
    "--jobs",
    type=click.IntRange(min=1),
    default=os.cpu_count(),
    help="How many checks run at once.  [default: one per core]",
)
@click.option("--no-help", is_flag=True, help="Also list changes whose report has neither a name nor a hint.")
@click.option(
    "--seeds",
    type=click.IntRange(min=1),
    default=3,
    show_default=True,
    help="How many draws of inputs each change is tried with: a learner's, and those of courses.",
)
@stopped("Nothing is stored, so run the command again, or run it for a few exercises only.")
def mutants(exercises: tuple[str, ...], jobs: int, no_help: bool, seeds: int) -> None:
    """Change the model solutions in small ways, and see whether the checks notice.

    It prints a table and every change that passes without being listed as a right answer, or that passes with some
    inputs only. If there is such a change, the exit code is 1. EXERCISE is the name of an exercise, which takes from
    some seconds to a few minutes; without it, all are tried, which takes an hour.
    """
    _repository()  # says what is missing
    from grader.authoring import mutant_runs as mutation

    if not mutation.report(exercises, jobs, echo, no_help, seeds):
        raise SystemExit(1)


@click.command()
@click.argument("language", default="ko")
@click.argument("catalogues", metavar="[CATALOGUE]...", nargs=-1)
@click.option("--check", is_flag=True, help="Change nothing, and exit with 1 if an entry is missing or faulty.")
@click.option("--forget", is_flag=True, help="Drop the entries whose English text is gone.")
@stopped("The catalogues written so far are up to date. Run the command again for the rest.")
def translate(language: str, catalogues: tuple[str, ...], check: bool, forget: bool) -> None:
    """Bring the catalogues of LANGUAGE, translations/LANGUAGE/, up to date with the English texts.

    What is unchanged keeps its translation; where the English text has changed, the entry becomes fuzzy. With --check,
    CATALOGUE limits what is looked at: a name such as words, a file, or a lesson's number.
    """
    repository = _repository()
    from grader.authoring.translation import translate as command

    if not check:
        command.merge(repository, language, forget, echo)
        return
    names = command.names_of(repository, language, catalogues)
    folder = command.folder_of(repository.root, language)
    found = list(command.problems(folder, language, command.read_all(folder), names))
    found += [] if catalogues else command.outdated(repository, language)
    if found:
        raise CommandFailed("\n".join([*found, f"Found: {len(found)}."]))
    echo(f"Complete, and without a fault: {', '.join(names)}.")


@click.group()
def new() -> None:
    """Write the files of a new exercise or lesson, with TODO wherever something is to be filled in."""


@new.command()
@click.argument("lesson")
@click.argument("name")
@stopped("The files written so far stay. Look at them with git status, and run the command again.")
def exercise(lesson: str, name: str) -> None:
    """Make a new exercise NAME in LESSON (its name or number).

    A function's name is in snake_case, a module's is in CamelCase, and a lesson's quiz is called quiz_NN.
    """
    repository = _repository()
    from grader.authoring.new import new_exercise

    _show_written(new_exercise(repository, lesson, name), lesson)
    if not name.startswith("quiz_"):
        echo(f"Once the exercise is finished, see what its check doesn't notice: grader mutants {name}")


@new.command("lesson")
@click.argument("number", metavar="NN")
@click.argument("name")
@stopped("The files written so far stay. Look at them with git status, and run the command again.")
def new_lesson(number: str, name: str) -> None:
    """Make a new lesson NN_NAME, with a quiz."""
    repository = _repository()
    from grader.authoring.new import new_lesson as write

    _show_written(write(repository, number, name), number)


def _show_written(paths: list[Path], lesson: str) -> None:
    for path in paths:
        echo(path.as_posix())
    echo(f"Fill in every TODO. To see what is still missing: grader build {lesson}")


@click.command()
@click.argument("key")
@click.argument("answer")
@stopped("Nothing was written.")
def digest(key: str, answer: str) -> None:
    """Print the digest of ANSWER, the right letter for the question KEY, as a line to paste into quiz_NN.py."""
    from grader.spec.answers import answer_digest, normal

    echo(f'"{answer_digest(key, normal(answer))}",')


@click.command()
@click.option("--teacher", is_flag=True, help="Make the teacher's package, whose wheel has the model solutions.")
@click.option("--gradescope", metavar="LESSON", help="Make the package that grades LESSON on Gradescope.")
@click.option("--prairielearn", metavar="LESSON", help="Make the package that grades LESSON on PrairieLearn.")
@click.option("--wheel", "address", metavar="ADDRESS", default="", help="Where students' notebooks find the wheel.")
@click.option("--visibility", type=click.Choice(VISIBILITY), default="visible", help="When Gradescope shows results.")
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), default=Path("dist"), show_default=True)
@stopped("An earlier package stays as it was. Run the command again.")
def release(
    teacher: bool, gradescope: str | None, prairielearn: str | None, address: str, visibility: str, out: Path
) -> None:
    """Write the student's package, one zip with notebooks, wheel and set-up files.

    Where the course isn't installed, as on Google Colab, the first cell of its notebooks installs it from the
    wheel beside the notebook, or from the ADDRESS at which you put the wheel.
    """
    if sum(map(bool, (teacher, gradescope, prairielearn))) > 1:
        raise CourseError("Make one package at a time, with --teacher, --gradescope or --prairielearn.")
    repository = _repository()
    from grader.authoring.release import STUDENT, TEACHER, platform_release
    from grader.authoring.release import release as pack

    if gradescope:
        echo(platform_release(repository, out, "gradescope", gradescope, visibility))
    elif prairielearn:
        echo(platform_release(repository, out, "prairielearn", prairielearn))
    else:
        echo(pack(repository, out, TEACHER if teacher else STUDENT, address))
