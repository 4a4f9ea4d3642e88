"""A regrade in words: a table for a terminal, one JSON document, or a page."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from grader.batch.changes import ExerciseChange, StudentChange
from grader.batch.printout import listed
from grader.batch.regrade import Regrade
from grader.book.audit import AuditEntry
from grader.book.undo import Undone
from grader.course.called import BY_ID, Called
from grader.handed_in.learners_file import Judged
from grader.judge.words import as_text as shown
from grader.markup import render
from grader.printable import joined, printable

KEPT = "would go down, so the mark stays (--also-down accepts the lower one)"
BY_HAND = "the judge's points have changed; the mark given by hand stays"


def sentence(regrade: Regrade) -> str:
    """How many marks a regrade changes or would change, and how many would go down, in a sentence or two."""
    moving = sum(change.moves for change in regrade.students)
    down = sum(any(exercise.kept for exercise in change.exercises) for change in regrade.students)
    every = len(regrade.students) + regrade.same
    marks = f"{moving or 'none'} of {every} mark{'' if every == 1 else 's'}"
    said = f"{regrade.lesson}: {marks} {'changed' if regrade.accepted else 'would change'}."
    if regrade.accepted:
        said += f" The regrade is number {regrade.accepted} in the audit log."
    students = "1 student would lose points but keeps" if down == 1 else f"{down} students would lose points but keep"
    return f"{said} {students} them." if down else said


def as_text(regrade: Regrade, called: Called = BY_ID) -> str:
    """A regrade as text for a terminal, in which people are `called` so: the sentence, then a table of students and
    exercises."""
    lines = [*(_file(regrade.file) if regrade.file else ()), sentence(regrade)]
    if regrade.changed:
        lines.append(f"Changed since these marks were given: {', '.join(regrade.changed)}.")
    lines += not_released(regrade)
    if _shown(regrade):
        lines += ["", f"{'student, exercise':40} {'before':>7} {'after':>7} {'of':>5}  why"]
    for change in _shown(regrade):
        less = f"  {change.also_down:g} with --also-down" if change.also_down < change.after else ""
        lines.append(
            f"{printable(called(change.student)):40} {change.before:7g} {change.after:7g}      {less}".rstrip()
        )
        for exercise in change.exercises:
            reasons = list(why(exercise))
            figures = f"{exercise.before:7g} {exercise.after:7g} {exercise.points:5g}"
            lines.append(f"  {exercise.exercise:38} {figures}  {reasons[0] if reasons else ''}".rstrip())
            lines += [f"{'':64}{line}" for line in reasons[1:]]
    if regrade.waiting:
        names = joined(map(called, regrade.waiting))
        waiting = f"{len(regrade.waiting)} not graded yet, or changed since grading (run grader autograde): {names}"
        lines += ["", waiting]
    lines += listed("to look at", regrade.problems, called)
    return "\n".join([*lines, *([regrade.stopped] if regrade.stopped else [])])


def not_released(regrade: Regrade) -> list[str]:
    """Lines on the points that no mark can have before the lesson is generated anew; none if there are no such
    points."""
    if not regrade.not_released:
        return []
    force = f"nbgrader generate_assignment {regrade.lesson} --force"
    return [
        "",
        f"The changed points aren't in students' notebooks or the gradebook yet, so no mark uses them. First: {force}",
        *(f"  {sentence}" for sentence in regrade.not_released),
    ]


def _file(judged: Judged) -> Iterator[str]:
    file, result = judged.file, judged.result
    versions = ", ".join(f"{name} {version}" for name, version in file.versions.items())
    learners_mark = f"{file.mark:g} of {file.points:g} points" + (f", {file.mistake}" if file.mistake else "")
    yield printable(
        f"In the learner's file for {file.exercise}, their own check gave {learners_mark} ({versions}). "
        "The judge now gives:"
    )
    yield from (f"  {printable(line)}" for line in shown(result).splitlines())
    yield ""


def _shown(regrade: Regrade) -> list[StudentChange]:
    """The students that are listed: of a preview all whose marks differ, of an acceptance those that it changed."""
    return [change for change in regrade.students if change.moves or not regrade.accepted]


def why(exercise: ExerciseChange) -> Iterator[str]:
    """Why an exercise has other points, a line each."""
    if exercise.kept:
        yield KEPT
    if exercise.by_hand:
        yield BY_HAND
    steps: dict[tuple[str, str], list[str]] = {}
    for part in exercise.parts:
        steps.setdefault((part.before, part.after), []).append(part.part)
        if part.message and part.after == "failed":
            steps[part.before, part.after][-1] += f" ({part.message.splitlines()[0]})"
    for (before, after), parts in steps.items():
        yield printable(f"{before} → {after}: {'; '.join(parts)}")
    yield from map(printable, exercise.why)


def as_json(regrade: Regrade) -> dict[str, Any]:
    """A regrade as plain data, for `--json`."""
    return asdict(regrade)


def as_html(regrade: Regrade, called: Called = BY_ID) -> str:
    """A regrade as an HTML page, in which people are `called` so; it holds no script and loads nothing."""
    return render(
        "batch/regrade.html",
        title=f"A regrade of {regrade.lesson}",
        regrade=regrade,
        sentence=sentence(regrade),
        students=_shown(regrade),
        not_released=[line.strip() for line in not_released(regrade) if line],
        file="\n".join(_file(regrade.file)) if regrade.file else "",
        waiting=joined(map(called, regrade.waiting)),
        why=why,
        printable=printable,
        called=called,
    )


def undone_as_text(undone: Undone, called: Called = BY_ID) -> str:
    """What an undo took back, a line for each student, who is `called` so."""
    entry = undone.entry
    lines = [f"{undone.lesson}: entry {entry.id} in the audit log ({entry.action}, {entry.when}) has been undone."]
    lines += [f"  {printable(called(who))}: {before:g} → {after:g}" for who, (before, after) in undone.marks.items()]
    lines += [f"  {printable(called(who))}: {said}" for who, said in undone.stays.items()]
    return "\n".join(lines)


def undone_as_json(undone: Undone) -> dict[str, Any]:
    """What an undo took back as plain data, for `--json`."""
    about = {"lesson": undone.lesson, "undone": undone.entry.id, "action": undone.entry.action}
    return about | {"marks": undone.marks, "stays": undone.stays}


def log_as_text(entries: list[AuditEntry], called: Called = BY_ID) -> str:
    """The entries of the audit log as text, below each the students, who are `called` so."""
    lines = []
    for entry in entries:
        about = f" of number {entry.undoes}" if entry.undoes else ""
        version = " ".join(word for word in (entry.course, entry.version) if word)
        lines.append(f"{entry.id}  {entry.when}  {printable(entry.who)}  {entry.action}{about}  (version {version})")
        if entry.changed:
            lines.append(f"     what had changed: {', '.join(entry.changed)}")
        for who, noted in entry.students.items():
            cells = ", ".join(f"{name} {pair[0]:g} → {pair[1]:g}" for name, pair in noted.cells.items())
            details = "; ".join(said for said in (cells, printable(noted.why)) if said)
            lines.append(
                f"     {printable(called(who))}: {noted.before:g} → {noted.after:g}{f' ({details})' if details else ''}"
            )
    return "\n".join(lines) or "Nothing has been accepted, overridden or undone yet."
