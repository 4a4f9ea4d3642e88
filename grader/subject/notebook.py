"""Runs the cells of a notebook as Jupyter does: statement after statement, with `await` and one `__future__` for all.

Where a statement raises, Jupyter leaves the rest of its cell out. Here the rest goes on, so that one line costs no more
than itself:

- If the line needs something that this machine lacks (a package, a file, a screen, a GPU, somebody who answers), the
  student's machine had it, and the lines behind it ran there. So they run here, but for a function or class of which
  the cell has defined another version above.
- Behind any other error, the student's own cell stopped too. Then only imports, functions and classes are taken, and
  only where their name would be missing: a notebook that runs in Jupyter has what it has there.
"""

from __future__ import annotations
import __future__

import ast
import asyncio
import inspect
import re
import sys
import warnings
from collections.abc import Coroutine, Iterable
from types import CodeType
from typing import Any

from grader.subject.cells import CAPTURES, DEFINITIONS, MACHINE, History, compile_whole, compiled, is_quiet, parse_cell
from grader.subject.names import names_of
from grader.subject.protocol import Raised
from grader.subject.raised import describe_exception
from grader.subject.time_limit import TimeLimit

DEFINED = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
HINTED = (*DEFINED, ast.AnnAssign)
LONGEST = 200_000  # characters of a cell that runs statement by statement; nobody writes a longer one by hand
FUTURES = sum(getattr(__future__, name).compiler_flag for name in __future__.all_feature_names)
HINTS_UNREAD = __future__.annotations.compiler_flag
GPU = re.compile(r"CUDA|NVIDIA")
# Whoever calls one of these wants the loop of Jupyter's kernel, which runs all the time.
WANTS_LOOP = frozenset({"create_task", "get_running_loop", "ensure_future", "current_task"})
# The names that a cell which can't be compiled seems to define.
_DEFINED = re.compile(r"(?m)^(?:(?:async +)?def|class) +(\w+)|^(\w+) *(?::[^=\n]+)?=(?!=)")


class Notebook:
    """A notebook whose cells run in `namespace`, where a name is missing if the cell that defines it stopped before."""

    def __init__(self, namespace: dict[str, Any]) -> None:
        self.namespace = namespace
        self.cells = 0
        self._lost: dict[str, Raised] = {}  # by name, the stop that kept it from being defined
        self._of_machine: list[Raised] = []
        self._flags = 0
        self._history: History = namespace["_oh"] if "_oh" in namespace else History(namespace)
        self._loop: asyncio.AbstractEventLoop | None = None

    def run(self, source: str, definitions_only: bool = False, number: int | None = None) -> list[Raised]:
        """Run a cell, or its functions, classes and imports alone; the errors that it raised, in order. `number`: which
        of the notebook's cells it is, counted from 1 as a kernel counts; 0 for none, None for the next."""
        self.cells += 1
        name = f"<cell {self.cells}>"
        self._history.enter(self.cells if number is None else number, source)
        if len(source) > LONGEST and not definitions_only:
            return self._in_one_piece(source, name)
        try:
            if "IPython" in source:  # whose own `get_ipython` knows the shell once there is one
                self._shell()
            tree = parse_cell(source, name, definitions_only, self._transformed)
        except Exception as error:  # also what the parser itself can't do
            names = {word for found in _DEFINED.findall(source) for word in found if word}
            raised = describe_exception(error)
            self.lose(names, raised)
            return [raised]
        try:
            return _Cell(self, name).run(tree.body, tree.body[-1] if tree.body and not is_quiet(source) else None)
        finally:
            while CAPTURES:
                CAPTURES.pop().__exit__(None, None, None)

    def _transformed(self, source: str) -> str:
        return self._history.made_python(self._shell().transform_cell(source))

    def _shell(self) -> Any:
        return self.namespace["get_ipython"]()

    def _in_one_piece(self, source: str, name: str) -> list[Raised]:
        try:
            self._value(compile_whole(source, name)[0])
        except TimeLimit:
            raise
        except BaseException as error:
            return [describe_exception(error)]
        return []

    def note(self, error: BaseException, raised: Raised) -> Raised:
        """Note an error that was `raised`. Returns the stop that it is, or goes back to where it misses a name that was
        lost there."""
        stop = self.stop_of(error) or raised
        if self.is_machines(error, raised) and stop not in self._of_machine:
            self._of_machine.append(stop)
        return stop

    def lose(self, names: Iterable[str], stop: Raised) -> None:
        """Note that of these names those that don't exist are missing because of `stop`."""
        self._lost |= dict.fromkeys(set(names) - self.namespace.keys(), stop)

    def stop_of(self, missing: BaseException | str) -> Raised | None:
        """The stop that a missing name goes back to, or the error that tells of one; None for any other."""
        if isinstance(missing, UnboundLocalError):  # a name of the function's own
            return None
        name = missing.name if isinstance(missing, NameError) else missing
        return self._lost.get(name) if isinstance(name, str) and name not in self.namespace else None

    def is_machines(self, error: BaseException, raised: Raised) -> bool:
        """Whether this machine lacks something, and not the student's code that says so itself."""
        if raised.deliberate:
            return False
        lacks = isinstance(error, MACHINE) or GPU.search(raised.message) is not None
        return lacks or self.stop_of(error) in self._of_machine

    def execute(self, node: ast.stmt, name: str, last: bool) -> None:
        """Run one statement of the cell `name`. The value of the `last` one is shown, as in Jupyter."""
        if last and isinstance(node, ast.Expr):
            value = self._value(compiled(ast.Expression(node.value), name, self._flags))
            if CAPTURES:
                sys.displayhook(value)
            else:
                self._history.show(value)
            return
        try:
            self._compile_and_run(node, name)
        except NameError as error:
            # A type hint of what this machine lacks: it says nothing that anything here needs.
            if not (self.stop_of(error) and isinstance(node, HINTED)):
                raise
            self._compile_and_run(node, name, HINTS_UNREAD)

    def evaluate(self, test: ast.expr, name: str) -> object:
        """The value of a condition in the cell `name`."""
        return self._value(compiled(ast.Expression(test), name, self._flags))

    def _compile_and_run(self, node: ast.stmt, name: str, flags: int = 0) -> None:
        code = compiled(ast.Module([node], []), name, self._flags | flags)
        if not flags:
            self._flags |= code.co_flags & FUTURES
        self._value(code)

    def _value(self, code: CodeType) -> object:
        if code.co_flags & inspect.CO_COROUTINE:
            return self._in_loop(eval(code, self.namespace))
        if WANTS_LOOP.intersection(code.co_names):
            return self._in_loop(_coroutine(code, self.namespace))
        return eval(code, self.namespace)

    def _in_loop(self, coroutine: Coroutine[Any, Any, object]) -> object:
        if self._loop is None or self._loop.is_closed():
            self._loop = _event_loop()
        return self._loop.run_until_complete(coroutine)


