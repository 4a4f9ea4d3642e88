"""The quiz of lesson 07: numbers and shapes are computed here, letters are known by their digest only."""

from __future__ import annotations

import torch
from torch import nn

from grader.exercises.lesson_07.shared import LESSON
from grader.spec.answers import choice, quiz, shape, whole


def _cross_weights() -> tuple[int, ...]:
    heads_of_target, heads_of_source = (torch.ones(128, 8, length, 1) for length in (29, 28))
    return tuple((heads_of_target @ heads_of_source.mT).shape)


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
        "cross_weights",
        _cross_weights,
        "Every sentence and every head has a table, with a row for each query and a column for each key.",
        wrong={
            "(128, 8, 28, 29)": "Rows belong to queries. From which language do the queries come in cross-attention?",
            "(128, 8, 28, 28)": "That is the shape in the encoder's self-attention.",
            "(128, 8, 29, 29)": "That is the shape in the decoder's self-attention.",
            "(128, 29, 28)": "There is a table for every head, too.",
            "(8, 29, 28)": "There is a table for every sentence, too.",
            "(128, 29, 512)": "That is the shape of the output, but the question is about the weights.",
            "(128, 8, 29, 64)": "64 is the width of a head, but what does each column of the weights belong to?",
            "(128, 29, 8, 28)": "Those are the right numbers, but the two axes of the tokens come last.",
        },
    ),
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
    choice(
        "who_asks",
        "abcd",
        "faf2a1f21439",
        "The result has a row for each word of the target.",
        wrong={
            "a": "The result would have a row for each word of the source.",
            "b": "That is step 16, but where would the source come in?",
            "c": "The scores and the average must be about the same words, so how many keys are there, and how many "
            "values?",
        },
    ),
)

EXERCISE = quiz("quiz_07", LESSON, 2, QUESTIONS)
