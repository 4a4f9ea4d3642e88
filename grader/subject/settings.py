"""A check runs under torch's own settings, whatever a learner has set for the whole process, and puts back what it
found: `under_torchs_own`. Of what a call itself changes some is told (`reset`), because all later code depends on it.
"""

from __future__ import annotations

import functools
import random
import sys
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, ParamSpec, TypeVar

import numpy as np
import torch
import torch.nn.modules.module as modules
import torch.optim.optimizer as optimizers
from torch import __future__ as future
from torch import overrides
from torch.utils import _device as device
from torch.utils import _python_dispatch as dispatch

Arguments = ParamSpec("Arguments")
Returned = TypeVar("Returned")
numpys: Any = np.random  # as far as NumPy lists it
C: Any = torch._C  # its private part is no part of what mypy knows


@dataclass(frozen=True)
class Setting:
    """One setting of the process. `own` gives, from what was found, what a check runs under."""

    name: str
    read: Callable[[], Any]
    write: Callable[[Any], object]
    own: Callable[[Any], Any]


def _as_found(found: Any) -> Any:
    return found


def _always(value: Any) -> Callable[[Any], Any]:
    return lambda _found: value


# --- those that have no simple pair of functions ----------------------------------------------------------------------

_guards: list[Any] = []


def _set_inference(on: bool) -> None:
    """Switch inference mode off by a guard, or on again by giving that up: torch has no other way."""
    if on and _guards:
        _guards.pop().__exit__(None, None, None)
    else:
        guard = torch.inference_mode(on)
        guard.__enter__()
        _guards.extend([] if on else [guard])


def _set_stack(stack: Any) -> Callable[[tuple[Any, ...]], None]:
    def write(modes: tuple[Any, ...]) -> None:
        while _modes(stack)():
            stack._pop_mode()
        for mode in modes:
            stack._push_mode(mode)

    return write


def _modes(stack: Any) -> Callable[[], tuple[Any, ...]]:
    read = (
        overrides._get_current_function_mode_stack if stack is overrides else dispatch._get_current_dispatch_mode_stack
    )
    return lambda: tuple(read())


def _default_device() -> tuple[Any, Any]:
    """What `set_default_device` keeps beside its mode on the stack."""
    return getattr(torch._GLOBAL_DEVICE_CONTEXT, "device_context", None), device.CURRENT_DEVICE


def _set_default_device(kept: tuple[Any, Any]) -> None:
    torch._GLOBAL_DEVICE_CONTEXT.device_context, device.CURRENT_DEVICE = kept


_TINY, _ONE = sys.float_info.min * sys.float_info.epsilon, 1.0


def _flushes() -> bool:
    """Whether the processor takes numbers next to zero for zero, in this thread: Python's floats show it too."""
    return _TINY * _ONE == 0.0


_HOOKS: tuple[dict[Any, Any], ...] = tuple(
    value
    for module in (modules, optimizers)
    for name, value in vars(module).items()
    if name.startswith("_global_") and name.endswith("_hooks") and isinstance(value, dict)
)


def _set_hooks(found: tuple[dict[Any, Any], ...]) -> None:
    for hooks, before in zip(_HOOKS, found, strict=True):
        hooks.clear()
        hooks.update(before)


_OWN_DRAWS = np.random.MT19937()
_PRINTING = vars(torch._tensor_str.PRINT_OPTS)


def _set_filters(filters: tuple[Any, ...]) -> None:
    warnings.resetwarnings()  # which also forgets what was warned of already
    warnings.filters.extend(filters)  # type: ignore[attr-defined]


COMPILER, AS_WRITTEN, NOT_IMPORTED = "torch._dynamo.eval_frame", "force_eager", "not imported"


def _compiling() -> Any:
    """What torch does where code that was given to `torch.compile` is called: its "stance", where the compiler is
    imported and torch has such a thing (since 2.6)."""
    stance = getattr(sys.modules.get(COMPILER), "_stance", NOT_IMPORTED)
    return AS_WRITTEN if getattr(stance, "stance", "") == AS_WRITTEN else stance


