"""What exercises must do without, told by the log of what torch was asked to do (by whatever route it was asked)."""

from __future__ import annotations

import re

from grader.spec import Exclusion


def _named(title: str, pattern: str) -> Exclusion:
    return Exclusion(title, lambda call: re.search(pattern, call) is not None)


SOFTMAX_FAMILY = _named("torch's softmax, log_softmax and softmin", r"(?i)soft(max|min)")
FUSED_ATTENTION = _named("`F.scaled_dot_product_attention`", r"scaled_dot_product_|flex_attention")
MULTIHEAD_ATTENTION = _named(
    "`nn.MultiheadAttention`", r"MultiheadAttention|multi_head_attention|transformer_encoder_layer_fwd"
)
