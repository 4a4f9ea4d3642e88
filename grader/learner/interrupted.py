"""After a cell was interrupted: cells that use what it makes or changes say in one line that it isn't finished, until
it has been run to its end. Else they would fail with a `NameError`, or draw conclusions from half a training.

IPython asks before it runs a cell (an AST transformer may reject it) and tells how each run ended.
"""

from __future__ import annotations

import ast
import builtins
import importlib
import re
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from IPython.core.error import InputRejected

from grader.learner.earlier_run import shell
from grader.subject.names import names_of

# What torch's optimizers import at their first use: seconds, and a module whose import is cut off fails from then on.
OPTIMIZERS_NEED = "torch._dynamo"
TRAINS = re.compile(r"\boptim\b|\b(Adam|AdamW|SGD)\(|backward\(")


class Stopped(KeyboardInterrupt):
    """Raised where a training was interrupted and can go on. Says so in one line, without a traceback; the rest of its
    cell doesn't run."""

    def _render_traceback_(self) -> list[str]:
        return [str(self)]


class NotFinished(InputRejected):
    """A cell that isn't run, because it needs what an interrupted one was to make. One line, without a traceback."""

    def _render_traceback_(self) -> list[str]:
        return [str(self)]


class Unfinished:
    """Which names wait for which interrupted cell (its text)."""

    def __init__(self) -> None:
        self.waiting: dict[str, str] = {}
        self._text = ""
        self._touched: set[str] = set()

    def visit(self, tree: ast.Module) -> ast.Module:
        """IPython's question before it runs a cell."""
        self._text = ast.unparse(tree)
        self._touched = touched(tree)
        if TRAINS.search(self._text):
            with not_interrupted():
                importlib.import_module(OPTIMIZERS_NEED)
        uses = names_of(compile(tree, "<cell>", "exec")).uses
        needed = sorted(name for name in uses & self.waiting.keys() if self.waiting[name] != self._text)
        if needed:
            cell = self.waiting[needed[0]]
            self._wait_for(cell)
            first = cell.splitlines()[0][:60]
            raise NotFinished(
                f"Not finished: `{needed[0]}` comes from a cell that was interrupted. Run that cell first, to its "
                f"end; it begins with `{first}`."
            )
        return tree

    def ended(self, error: BaseException | None) -> None:
        """What became of the cell that IPython asked about."""
        if isinstance(error, NotFinished):
            return
        if isinstance(error, KeyboardInterrupt):
            self._wait_for(self._text)
        elif error is None:
            done = {name for name, cell in self.waiting.items() if cell == self._text} | self._touched
            self.waiting = {name: cell for name, cell in self.waiting.items() if name not in done}

    def _wait_for(self, cell: str) -> None:
        self.waiting |= dict.fromkeys(self._touched, cell)


def touched(tree: ast.AST) -> set[str]:
    """The names that a cell binds or may change: objects with an attribute or an item assigned, what a call that stands
    alone is made on or given, what a loop walks over."""
    found: set[str] = set()
    for node in ast.walk(tree):
        changed = isinstance(node, ast.Attribute | ast.Subscript) and not isinstance(node.ctx, ast.Load)
        if changed or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)):
            found |= _names(node)
        elif isinstance(node, ast.For):
            found |= _names(node.iter)
        elif isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            found.add(node.id)
    known = {**vars(builtins), **getattr(shell(), "user_ns", {})}
    # Functions, classes and modules stay what they are.
    return {name for name in found if not isinstance(known.get(name), type) and not _is_code(known.get(name))}


def _names(tree: ast.AST) -> set[str]:
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}


def _is_code(thing: object) -> bool:
    return type(thing).__name__ in ("function", "builtin_function_or_method", "module", "method")


@contextmanager
def not_interrupted() -> Iterator[None]:
    """An interrupt inside comes after it."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _frame: came.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if came:
        signal.raise_signal(signal.SIGINT)


UNFINISHED = Unfinished()


def watch_for_interrupts() -> None:
    """Ask and listen from now on. Once is enough for a kernel."""
    running = shell()
    if running is not None and UNFINISHED not in running.ast_transformers:
        running.ast_transformers.append(UNFINISHED)
        running.events.register("post_run_cell", _ended)


def _ended(result: Any) -> None:
    UNFINISHED.ended(result.error_in_exec or result.error_before_exec)
