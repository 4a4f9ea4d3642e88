"""A teacher's own exercise in a course directory: its skeleton, its cells in a lesson, its test."""

from __future__ import annotations

import ast
import keyword
import re
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import nbformat

from grader.atomic import write_atomically
from grader.authoring import mutant_runs
from grader.authoring.mutants import derive
from grader.authoring.new import FUNCTION, MODULE, WORDS_INSIDE, filled, mistakes_of
from grader.authoring.notebook import dumps, loads, nbgrader_metadata
from grader.authoring.samples import UNLISTED, Sample, lacks, read
from grader.authoring.unfinished import places
from grader.errors import CourseError
from grader.exercises.own import FOLDER, OwnFiles, file_of, is_taken, text_in
from grader.exercises.registry import exercises, files_for
from grader.report import Report
from grader.spec.evaluate import evaluate
from grader.spec.exercise import Exercise
from grader.subject import Request
from grader.subject.local import LocalSubject

ANSWERS = f"{FOLDER}/answers"
EQUIVALENT = Path(ANSWERS, "equivalent_mutants.toml")
SEEDS = (("practice", False), (b"a secret", True))  # a learner's check, and a judge's
TEXT = "TODO what it takes and what it returns, and a small example with numbers."
Tell = Callable[[str], object]


def answers_of(name: str) -> str:
    """The path, in a course directory, of the file with the right and wrong answers to an exercise."""
    return f"{ANSWERS}/{name}.py"


def write_skeleton(root: Path, name: str) -> list[str]:
    """Write those files of a teacher's new exercise that aren't there yet; returns their paths in the course directory.
    `CourseError` for a name that can't be an exercise's, or that the course itself has."""
    if not (FUNCTION.fullmatch(name) or MODULE.fullmatch(name)) or keyword.iskeyword(name):
        raise CourseError(
            f"{name!r} can't be the name of an exercise: functions are named in snake_case (row_sums), modules "
            "in CamelCase (RowSums), and a quiz's name begins with quiz_."
        )
    if is_taken(name):
        raise CourseError(f"The course has its own {name}. Give yours another name.")
    kind = "module" if MODULE.fullmatch(name) else "quiz" if name.startswith("quiz_") else "function"
    imported = "Mistake, " if kind == "module" else "from grader.spec.exercise import Mistake\n"
    fields = {"name": name, "imported": imported, **mistakes_of(kind, WORDS_INSIDE)}
    files = {file_of(name): filled(kind, **fields), answers_of(name): filled(f"{kind}_samples", **fields)}
    files = {path: text for path, text in files.items() if not (root / path).exists()}
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, "utf-8")
    return list(files)


def put_into(root: Path, notebook: Path, name: str) -> int:
    """Put an exercise's cells into an instructor's notebook, before its quiz or else at its end; returns the number of
    the first of them, counted from 1. `CourseError` if the exercise has no file, or is in the notebook already."""
    exercise = exercises(_files(root, name))[name]
    document = loads(notebook.read_text("utf-8"))
    for number, cell in enumerate(document.cells, 1):
        if cell.metadata.get("course", {}).get("exercise") == name:
            raise CourseError(f"{notebook.name} already has the exercise {name}, in cell {number}.")
    index = _place(document.cells)
    document.cells[index:index] = _cells(exercise)
    write_atomically(notebook, dumps(document))
    return index + 1


def _place(cells: list[Any]) -> int:
    """The index at which an exercise's cells go in: before the quiz and the text above it, or else at the end."""
    quiz = next((i for i, cell in enumerate(cells) if cell.metadata.get("course", {}).get("kind") == "answers"), None)
    if quiz is None:
        return len(cells)
    while quiz > 0 and cells[quiz - 1].cell_type == "markdown":
        quiz -= 1
    return quiz


def _cells(exercise: Exercise) -> list[Any]:
    name, points = exercise.name, exercise.points
    graded = {"grade": True, "locked": True, "points": int(points) if points == int(points) else points}
    flags = {"solution": nbgrader_metadata(name, solution=True), "check": nbgrader_metadata(f"{name}-check", **graded)}
    template = "quiz_cells" if exercise.kind == "answers" else f"{exercise.kind}_cells"
    filled_in = filled(template, name=name, section="", exercise_number="")
    *above, solution, check = [text.partition("\n")[2].strip() for text in filled_in.split("# %% ")[1:]]
    text = re.sub("(?m)^# ?", "", above[0]).partition("of 5\n\n")[2] if above else TEXT  # a quiz has its questions
    heading = f"### Exercise: `{name}`\n\n{text}"
    cells = [nbformat.v4.new_markdown_cell(heading, id=f"{name}-heading")]
    for (role, nbgrader), source in zip(flags.items(), (solution, check), strict=True):
        about = {"role": role, "exercise": name, "kind": exercise.kind}
        metadata = nbformat.from_dict({"course": about, "nbgrader": nbgrader})
        cells.append(nbformat.v4.new_code_cell(source, id=f"{name}-{role}", metadata=metadata))
    return cells


