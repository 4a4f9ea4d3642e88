"""Lesson 06, embeddings of tokens and positions."""

LESSON = "06_embeddings_and_positions"
NAMES = (
    "embed_tokens",
    "embed_with_positions",
    "sinusoidal_encoding",
    "relative_position_bias",
    "apply_rope",
    "quiz_06",
)
