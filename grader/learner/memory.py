"""`peak_bytes` measures what a computation needs: how many bytes of new tensors are alive at the same time."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode


def peak_bytes(function: Callable[..., Any], *args: Tensor) -> int:
    """The most bytes of new tensors that are alive at once while `function(*args)` runs.

    What was there before, such as the arguments, doesn't count. Scratch space inside one operation doesn't either.

    >>> peak_bytes(lambda x: (x + 1) + 2, torch.zeros(1000))  # while the second sum is made, the first is alive
    8000
    """
    with _Memory(args) as memory:
        function(*args)
    return memory.peak


class _Memory(TorchDispatchMode):
    """Sees every operator that torch runs. `now`: the bytes of the tensors they made that are alive; `peak`: the most
    so far."""

    def __init__(self, given: tuple[Tensor, ...]) -> None:
        super().__init__()
        self.now = self.peak = 0
        self._known = {tensor.untyped_storage().data_ptr() for tensor in given}

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """Nothing is compiled here. Torch would import its compiler, which takes a second."""
        return False

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        for tensor in _tensors(result):
            storage = tensor.untyped_storage()  # a view has its tensor's
            if storage.data_ptr() not in self._known:
                self._made(storage)
        return result

    def _made(self, storage: torch.UntypedStorage) -> None:
        self._known.add(storage.data_ptr())
        self.now += storage.nbytes()
        self.peak = max(self.peak, self.now)
        weakref.finalize(storage, self._freed, storage.data_ptr(), storage.nbytes())

    def _freed(self, address: int, size: int) -> None:
        self._known.discard(address)
        self.now -= size


def _tensors(result: object) -> Iterator[Tensor]:
    if isinstance(result, Tensor):
        yield result
    elif isinstance(result, tuple | list):
        for item in result:
            yield from _tensors(item)
