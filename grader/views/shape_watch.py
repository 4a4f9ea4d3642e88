"""Runs a learner's Transformer in small and notes the shapes that come by at known places."""

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
class Seen:
    """What came by: shapes by place, the sizes that the model should have, and the error that ended the run."""

    sizes: dict[str, int]
    shapes: dict[str, Shape] = field(default_factory=dict)
    error: str = ""

    def note(self, place: str, value: object) -> None:
        """Keep the first shape at a place; what is no tensor leaves none."""
        if isinstance(value, Tensor):
            self.shapes.setdefault(place, tuple(value.shape))


def watch(model: nn.Module) -> Seen:
    """Run `model(src, trg)` on two sentences in eval mode, without gradients; the model is left as it was."""
    seen = Seen(_sizes(model))
    src, trg = (_tokens(seen.sizes, length, vocab) for length, vocab in (("Ts", "Vs"), ("Tt", "V")))
    seen.note("src", src)
    seen.note("trg", trg)
    modes = [(part, part.training) for part in model.modules()]
    with ExitStack() as stack:
        for name, part in model.named_modules():
            place = name or "model"
            stack.callback(part.register_forward_pre_hook(_before(seen, place), with_kwargs=True).remove)
            stack.callback(part.register_forward_hook(_after(seen, place)).remove)
        try:
            with torch.no_grad():
                model.eval()(src, trg)
        except Exception as error:  # a learner's code may raise anything: the view shows it
            said = str(error).strip().splitlines() or [""]
            seen.error = f"{type(error).__name__}: {said[0]}"[:200].rstrip(" .:")
        finally:
            for part, training in modes:
                part.training = training
    _read_heads(seen)
    return seen


def _read_heads(seen: Seen) -> None:
    """The number of heads, from the first attention's weights, if it returns any."""
    weights, width = seen.shapes.get("encoder.layers.0.attention:weights", ()), seen.sizes["E"]
    if len(weights) == 4 and weights[1] > 0 and width % weights[1] == 0:
        seen.sizes |= {"H": weights[1], "D": width // weights[1]}
        seen.shapes["heads"] = (seen.sizes["H"], seen.sizes["D"])


def _before(seen: Seen, place: str) -> Any:
    def hook(_part: nn.Module, args: tuple[Any, ...], named: Mapping[str, Any]) -> None:
        first = args[0] if args else named.get("x", named.get("query"))
        seen.note(f"{place}:first", first)
        known = {**dict(zip(MASKS.get(place, ()), args, strict=False)), **named}
        for name in ("mask", "trg_mask"):
            seen.note(f"{place}:{name}", known.get(name))

    return hook


def _after(seen: Seen, place: str) -> Any:
    def hook(_part: nn.Module, _args: object, result: object) -> None:
        if isinstance(result, tuple | list) and len(result) == 2:
            seen.note(f"{place}:weights", result[1])
            result = result[0]
        seen.note(place, result)

    return hook


def _tokens(sizes: Mapping[str, int], length: str, vocab: str) -> Tensor:
    """Ids from the upper half of a vocabulary, where no padding is expected; drawn without touching the learner's
    random numbers."""
    generator = torch.Generator().manual_seed(0)
    return torch.randint(sizes[vocab] // 2, sizes[vocab], (sizes["B"], sizes[length]), generator=generator)


def _sizes(model: nn.Module) -> dict[str, int]:
    """The sizes that the model was made for, from its tables and layers; those of the large example elsewhere."""

    def of(path: str, attribute: str, otherwise: int) -> int:
        part: Any = model
        for name in path.split("."):
            part = getattr(part, name, None)
        found = getattr(part, attribute, otherwise)
        return found if type(found) is int and found > 0 else otherwise

    sizes = {**LARGE, "B": BATCH}
    sizes["E"] = of("encoder.token_embedding", "embedding_dim", sizes["E"])
    sizes["Vs"] = of("encoder.token_embedding", "num_embeddings", sizes["Vs"])
    sizes["V"] = of("decoder.token_embedding", "num_embeddings", sizes["V"])
    sizes["F"] = of("encoder.layers.0.feed_forward.linear1", "out_features", sizes["F"])
    for name, half in (("Ts", "encoder"), ("Tt", "decoder")):
        sizes[name] = min(sizes[name], of(f"{half}.position_embedding", "num_embeddings", sizes[name]))
    sizes["D"] = sizes["E"] // sizes["H"]
    return sizes


AS_EXPECTED, DEPARTS, RAISED, UNSEEN, UNREACHED = "as expected", "departs", "error", "not seen", "not reached"


def verdicts(seen: Seen) -> list[str]:
    """One for each step. The error is told at the first step of which nothing came by."""
    found = []
    for step in STEPS:
        shown = [(piece, seen.shapes[piece.place]) for piece in step.out if piece.place in seen.shapes]
        if any(not agrees(piece, shape, seen.sizes) for piece, shape in shown):
            found.append(DEPARTS)
        elif len(shown) < sum(bool(piece.place) for piece in step.out) or not shown:
            found.append(UNSEEN)
        else:
            found.append(AS_EXPECTED)
    return _with_error(found, seen) if seen.error else found


def _with_error(found: list[str], seen: Seen) -> list[str]:
    watched = [any(piece.place for piece in step.out) for step in STEPS]
    at = next((i for i, verdict in enumerate(found) if verdict == UNSEEN and watched[i]), len(found) - 1)
    return [*found[:at], RAISED, *(v if v == DEPARTS else UNREACHED for v in found[at + 1 :])]


def agrees(piece: Piece, shape: Shape, sizes: Mapping[str, int]) -> bool:
    """Whether a shape is the expected one, or broadcasts to it where that will do."""
    wanted = piece.shape(sizes)
    if not piece.fits:
        return shape == wanted
    full = tuple(sizes["H"] if n == 1 and i == 1 else n for i, n in enumerate(wanted))
    if len(wanted) == 4:
        full = (*full[:2], sizes["Tt" if "Tt" in piece.axes else "Ts"], full[3])
    try:
        return torch.broadcast_shapes(shape, full) == full
    except RuntimeError:
        return False
