"""Lesson 08's date translator: the learner's, if its files are next to the notebook, else a stored one.

`scripts/train_dates.py` makes the stored one. Both are read from `dates.safetensors` (the parameters, by name) and
`dates.json` (the tokens).
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from safetensors.torch import load_file
from torch import Tensor

NAMES = ("dates.safetensors", "dates.json")
STORED = Path(__file__).parent


@dataclass(frozen=True)
class Trained:
    """A trained model."""

    sizes: dict[str, Any]  # the arguments of lesson 07's `Transformer`
    weights: dict[str, Tensor]  # its state by name
    source: list[str]  # the tokens by id, as in `target`
    target: list[str]
    pairs: list[tuple[str, str]]  # held-out dates
    whose: str  # the owner in words


def trained_dates(folder: str | Path = ".") -> Trained:
    """The model from the two files in `folder`; the course's model if they are missing or unreadable."""
    files = [Path(folder, name) for name in NAMES]
    if not all(path.is_file() for path in files):
        return _read(STORED, "the course's model")
    try:
        return _read(Path(folder), "your own model")
    except Exception as error:  # whatever a learner has stored there
        why = f"{type(error).__name__}: {error}".splitlines()[0]
        return _read(STORED, f"the course's model, since yours could not be read ({why})")


def _read(folder: Path, whose: str) -> Trained:
    weights = load_file(folder / NAMES[0])
    about = json.loads((folder / NAMES[1]).read_text(encoding="utf-8"))
    stored = json.loads((STORED / NAMES[1]).read_text(encoding="utf-8"))
    vocabularies = [len(about[side]) for side in ("source", "target")]
    # Sizes missing in a learner's file are lesson 08's.
    sizes = stored["model"] | _sizes(weights) | about.get("model", {})
    if [sizes["src_vocab_size"], sizes["trg_vocab_size"]] != vocabularies:
        raise ValueError(f"vocabularies of {vocabularies} tokens don't fit the parameters")
    pairs = [(text, answer) for text, answer in stored["held_out"]]
    return Trained(sizes, weights, about["source"], about["target"], pairs, whose)


def _sizes(weights: dict[str, Tensor]) -> dict[str, int]:
    """The sizes of a model that its parameters' shapes show, as arguments of lesson 07's `Transformer`."""
    vocabulary, width = weights["encoder.token_embedding.weight"].shape
    return {
        "src_vocab_size": vocabulary,
        "trg_vocab_size": weights["decoder.fc_out.weight"].shape[0],
        "d_model": width,
        "num_layers": sum(name.endswith(".norm1.weight") for name in weights if name.startswith("encoder.")),
        "d_ff": weights["encoder.layers.0.feed_forward.linear1.weight"].shape[0],
        "max_length": weights["encoder.position_embedding.weight"].shape[0],
    }
