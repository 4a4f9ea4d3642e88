"""Lesson 01, self-attention by hand."""

NAMES = (
    "project_qkv",
    "attention_scores",
    "stable_softmax",
    "scaled_dot_product_attention",
    "self_attention",
    "validate_attention",
    "quiz_01",
)