def _set_compiling(found: Any) -> None:
    compiler: Any = sys.modules.get(COMPILER)
    if hasattr(compiler, "_stance"):
        kind = compiler.DynamoStance
        stance = {AS_WRITTEN: kind(AS_WRITTEN), NOT_IMPORTED: kind()}
        compiler._set_stance(stance[found] if isinstance(found, str) else found)


# --- all of them ------------------------------------------------------------------------------------------------------


def _pair(name: str, read: str, write: str, own: Any) -> Iterator[Setting]:
    """The setting of a pair of `torch._C`'s functions; none where this torch doesn't have it."""
    if hasattr(C, read) and hasattr(C, write):
        yield Setting(name, getattr(C, read), getattr(C, write), _always(own))


def _functions(module: Any, name: str) -> tuple[Callable[[], Any], Callable[[Any], object]]:
    """The functions of a module that get and set this."""
    return getattr(module, f"get_{name}"), getattr(module, f"set_{name}")


def _precisions() -> Iterator[Setting]:
    """How exactly each library multiplies float32, from the most general to the most special: one that isn't set takes
    the more general one's."""
    if not hasattr(C, "_get_fp32_precision_getter"):
        return
    of = [("generic", "all"), *((library, "all") for library in ("cuda", "mkldnn"))]
    of += [(library, what) for library in ("cuda", "mkldnn") for what in ("conv", "rnn", "matmul")]
    for library, what in of:
        own = "tf32" if library == "cuda" and what in ("conv", "rnn") else "none"
        read = functools.partial(C._get_fp32_precision_getter, library, what)
        write = functools.partial(C._set_fp32_precision_setter, library, what)
        yield Setting(f"precision of {library}, {what}", read, write, _always(own))


def _autocast(kind: str) -> Setting:
    read, write = (functools.partial(f, kind) for f in (torch.is_autocast_enabled, torch.set_autocast_enabled))
    return Setting(f"autocast on {kind}", read, write, _always(False))


_FUNCTIONS_SEEN = getattr(getattr(C, "_TorchFunctionState", None), "ENABLED", None)  # 2.5 has no such state
SDP_KERNELS = ("flash", "math", "mem_efficient", "cudnn", "overrideable")

