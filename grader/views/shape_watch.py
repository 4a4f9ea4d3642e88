"""Runs a learner's Transformer on a small batch and records the shapes at known places."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from grader.views.shape_steps import LARGE, STEPS, Piece

BATCH = 2
MASKS = {"encoder": ("tokens", "mask"), "decoder": ("tokens", "memory", "src_mask", "trg_mask")}
Shape = tuple[int, ...]


@dataclass
class Trace:
    """What a run showed: shapes by place, the sizes that the model should have, by letter, and the error that ended it
    ("" if none)."""

    sizes: dict[str, int]
    shapes: dict[str, Shape] = field(default_factory=dict)
    error: str = ""

    def note(self, place: str, value: object) -> None:
        """Keep the shape of a tensor that was seen at a place, the first time only. Anything else is passed over."""
        if isinstance(value, Tensor):
            self.shapes.setdefault(place, tuple(value.shape))


def trace_model(model: nn.Module) -> Trace:
    """Run `model(src, trg)` on two sentences in eval mode, without gradients. The model is left as it was; an error
    goes into the trace."""
    trace = Trace(_sizes(model))
    src, trg = (_tokens(trace.sizes, length, vocab) for length, vocab in (("Ts", "Vs"), ("Tt", "V")))
    trace.note("src", src)
    trace.note("trg", trg)
    modes = [(part, part.training) for part in model.modules()]
    with ExitStack() as stack:
        for name, part in model.named_modules():
            place = name or "model"
            stack.callback(part.register_forward_pre_hook(_before(trace, place), with_kwargs=True).remove)
            stack.callback(part.register_forward_hook(_after(trace, place)).remove)
        try:
            with torch.no_grad():
                model.eval()(src, trg)
        except Exception as error:  # a learner's code may raise anything: the view shows it
            lines = str(error).strip().splitlines() or [""]
            trace.error = f"{type(error).__name__}: {lines[0]}"[:200].rstrip(" .:")
        finally:
            for part, training in modes:
                part.training = training
    _read_heads(trace)
    return trace


def _read_heads(trace: Trace) -> None:
    """Take the number of heads in `trace` from the first attention's weights, if it returns any."""
    weights, width = trace.shapes.get("encoder.layers.0.attention:weights", ()), trace.sizes["E"]
    if len(weights) == 4 and weights[1] > 0 and width % weights[1] == 0:
        trace.sizes |= {"H": weights[1], "D": width // weights[1]}
        trace.shapes["heads"] = (trace.sizes["H"], trace.sizes["D"])


def _before(trace: Trace, place: str) -> Any:
    def hook(_part: nn.Module, args: tuple[Any, ...], named: Mapping[str, Any]) -> None:
        first = args[0] if args else named.get("x", named.get("query"))
        trace.note(f"{place}:first", first)
        arguments = {**dict(zip(MASKS.get(place, ()), args, strict=False)), **named}
        for name in ("mask", "trg_mask"):
            trace.note(f"{place}:{name}", arguments.get(name))

    return hook


def _after(trace: Trace, place: str) -> Any:
    def hook(_part: nn.Module, _args: object, result: object) -> None:
        if isinstance(result, tuple | list) and len(result) == 2:
            trace.note(f"{place}:weights", result[1])
            result = result[0]
        trace.note(place, result)

    return hook


def _tokens(sizes: Mapping[str, int], length: str, vocab: str) -> Tensor:
    """Ids from the upper half of a vocabulary, where no padding is expected, for two sentences. `length` and `vocab`
    are keys of `sizes`. The learner's random state stays."""
    generator = torch.Generator().manual_seed(0)
    return torch.randint(sizes[vocab] // 2, sizes[vocab], (sizes["B"], sizes[length]), generator=generator)


def _sizes(model: nn.Module) -> dict[str, int]:
    """The model's sizes by letter, from its tables and layers; those it doesn't show are the large example's."""

    def of(path: str, attribute: str, otherwise: int) -> int:
        part: Any = model
        for name in path.split("."):
            part = getattr(part, name, None)
        size = getattr(part, attribute, otherwise)
        return size if type(size) is int and size > 0 else otherwise

    sizes = {**LARGE, "B": BATCH}
    sizes["E"] = of("encoder.token_embedding", "embedding_dim", sizes["E"])
    sizes["Vs"] = of("encoder.token_embedding", "num_embeddings", sizes["Vs"])
    sizes["V"] = of("decoder.token_embedding", "num_embeddings", sizes["V"])
    sizes["F"] = of("encoder.layers.0.feed_forward.linear1", "out_features", sizes["F"])
    for name, half in (("Ts", "encoder"), ("Tt", "decoder")):
        sizes[name] = min(sizes[name], of(f"{half}.position_embedding", "num_embeddings", sizes[name]))
    sizes["D"] = sizes["E"] // sizes["H"]
    return sizes


AS_EXPECTED, DIFFERS, RAISED, UNSEEN, UNREACHED = "as expected", "differs", "error", "not seen", "not reached"


def verdicts_of(trace: Trace) -> list[str]:
    """A verdict for each step, in words. An error belongs to the first step of which nothing was seen."""
    verdicts = []
    for step in STEPS:
        shown = [(piece, trace.shapes[piece.place]) for piece in step.out if piece.place in trace.shapes]
        if any(not agrees(piece, shape, trace.sizes) for piece, shape in shown):
            verdicts.append(DIFFERS)
        elif len(shown) < sum(bool(piece.place) for piece in step.out) or not shown:
            verdicts.append(UNSEEN)
        else:
            verdicts.append(AS_EXPECTED)
    return _with_error(verdicts, trace) if trace.error else verdicts


def _with_error(verdicts: list[str], trace: Trace) -> list[str]:
    has_place = [any(piece.place for piece in step.out) for step in STEPS]
    at = next((i for i, verdict in enumerate(verdicts) if verdict == UNSEEN and has_place[i]), len(verdicts) - 1)
    return [*verdicts[:at], RAISED, *(v if v == DIFFERS else UNREACHED for v in verdicts[at + 1 :])]


def agrees(piece: Piece, shape: Shape, sizes: Mapping[str, int]) -> bool:
    """Whether a shape is the expected one, or broadcasts to it where that is enough."""
    wanted = piece.shape(sizes)
    if not piece.broadcasts:
        return shape == wanted
    full = tuple(sizes["H"] if n == 1 and i == 1 else n for i, n in enumerate(wanted))
    if len(wanted) == 4:
        full = (*full[:2], sizes["Tt" if "Tt" in piece.axes else "Ts"], full[3])
    try:
        return torch.broadcast_shapes(shape, full) == full
    except RuntimeError:
        return False
