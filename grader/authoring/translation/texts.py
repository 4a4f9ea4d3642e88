"""What is to be translated: the entries of every catalogue, from the sources of today."""

from __future__ import annotations

import ast
import inspect
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

from grader.authoring.lesson import Lesson, read_folder
from grader.authoring.notebook import ids
from grader.authoring.predictions import ASKS
from grader.authoring.prose import with_marks
from grader.authoring.repository import Repository
from grader.authoring.translation import said
from grader.authoring.translation.catalogue import Entry
from grader.authoring.translation.units import has_words, units_of
from grader.sentences import Said, Several, Together
from grader.spec.draw import Draw
from grader.spec.exercise import Exercise
from grader.spec.words import read_words
from grader.subject.cells import parse_cell
from grader.subject.settings import under_torchs_own

# Whose words are in which catalogue, besides lessons and exercises.
WORDS = ("spec", "report", "learner", "judge", "feedback")
FOR_TEACHERS = (
    *("judge/fingerprint.py", "judge/limits.py", "judge/sandbox.py"),
    *("feedback/fresh.py", "feedback/zips.py"),
    "learner/reads.py",  # the heads of a table that lessons print, which stay English
)
WORDS_ELSEWHERE = ("course/lateness.py", "exercises/own.py", "languages.py", "server.py")
ELSEWHERE = (*WORDS, "exercises", "views")  # the rooms whose modules are read apart from the others
PREDICTION, DOCSTRING = "prediction ", "docstring of "  # begin what an entry is
PAGES = ("about.md", "index.md", "install.md")


def entries(repository: Repository) -> dict[str, list[Entry]]:
    """The entries of all catalogues, by the catalogues' names such as "lessons/01_self_attention", in the order in
    which a text that stands in several belongs to the first."""
    found = {"words": _words(repository.root), "views": _views(repository.root)}
    for name, lesson in read_folder(repository.lessons).items():
        found[f"lessons/{name}"] = list(_of_lesson(lesson))
        exercises = [one for one in repository.exercises.values() if one.lesson == name]
        found[f"exercises/lesson_{lesson.number}"] = [
            *_of_exercises(repository.root, lesson.number, exercises),
            *_docstrings(lesson),
        ]
    found["student"] = list(_markdown(repository.root, repository.root / "release" / "student" / "README.md"))
    found["site"] = list(_site(repository.root))
    return {name: made for name, made in found.items() if made}


def shown_at_run_time(repository: Repository) -> set[str]:
    """The English texts that a program looks up when it shows them: all but prose that the build translates."""
    return {
        entry.english
        for name, catalogue in entries(repository).items()
        for entry in catalogue
        if entry.about.startswith(PREDICTION)
        or name in ("words", "views")
        or (name.startswith("exercises/") and not entry.about.startswith(DOCSTRING))
    }


def _words(root: Path) -> list[Entry]:
    package = root / "grader"
    modules = [path for room in WORDS for path in sorted((package / room).rglob("*.py"))]
    modules = [path for path in modules if path.relative_to(package).as_posix() not in FOR_TEACHERS]
    modules += [path for inside in WORDS_ELSEWHERE if (path := package / inside).exists()]
    found = list(_of_modules(root, modules))
    rest = [path for path in sorted(package.rglob("*.py")) if path.parts[len(package.parts)] not in ELSEWHERE]
    found += _of_modules(root, [path for path in rest if path not in modules], only_said=True)
    for path in sorted((package / "feedback").glob("*.html")):
        found += [Entry(text, _shown(root, path), "") for text, _line in said.of_template(path)]
    return found


def _views(root: Path) -> list[Entry]:
    found = list(_of_modules(root, sorted((root / "grader" / "views").glob("*.py"))))
    website = root / "website"
    scripts = [*(root / "grader" / "views").glob("*.js"), *(website / "answers").glob("*.js"), *website.glob("host.js")]
    for path in sorted(scripts):
        found += [Entry(text, _shown(root, path), "") for text, _line in said.of_javascript(path)]
    return found


def _of_modules(root: Path, paths: list[Path], only_said: bool = False) -> Iterator[Entry]:
    for path, found in said.of_python(paths, only_said):
        yield from (Entry(text, _shown(root, path), "") for text, _line in found)


def _shown(root: Path, path: Path) -> str:
    return path.relative_to(root).as_posix()


def _of_lesson(lesson: Lesson) -> Iterator[Entry]:
    """The prose of a lesson, and what its predictions ask."""
    for cell, cell_id, marked in zip(lesson.cells, ids(lesson), with_marks(lesson), strict=True):
        place = f"{lesson.path}#{cell_id}"
        if cell.is_code:
            yield from (Entry(text, place, about) for text, about in _asked(cell.source))
        else:
            why = " of an answer" if cell.explains else ""
            yield from (Entry(unit.text, place, f"{unit.kind}{why}") for unit in units_of(marked.source))


