"""What a call has to leave in torch as it found it, because all later code depends on it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

# How each is read and set. Taken at import, in case a notebook replaces torch's functions.
SETTINGS: dict[str, tuple[Callable[[], Any], Callable[[Any], object]]] = {
    "gradients": (torch.is_grad_enabled, torch.set_grad_enabled),
    "dtype": (torch.get_default_dtype, torch.set_default_dtype),
    "threads": (torch.get_num_threads, torch.set_num_threads),
    "seed": (torch.default_generator.initial_seed, torch.default_generator.manual_seed),
}


def read() -> tuple[Any, ...]:
    """The settings as they are, in the order of `SETTINGS`."""
    return tuple(getter() for getter, _ in SETTINGS.values())


def put_back(before: tuple[Any, ...]) -> tuple[str, ...]:
    """Set whatever is no longer as `before`, what `read` gave, to what it was; the keys of what was changed."""
    changed = []
    for (key, (getter, setter)), value in zip(SETTINGS.items(), before, strict=True):
        if getter() != value:
            setter(value)
            changed.append(key)
    return tuple(changed)
