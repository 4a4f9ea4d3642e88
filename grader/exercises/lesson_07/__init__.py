"""Lesson 07, the whole Transformer (Vaswani et al. 2017)."""

NAMES = (
    "FeedForward",
    "TransformerBlock",
    "Encoder",
    "DecoderBlock",
    "Decoder",
    "Transformer",
    "quiz_07",
)
