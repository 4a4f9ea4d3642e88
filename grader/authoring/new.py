"""`grader new`: writes the files of a new exercise or lesson, with the word TODO at every place to fill in."""

from __future__ import annotations

import ast
import keyword
import re
from collections.abc import Mapping
from pathlib import Path
from string import Template

from grader.authoring.lesson import Lesson, read_lesson
from grader.authoring.repository import Repository
from grader.authoring.samples import FOLDER as SAMPLES
from grader.authoring.unfinished import SPECIFICATIONS
from grader.errors import CourseError

TEMPLATES = Path(__file__).parent / "templates"
FUNCTION = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")
MODULE = re.compile(r"[A-Z][A-Za-z0-9]*")
QUIZ = re.compile(r"quiz_(?P<number>\d\d)")
HELPERS = ("shared", "prelude")  # what several exercises of a lesson share
EXERCISE_HEADING = re.compile(r"(?m)^# ### Exercise \d+: ")
SECTION_HEADING = re.compile(r"(?m)^# ## (\d+) · ")
# A mistake of a template: the words are in Markdown beside it, or inside a teacher's own file.
WORDS_BESIDE = """{
        "returns-its-input": VARIANT,  # TODO an id for the mistake, and code that makes it
    }"""
WORDS_INSIDE = """(
        Mistake(
            "returns-its-input",  # TODO an id for the mistake
            "TODO what happens, in one sentence.",
            ("TODO a hint.", "TODO a hint that says more."),
            (VARIANT,),  # TODO code that makes the mistake
        ),
    )"""
VARIANTS = {"function": "lambda x: x", "module": "lambda _setup, x: x"}


def new_exercise(repository: Repository, wanted: str, name: str) -> list[Path]:
    """Write the files of a new exercise of a lesson (`wanted`: its name or number); returns their paths in the
    repository, new and changed. `CourseError`, and nothing is written, for a name that can't be an exercise's or is
    taken.

    A function has its specification, the words of its mistakes, its sample submissions, its place in NAMES and its
    cells in the lesson; a name such as quiz_03 makes a quiz.
    """
    [lesson_name] = repository.choose([wanted])
    _check_name(repository, lesson_name, name)
    lesson = read_lesson(lesson_name, (repository.lessons / f"{lesson_name}.py").read_text("utf-8"))
    package = SPECIFICATIONS / f"lesson_{lesson.number}" / "__init__.py"
    names_text = (repository.root / package).read_text("utf-8")
    files = _exercise_files(repository, lesson, name)
    _refuse_existing(repository, files)
    changed = {
        package: with_name(names_text, name, before=f"quiz_{lesson.number}"),
        Path("lessons") / f"{lesson_name}.py": with_cells(lesson, name),
    }
    return _write(repository, files | changed)


def new_lesson(repository: Repository, number: str, name: str) -> list[Path]:
    """Write the files of a new lesson with a quiz; returns their paths in the repository. `number` has two digits,
    `name` is in snake_case; `CourseError`, and nothing is written, for any other, or if the number is taken."""
    if not re.fullmatch(r"\d\d", number):
        raise CourseError(f"{number!r}: a lesson's number has two digits, such as 11.")
    if not FUNCTION.fullmatch(name):
        raise CourseError(f"{name!r}: a lesson's name is in snake_case, such as multi_head_attention.")
    taken = [lesson for lesson in repository.names() if lesson[:2] == number]
    if taken:
        raise CourseError(f"There is already a lesson {number}: {taken[0]}.")
    lesson = Lesson(f"{number}_{name}", f"lessons/{number}_{name}.py", "", ())
    quiz = f"quiz_{number}"
    cells = filled("quiz_cells", name=quiz, number=number, exercise_number="1", section="2")
    files = {
        Path(lesson.path): filled("lesson", number=number, quiz=cells),
        SPECIFICATIONS / f"lesson_{number}" / "__init__.py": filled("lesson_init", number=number, lesson=lesson.name),
        **_exercise_files(repository, lesson, quiz),
    }
    _refuse_existing(repository, files)
    return _write(repository, files)


def _check_name(repository: Repository, lesson: str, name: str) -> None:
    quiz = QUIZ.fullmatch(name)
    if not (FUNCTION.fullmatch(name) or MODULE.fullmatch(name)) or keyword.iskeyword(name):
        raise CourseError(
            f"{name!r} can't be the name of an exercise: functions are named in snake_case (split_heads), "
            "modules in CamelCase (MultiHeadAttention)."
        )
    if name in HELPERS:
        raise CourseError(f"{name}.py is reserved for what several exercises of a lesson share.")
    if quiz and quiz["number"] != lesson[:2]:
        raise CourseError(f"{name!r}: the quiz of this lesson must be called quiz_{lesson[:2]}.")
    if name in repository.exercises:
        raise CourseError(f"There is already an exercise {name}, in lesson {repository.exercises[name].lesson}.")


