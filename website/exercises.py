"""The page of an exercise: its text, its unfinished cell, what is checked, and hints that are folded. Never a solution,
unless the build is for teachers."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterable, Iterator
from html import escape
from pathlib import Path

from grader.authoring.lesson import Lesson
from grader.authoring.prose import about, difficulty
from grader.languages import shown
from grader.markup import inline
from grader.sentences import say, together
from grader.spec.answers import Question
from grader.spec.exercise import Exercise, Mistake, axes_in_words
from website.course import Course, points_of, title_of
from website.lessons import without_marks
from website.pages import write
from website.references import from_lesson, to_terms

HEADING = re.compile(r"(?m)^### [^`\n]*`(\w+)`[^`\n]*\n")
NEXT = re.compile(r"(?m)^(?:<a id|##+ )")
LIST = "of_lesson_"  # how the names of pages begin that list a lesson's exercises


def write_exercises(course: Course, folder: Path) -> None:
    """Write `exercises/NAME.md` for every exercise, a page that lists those of each lesson, and one that lists all."""
    target = folder / "exercises"
    for exercise in course.exercises.values():
        write(course, target / f"{exercise.name}.md", exercise_page, exercise)
    for lesson in course.lessons.values():
        write(course, target / f"{LIST}{lesson.number}.md", _list_of_lesson, lesson)
    write(course, target / "index.md", _list)


def exercise_page(course: Course, exercise: Exercise) -> str:
    """The exercise's page as MyST markdown."""
    lesson = course.lessons[exercise.lesson]
    minutes = about(_minutes(course, exercise))
    where = shown(say("Lesson {number}, {title}", number=lesson.number, title=title_of(lesson)))
    facts = say(
        "{lesson} · {points} · difficulty {level} of 5 · {minutes}",
        lesson=f"[{where}](../lessons/{lesson.name}.ipynb)",
        points=points_of(exercise),
        level=course.level(exercise),
        minutes=minutes,
    )
    pieces = [f"# {exercise.name}", shown(facts), _statement(course, exercise), *_cells(course, exercise)]
    pieces += [*_returns(exercise), *_parts(exercise), *_hints(exercise)]
    return "\n\n".join(pieces) + "\n"


def _minutes(course: Course, exercise: Exercise) -> float:
    return course.times[exercise.lesson].exercises.get(exercise.name, 0)


def _statement(course: Course, exercise: Exercise) -> str:
    """The exercise's text in its lesson, its folded advice included."""
    lesson = course.lessons[exercise.lesson]
    stated = shown(difficulty(course.level(exercise), _minutes(course, exercise)))
    for cell in course.solved(lesson).cells:
        found = next((one for one in HEADING.finditer(cell.source) if one[1] == exercise.name), None)
        if found and cell.cell_type == "markdown":
            text = cell.source[found.end() :].replace(f"{stated}\n", "", 1)
            after = NEXT.search(text)
            text = text[: after.start()] if after else text
            return to_terms(course, from_lesson(text, lesson.name)).strip()
    return ""


def _cells(course: Course, exercise: Exercise) -> Iterator[str]:
    lesson = course.lessons[exercise.lesson]
    name = f"{exercise.name}-solution"
    cell = next(cell for cell in course.students(lesson).cells if cell.id == name)
    yield f"## {shown('What you get')}\n\n```python\n{cell.source}\n```"
    if course.solutions:
        solved = next(cell for cell in course.solved(lesson).cells if cell.id == name)
        source = without_marks(solved.source)
        summary = shown(say("A model solution"))
        yield f'<details class="solution"><summary>{summary}</summary>\n\n```python\n{source}\n```\n\n</details>'


def _returns(exercise: Exercise) -> Iterator[str]:
    if exercise.outputs:
        rows = "\n".join(
            f"| {shown(output.name)} | `({', '.join(output.axes.split())})` | {_words(output.axes)} |"
            for output in exercise.outputs
        )
        head = _row(say("result"), say("shape"), say("in words"))
        yield f"## {shown('What comes back')}\n\n{head}\n| --- | --- | --- |\n{rows}"
        yield shown("The letters are those of [all lessons](../glossary.md#letters).")


def _words(axes: str) -> str:
    """Axes in words, with the field's names, and the leading ones as three dots."""
    said = axes_in_words(axes)
    return said.partition(": ")[2] or shown(said)


