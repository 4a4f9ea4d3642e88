"""Functions that exercises must do without, recognised in the log of torch calls, whatever route a call takes."""

from __future__ import annotations

import re

from grader.sentences import say, together
from grader.spec.exercise import Exclusion
from grader.subject.watch import COMPILERS


def named(title: str, pattern: str) -> Exclusion:
    """An exclusion of functions whose logged name fits `pattern`, a regular expression; `title` names them in a
    message. Compiled code counts too: nobody can see which functions it calls."""
    return Exclusion(title, lambda call: call in COMPILERS or re.search(pattern, call) is not None)


def reason(call: str, exclusion: Exclusion, where: str = "") -> str:
    """Sentences for the student on why a logged call earns nothing. `where`: the student's line that called it, as
    `grader.spec.raised.place` has it."""
    if call in COMPILERS:
        template = "Your code runs through `{call}` {place}." if where else "Your code runs through `{call}`."
        cost = say(
            "There the check can't see which functions are called. Write your code in plain Python. Until then it "
            "earns "
            "nothing."
        )
    else:
        template = "Your code calls `{call}` {place}." if where else "Your code calls `{call}`."
        cost = say(
            "This exercise asks you to do without {what}, also in functions that it calls, so your code earns nothing "
            "yet.",
            what=say(exclusion.title),
        )
    return together(say(template, call=call, **({"place": where} if where else {})), cost)


SOFTMAX_FAMILY = named("torch's softmax, log_softmax and softmin", r"(?i)soft(max|min)")
FUSED_ATTENTION = named("`F.scaled_dot_product_attention`", r"scaled_dot_product_|flex_attention")
MULTIHEAD_ATTENTION = named(
    "`nn.MultiheadAttention`", r"MultiheadAttention|multi_head_attention|transformer_encoder_layer_fwd"
)
TRANSFORMER_MODULES = named("torch's `nn.Transformer` modules", r"nn\.Transformer|transformer_\w{1,20}_layer_fwd")
# Operators fused by torch's fast path hold them too; `F.normalize`, `renorm` and the norms of vectors are other things.
NORMALISATION_KERNELS = named(
    "the normalisation kernels (`layer_norm`, `rms_norm`, `batch_norm`, `group_norm`, `instance_norm`)",
    r"(?i)(layer|rms|batch|group|instance)_?norm|transformer_encoder_layer_fwd",
)
# `F.batch_norm` is no module: "nn.BatchNorm1d", or "nn._BatchNorm.forward" where it is called past the module's hooks.
BATCHNORM_MODULES = named("torch's BatchNorm modules", r"nn\.\w{0,40}BatchNorm")
