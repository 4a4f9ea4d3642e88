"""Lesson 07, the whole Transformer (Vaswani et al. 2017)."""

LESSON = "07_transformer"
NAMES = (
    "FeedForward",
    "TransformerBlock",
    "Encoder",
    "DecoderBlock",
    "Decoder",
    "Transformer",
    "quiz_07",
)
