"""Which worked examples a submission needs: most print something and are used by nobody.

A worked example runs only if it makes or changes a name that the student's own cells use, or that another needed
example uses. It errs on the side of running: a name that a function or a class binds for itself may count, and code
that looks names up by itself (`globals`, `eval`, ...) needs everything.
"""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from grader.subject.cells import compile_cell
from grader.subject.names import changed, names_of

# Code with one of these may look up any name.
LOOKS_UP = frozenset(
    {"globals", "locals", "vars", "eval", "exec", "getattr", "__import__", "__main__", "import_module", "get_ipython"}
    | {"_", "__", "___", "Out", "_oh"}  # what the cells before it show
)
_SHOWN = re.compile(r"_\d+")  # what one of them shows
# With one of these code may reach the notebook as a module, and its names as attributes.
REACHES = frozenset({"sys", "inspect"})
# Called for what they show, or to draw the same numbers again: a check seeds what is drawn in it.
CHANGES_NOTHING = frozenset(
    {"print", "display", "check", "predict", "compare_guess", "set_printoptions", "show", "manual_seed"}
)
BUILTINS = frozenset(vars(builtins))


@dataclass(frozen=True)
class ExampleNames:
    """The names of an example."""

    uses: frozenset[str]
    makes: frozenset[str]  # those that it changes too, but for Python's own, such as `super` in `super().__init__()`


@cache
def names_of_example(source: str, definitions: bool = False) -> ExampleNames:
    """The names of an instructor's cell; with `definitions`, of its functions, classes and imports only. SyntaxError if
    it isn't Python alone."""
    names = names_of(compile_cell(source, "<example>", definitions))
    changes = set() if definitions else changed(ast.parse(source), CHANGES_NOTHING) - BUILTINS
    return ExampleNames(names.uses, names.binds | changes)


def needed(words: set[str], examples: Mapping[int, tuple[str, bool]]) -> set[int]:
    """The places of the worked examples that have to run, if a student's own cells use the names `words`, attributes
    with a dot before them. `examples` gives, by place, the source and whether only its definitions run."""
    everywhere = {word.removeprefix(".") for word in words}
    words = everywhere if everywhere & REACHES else set(words)
    try:
        names = {i: names_of_example(*example) for i, example in examples.items()}
    except SyntaxError:
        return set(examples)
    if everywhere & LOOKS_UP or any(map(_SHOWN.fullmatch, words)):
        return set(examples)
    wanted: set[int] = set()
    while more := {i for i in examples.keys() - wanted if names[i].makes & words}:
        wanted |= more
        words |= {name for i in more for name in names[i].uses}
    return wanted