# In the order in which they are set: the modes first, since they see every function of torch that is called after them.
# They are put back in the opposite order. Taken at import, in case a notebook replaces torch's functions.
SETTINGS: tuple[Setting, ...] = (
    Setting("function modes", _modes(overrides), _set_stack(overrides), _always(())),
    Setting("dispatch modes", _modes(dispatch), _set_stack(dispatch), _always(())),
    *_pair("functions seen", "_get_torch_function_state", "_set_torch_function_state", _FUNCTIONS_SEEN),
    Setting("device", _default_device, _set_default_device, _always((None, None))),
    Setting("inference", torch.is_inference_mode_enabled, _set_inference, _always(False)),
    *_pair("gradients", "is_grad_enabled", "_set_grad_enabled", True),
    *_pair("forward gradients", "_is_fwd_grad_enabled", "_set_fwd_grad_enabled", True),
    Setting(
        "anomalies",
        lambda: (C.is_anomaly_enabled(), C.is_anomaly_check_nan_enabled()),
        lambda found: C.set_anomaly_enabled(*found),
        _always((False, True)),
    ),
    Setting("dtype", torch.get_default_dtype, C._set_default_dtype, _always(torch.float32)),
    _autocast("cpu"),
    _autocast("cuda"),
    *_precisions(),
    *_pair("precision", "_get_float32_matmul_precision", "_set_float32_matmul_precision", "highest"),
    Setting(
        "determinism",
        lambda: (C._get_deterministic_algorithms(), C._get_deterministic_algorithms_warn_only()),
        lambda found: C._set_deterministic_algorithms(found[0], warn_only=found[1]),
        _always((False, False)),
    ),
    # One thread: the tensors of a check are small. With several, threads mostly wait for each other, and on a busy
    # machine that takes fifty times as long.
    Setting("threads", torch.get_num_threads, torch.set_num_threads, _always(1)),
    Setting("denormals", _flushes, torch.set_flush_denormal, _always(False)),
    *_pair("oneDNN", "_get_mkldnn_enabled", "_set_mkldnn_enabled", True),
    *(s for k in SDP_KERNELS for s in _pair(f"{k} attention", f"_get_{k}_sdp_enabled", f"_set_sdp_use_{k}", True)),
    # Compiling takes seconds, and a C++ compiler that the judge's machine need not have.
    Setting("compiling", _compiling, _set_compiling, _always(AS_WRITTEN)),
    # Whether `.to` exchanges a module's parameters or what they hold.
    *(
        Setting(f"{how} on conversion", *_functions(future, f"{how}_module_params_on_conversion"), _always(False))
        for how in ("overwrite", "swap")
    ),
    Setting("hooks", lambda: tuple(map(dict, _HOOKS)), _set_hooks, _always(tuple({} for _ in _HOOKS))),
    Setting("printing", _PRINTING.copy, _PRINTING.update, _always(vars(type(torch._tensor_str.PRINT_OPTS)()))),
    Setting(
        "warnings",
        lambda: tuple(warnings.filters),
        _set_filters,
        lambda found: tuple(kept for kept in found if kept[0] != "error"),
    ),
    Setting(
        "NumPy's errors",
        np.geterr,
        lambda found: np.seterr(**found),
        _always({"divide": "warn", "over": "warn", "under": "ignore", "invalid": "warn"}),
    ),
    Setting("recursion", sys.getrecursionlimit, sys.setrecursionlimit, lambda found: max(found, 1000)),
    Setting("NumPy's generator", numpys.get_bit_generator, numpys.set_bit_generator, _always(_OWN_DRAWS)),
    # These two can't be exchanged, so what is drawn from them is put back.
    Setting("Python's random state", random.getstate, random.setstate, _as_found),
    Setting("torch's random state", torch.default_generator.get_state, torch.default_generator.set_state, _as_found),
)
RANDOM = tuple(setting.name for setting in SETTINGS if setting.own is _as_found)


class _Found:
    """What was found of each setting that was looked at."""

    def __init__(self) -> None:
        self._values: list[tuple[Setting, Any]] = []

    def set_aside(self) -> None:
        """Set every setting to torch's own value."""
        for setting in SETTINGS:
            found = setting.read()
            self._values.append((setting, found))
            own = setting.own(found)
            if own is not found and own != found:
                setting.write(own)

    def put_back(self) -> None:
        """Set every setting to what was found, the last one first. Called again it goes on where it was cut off."""
        while self._values:
            setting, found = self._values[-1]
            if setting.name in RANDOM or setting.read() != found:
                setting.write(found)
            self._values.pop()


def under_torchs_own(function: Callable[Arguments, Returned]) -> Callable[Arguments, Returned]:
    """A decorator: the function runs under torch's own settings, and those that were found are put back after it. Where
    an interrupt (Ctrl+C) cuts that off, it is taken up again."""

    @functools.wraps(function)
    def run(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Returned:
        found = _Found()
        try:
            found.set_aside()
            return function(*args, **kwargs)
        finally:
            try:
                found.put_back()
            finally:
                found.put_back()

    return run


# What a call must leave as it found it, or it is told: the keys of `grader.spec.parts`.
TOLD = ("device", "gradients", "dtype", "threads")
_FIXED = tuple(setting for setting in SETTINGS if setting.name not in (*RANDOM, "warnings", "recursion"))


def reset() -> tuple[str, ...]:
    """Inside `under_torchs_own`, set what a call has changed to torch's own value again; the names of those settings
    that are told."""
    changed = []
    for setting in _FIXED:
        own = setting.own(None)
        if setting.read() != own:
            setting.write(own)
            changed.append(setting.name)
    return tuple(name for name in TOLD if name in changed)


def seed(number: int) -> None:
    """Seed whatever draws at random, in Python, NumPy and torch."""
    torch.default_generator.manual_seed(number)  # `torch.manual_seed` also asks for CUDA: ten times slower
    random.seed(number)
    np.random.seed(number % 2**32)
