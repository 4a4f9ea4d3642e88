"""Every setting of the whole process that torch has, found by its names, and Python's that code may depend on.

A setting is a line of code, as a learner writes it in a cell. `python -m tests.exercises.process_settings` checks every
model solution under each of them, which takes minutes; the tests take a part.
"""

from __future__ import annotations

import importlib
import inspect
import io
import locale
import pkgutil
import random
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout, suppress
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import torch

from grader.authoring.model_solutions import model_solution
from grader.authoring.unfinished import todo_in_specification
from grader.exercises.registry import exercises
from grader.report import Report
from grader.spec.evaluate import evaluate
from grader.subject.local import LocalSubject
from tests.exercises.test_submissions import without_unused_imports

# What a setting may be set to, as code.
VALUES = (
    *("True", "False", "None", '"meta"', '"cpu"', "0", "1", "2", "3"),
    *("torch.float64", "torch.float16", "torch.bfloat16", "torch.float32"),
    *('"torch.DoubleTensor"', '"torch.FloatTensor"', '"warn"', '"error"', '"greedy"', '"auto"'),
    *('"medium"', '"high"', '"highest"', '"bf16"', '"tf32"', '"ieee"', '"none"'),
    *("torch.nn.attention.SDPBackend.FLASH_ATTENTION", "lambda tensor: tensor, lambda tensor: tensor"),
)
MOST = 4  # values of one setting
# They can't be set back, or no function reads them (`others` has those), or they draw at random, or write a page on
# every operation past Python.
LEFT_OUT = {"set_num_interop_threads", "set_printoptions", "set_rng_state", "get_rng_state", "verbose", "profile"}
FOLDERS = ("torch.backends", "torch.autograd")
OTHERS = (
    "torch",
    "torch.amp",
    "torch.sparse",
    "torch.utils.deterministic",
    "torch.utils.flop_counter",
    "torch.overrides",
)
OTHERS = (*OTHERS, "torch.nn.attention", "torch.__future__")


@dataclass(frozen=True)
class Set:
    """A setting: the code that makes it, and what undoes it, given the names that the code bound."""

    code: str
    undo: Callable[[dict[str, Any]], object]


@cache
def places() -> dict[str, Any]:
    """The modules, and the objects in them, that may have settings, by their names as code."""
    found: dict[str, Any] = {}
    for folder in FOLDERS:
        package = importlib.import_module(folder)
        names = [folder, *(f"{folder}.{m.name}" for m in pkgutil.iter_modules(getattr(package, "__path__", ())))]
        for name in names:
            if "._" not in name and not name.endswith(("xeon", "coreml", "xnnpack")):
                with suppress(ImportError):
                    found[name] = importlib.import_module(name)
    found |= {name: importlib.import_module(name) for name in OTHERS}
    for name, module in list(found.items()):
        for inside in dir(module) if name.startswith("torch.backends") else ():
            value = vars(type(module)).get(inside, getattr(module, inside, None))
            if type(value).__module__.startswith("torch.backends") and not isinstance(
                value, torch.backends.ContextProp
            ):
                found[f"{name}.{inside}"] = value
    return found


def public(place: Any) -> list[str]:
    names = {*dir(place), *vars(type(place))}  # a module's `dir` has no properties of its class
    return sorted(name for name in names if not name.startswith("_") and name not in LEFT_OUT)


def is_flag(place: Any, name: str) -> bool:
    """Whether it is a property that a library's module has, or one that its `__getattr__` makes."""
    return isinstance(vars(type(place)).get(name), torch.backends.ContextProp)


@cache
def readers() -> dict[str, Callable[[], Any]]:
    """What reads a setting, by its code: functions without arguments that are named so, and flags."""
    found: dict[str, Callable[[], Any]] = {}
    for path, place in places().items():
        for name in public(place):
            if is_flag(place, name):
                found[f"{path}.{name}"] = lambda place=place, name=name: getattr(place, name)
            elif name.startswith(("is_", "are_", "get_")) or name.endswith("_enabled"):
                function = getattr(place, name)
                with suppress(Exception):
                    if not inspect.isclass(function) and read(function) is not function:
                        found[f"{path}.{name}()"] = function
    for path, place in places().items():
        for name in FLAGS_BY_GETATTR:
            with suppress(Exception):
                getattr(place, name)
                found[f"{path}.{name}"] = lambda place=place, name=name: getattr(place, name)
    return found


# Of modules' objects that answer to any name.
FLAGS_BY_GETATTR = (
    *("allow_tf32", "allow_fp16_reduced_precision_reduction", "allow_bf16_reduced_precision_reduction"),
    *("fp32_precision", "allow_fp16_accumulation"),
)


