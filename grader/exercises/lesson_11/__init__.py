"""Lesson 11, a small GPT: batches of text, a decoder-only model, sampling, writing with and without a cache."""

LESSON = "11_small_gpt"
NAMES = (
    "language_batch",
    "bigram_loss",
    "GPTBlock",
    "GPT",
    "fit",
    "next_token_probabilities",
    "generate",
    "head_that_remembers",
    "induction_scores",
    "generate_with_cache",
    "byte_pair_encode",
    "quiz_11",
)
