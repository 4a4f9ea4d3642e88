"""Lesson 03, many heads (Vaswani et al. 2017, section 3.2.2)."""

LESSON = "03_multi_head_attention"
NAMES = (
    "split_heads",
    "merge_heads",
    "multi_head_scores",
    "multi_head_attention",
    "per_head_projection",
    "MultiHeadAttention",
    "quiz_03",
)