def _files(root: Path, name: str) -> OwnFiles:
    found = files_for(name, lambda file: text_in(root, file))
    if not found:
        raise CourseError(f"There is no {root / file_of(name)}. To write one: grader course exercise {root} {name}")
    return found


def try_out(root: Path, name: str, jobs: int, tell: Tell) -> bool:
    """Try an exercise's right and wrong answers and the mutants of the first right one; returns whether all is as it
    should be. `tell` gets every line; `jobs` processes run the mutants. `CourseError` if there is no such exercise."""
    own = _files(root, name)
    unfinished = list(places(root, root / file_of(name)))
    for problem in unfinished:
        tell(str(problem))
    exercise = exercises(own)[name]
    path = root / answers_of(name)
    samples = read(path) if path.is_file() else []
    problems = [] if unfinished else [*_wrong_with(exercise, samples, own)]
    for line in problems:
        tell(f"{answers_of(name)}: {line}")
    right = [sample for sample in samples if not sample.mistake]
    if unfinished or not right:
        return False
    tell(f"Tried {len(right)} right and {len(samples) - len(right)} wrong answers.")
    if exercise.kind == "answers":
        return not problems
    survivors = _survivors(root, exercise, right[0], own, jobs, tell)
    return not problems and not survivors


def _wrong_with(exercise: Exercise, samples: list[Sample], own: OwnFiles) -> Iterator[str]:
    if exercise.kind != "answers":
        yield from lacks(exercise, samples)
    weight = sum(part.weight for part in exercise.parts)
    if sum(part.weight for part in exercise.parts if part.compares_values) < weight / 2:
        yield "the parts that compare values earn less than half of the points, so a nonsense answer would get the rest"
    listed = {mistake.id for mistake in exercise.mistakes}
    for sample in samples:
        title = f"wrong {sample.mistake}: {sample.title}" if sample.mistake else f"right: {sample.title}"
        for seed, larger in SEEDS:
            said = _verdict(exercise, sample, own, listed, seed, larger)
            if said:
                yield f"{title}: {said}"
                break


def _verdict(
    exercise: Exercise, sample: Sample, own: OwnFiles, listed: set[str], seed: str | bytes, larger: bool
) -> str:
    """What is wrong with the report of an answer; "" if nothing is. `listed` are the ids of the exercise's mistakes;
    `seed` and `larger` choose the check's inputs."""
    subject = LocalSubject({"__name__": "__main__"})
    ran = subject.ask(Request("run", source=sample.source, seconds=60))
    if not ran.ok:
        return f"the cell can't be run: {ran.raised.name}: {ran.raised.message}" if ran.raised else "it can't be run"
    report = evaluate(exercise, subject, seed=seed, larger=larger, exercises=exercises(own))
    if report.broken:
        return f"the check itself fails: {report.traceback}"
    if not sample.mistake:
        failure = report.first_failure
        return "" if failure is None else f"it should pass, but doesn't: {failure.name}: {failure.message}"
    if report.passed:
        return "it passes, but should lose points"
    return _misnamed(report, sample.mistake, listed)


def _misnamed(report: Report, mistake: str, listed: set[str]) -> str:
    named = f"is named {report.diagnosis}" if report.diagnosis else "has no name"
    if mistake == UNLISTED:
        return f"it {named}, but none of the listed mistakes should fit it" if report.diagnosis in listed else ""
    return "" if report.diagnosis == mistake else f"it {named}, expected {mistake}"


def _survivors(root: Path, exercise: Exercise, right: Sample, own: OwnFiles, jobs: int, tell: Tell) -> list[str]:
    """Tell a table of the mutants of a right answer, and return a line for each that is left to be looked at.
    `CourseError` if the list of equivalent ones can't be read."""
    path = root / EQUIVALENT
    try:
        listed = tomllib.loads(path.read_text("utf-8")) if path.is_file() else {}
    except (ValueError, OSError) as error:
        raise CourseError(f"{EQUIVALENT}: {error}") from None
    derived = derive(exercise, _in_context(right))
    results = mutant_runs.run_all([replace(mutant, own=own) for mutant in derived], jobs)
    tell(mutant_runs.table(results, listed))
    left = [*mutant_runs.stale([exercise.name], results, listed, EQUIVALENT), *mutant_runs.unsettled(results, listed)]
    for line in left:
        tell(line)
    return left


def _in_context(answer: Sample) -> tuple[str, str]:
    """What stands before an answer's definition in its source, and the rest, which is the answer."""
    body = ast.parse(answer.source).body
    names = [getattr(node, "name", "") for node in body]
    start = names.index(answer.exercise) if answer.exercise in names else 0
    before, solution = (ast.unparse(ast.Module(part, [])) for part in (body[:start], body[start:]))
    return before, solution
