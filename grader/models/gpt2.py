"""GPT-2's published weights in PyTorch's own layers: from a file that the reader has, in safetensors, with the names
that Hugging Face gives them. Nothing is downloaded."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor, nn

HEAD_DIM = 64  # in all four sizes of GPT-2; the file doesn't say it
# The parts of a block: in PyTorch's layer, in the file.
PARTS = {
    "norm1": "ln_1",
    "self_attn.in_proj_": "attn.c_attn",
    "self_attn.out_proj": "attn.c_proj",
    "norm2": "ln_2",
    "linear1": "mlp.c_fc",
    "linear2": "mlp.c_proj",
}


class PublishedGPT2(nn.Module):
    """GPT-2 as it was published. `weights`: its tensors by the names in the file; `sizes`: the arguments of lesson 11's
    `GPT`; `words`: the tokens by id, empty if they aren't known. KeyError if a tensor is missing."""

    def __init__(self, weights: Mapping[str, Tensor], words: Sequence[str] = (), head_dim: int = HEAD_DIM) -> None:
        super().__init__()
        self.weights, self.words = weights, words
        vocabulary, width = weights["wte.weight"].shape
        self.sizes: dict[str, Any] = {
            "vocab_size": vocabulary,
            "d_model": width,
            "num_layers": sum(name.endswith(".ln_1.weight") for name in weights),
            "num_heads": width // head_dim,
            "d_ff": weights["h.0.mlp.c_fc.bias"].numel(),
            "max_length": len(weights["wpe.weight"]),
        }
        self.layers = [self._layer(f"h.{i}") for i in range(self.sizes["num_layers"])]

    def _layer(self, name: str) -> nn.Module:
        """A pre-norm block, x (B, T, E) to (B, T, E), with the weights of layer `name`; its matrices are stored
        transposed."""
        with torch.device("meta"):
            layer = nn.TransformerEncoderLayer(
                self.sizes["d_model"],
                self.sizes["num_heads"],
                self.sizes["d_ff"],
                dropout=0.0,
                activation=lambda x: F.gelu(x, approximate="tanh"),
                batch_first=True,
                norm_first=True,
            )
        state = {
            f"{ours}{'' if ours.endswith('_') else '.'}{kind}": self.weights[f"{name}.{theirs}.{kind}"].t()
            for ours, theirs in PARTS.items()
            for kind in ("weight", "bias")
        }
        layer.load_state_dict(state, assign=True)
        return layer.eval()

    @torch.no_grad()
    def forward(self, tokens: Tensor) -> Tensor:
        """Logits (B, T, V) of ids (B, T)."""
        length = tokens.shape[1]
        x = F.embedding(tokens, self.weights["wte.weight"]) + self.weights["wpe.weight"][:length]
        later = torch.ones(length, length, dtype=torch.bool).triu(1)
        for layer in self.layers:
            x = layer(x, src_mask=later, is_causal=True)
        x = F.layer_norm(x, x.shape[-1:], self.weights["ln_f.weight"], self.weights["ln_f.bias"])
        return F.linear(x, self.weights["wte.weight"])

    def text(self, tokens: Sequence[int]) -> str:
        """The text of some ids; the ids themselves, as text, where the words aren't known."""
        if not self.words:
            return " ".join(map(str, tokens))
        return "".join(self.words[token] for token in tokens).replace("Ġ", " ").replace("Ċ", "\n")


def published_gpt2(path: str | Path = "gpt2.safetensors", head_dim: int = HEAD_DIM) -> PublishedGPT2 | None:
    """The model in a file, with the words of `vocab.json` beside it if that is there; `head_dim` is the width of its
    heads. None, and a printed line that says why, where there is no such file or it holds no GPT-2."""
    path = Path(path)
    if not path.is_file():
        print(
            f"There is no {path.name} beside this notebook, and it isn't downloaded for you. To use GPT-2, "
            "download model.safetensors of openai-community/gpt2 from the Hugging Face Hub, and save it here as "
            f"{path.name} (0.5 GB)."
        )
        return None
    try:
        weights = {name.removeprefix("transformer."): tensor.float() for name, tensor in load_file(path).items()}
        return PublishedGPT2(weights, _words(path.with_name("vocab.json")), head_dim)
    except KeyError as error:
        print(f"{path.name} isn't GPT-2, since it has no tensor {error}.")
    except (OSError, SafetensorError, RuntimeError, ValueError) as error:
        print(f"{path.name} isn't GPT-2: {str(error).splitlines()[0]}")
    return None


def _words(path: Path) -> list[str]:
    """The tokens by id of a `vocab.json`; empty without one."""
    if not path.is_file():
        return []
    ids = json.loads(path.read_text(encoding="utf-8"))
    return sorted(ids, key=ids.__getitem__)
