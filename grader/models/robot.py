"""The robot and the crate: sentences whose "it" has to be understood, and the small reader of lessons 01 to 05.

In these lessons every new piece of attention that a learner writes takes the place of the last one in a `Reader`.
`benchmarks/sweeps.py` measures what each can read, at its best of five rates.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

NOUNS = ["robot", "crane", "boy", "horse", "worker", "girl", "truck", "dog", "giant", "nurse"]
NOUNS += ["crate", "piano", "stone", "box", "anvil", "barrel", "trunk", "statue", "log", "safe"]
OF_LIFTED = ["heavy", "big", "bulky", "massive"]
ENDINGS = [*OF_LIFTED, "weak", "small", "tired", "young"]
LIFTER, LIFTED, IT, ENDING = 1, 6, 8, 11  # places in a sentence


def robot_sentence(lifter: str, lifted: str, ending: str) -> list[str]:
    """The twelve words of a sentence.

    >>> " ".join(robot_sentence("robot", "crate", "heavy"))
    'the robot could not lift the crate because it was too heavy'
    """
    return f"the {lifter} could not lift the {lifted} because it was too {ending}".split()


VOCABULARY = sorted({*NOUNS, *ENDINGS, *robot_sentence("robot", "crate", "weak")})


def word_numbers(words: list[str]) -> Tensor:
    """The words' numbers in the vocabulary (T,)."""
    return torch.tensor([VOCABULARY.index(word) for word in words])


def robot_sentences(seed: int = 0) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """800 sentences to train with and 500 to test with, as word numbers (N, 12), each followed by the nouns (N,) that
    their "it" stands for. One in five of the pairs of a noun and an ending is kept for the test, so the two words of
    such a pair never meet in training."""
    draw = random.Random(seed)
    return *_examples(draw, 800, new=False), *_examples(draw, 500, new=True)


def _examples(draw: random.Random, count: int, new: bool) -> tuple[Tensor, Tensor]:
    rows: list[Tensor] = []
    while len(rows) < count:
        nouns, ending = draw.sample(NOUNS, 2), draw.choice(ENDINGS)
        other, meant = nouns if ending in OF_LIFTED else nouns[::-1]
        kept = [(NOUNS.index(noun) + ENDINGS.index(ending)) % 5 == 0 for noun in (meant, other)]
        if kept == [new, False]:
            rows.append(word_numbers([*robot_sentence(nouns[0], nouns[1], ending), meant]))
    ids = torch.stack(rows)
    return ids[:, :12], ids[:, 12]


class Layer(nn.Module):
    """Every word (..., T, E) adds to its vector what it takes from the others.

    `attend` decides what that is. It gets the words, and a matrix of each of
    these shapes, which training changes. If it returns attention weights as
    well, `weights` keeps them.
    """

    def __init__(
        self,
        attend: Callable[..., Any],
        *shapes: tuple[int, int],
    ) -> None:
        super().__init__()
        self.attend = attend
        start = [torch.randn(shape) / math.sqrt(32) for shape in shapes]
        self.matrices = nn.ParameterList(start)

    def take(self, x: Tensor) -> Tensor:
        taken = self.attend(x, *self.matrices)
        if isinstance(taken, tuple):
            taken, self.weights = taken
        return taken

    def forward(self, x: Tensor) -> Tensor:
        return x + self.take(x)


class Reader(nn.Module):
    """Word numbers (..., 12) to a score for each word that "it" may be."""

    def __init__(
        self,
        *layers: nn.Module,
        asked: int = IT,
        width: int = 32,
    ) -> None:
        super().__init__()
        self.word = nn.Parameter(0.6 * torch.randn(len(VOCABULARY), width))
        self.place = nn.Parameter(0.6 * torch.randn(12, width))
        self.layers = nn.ModuleList(layers)
        self.asked = asked  # the place of the word that has to know

    def forward(self, ids: Tensor) -> Tensor:
        x = self.word[ids] + self.place  # which word, and where
        is_asked = torch.arange(12)[:, None] == self.asked
        for layer in self.layers:
            x = torch.where(is_asked, layer(x), x)  # no other word changes
        return x[..., self.asked, :] @ self.word.T  # which word fits best?


def train(optimizer: torch.optim.Optimizer, next_loss: Callable[[], Tensor], steps: int) -> list[float]:
    """Take `steps` steps downhill. Returns the loss before each of them. Lesson 02 explains every line."""
    losses = []
    for _ in range(steps):
        loss = next_loss()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def learn_to_read(reader: Reader, rate: float = 0.01, steps: int = 600) -> float:
    """Train a reader on the 800 sentences, 64 of them in each step. Returns how many of the 500 new ones it then reads
    rightly, in percent."""
    train_ids, train_nouns, test_ids, test_nouns = robot_sentences()

    def next_loss() -> Tensor:
        some = torch.randint(len(train_ids), (64,))
        return F.cross_entropy(reader(train_ids[some]), train_nouns[some])

    train(torch.optim.Adam(reader.parameters(), rate), next_loss, steps)
    return percent_right(reader, test_ids, test_nouns)


@torch.no_grad()
def percent_right(reader: Callable[[Tensor], Tensor], ids: Tensor, nouns: Tensor) -> float:
    """How many of the sentences (N, 12) are read rightly, in percent."""
    return 100 * (reader(ids).argmax(-1) == nouns).double().mean().item()
