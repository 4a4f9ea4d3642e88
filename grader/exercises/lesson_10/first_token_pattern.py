"""`first_token_pattern`: every token attends to the first one."""

from __future__ import annotations

import torch
from torch import Tensor

from grader.exercises.lesson_06.shared import default_dtype
from grader.exercises.lesson_10.shared import LESSON
from grader.spec import parts
from grader.spec.draw import Draw
from grader.spec.exercise import Case, Exercise, Mistake, Output


def first_token(seq_len: int) -> Tensor:
    """Entry by entry: all of every row's weight on token 0."""
    return torch.tensor([[float(key == 0) for key in range(seq_len)] for _ in range(seq_len)], dtype=torch.float64)


def _cases(draw: Draw) -> list[Case]:
    sizes = draw.sizes("T", "other", none=2)
    return [
        Case("one length", {"seq_len": sizes["T"]}, {"T": sizes["T"]}),
        Case("another length", {"seq_len": sizes["other"]}, {"T": sizes["other"]}),
        Case("a single token", {"seq_len": 1}, {"T": 1}),
    ]


EXERCISE = Exercise(
    name="first_token_pattern",
    lesson=LESSON,
    points=1,
    signature=("seq_len",),
    outputs=(Output("weights", "T T"),),
    cases=_cases,
    reference=first_token,
    parts=(
        parts.shape("one length"),
        parts.values("gives all weight to the first token", 3, "one length"),
        parts.values("works for other lengths", 1.5, "one length", "another length", "a single token"),
        default_dtype("one length"),
    ),
    mistakes=(
        Mistake(
            "first-row-instead",
            "the first row is filled, not the first column: token 0 attends to all tokens.",
            (
                "Add up each row of your matrix. What should it give?",
                "Row i holds the weights that token i gives, column j those that token j gets.",
            ),
            (
                lambda n: first_token(n).mT,
                lambda n: first_token(n).mT / n,
                lambda n: torch.cat([torch.full((1, n), 1 / n), torch.zeros(n - 1, n)]),
            ),
        ),
        Mistake(
            "last-token-instead",
            "the last token gets the weight, not the first.",
            (
                "Look at row 0 of your matrix. Which token does it attend to?",
                "Which index does the first token have, and which token has the index `-1`?",
            ),
            (lambda n: first_token(n).flip(-1),),
        ),
        Mistake(
            "diagonal-instead",
            "every token attends to itself.",
            (
                "Look at row 2 of your matrix. Which token should it attend to?",
                "Row i holds the weights that token i gives, column j those that token j gets.",
            ),
            (torch.eye,),
        ),
        Mistake(
            "second-token-instead",
            "the second token gets the weight, not the first.",
            (
                "Look at row 0 of your matrix. Which token does it attend to?",
                "Columns count from 0.",
            ),
            (lambda n: first_token(n).roll(1, -1),),
        ),
        Mistake(
            "one-row-only",
            "only one row is filled; every token attends.",
            (
                "Add up each row of your matrix. What should it give?",
                "How many tokens attend to the first one?",
            ),
            tuple(lambda n, row=row: first_token(n) * (torch.arange(n) == row % n)[:, None] for row in (0, -1)),
        ),
        Mistake(
            "first-row-empty",
            "the first token attends to no token; it should attend to itself.",
            (
                "Add up each row of your matrix. What should it give?",
                "Where does your slice of the rows begin?",
            ),
            (lambda n: first_token(n) * (torch.arange(n) > 0)[:, None],),
        ),
        Mistake(
            "shares-of-the-column",
            "the column sums to one, and it should be each row.",
            (
                "Add up each row of your matrix. What should it give?",
                "Every token has a whole 1 to share out. Among how many tokens does it share this 1?",
            ),
            (lambda n: first_token(n) / n,),
        ),
        Mistake(
            "softmax-of-weights",
            "ones and zeros go through a softmax, which leaves no entry at zero.",
            (
                "What is the softmax of [1, 0, 0]? Look at the other tokens' weights.",
                "These are the weights already, not the scores.",
            ),
            (lambda n: first_token(n).softmax(-1),),
        ),
        Mistake(
            "others-get-weight-too",
            "besides the first token another one gets a weight.",
            (
                "Add up each row of your matrix. What should it give?",
                "Print your matrix. How many entries of a row should differ from zero?",
            ),
            (
                lambda n: torch.maximum(first_token(n), torch.eye(n)),
                lambda n: torch.maximum(first_token(n), first_token(n).mT),
                lambda n: (first_token(n) + torch.eye(n)) / 2,
            ),
        ),
    ),
)
