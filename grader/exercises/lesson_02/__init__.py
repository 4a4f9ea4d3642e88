"""Lesson 02, attention that learns (Vaswani et al. 2017, section 3.2.1, and its footnote 4)."""

LESSON = "02_trainable_attention"
NAMES = (
    "trainable_self_attention",
    "attention_entropy",
    "validate_attention",
    "quiz_02",
)
