"""Lesson 11's second text: words of letters drawn at random, each written again and again."""

from __future__ import annotations

import string

import torch
from torch import Tensor

LETTERS = string.ascii_lowercase + "αβγδεζηθλμπστφ"
ROW, SHORTEST, LONGEST = 65, 8, 24  # letters in a row; in a word


def repeated_words(rows: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Rows of letters as ids (rows, ROW), and how long the word of each is (rows,), SHORTEST to LONGEST letters.

    >>> ids, lengths = repeated_words(2, torch.Generator().manual_seed(0))
    >>> all((row[length:] == row[:-length]).all() for row, length in zip(ids, lengths))
    True
    """
    lengths = torch.randint(SHORTEST, LONGEST + 1, (rows,), generator=generator)
    words = torch.randint(len(LETTERS), (rows, LONGEST), generator=generator)
    return words.gather(1, torch.arange(ROW) % lengths[:, None]), lengths
