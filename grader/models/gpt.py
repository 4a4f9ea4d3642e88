"""Lesson 11's tales, their words, and the course's own small GPT: its weights, and what it wrote while it was trained.

`scripts/train_gpt.py` makes all three files: `tales.txt`, `gpt.safetensors` (the parameters, by the names of lesson
11's `GPT`) and `gpt.json` (the sizes, the words by id, samples by step).
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from safetensors.torch import load_file
from torch import Tensor

STORED = Path(__file__).parent
WORD = re.compile(r"[\w']+|[^\w\s]|\n")  # website/answers and grader/views/sampler_numbers.js have the same
NO_BLANK_BEFORE, NO_BLANK_AFTER = ".,;:!?”)\n", "“(\n"


def words_of(text: str) -> list[str]:
    """The words and marks of a text; the end of a line is one too.

    >>> words_of("“It's mine,” said Ida.")
    ['“', "It's", 'mine', ',', '”', 'said', 'Ida', '.']
    """
    return WORD.findall(text)


def joined(words: Sequence[str]) -> str:
    """The text of some words and marks.

    >>> joined(["“", "Mine", ",", "”", "said", "Ida", "."])
    '“Mine,” said Ida.'
    """
    text = ""
    for word in words:
        blank = text and word not in NO_BLANK_BEFORE and text[-1] not in NO_BLANK_AFTER
        text += f" {word}" if blank else word
    return text


def course_tales() -> tuple[str, str, str]:
    """The tales, each a line: those to learn from, those held out, and those with names that are in neither."""
    learnt, held_out, strange = (STORED / "tales.txt").read_text(encoding="utf-8").split("\n\n")
    return f"{learnt}\n", f"{held_out}\n", strange


def own_tales(path: str | Path) -> tuple[str, str, str]:
    """The tales of a text file of one's own, in three parts like `course_tales`: the last tenth of its lines is held
    out, and is the third part as well, since no names are strange to it."""
    lines = [line for line in Path(path).read_text(encoding="utf-8").splitlines(keepends=True) if line.strip()]
    cut = len(lines) - max(1, len(lines) // 10)
    held_out = "".join(lines[cut:])
    return "".join(lines[:cut]), held_out, held_out


@dataclass(frozen=True)
class PlainGPT:
    """Lesson 11's `GPT` as its numbers. `sizes`: the arguments of `GPT`, at least `num_layers` and `num_heads`;
    `weights`: its state by name."""

    sizes: dict[str, Any]
    weights: dict[str, Tensor]

    def __call__(self, tokens: Tensor) -> Tensor:
        """Logits (B, T, V) of ids (B, T), straight from the weights."""
        x = F.embedding(tokens, self.weights["token_embedding.weight"])
        for layer in range(self.sizes["num_layers"]):
            block = f"blocks.{layer}"
            x = x + self._attention(self._norm(x, f"{block}.norm1"), f"{block}.attention")
            hidden = self._linear(self._norm(x, f"{block}.norm2"), f"{block}.feed_forward.linear1").relu()
            x = x + self._linear(hidden, f"{block}.feed_forward.linear2")
        return F.linear(self._norm(x, "norm"), self.weights["head.weight"])

    def _norm(self, x: Tensor, name: str) -> Tensor:
        return F.layer_norm(x, x.shape[-1:], self.weights[f"{name}.weight"], self.weights[f"{name}.bias"])

    def _linear(self, x: Tensor, name: str) -> Tensor:
        return F.linear(x, self.weights[f"{name}.weight"], self.weights[f"{name}.bias"])

    def _attention(self, x: Tensor, name: str) -> Tensor:
        """Causal multi-head attention with rotary positions, (B, T, E) to (B, T, E), by the parameters of `name`."""
        heads = [self._linear(x, f"{name}.{part}_proj").unflatten(-1, (self.sizes["num_heads"], -1)) for part in "qkv"]
        query, key, value = (head.transpose(1, 2) for head in heads)  # (B, H, T, D)
        attended = F.scaled_dot_product_attention(_rotated(query), _rotated(key), value, is_causal=True)
        return self._linear(attended.transpose(1, 2).flatten(2), f"{name}.out_proj")


@dataclass(frozen=True)
class TrainedGPT(PlainGPT):
    """A trained model."""

    words: list[str]  # the tokens by id
    loss: float  # in nats, on the tales held out
    right: float  # the share of names named before that it guesses there
    prompt: str  # from which each sample was written
    samples: dict[int, str]  # what it wrote after so many steps


def as_gpt(model: Any, tokens: Tensor) -> PlainGPT | None:
    """A model of lesson 11's kind as its numbers; None if it hasn't the parts of a `GPT`, or if its own logits for the
    tokens (T,) differ from those of these numbers."""
    if isinstance(model, PlainGPT):
        return model
    try:
        sizes = {"num_layers": len(model.blocks), "num_heads": model.blocks[0].attention.num_heads}
        gpt = PlainGPT(sizes, model.state_dict())
        with torch.no_grad():
            return gpt if torch.allclose(gpt(tokens[None]), model(tokens[None]), atol=1e-3) else None
    except (AttributeError, KeyError):
        return None


def _rotated(x: Tensor, base: float = 10000.0) -> Tensor:
    """Rotary positions (Su et al. 2021) of x (..., T, D), counted from 0: a pair of columns is a complex number."""
    width = x.shape[-1]
    angles = torch.outer(torch.arange(x.shape[-2]), base ** (-torch.arange(0, width, 2) / width))
    pairs = torch.view_as_complex(x.unflatten(-1, (-1, 2)).contiguous())
    return torch.view_as_real(pairs * torch.polar(torch.ones_like(angles), angles)).flatten(-2)


def trained_gpt() -> TrainedGPT:
    """The course's trained model, from the files beside this one."""
    about = json.loads((STORED / "gpt.json").read_text(encoding="utf-8"))
    samples = {int(step): text for step, text in about.pop("samples").items()}
    return TrainedGPT(weights=load_file(STORED / "gpt.safetensors"), samples=samples, **about)
