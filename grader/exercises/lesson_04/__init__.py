"""Lesson 04, masks: who may attend to whom (Vaswani et al. 2017, section 3.2.3), and multi-head attention with one."""

LESSON = "04_masking"
NAMES = (
    "causal_mask",
    "padding_mask",
    "decoder_mask",
    "masked_softmax",
    "causal_multi_head_attention",
    "leaks_future",
    "quiz_04",
)
