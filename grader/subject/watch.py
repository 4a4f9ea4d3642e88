"""Watches what torch is asked to do, and how large the tensors are that it makes.

Two modes are needed: a torch-function mode sees the functions by the name the student called, a dispatch mode the
operators that are really run. By dispatch alone `nn.MultiheadAttention` looks like plain matrix products; by
function alone what a composite calls inside stays hidden. Modules are seen by a hook, with all their base classes.

Compiled code passes all this by: a graph of `torch.jit` or `torch.fx` has no functions and no modules in it, an
operator made with `torch.library` runs below both modes. That such code ran is logged, under the names in `COMPILERS`.
`torch.compile` needs nothing of its own: while a mode is on, torch runs the Python code instead.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from types import FrameType
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules.module import register_module_forward_pre_hook
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from grader.subject.protocol import MAX_CALLS, MAX_NAME, Place
from grader.subject.raised import place_of
from grader.subject.values import tensors_in

COMPILERS = ("torch.jit", "torch.fx", "torch.library")
JIT, FX, LIBRARY = COMPILERS
# Whatever torch.jit makes is called through one of these.
JIT_CALLABLES = (torch._C.ScriptFunction, torch._C.ScriptMethod)
# The kinds of operators that torch has, before anybody adds one of their own.
NAMESPACES = frozenset(name.split("::")[0] for name in torch._C._dispatch_get_all_op_names())
# The operators that matrix products are made of, by the position of their left factor, and the products of entries.
MATRIX_PRODUCTS = {
    **dict.fromkeys(("aten::mm", "aten::bmm", "aten::mv", "aten::dot", "aten::vdot"), 0),
    **dict.fromkeys(("aten::addmm", "aten::baddbmm", "aten::addbmm", "aten::addmv"), 1),
}
ELEMENTWISE = frozenset({"aten::mul", "aten::mul_", "aten::addcmul"})
PLACES = {"torch.nn.functional": "F.", "torch._ops.aten": "torch.ops.aten.", "torch": "torch."}


class Log:
    """The log of a watched call: which functions were called, in order and without repetition, and from which line of
    the student's; how many operators ran; how many numbers were multiplied; and the largest storage made, in elements,
    with its tensor's shape."""

    def __init__(self) -> None:
        self._calls: dict[str, Place | None] = {}
        self.operations = 0
        self.products = 0
        self.largest = 0
        self.largest_shape: tuple[int, ...] = ()

    @property
    def calls(self) -> tuple[str, ...]:
        return tuple(self._calls)

    @property
    def places(self) -> tuple[Place | None, ...]:
        return tuple(self._calls.values())

    def add(self, name: str) -> None:
        """Note a call by its name. A student's code can give functions any names, and as many as it likes: too many are
        a RuntimeError, since what isn't noted would be hidden."""
        name = name[:MAX_NAME]
        if name in self._calls:
            return
        if len(self._calls) == MAX_CALLS:
            raise RuntimeError(f"more than {MAX_CALLS} different torch functions in one call")
        self._calls[name] = place_of(sys._getframe(1))

    def multiply(self, operator: str, args: tuple[Any, ...], result: object) -> None:
        """Count the multiplications of an operator: those of a matrix product, or one for each entry of another."""
        if operator in MATRIX_PRODUCTS:
            left, right = args[MATRIX_PRODUCTS[operator] :][:2]
            self.products += left.numel() * (right.shape[-1] if right.dim() > 1 else 1)
        elif operator in ELEMENTWISE and isinstance(result, Tensor):
            self.products += result.numel()

    def measure(self, result: object) -> None:
        for tensor in tensors_in(result):
            if tensor.layout is not torch.strided:
                continue  # a sparse tensor has no storage to measure
            elements = tensor.untyped_storage().nbytes() // tensor.element_size()
            if elements > self.largest:
                self.largest, self.largest_shape = elements, tuple(tensor.shape)


# The log of the watched call that is running, for whichever thread works for it.
_now: Log | None = None
# Its private part is no part of what mypy knows.
Thread: Any = threading.Thread


class _Functions(TorchFunctionMode):
    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: object,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        if _now is not None:
            _now.add(function_name(func))
            caller = _caller(sys._getframe(1))
            if caller:
                _now.add(caller)
        return func(*args, **(kwargs or {}))