def read(function: Callable[[], Any]) -> Any:
    """What a reader gives, as something that can be compared; an exception is its text."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            value = function()
        except Exception as error:
            return f"{type(error).__name__}: {error}"[:80]
    return value if isinstance(value, bool | int | float | str | tuple | list | None | torch.dtype) else repr(value)


def readings() -> dict[str, Any]:
    """All that is set: what the readers give, the stacks of modes, Python's and NumPy's settings, random states."""
    found = {code: read(function) for code, function in readers().items()}
    found["function modes"] = [id(mode) for mode in torch.overrides._get_current_function_mode_stack()]
    found["dispatch modes"] = [id(mode) for mode in torch.utils._python_dispatch._get_current_dispatch_mode_stack()]
    found["functions seen"] = str(getattr(torch._C, "_get_torch_function_state", bool)())  # torch 2.5 has no such state
    found["default device"] = id(getattr(torch._GLOBAL_DEVICE_CONTEXT, "device_context", None))
    found["denormals"] = float(np.float64(5e-324) * np.float64(1))
    found["printing"] = dict(vars(torch._tensor_str.PRINT_OPTS)), np.get_printoptions()
    found["warnings"] = [repr(kept) for kept in warnings.filters]
    found["numpy"] = np.geterr()
    found["python"] = sys.getrecursionlimit(), locale.setlocale(locale.LC_ALL), sys.getswitchinterval()
    found["random"] = hash((random.getstate(), np.random.get_state()[1].tobytes()))  # type: ignore[index]
    with torch._C.DisableTorchFunction(), torch._C._DisableTorchDispatch():  # a mode may be one that raises
        found["torch's random state"] = torch.default_generator.get_state().numpy().tobytes()
    return found


def differing(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    return [code for code in before if before[code] != after[code]]


def _run(code: str, names: dict[str, Any]) -> bool:
    """Whether the code runs."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            exec(code, names)
        except BaseException:
            return False
    return True


def _assigned() -> Iterator[tuple[str, list[str]]]:
    """The ways to set one thing: its name, and the code for each value."""
    for path, place in places().items():
        for name in public(place):
            if is_flag(place, name):
                yield f"{path}.{name}", [f"{path}.{name} = {value}" for value in VALUES]
            elif name.startswith(("set_", "use_", "enable_", "disable_", "preferred_", "fill_")):
                yield f"{path}.{name}", [f"{path}.{name}({value})" for value in VALUES]
        for name in FLAGS_BY_GETATTR:
            if f"{path}.{name}" in readers():
                yield f"{path}.{name}", [f"{path}.{name} = {value}" for value in VALUES]


def _set_back(line: str, before: dict[str, Any], names: dict[str, Any]) -> str:
    """The code that sets everything back to `before`: this line, and flags of libraries that it doesn't reach. Empty if
    it doesn't."""
    if not _run(line, names):
        return ""
    flags = [
        f"{code} = {before[code]!r}" for code in differing(before, readings()) if code.startswith("torch.backends")
    ]
    code = "\n".join([line, *flags])
    return code if _run(code, names) and not differing(before, readings()) else ""


def assigned() -> Iterator[Set]:
    """Settings that are assigned, or set by a function: the first values that change a reading, each in another way.
    ValueError for one that none of the values sets back: `VALUES` lacks what a newer torch has there."""
    names: dict[str, Any] = {"torch": torch}
    torch.set_default_device(None)  # torch 2.5 can't read it before it has been set
    for _, lines in _assigned():
        before, seen = readings(), []
        for line in lines:
            if len(seen) == MOST:
                break
            if not _run(line, names):
                continue
            after = readings()
            changed = {code: after[code] for code in differing(before, after)}
            if not changed:
                continue
            back = next((found for other in lines if (found := _set_back(other, before, names))), "")
            if not back:
                left = ", ".join(differing(before, readings()))
                raise ValueError(f"nothing sets back what this line does: {line} ({left})")
            if changed not in seen:
                seen.append(changed)
                yield Set(line, lambda names, back=back: exec(back, names))
        assert not differing(before, readings()), "a line that raises has changed something all the same"


def contexts() -> Iterator[Set]:
    """Context managers that are entered and not left, each with the first argument that it takes, or True and False."""
    names: dict[str, Any] = {"torch": torch}
    seen: set[int] = set()
    for path, place in places().items():
        for name in public(place):
            kind = getattr(place, name, None)  # a property may raise
            if not (inspect.isclass(kind) or inspect.isfunction(kind)) or not kind.__module__.startswith("torch"):
                continue
            if not hasattr(kind, "__enter__") and not inspect.isgeneratorfunction(inspect.unwrap(kind)):
                continue
            if id(kind) in seen:
                continue
            seen.add(id(kind))
            codes = [f"_entered = {path}.{name}({value}); _entered.__enter__()" for value in ("", *VALUES)]
            work = [code for code in codes if _run(code, names) and _run("_entered.__exit__(None, None, None)", names)]
            yield from (Set(code, lambda names: names["_entered"].__exit__(None, None, None)) for code in work[:2])


