"""Stand-ins for a Transformer: a trained one to decode with, and small ones to train."""

from __future__ import annotations

import gc
import inspect
import weakref
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Optimizer


class Translator(nn.Module):
    """`model(src, trg)` gives logits (B, T, V) for src (B, S) and trg (B, T), looked up in a table by all of src and by
    trg up to each position. `changed` tells of what was `watched`.

    `data`: table (K, V); training, its first mode; watched, what counts as a change: "mode" (another one afterwards) or
    "gradient" (logits that required gradients). In train mode it looks up other rows, as if by dropout.
    """

    def __init__(self, data: Mapping[str, Any]) -> None:
        super().__init__()
        self.table = nn.Parameter(data["table"].clone())
        self.train(bool(data["training"]))
        self._watched = str(data["watched"])
        self._first_mode = self.training
        self._tracked = False

    def forward(self, src: Tensor, trg: Tensor) -> Tensor:
        """Logits (B, T, V) of ids src (B, S) and trg (B, T), as lesson 07's Transformer gives them."""
        logits = self.table[self.rows(src, trg)]
        self._tracked = self._tracked or logits.requires_grad
        return logits

    def rows(self, src: Tensor, trg: Tensor) -> Tensor:
        """Which row of the table each position looks up: (B, T)."""
        source, target = (torch.arange(tokens.shape[1], device=tokens.device) for tokens in (src, trg))
        read = ((src + 1) * (3 * source + 5)).sum(-1, keepdim=True)
        written = ((trg + 1) * (7 * target + 11)).cumsum(-1)
        return (read + written + self.training) % len(self.table)

    def changed(self) -> bool:
        """Whether the watched property has changed."""
        return self._tracked if self._watched == "gradient" else self.training is not self._first_mode


FORWARD, BACKWARD, STEP, STEP_WITHOUT_GRADIENTS = range(4)


class Trainee(nn.Module):
    """`model(src, trg)` gives logits (B, T, V), from src without its padding and from trg up to each position.

    `data`: parameters source (Vs, E), target and output (Vt, E); pad_idx; training, its first mode; rate and momentum
    of its `optimizer`; source.grad, target.grad and output.grad, if the parameters begin with gradients. In train mode
    a third of the features is zero, always the same. The buffer `events` says in which order it was run,
    differentiated and changed. What counts as a change: the graph of a call was still held (not if `watched` is False).
    """

    def __init__(self, data: Mapping[str, Any]) -> None:
        super().__init__()
        self.source, self.target, self.output = (nn.Parameter(data[n].clone()) for n in ("source", "target", "output"))
        for name, parameter in self.named_parameters():
            parameter.grad = data[f"{name}.grad"].clone() if f"{name}.grad" in data else None
        self.dropout = _Thinned()
        self.pad_idx = int(data["pad_idx"])
        self.events: Tensor
        # Not in its state_dict: loading an earlier state undoes no event.
        self.register_buffer("events", torch.zeros(0, dtype=torch.long), persistent=False)
        self.optimizer = Descent(self, float(data["rate"]), float(data["momentum"]))
        self.train(bool(data["training"]))
        self._graph: Callable[[], object] | None = None
        self._watched, self._held = bool(data.get("watched", True)), False

    def forward(self, src: Tensor, trg: Tensor) -> Tensor:
        """Logits (B, T, V) of ids src (B, S) and trg (B, T), as lesson 07's Transformer gives them."""
        self.note(FORWARD)
        places = 1 + torch.arange(src.shape[1], device=src.device) / 8  # a source read backwards is another
        read = ((src != self.pad_idx) * places)[..., None] * self.source[src]
        written = self.target[trg]
        seen = read.sum(1, keepdim=True) + written.cumsum(1) / 2 + written
        logits = self.dropout(torch.tanh(seen)) @ self.output.T
        if logits.requires_grad:
            logits = _Noticed.apply(logits, self)
        return logits

    def __getstate__(self) -> dict[str, Any]:
        """What a copy gets, and a file: all but the graph that is watched."""
        return {**self.__dict__, "_graph": None}

    def note(self, event: int) -> None:
        """Remember that an event of the training was seen: its number goes to the end of `events`."""
        self.events = torch.cat([self.events, torch.tensor([event], device=self.events.device)])

    def hold(self, graph: object) -> None:
        """Watch whether `graph`, an object in a call's graph, is still held after the call."""
        self._graph = weakref.ref(graph)

    def changed(self) -> bool:
        """Whether the graph of a call was still held after it. Once is enough: collecting garbage takes long."""
        graph = self._graph
        if self._watched and not self._held and graph is not None and graph() is not None:
            gc.collect()
            self._held = graph() is not None
        return self._held