def _exercise_files(repository: Repository, lesson: Lesson, name: str) -> dict[Path, str]:
    """The texts of a new exercise's files by path: its specification, the words of its mistakes and the sample
    submissions; of a quiz its specification and its test."""
    folder = f"lesson_{lesson.number}"
    kind = _kind(name)
    specification = SPECIFICATIONS / folder / f"{name}.py"
    fields = {"name": name, "number": lesson.number, "imported": "", **mistakes_of(kind, WORDS_BESIDE)}
    if kind == "quiz":
        templates = {specification: kind, SAMPLES / f"test_{name}.py": "quiz_test"}
    else:
        words, samples = specification.with_suffix(".md"), SAMPLES / folder / f"{name}.py"
        templates = {specification: kind, words: "words", samples: f"{kind}_samples"}
    return {path: filled(template, **fields) for path, template in templates.items()}


def mistakes_of(kind: str, words: str) -> dict[str, str]:
    """The field of a template for the mistakes of an exercise of this kind; a quiz has none. `words`: `WORDS_BESIDE` or
    `WORDS_INSIDE`."""
    return {"mistakes": words.replace("VARIANT", VARIANTS[kind])} if kind in VARIANTS else {}


def _kind(name: str) -> str:
    if QUIZ.fullmatch(name):
        return "quiz"
    return "function" if FUNCTION.fullmatch(name) else "module"


def with_name(text: str, name: str, before: str) -> str:
    """The text of a lesson's `__init__.py` with one more name in NAMES: in front of the name `before`, or at the end if
    that isn't there. `CourseError` if NAMES is missing."""
    for node in ast.parse(text).body:
        if isinstance(node, ast.Assign) and [ast.unparse(target) for target in node.targets] == ["NAMES"]:
            names = list(ast.literal_eval(node.value))
            names.insert(names.index(before) if before in names else len(names), name)
            lines = text.splitlines(keepends=True)
            new = ["NAMES = (\n", *(f'    "{name}",\n' for name in names), ")\n"]
            return "".join([*lines[: node.lineno - 1], *new, *lines[node.end_lineno :]])
    raise CourseError("The lesson's __init__.py has no NAMES, the list of its exercises in order.")


def with_cells(lesson: Lesson, name: str) -> str:
    """The text of a lesson with the cells of a new exercise: before the quiz, else behind the last exercise. Headings
    of exercises are numbered anew.
    """
    line = _place(lesson)
    lines = lesson.text.splitlines(keepends=True)
    before, after = "".join(lines[: line - 1]), "".join(lines[line - 1 :])
    sections = [int(number) for number in SECTION_HEADING.findall(before)]
    fields = {"name": name, "number": "1", "exercise_number": "1", "section": str(max(sections, default=0) + 1)}
    kind = _kind(name)
    cells = "".join(
        filled(part, **fields) for part in (["quiz_cells"] if kind == "quiz" else ["heading", f"{kind}_cells"])
    )
    text = f"{before.rstrip()}\n\n{cells}{after}".rstrip() + "\n"
    numbers = iter(range(1, len(lines)))
    return EXERCISE_HEADING.sub(lambda _match: f"# ### Exercise {next(numbers)}: ", text)


def _place(lesson: Lesson) -> int:
    """The line, counted from 1, before which a new exercise's cells go."""
    cells = list(lesson.cells)
    quiz = next((at for at, cell in enumerate(cells) if QUIZ.fullmatch(cell.exercise)), None)
    if quiz is not None:
        while quiz > 0 and not cells[quiz - 1].is_code:
            quiz -= 1
        return cells[quiz].line
    last = max((at for at, cell in enumerate(cells) if cell.role == "check"), default=len(cells) - 1)
    return cells[last + 1].line if last + 1 < len(cells) else len(lesson.text.splitlines()) + 1


def filled(template: str, **fields: str) -> str:
    """The text of a template, called by its file's name without the ending, with each field's value in place of the
    field's name."""
    return Template((TEMPLATES / f"{template}.txt").read_text("utf-8")).substitute(fields)


def _refuse_existing(repository: Repository, files: Mapping[Path, str]) -> None:
    existing = [path.as_posix() for path in files if (repository.root / path).exists()]
    if existing:
        raise CourseError("\n".join(f"{path} already exists." for path in existing))


def _write(repository: Repository, files: Mapping[Path, str]) -> list[Path]:
    for path, text in files.items():
        (repository.root / path).parent.mkdir(parents=True, exist_ok=True)
        (repository.root / path).write_text(text, "utf-8")
    return list(files)
