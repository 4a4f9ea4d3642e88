"""Lesson 11, a small GPT: batches of text, a decoder-only model, sampling, writing with and without a cache."""

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
