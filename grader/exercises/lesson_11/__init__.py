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
    "generate_with_cache",
    "head_that_remembers",
    "induction_scores",
    "byte_pair_encode",
    "quiz_11",
)
