"""Lesson 05, LayerNorm, BatchNorm and RMSNorm, and where a residual block has its norm."""

LESSON = "05_normalization"
NAMES = (
    "rms_norm",
    "layer_norm",
    "batch_norm",
    "pre_norm_residual",
    "post_norm_residual",
    "BatchNorm",
    "quiz_05",
)