class _Cell:
    """One cell of a notebook while it runs: the errors so far, and the names that it defined before the first."""

    def __init__(self, notebook: Notebook, name: str) -> None:
        self._notebook, self._name = notebook, name
        self._found: list[Raised] = []
        self._defined: set[str] = set()
        self._only_missing: Raised | None = None  # since this stop

    def run(self, body: list[ast.stmt], last: ast.stmt | None = None) -> list[Raised]:
        """Run these statements, of which `last` is the cell's last one; the errors so far."""
        for node in body:
            if self._only_missing is not None:
                self._supply(_parts(node) or [node])
                self._notebook.lose(_binds(node, self._name), self._only_missing)
            elif not (self._found and isinstance(node, DEFINED) and node.name in self._defined):
                self._try(node, node is last)
        return self._found

    def _try(self, node: ast.stmt, last: bool) -> None:
        try:
            if isinstance(node, ast.If):
                self.run(node.body if self._notebook.evaluate(node.test, self._name) else node.orelse)
            else:
                self._notebook.execute(node, self._name, last)
        except TimeLimit:
            raise
        except BaseException as error:  # a student's code may raise anything, SystemExit and KeyboardInterrupt too
            self._note(error, node)
            self._supply(_parts(node))
        if isinstance(node, DEFINED) and not self._found:
            self._defined.add(node.name)

    def _supply(self, nodes: Iterable[ast.stmt]) -> None:
        """Run those of these statements that import or define what nothing else has."""
        for node in nodes:
            if isinstance(node, DEFINITIONS) and _binds(node, self._name) - self._notebook.namespace.keys():
                try:
                    self._notebook.execute(node, self._name, last=False)
                except TimeLimit:
                    raise
                except BaseException as error:
                    self._note(error, node)

    def _note(self, error: BaseException, node: ast.stmt) -> None:
        raised = describe_exception(error)
        stop = self._notebook.note(error, raised)
        self._notebook.lose(_binds(node, self._name), stop)
        if not self._notebook.is_machines(error, raised):
            self._only_missing = self._only_missing or stop
        if raised not in self._found:
            self._found.append(raised)


def _parts(node: ast.stmt) -> list[ast.stmt]:
    """The statements of which one consists: an import of several names, a `with` or a `try`; none if it is whole."""
    if isinstance(node, ast.Import) and len(node.names) > 1:
        return [ast.copy_location(ast.Import([name]), node) for name in node.names]
    if isinstance(node, ast.ImportFrom) and len(node.names) > 1:
        return [ast.copy_location(ast.ImportFrom(node.module, [name], node.level), node) for name in node.names]
    if isinstance(node, ast.With | ast.AsyncWith | ast.Try):
        return [part for inner in node.body for part in (_parts(inner) or [inner])]
    return []


def _binds(node: ast.stmt, name: str) -> frozenset[str]:
    """The names that a statement of the cell `name` defines; none if it can't be compiled."""
    try:
        return names_of(compiled(ast.Module([node], []), name)).binds
    except (SyntaxError, ValueError, RecursionError):
        return frozenset()


async def _coroutine(code: CodeType, namespace: dict[str, Any]) -> object:
    return eval(code, namespace)


def _event_loop() -> asyncio.AbstractEventLoop:
    """The thread's own loop, which a student's code may have made, or a new one."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Python 3.12 warns where it makes one
        try:
            return asyncio.get_event_loop()
        except RuntimeError:
            loop = asyncio.new_event_loop()
            asyncio.set_event_loop(loop)
            return loop