def _parts(exercise: Exercise) -> Iterator[str]:
    """The lines on what earns the points."""
    whole = sum(part.weight for part in exercise.parts)
    rows = "\n".join(f"| {shown(part.name)} | {exercise.points * part.weight / whole:.2g} |" for part in exercise.parts)
    head = _row(say("question") if exercise.kind == "answers" else say("what is checked"), say("points"))
    yield f"## {shown('What is checked')}\n\n{head}\n| --- | --- |\n{rows}"
    for exclusion in exercise.excluded:
        yield shown(say("You have to do without {what}.", what=say(exclusion.title)))


def _row(*heads: str) -> str:
    """The first row of a table."""
    return f"| {' | '.join(map(shown, heads))} |"


def _hints(exercise: Exercise) -> Iterator[str]:
    """The lines of the hints, folded: of a mistake the first hint says least, and holds the next."""
    questions = _questions(exercise)
    if questions:
        folds = "\n".join(_fold(f"<code>{escape(key)}</code>", [hint]) for key, hint in questions)
    else:
        folds = "\n".join(_fold(_symptom(mistake), list(mistake.hints)) for mistake in exercise.mistakes)
    if folds:
        last = (
            say("Try an answer first.")
            if questions
            else say("Look for what happens with your answer; the first hint gives away the least.")
        )
        yield f"## {shown('Hints')}\n\n{shown(together(say('Each is folded.'), last))}\n\n{folds}"


def _questions(exercise: Exercise) -> list[tuple[str, str]]:
    """The questions of a quiz, each with its general hint; empty for any other exercise."""
    if exercise.kind != "answers":
        return []
    module = importlib.import_module(f"grader.exercises.lesson_{exercise.lesson[:2]}.{exercise.name}")
    lists = [value for value in vars(module).values() if isinstance(value, tuple)]
    hints = {one.key: one.hint for listed in lists for one in listed if isinstance(one, Question)}
    return [(part.name, hints[part.name]) for part in exercise.parts]


def _symptom(mistake: Mistake) -> str:
    text = shown(mistake.symptom).rstrip()
    return inline(text[0].upper() + text[1:])


def _fold(summary: str, hints: list[str]) -> str:
    inner = ""
    for number, hint in reversed(list(enumerate(hints))):
        title = shown(say("Hint {number}", number=number + 2))
        more = f"<details><summary>{title}</summary>{inner}</details>" if inner else ""
        inner = f"<p>{inline(shown(hint))}</p>{more}"
    return f'<details class="hint"><summary>{summary}</summary>{inner}</details>'


def _list(course: Course) -> str:
    """The page with all exercises, a table a lesson."""
    lead = shown("These are all exercises of the course, with their text and with folded hints.")
    text = [f"# {shown(say('Exercises'))}", lead, ""]
    for lesson in course.lessons.values():
        text += [
            f"## [{lesson.number} · {title_of(lesson)}]({LIST}{lesson.number}.md)",
            "",
            _table(course, lesson),
            "",
        ]
    return "\n".join([*text, _tree(f"{LIST}{lesson.number}" for lesson in course.lessons.values())])


def _list_of_lesson(course: Course, lesson: Lesson) -> str:
    """The page with the exercises of a lesson, which the list beside the page folds under its name."""
    where = f"[{lesson.number} · {title_of(lesson)}](../lessons/{lesson.name}.ipynb)"
    lead = say("These are the exercises of {lesson}, with their text and with folded hints.", lesson=where)
    title = say("Exercises of lesson {number}", number=lesson.number)
    names = [one.name for one in course.exercises.values() if one.lesson == lesson.name]
    return "\n".join([f"# {shown(title)}", shown(lead), "", _table(course, lesson), "", _tree(names)])


def _table(course: Course, lesson: Lesson) -> str:
    listed = [one for one in course.exercises.values() if one.lesson == lesson.name]
    levels = {one.name: shown(say("{level} of 5", level=course.level(one))) for one in listed}
    rows = [f"| [{one.name}]({one.name}.md) | {levels[one.name]} | {one.points:g} |" for one in listed]
    return "\n".join([_row(say("exercise"), say("difficulty"), say("points")), "| --- | --- | --- |", *rows])


def _tree(pages: Iterable[str]) -> str:
    return "\n".join(["```{toctree}", ":hidden:", "", *pages, "```", ""])
