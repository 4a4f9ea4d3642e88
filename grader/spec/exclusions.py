"""Functions that exercises must do without, recognised in the log of torch calls, whatever route a call takes."""

from __future__ import annotations

import re

from grader.spec.exercise import Exclusion


def _named(title: str, pattern: str) -> Exclusion:
    return Exclusion(title, lambda call: re.search(pattern, call) is not None)


SOFTMAX_FAMILY = _named("torch's softmax, log_softmax and softmin", r"(?i)soft(max|min)")
FUSED_ATTENTION = _named("`F.scaled_dot_product_attention`", r"scaled_dot_product_|flex_attention")
MULTIHEAD_ATTENTION = _named(
    "`nn.MultiheadAttention`", r"MultiheadAttention|multi_head_attention|transformer_encoder_layer_fwd"
)
TRANSFORMER_MODULES = _named("torch's `nn.Transformer` modules", r"nn\.Transformer|transformer_\w+_layer_fwd")
# torch's fused encoder layer contains them, too. `F.normalize`, `renorm` and vector norms don't match.
NORMALISATION_KERNELS = _named(
    "the normalisation kernels (`layer_norm`, `rms_norm`, `batch_norm`, `group_norm`, `instance_norm`)",
    r"(?i)(layer|rms|batch|group|instance)_?norm|transformer_encoder_layer_fwd",
)
# `F.batch_norm` doesn't match: "nn.BatchNorm1d", or "nn._BatchNorm.forward" for a call that skips the module's hooks.
BATCHNORM_MODULES = _named("torch's BatchNorm modules", r"nn\.\w*BatchNorm")
