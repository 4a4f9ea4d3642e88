"""After a cell was interrupted: cells that use what it makes or changes say in one line that it isn't finished, until
it has been run to its end. Else they would fail with a `NameError`, or draw conclusions from half a training.

IPython asks before it runs a cell (an AST transformer may reject it) and tells how each run ended.
"""

from __future__ import annotations

import ast
import builtins
import importlib
import re
from typing import Any, NamedTuple

from IPython.core.error import InputRejected

from grader.interrupt import not_interrupted
from grader.kernel import shell
from grader.languages import shown
from grader.sentences import say
from grader.subject.cells import compiled
from grader.subject.names import Names, changed, names_in, names_of

# What torch's optimizers import at their first use: seconds, and a module whose import is cut off fails from then on.
OPTIMIZERS_NEED = "torch._dynamo"
TRAINS = re.compile(r"\boptim\b|\b(Adam|AdamW|SGD)\(|backward\(")


class Stopped(KeyboardInterrupt):
    """Raised where a training was interrupted and can go on. Says so in one line, without a traceback; the rest of its
    cell doesn't run."""

    def _render_traceback_(self) -> list[str]:
        return [shown(self.args[0])]


class NotFinished(InputRejected):
    """Raised in place of running a cell that needs what an interrupted one was to make. It is shown in one line,
    without a traceback."""

    def _render_traceback_(self) -> list[str]:
        return [shown(self.args[0])]


class Cell(NamedTuple):
    """A cell that is run: its id, where the front end tells it, else its text; and how it begins."""

    id: str
    begins: str


class Unfinished:
    """Which names wait for which interrupted cell, in `waiting`."""

    def __init__(self) -> None:
        self.waiting: dict[str, Cell] = {}
        self._id = ""
        self._cell = Cell("", "")
        self._touched: set[str] = set()

    def begins(self, info: Any) -> None:
        """Note the id of the cell that is to run. IPython calls it before each one."""
        self._id = getattr(info, "cell_id", None) or ""

    def visit(self, tree: ast.Module) -> ast.Module:
        """Return the cell's tree as it is, or raise `NotFinished`. IPython calls it before it runs a cell."""
        text = ast.unparse(tree)
        self._cell = Cell(self._id or text, text.partition("\n")[0][:60])
        try:
            names = names_of(compiled(tree, "<cell>"))
        except SyntaxError:  # such as a `return` outside of a function: Python says so when the cell is run
            self._touched = set()
            return tree
        self._touched = touched(tree, names)
        if TRAINS.search(text):
            with not_interrupted():
                importlib.import_module(OPTIMIZERS_NEED)
        needed = sorted(name for name in names.takes & self.waiting.keys() if self._waits(name))
        if needed:
            cell = self.waiting[needed[0]]
            self._wait_for(cell)
            raise NotFinished(
                say(
                    "Not finished: `{name}` comes from a cell that was interrupted. First let that cell run to the "
                    "end; it begins with `{line}`.",
                    name=needed[0],
                    line=cell.begins,
                )
            )
        return tree

    def ended(self, error: BaseException | None) -> None:
        """Note how the run of the last cell ended; `error` is None if it came to its end. Its names then wait for it,
        or no longer do."""
        if isinstance(error, NotFinished):
            return
        if isinstance(error, KeyboardInterrupt):
            self._wait_for(self._cell)
        elif error is None:
            done = {name for name, cell in self.waiting.items() if cell.id == self._cell.id} | self._touched
            self.waiting = {name: cell for name, cell in self.waiting.items() if name not in done}

    def _waits(self, name: str) -> bool:
        """Whether `name` waits for another cell than the one that is to run."""
        return self.waiting[name].id != self._cell.id

    def _wait_for(self, cell: Cell) -> None:
        self.waiting |= dict.fromkeys(self._touched, cell)


def touched(tree: ast.Module, names: Names) -> set[str]:
    """The names that a cell binds or may change, what a loop walks over among them."""
    walked = [names_in(node.iter) for node in ast.walk(tree) if isinstance(node, ast.For)]
    found = changed(tree).union(names.binds, *walked)
    known = {**vars(builtins), **getattr(shell(), "user_ns", {})}
    # Functions, classes and modules stay what they are.
    return {name for name in found if not isinstance(known.get(name), type) and not _is_code(known.get(name))}


def _is_code(thing: object) -> bool:
    return type(thing).__name__ in ("function", "builtin_function_or_method", "module", "method")


UNFINISHED = Unfinished()


def watch_for_interrupts() -> None:
    """From now on, in this kernel, hold back cells that wait for an interrupted one. Once is enough for a kernel."""
    running = shell()
    if running is not None and UNFINISHED not in running.ast_transformers:
        running.ast_transformers.append(UNFINISHED)
        running.events.register("pre_run_cell", UNFINISHED.begins)
        running.events.register("post_run_cell", _ended)


def _ended(result: Any) -> None:
    UNFINISHED.ended(result.error_in_exec or result.error_before_exec)