def _asked(source: str) -> Iterator[tuple[str, str]]:
    """The questions, choices and units of the predictions of a cell, with their predictions."""
    try:
        tree = ast.Module(parse_cell(source, "<cell>").body, [])
    except SyntaxError:
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == ASKS:
            name = ast.unparse(node.args[0]).strip("'\"")
            unit = [word.value for word in node.keywords if word.arg == "unit"]
            for given in [*node.args[1:], *unit]:
                texts = [one.value for one in ast.walk(given) if isinstance(one, ast.Constant)]
                yield from ((one, f"{PREDICTION}{name}") for one in texts if isinstance(one, str) and has_words(one))


@under_torchs_own
def _of_exercises(root: Path, number: str, exercises: list[Exercise]) -> Iterator[Entry]:
    """What the check of each exercise of a lesson may say: titles, cases, mistakes with their hints, findings."""
    folder = root / "grader" / "exercises" / f"lesson_{number}"
    for exercise in exercises:
        place = f"{_shown(root, folder / exercise.name)}.py"
        if exercise.kind != "answers":
            titles = [text for part in exercise.parts for text in _templates(part.name)]
            yield from (Entry(text, place, "title of a part") for text in titles)
        names = [case.name for case in exercise.cases(Draw("names")) if not case.diagnostic]
        cases = [text for name in names for text in _templates(name)]
        yield from (Entry(case, place, "name of a case") for case in cases if has_words(case))
        yield from (Entry(one.title, place, "functions that are excluded") for one in exercise.excluded)
        yield from _of_mistakes(root, folder / f"{exercise.name}.md")
        yield from _of_modules(root, sorted(folder.glob(f"{exercise.name}.py")))
    for path in sorted(folder.glob("*.md")):
        yield from _of_mistakes(root, path)
    yield from _of_modules(root, sorted(folder.glob("*.py")))


def _templates(text: str) -> Iterator[str]:
    """What is looked up to say a text in another language: its template, and those of its values."""
    if isinstance(text, Together):
        parts: tuple[str, ...] = text.sentences
    elif isinstance(text, Several):
        parts = text.names
    elif isinstance(text, Said):
        yield text.template
        parts = tuple(text.values.values())
    else:
        yield text
        return
    for part in parts:
        if isinstance(part, Said | Several | Together):
            yield from _templates(part)


def _of_mistakes(root: Path, path: Path) -> Iterator[Entry]:
    for mistake in read_words(path).values():
        yield from (Entry(text, _shown(root, path), f"symptom of {mistake.id}") for _line, text in mistake.symptom)
        for at, hint in enumerate(mistake.hints, 1):
            yield Entry(hint.text, _shown(root, path), f"hint {at} of {mistake.id}")


def _docstrings(lesson: Lesson) -> Iterator[Entry]:
    for cell, cell_id in zip(lesson.cells, ids(lesson), strict=True):
        if cell.is_code and cell.role == "solution":
            for name, paragraphs in docstrings(cell.source):
                place = f"{lesson.path}#{cell_id}"
                yield from (Entry(text, place, f"{DOCSTRING}{name}") for text in paragraphs if has_words(text))


def docstrings(source: str) -> Iterator[tuple[str, list[str]]]:
    """The docstring of each function and class of a cell, by its name, as unwrapped paragraphs."""
    for node in ast.walk(ast.Module(parse_cell(source, "<cell>").body, [])):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            text = inspect.cleandoc(ast.get_docstring(node) or "")
            if text:
                yield node.name, [" ".join(paragraph.split()) for paragraph in re.split(r"\n\s*\n", text)]


FRONT_MATTER = re.compile(r"\A---\n.*?\n---\n", re.DOTALL)  # of a page, which is for Sphinx


def _markdown(root: Path, path: Path) -> Iterator[Entry]:
    text = FRONT_MATTER.sub("", path.read_text("utf-8")) if path.exists() else ""
    yield from (Entry(unit.text, _shown(root, path), unit.kind) for unit in units_of(text))


def _site(root: Path) -> Iterator[Entry]:
    website = root / "website"
    for page in PAGES:
        yield from _markdown(root, website / page)
    yield from _of_modules(root, sorted(website.glob("*.py")), only_said=True)
    for path in sorted(website.glob("templates/*.html")):
        yield from (Entry(text, _shown(root, path), "") for text, _line in said.of_template(path))
    for lesson in read_folder(root / "lessons").values() if website.exists() else ():
        yield from (Entry(one, lesson.path, "about the lesson") for one in (lesson.about, lesson.picture) if one)
    for path in website.glob("glossary.toml"):
        for term, entry in tomllib.loads(path.read_text("utf-8")).items():
            yield Entry(term, _shown(root, path), "term")
            if "words" in entry:
                yield Entry(entry["words"], _shown(root, path), f"{term} as lesson {entry['lesson']} has it")
            yield Entry(" ".join(entry["meaning"].split()), _shown(root, path), f"what {term} means")
