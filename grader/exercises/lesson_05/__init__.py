"""Lesson 05, LayerNorm, BatchNorm and RMSNorm, and where a residual block has its norm."""

NAMES = (
    "layer_norm",
    "batch_norm",
    "BatchNorm",
    "rms_norm",
    "pre_norm_residual",
    "post_norm_residual",
    "quiz_05",
)
