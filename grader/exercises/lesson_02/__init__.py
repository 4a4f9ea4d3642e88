"""Lesson 02, from dot products to trainable attention (Vaswani et al. 2017, section 3.2.1, and its footnote 4)."""

NAMES = (
    "pairwise_dot_products",
    "context_vectors",
    "trainable_self_attention",
    "attention_entropy",
    "quiz_02",
)
