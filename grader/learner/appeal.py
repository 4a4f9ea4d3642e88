"""The file that a learner gives a teacher: "I think this is right". It has code, report and versions, and no name.

Its code are whole cells, those that define what the answer calls first, the answer's own cell last. What a report says
of values and of printed text stays out of it.
"""

from __future__ import annotations

import functools
import inspect
import json
import linecache
import os
import platform
import sys
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from importlib import metadata
from pathlib import Path
from types import CodeType
from typing import Any

from grader import __version__
from grader.report import Report
from grader.subject.names import names_of

FORMAT = 1
MOST_CELLS, MOST_BYTES = 20, 100_000
PLAIN = (str, int, float, bool, type(None))


@dataclass(frozen=True)
class ToldPart:
    """One part as the learner's report has it: its name, state, weight, the id of its finding ("" if it passed), and
    the message."""

    name: str
    state: str
    weight: float
    kind: str = ""
    message: str = ""


@dataclass(frozen=True)
class LearnersFile:
    """The content of the file that a learner saves who thinks that a report is wrong."""

    exercise: str
    cells: tuple[str, ...]  # their sources
    mark: float
    points: float
    parts: tuple[ToldPart, ...] = ()
    mistake: str = ""  # the id of the named one; "" if there is none
    versions: dict[str, str] = field(default_factory=dict)  # by program

    def to_bytes(self) -> bytes:
        """The file as JSON, without the paths of this machine."""
        text = json.dumps({"format": FORMAT, **asdict(self)}, indent=1, ensure_ascii=False)
        for path, shown in ((Path.home(), "~"), (Path.cwd(), "."), (Path(sys.prefix), "python")):
            if len(path.parts) > 1:
                text = text.replace(json.dumps(str(path), ensure_ascii=False)[1:-1], shown)
        return text.encode("utf-8", "replace")


def file_for(report: Report, thing: object, names: Mapping[str, Any]) -> bytes:
    """The file for a teacher with the code of an answer `thing` and its report; empty where the code can't be had or is
    too long. `names` are those that the answer's code sees."""
    cells = cells_of(report.name, thing, names)
    if not cells or sum(map(len, cells)) > MOST_BYTES:
        return b""
    parts = tuple(ToldPart(part.name, part.state, part.weight, part.kind, part.message) for part in report.parts)
    versions = {"python": platform.python_version(), "torch": metadata.version("torch"), "course": __version__}
    file = LearnersFile(
        report.name, cells, report.mark, report.points, parts, report.diagnosis or "", versions=versions
    )
    return file.to_bytes()


def cells_of(exercise: str, thing: object, names: Mapping[str, Any]) -> tuple[str, ...]:
    """The sources of the cells that define an answer, those first that define what it calls; empty where they can't be
    had."""
    if isinstance(thing, dict) and all(isinstance(value, PLAIN) for pair in thing.items() for value in pair):
        return (f"{exercise} = {thing!r}",)
    found: dict[str, str] = {}
    _add(thing, names, found)
    name = getattr(thing, "__name__", "")
    if found and name != exercise:
        name = next((name for name, value in names.items() if value is thing and not name.startswith("_")), "")
        found["name"] = f"{exercise} = {name}"
    return tuple(found.values()) if name else ()


def _add(thing: object, names: Mapping[str, Any], found: dict[str, str]) -> None:
    """Add the source of a thing's cell to `found`, by a key for each cell, after those of the functions, modules and
    numbers that it names."""
    codes = list(_codes(thing))
    file = codes[0].co_filename if codes else ""
    source = _source(thing, file) if codes and file not in found and len(found) < MOST_CELLS else ""
    if not source:
        return
    found[file] = source
    for name in sorted({name for code in codes for name in names_of(code).uses} & names.keys()):
        value = names[name]
        if inspect.isfunction(value) or inspect.isclass(value):
            _add(value, names, found)
        elif inspect.ismodule(value):
            found.setdefault(name, f"import {value.__name__} as {name}")
        elif isinstance(value, PLAIN):
            found.setdefault(name, f"{name} = {value!r}")
    found[file] = found.pop(file)


def _codes(thing: Any) -> Iterator[CodeType]:
    """The code of a function, or of all functions of a class."""
    while isinstance(thing, functools.partial):
        thing = thing.func
    thing = inspect.unwrap(thing) if callable(thing) else thing
    if inspect.isfunction(thing):
        yield thing.__code__
    elif not inspect.isroutine(thing):
        kind = thing if inspect.isclass(thing) else type(thing)
        yield from (member.__code__ for member in vars(kind).values() if inspect.isfunction(member))


def _source(thing: object, file: str) -> str:
    """The source of the whole cell in which a thing is defined, or of the function or class alone if it is in a file;
    empty for what is installed."""
    if not os.path.exists(file):
        return "".join(linecache.getlines(file))
    module = getattr(thing, "__module__", "")
    return inspect.getsource(thing) if module == "__main__" else ""  # type: ignore[arg-type]