class Speaker(Trainee):
    """A decoder-only stand-in: `model(tokens)` gives logits (B, T, V) of ids (B, T), from the first token and those up
    to each position. It has no padding."""

    def __init__(self, data: Mapping[str, Any]) -> None:
        super().__init__({**data, "pad_idx": -1})

    def forward(self, tokens: Tensor) -> Tensor:  # type: ignore[override]
        """Logits (B, T, V) of ids (B, T), as lesson 11's GPT gives them."""
        return super().forward(tokens[:, :1], tokens)


class _Thinned(nn.Module):
    """Dropout without chance, of features (..., E). It is a module inside, so that only `train()` and `eval()` of the
    whole model switch it."""

    def forward(self, x: Tensor) -> Tensor:
        return x * (torch.arange(x.shape[-1], device=x.device) % 3 != 0) if self.training else x


class _Held:
    """An object that lives as long as the graph that it is put into."""


class _Noticed(torch.autograd.Function):
    """The identity on logits (B, T, V), which tells the model when gradients come by. It has all that `torch.func`
    wants."""

    generate_vmap_rule = True

    @staticmethod
    def forward(logits: Tensor, model: Trainee) -> Tensor:
        return logits.view_as(logits)

    @staticmethod
    def setup_context(context: Any, inputs: tuple[Tensor, Trainee], output: Tensor) -> None:
        _, model = inputs
        context.model, context.held = model, _Held()
        model.hold(context.held)

    @staticmethod
    def backward(context: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        context.model.note(BACKWARD)
        return gradients[0], None

    @staticmethod
    def jvp(context: Any, direction: Tensor, _model: None) -> Tensor:
        return direction.view_as(direction)


class Descent(Optimizer):
    """Gradient descent with momentum, by `torch.optim.SGD`'s rule, which notes in the model what it does. A copy of it
    notes nothing: it moves parameters of its own."""

    # torch wraps these to keep its compiler out of them, and imports it for that, which takes seconds.
    zero_grad, add_param_group = inspect.unwrap(Optimizer.zero_grad), inspect.unwrap(Optimizer.add_param_group)
    state_dict, load_state_dict = inspect.unwrap(Optimizer.state_dict), inspect.unwrap(Optimizer.load_state_dict)

    def __init__(self, model: Trainee, rate: float, momentum: float) -> None:
        super().__init__(model.parameters(), {"lr": rate, "momentum": momentum})
        self._note = weakref.WeakMethod(model.note)

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self.__dict__.setdefault("_note", lambda: None)

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Change the parameters by their gradients. As with torch's optimizers, `closure` computes the loss first,
        which is returned; None without one."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        changed = False
        with torch.no_grad():
            for group in self.param_groups:
                for parameter in (p for p in group["params"] if p.grad is not None):
                    changed = changed or bool(parameter.grad.any())
                    parameter -= group["lr"] * self._moved(parameter, group["momentum"])
        note = self._note()
        if note is not None:
            note(STEP if changed else STEP_WITHOUT_GRADIENTS)
        return loss

    def _moved(self, parameter: nn.Parameter, momentum: float) -> Tensor:
        """The parameter's momentum after its gradient was added, which is kept as `torch.optim.SGD` keeps it."""
        assert parameter.grad is not None
        before = self.state[parameter].get("momentum_buffer")
        moved = parameter.grad.clone() if before is None else momentum * before + parameter.grad
        self.state[parameter]["momentum_buffer"] = moved
        return moved
