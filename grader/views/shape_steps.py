"""The nineteen steps of a Transformer: what goes in, what comes out, and where in a model to see it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from grader.sentences import say

# The sizes of the large example of lesson 07.
LARGE = {"B": 128, "Ts": 28, "Tt": 29, "E": 512, "H": 8, "D": 64, "F": 2048, "L": 6, "Vs": 10000, "V": 10000}


@dataclass(frozen=True)
class Piece:
    """A tensor of a step: its name, its axes, and the place in a model where it can be seen ("" if nowhere).
    `broadcasts`: a shape that broadcasts to these axes is right, too."""

    name: str
    axes: str
    place: str = ""
    broadcasts: bool = False

    def shape(self, sizes: Mapping[str, int]) -> tuple[int, ...]:
        """The shape for these sizes of the axes."""
        return tuple(int(a) if a.isdigit() else math.prod(sizes[f] for f in a.split("*")) for a in self.axes.split())


@dataclass(frozen=True)
class Step:
    """One of the nineteen steps: its title, a sentence or two on it, and the tensors that go in and come out."""

    title: str
    story: str
    into: tuple[Piece, ...]
    out: tuple[Piece, ...]


def _p(name: str, axes: str, place: str = "", broadcasts: bool = False) -> Piece:
    return Piece(name, axes, place, broadcasts)


ENC, DEC = "encoder.layers.0", "decoder.layers.0"
SRC, TRG = _p("src", "B Ts", "src"), _p("trg", "B Tt", "trg")
SRC_MASK = _p("src_mask", "B 1 1 Ts", "encoder:mask", broadcasts=True)
TRG_MASK = _p("trg_mask", "B 1 Tt Tt", "decoder:trg_mask", broadcasts=True)
X, MEMORY = _p("x", "B Ts E"), _p("memory", "B Ts E")
HEADS = tuple(_p(name, "B Ts H D") for name in (say("query heads"), say("key heads"), say("value heads")))
TARGET = _p("target", "B Tt E")

STEPS = (
    Step(
        say("Token ids"),
        say("Every word is represented by a whole number. Sentences in a batch are padded to the same length."),
        (),
        (SRC, TRG),
    ),
    Step(
        say("Do the heads fit?"),
        say("d_model is divided evenly among the heads, so E = H * D."),
        (_p(say("a token"), "E"),),
        (_p(say("its heads"), "H D", "heads"),),
    ),
    Step(
        say("Two masks"),
        say(
            "The source's mask hides padding, and the target's hides padding and the future. True means \"may attend\"."
        ),
        (SRC, TRG),
        (SRC_MASK, TRG_MASK),
    ),
    Step(
        say("Embedding"),
        say("Each id looks up its vector, a row in a table."),
        (SRC,),
        (_p("embedded", "B Ts E", "encoder.token_embedding"),),
    ),
    Step(
        say("Positions"),
        say("To each token we add the vector of its position, and dropout acts on the sum."),
        (_p("embedded", "B Ts E"), _p("positions", "Ts")),
        (
            _p(say("position vectors"), "B Ts E", "encoder.position_embedding", broadcasts=True),
            _p("x", "B Ts E", f"{ENC}:first"),
        ),
    ),
    Step(
        say("Queries, keys, values"),
        say("Three linear layers make queries, keys and values from the same x."),
        (X,),
        tuple(_p(name, "B Ts E", f"{ENC}.attention.{name[0]}_proj") for name in ("query", "key", "value")),
    ),
    Step(
        say("Cut into heads"),
        say("The last axis becomes H heads of D columns."),
        tuple(_p(n, "B Ts E") for n in ("query", "key", "value")),
        HEADS,
    ),
    Step(say("Scores"), say("Every query meets every key, head by head."), HEADS[:2], (_p("scores", "B H Ts Ts"),)),
    Step(
        say("Mask"),
        say("Hidden scores become minus infinity."),
        (_p("scores", "B H Ts Ts"), SRC_MASK),
        (_p("masked", "B H Ts Ts"),),
    ),
    Step(
        say("Scale, softmax"),
        say("Scores are divided by the root of D, and each row of weights sums to 1."),
        (_p("masked", "B H Ts Ts"),),
        (_p("weights", "B H Ts Ts", f"{ENC}.attention:weights"),),
    ),
    Step(
        say("Mix the values"),
        say("Each query gets its mixture of the values, head by head."),
        (_p("weights", "B H Ts Ts"), HEADS[2]),
        (_p("mixed", "B Ts H D"),),
    ),
    Step(
        say("Join, project"),
        say("The heads are put side by side again, and a final linear layer follows."),
        (_p("mixed", "B Ts H D"),),
        (
            _p("joined", "B Ts E", f"{ENC}.attention.out_proj:first"),
            _p("attended", "B Ts E", f"{ENC}.attention.out_proj"),
        ),
    ),
    Step(
        say("Add, normalise"),
        say("LayerNorm(query + dropout(attended)) always lets the token itself through."),
        (X, _p("attended", "B Ts E")),
        (_p("x", "B Ts E", f"{ENC}.norm1"),),
    ),
    Step(
        say("Feed-forward"),
        say("Two layers handle each token by itself, and then we add and normalise again."),
        (X,),
        (
            _p("inner", "B Ts F", f"{ENC}.feed_forward.linear1"),
            _p("forward", "B Ts E", f"{ENC}.feed_forward"),
            _p("x", "B Ts E", ENC),
        ),
    ),
    Step(
        say("The encoder"),
        say("Every layer does steps 6 to 14 with its own parameters. The result is the memory."),
        (SRC, SRC_MASK),
        (_p("memory", "B Ts E", "encoder"),),
    ),
    Step(
        say("The target looks at itself"),
        say("The target attends to itself, with its mask; then we add and normalise."),
        (_p("target", "B Tt E", f"{DEC}:first"), TRG_MASK),
        (
            _p("weights", "B H Tt Tt", f"{DEC}.attention:weights"),
            _p("query", "B Tt E", f"{DEC}.norm"),
        ),
    ),
    Step(
        say("The target asks the source"),
        say("A TransformerBlock with the memory as value and key does cross-attention, then feed-forward."),
        (_p("query", "B Tt E"), MEMORY, SRC_MASK),
        (
            _p(say("cross weights"), "B H Tt Ts", f"{DEC}.block.attention:weights"),
            _p("target", "B Tt E", f"{DEC}.block"),
        ),
    ),
    Step(
        say("The decoder"),
        say("Every layer does steps 16 and 17 with the same memory, and then every word gets a score."),
        (TARGET, MEMORY, SRC_MASK, TRG_MASK),
        (_p("target", "B Tt E", "decoder.fc_out:first"), _p("logits", "B Tt V", "decoder.fc_out")),
    ),
    Step(
        say("The whole"),
        say("Masks, encoder and decoder turn two tensors of ids into a score for every word at every position."),
        (SRC, TRG),
        (_p("memory", "B Ts E", "encoder"), _p("logits", "B Tt V", "model")),
    ),
)
