"""The quiz of lesson 07: numbers and shapes are computed here."""

from __future__ import annotations

import torch
from torch import nn

from grader.spec.answers import shape, whole
from grader.spec.spec import Spec


def _logits_shape() -> tuple[int, ...]:
    with torch.device("meta"):
        return tuple(nn.Linear(6, 7000)(torch.ones(32, 12, 6)).shape)


def _layers() -> tuple[nn.Module, nn.Module]:
    """PyTorch's encoder and decoder layer, of width 12, with 3 heads and an inner width of 20, on the meta device, so
    that no random numbers are drawn."""
    with torch.device("meta"):
        return nn.TransformerEncoderLayer(12, 3, 20), nn.TransformerDecoderLayer(12, 3, 20)


def _parameters() -> float:
    return float(sum(parameter.numel() for parameter in _layers()[0].parameters()))


QUESTIONS = (
    shape(
        "logits_shape",
        _logits_shape,
        "In step 18, which language do the scored words belong to, and which sentence do the positions belong to?",
        wrong={
            "(32, 15, 7000)": "Whose positions are scored, the source's or the target's?",
            "(32, 12, 5000)": "In which language is the translation written?",
            "(32, 15, 5000)": "Which of the two is written, source or target?",
            "(32, 7000)": "Every position of the target gets its own scores.",
            "(32, 12, 512)": "That is what goes into `fc_out`.",
            "(32, 12)": "That would be one word for each position, but how many scores does each position have?",
            "(32, 12, 10000)": "10000 is the large example's vocabulary, but how large is this model's?",
            "(12, 7000)": "That is the shape for one sentence, but there are 32.",
        },
    ),
    whole(
        "parameters",
        _parameters,
        "Count part by part: four linear layers in the attention, two norms and two feed-forward layers, all with "
        "biases.",
        {
            624: "That is the attention layer alone, but what else is in a block?",
            512: "Those are the feed-forward layers alone, but what else is in a block?",
            1136: "The norms have parameters too, a factor and an offset for each column.",
            1160: "Is there only one norm?",
            1056: "Those are the matrices alone, but the layers have biases, and there are norms.",
            1104: "The linear layers have biases.",
            1028: "How many linear layers does the attention have?",
        },
    ),
    whole(
        "attentions",
        lambda: 6.0 * sum(isinstance(p, nn.MultiheadAttention) for layer in _layers() for p in layer.modules()),
        "How many attention modules does a block of the encoder have, and how many does a block of the decoder have?",
        {
            12: "A block of the decoder has more than one.",
            6: "There are six layers in each half of the model.",
            24: "How many attention modules does a block of the encoder have?",
            144: "All the heads of an attention layer together make one module.",
            2: "Every layer has attention modules of its own.",
            3: "There are three kinds of attention, but how many layers does each kind occur in?",
        },
    ),
    whole(
        "rows_moved",
        lambda: torch.ones(12, 12).tril()[:, 3].sum().item(),
        "Which rows may look at token 3? In the target's mask they have a 1 in column 3.",
        {
            1: "Row 3 changes, but later rows look at token 3 as well.",
            12: "The target's mask hides token 3 from some of the rows.",
            8: "Does row 3 itself see token 3?",
            3: "Those are the rows that stay as they are.",
            4: "Rows 0 to 2 come before the token and can't see it. Which rows come after it?",
            10: "Tokens are counted from 0, so how many rows come before row 3?",
        },
    ),
)

EXERCISE = Spec(__name__).quiz(2, QUESTIONS)
