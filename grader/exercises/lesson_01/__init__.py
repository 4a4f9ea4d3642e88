"""Lesson 01, self-attention by hand."""

LESSON = "01_self_attention"
NAMES = (
    "pairwise_dot_products",
    "stable_softmax",
    "context_vectors",
    "project_qkv",
    "attention_scores",
    "scaled_dot_product_attention",
    "self_attention",
    "quiz_01",
)
