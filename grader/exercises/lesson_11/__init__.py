"""Lesson 11, TODO its subject."""

NAMES = (
    "language_batch",
    "bigram_loss",
    "GPTBlock",
    "GPT",
    "clip_gradients",
    "next_token_probabilities",
    "generate",
    "generate_with_cache",
    "quiz_11",
)