OWN_MODE = """
class Mode(torch.overrides.TorchFunctionMode):
    def __torch_function__(self, function, types, args=(), kwargs=None):
        value = function(*args, **(kwargs or {}))
        return value.double() if isinstance(value, torch.Tensor) and value.is_floating_point() else value
_entered = Mode(); _entered.__enter__()"""
HOOK = "_hook = torch.nn.modules.module.register_module_forward_hook(lambda module, args, result: result * 2)"
OWN_DEFAULT = "torch.set_default_device(None)"


def others() -> Iterator[Set]:
    """What no rule finds: without a function that reads it, and not torch's."""
    leave = lambda names: names["_entered"].__exit__(None, None, None)
    limit, plain = sys.getrecursionlimit(), np.geterr()
    yield Set("torch.set_flush_denormal(True)", lambda _: torch.set_flush_denormal(False))
    yield Set("torch.set_printoptions(precision=1, sci_mode=True)", lambda _: torch.set_printoptions(profile="default"))
    yield Set(OWN_MODE, leave)
    yield Set(HOOK, lambda names: names["_hook"].remove())
    yield Set("_entered = torch._C.DisableTorchFunction(); _entered.__enter__()", leave)
    yield Set('import numpy; numpy.seterr(all="raise")', lambda _: np.seterr(**plain))
    yield Set("import numpy; numpy.random.seed(1); torch.manual_seed(1)", lambda _: None)
    yield Set("import random; random.seed(1)", lambda _: None)
    yield Set('import warnings; warnings.simplefilter("error")', lambda _: warnings.filters.pop(0))  # type: ignore[attr-defined]
    yield Set("import sys; sys.setrecursionlimit(250)", lambda _: sys.setrecursionlimit(limit))
    yield Set("import sys; sys.setrecursionlimit(20000)", lambda _: sys.setrecursionlimit(limit))
    with suppress(locale.Error):
        before = locale.setlocale(locale.LC_ALL)
        locale.setlocale(locale.LC_ALL, "C")
        locale.setlocale(locale.LC_ALL, before)
        yield Set(
            'import locale; locale.setlocale(locale.LC_ALL, "C")', lambda _: locale.setlocale(locale.LC_ALL, before)
        )


@cache
def settings() -> dict[str, Set]:
    """All settings that can be made here, by their code."""
    return {found.code: found for found in (*assigned(), *contexts(), *others())}


@contextmanager
def made(*chosen: Set) -> Iterator[None]:
    """Inside, these settings are made."""
    done: list[tuple[Set, dict[str, Any]]] = []
    try:
        for setting in chosen:
            names: dict[str, Any] = {"torch": torch}
            exec(setting.code, names)
            done.append((setting, names))
        yield
    finally:
        for setting, names in reversed(done):
            setting.undo(names)


EXERCISES = [
    name for name, exercise in exercises().items() if exercise.kind != "answers" and not todo_in_specification(exercise)
]


@cache
def answer(name: str) -> dict[str, object]:
    """The model solution of an exercise, run as cells before the setting."""
    namespace: dict[str, object] = {"__name__": "__main__"}
    exec(without_unused_imports(model_solution(exercises()[name])), namespace)
    return namespace


def checked(name: str) -> Report:
    return evaluate(exercises()[name], LocalSubject(answer(name)), exercises=exercises(), seconds=60)


def problems(chosen: list[Set], names: list[str]) -> list[str]:
    """Of these exercises' model solutions, checked under the settings: which lose points, and what isn't as it was."""
    found = []
    for name in names:
        answer(name)
    with made(*chosen), redirect_stdout(io.StringIO()):  # some print what they counted
        before = readings()
        for name in names:
            report = checked(name)
            if report.score != 1.0:
                failure = report.traceback.strip().splitlines()[-1:] or [
                    report.first_failure and report.first_failure.message
                ]
                found.append(f"{name}: {report.score:.2f}, {failure[0]}")
        found += [f"not put back: {code}" for code in differing(before, readings())]
    return found


def main() -> int:
    """Check every model solution under every setting; 1 if one loses points."""
    start, wrong = time.monotonic(), 0
    for code, setting in settings().items():
        found = problems([setting], EXERCISES)
        wrong += bool(found)
        print(f"{'wrong' if found else 'ok':6}{code.strip().splitlines()[-1]}", *found[:5], sep="\n      ", flush=True)
    minutes = (time.monotonic() - start) / 60
    print(f"{len(settings())} settings, {len(EXERCISES)} model solutions, {wrong} wrong, {minutes:.1f} minutes")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