class _Operators(TorchDispatchMode):
    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """Nothing is compiled here: without torch's wrapper the first call imports no compiler (0.6 s, 70 MB)."""
        return False

    def __torch_dispatch__(
        self,
        func: Any,
        types: object,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        result = func(*args, **(kwargs or {}))
        if _now is not None:
            name = _operator_name(func)
            _now.add(name)
            _now.operations += 1
            _now.multiply(name, args, result)
            _now.measure(result)
        return result


@cache
def _operator_name(func: Any) -> str:
    if func.namespace not in NAMESPACES:
        return LIBRARY
    return f"aten::{str(func).removeprefix('aten.').split('.')[0]}"


def _caller(frame: FrameType | None) -> str:
    """What in torch's Python code asks, by the name that is logged: a module's `forward`, as "nn._BatchNorm.forward"
    (called directly, it passes the hook by), or torch.fx for a graph of its. Empty for a student's code."""
    while frame is not None and (module := frame.f_globals.get("__name__", "")).startswith("torch."):
        name = frame.f_code.co_name
        if module.startswith("torch.nn.modules.") and name == "forward":
            return f"nn.{frame.f_code.co_qualname}"
        if module == "torch.fx.interpreter":
            return FX
        frame = frame.f_back
    return FX if frame is not None and frame.f_code.co_filename.startswith("<eval_with_key>") else ""


@cache
def function_name(func: Callable[..., Any]) -> str:
    """A torch function as a student would write it: `F.softmax`, `torch.softmax`, `Tensor.softmax`."""
    name = getattr(func, "__name__", None) or str(func).split(".")[-1]
    module = getattr(func, "__module__", None)
    if module is None and hasattr(Tensor, name):
        return f"Tensor.{name}"
    if module is not None and module.startswith("torch._ops.") and module.split(".")[2] not in NAMESPACES:
        return LIBRARY
    if module == "torch._ops.aten":
        name = str(func).removeprefix("aten.")
    return PLACES.get(module or "", f"{module}." if module else "") + name


@contextmanager
def _jit_logged(kind: Any, log: Log) -> Iterator[None]:
    """Inside the block, log every call of an object of the type `kind`."""
    call = kind.__call__

    def logged(compiled: Any, *args: Any, **kwargs: Any) -> Any:
        log.add(JIT)
        return call(compiled, *args, **kwargs)

    kind.__call__ = logged
    try:
        yield
    finally:
        kind.__call__ = call


_run_unwatched = Thread._bootstrap_inner  # what a thread does from its first to its last step, in subclasses too


def _run_watched(thread: Any) -> None:
    """Run a thread with the modes of the watched call, since torch's modes hold for one thread only."""
    with _Operators(), _Functions():
        _run_unwatched(thread)


def watch_threads() -> None:
    """From here on give every thread torch's modes, not only those that start during a watched call: a thread of an
    earlier cell may do the work. Not for a learner's kernel, where most threads are Jupyter's."""
    Thread._bootstrap_inner = _run_watched


@contextmanager
def watch(log: Log) -> Iterator[None]:
    """Log everything that torch does inside the block."""
    global _now

    def entered(module: nn.Module, _args: object) -> None:
        for base in type(module).__mro__:
            if base.__module__.startswith("torch.nn.modules") and base is not nn.Module:
                log.add(f"nn.{base.__name__}")

    run_as_before, Thread._bootstrap_inner = Thread._bootstrap_inner, _run_watched
    hook = register_module_forward_pre_hook(entered)
    before, _now = _now, log
    try:
        with ExitStack() as stack:
            for kind in JIT_CALLABLES:
                stack.enter_context(_jit_logged(kind, log))
            stack.enter_context(_Operators())
            stack.enter_context(_Functions())
            yield
    finally:
        _now = before
        hook.remove()
        Thread._bootstrap_inner = run_as_before


@cache
def warm_up() -> None:
    """Pay for what torch imports on the first watched call and gradient, before any time counts and any fork."""
    x = torch.ones(2, requires_grad=True)
    with watch(Log()):
        torch.autograd.grad((x * x).sum(), x)
