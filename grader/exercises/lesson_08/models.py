"""Models for `greedy_decode` to decode with, and sources whose sequences end where a case wants them to."""

from __future__ import annotations

import torch

from grader.spec.draw import Draw
from grader.spec.exercise import Case
from grader.subject import Given
from grader.subject.translator import Translator

ROWS = 61  # of a model's table; a prime, so that no position repeats another
LONGEST = 13
CANDIDATES = 64
ENDING, TALKING, TRAINING, SINGLE, SHORT = (
    "sequences that end",
    "sequences that don't all end",
    "a model in train mode",
    "one sequence",
    "max_length 1",
)


class _Maker:
    """One model, and sources of which it is known when the model's sequences end."""

    def __init__(self, draw: Draw) -> None:
        self.draw = draw
        vocab = draw.integer(8, 12)
        self.bos, self.eos = draw.integer(0, 3), draw.integer(3, vocab)
        self.table = draw.normal((ROWS, vocab))
        self.sources = draw.integers((CANDIDATES, draw.integer(4, 7)), 3, 30)
        talk = self._talk()
        self.ends = [row.index(self.eos) if self.eos in row else LONGEST for row in talk]
        # Behind its eos such a row would say something else, if nobody stopped it.
        self.goes_on = [
            any(token != self.eos for token in row[end + 1 : end + 3]) for row, end in zip(talk, self.ends, strict=True)
        ]

    def _talk(self) -> list[list[int]]:
        """What the model says in eval mode if nobody stops it."""
        model = Translator({"table": self.table, "training": False, "watched": "mode"})
        said = torch.full((CANDIDATES, 1), self.bos)
        with torch.no_grad():
            while said.shape[1] < LONGEST:
                said = torch.cat([said, model(self.sources, said)[:, -1:].argmax(-1)], dim=1)
        return said.tolist()

    def case(
        self, name: str, max_length: int, ending: int, unended: int = 0, training: bool = False, watched: str = "mode"
    ) -> Case:
        """`ending` sequences that end well before max_length, no two at one step if it can be, and `unended` that
        don't."""
        fit = [i for i, end in enumerate(self.ends) if 2 <= end <= max_length - 3 and self.goes_on[i]]
        first_of_step = {self.ends[i]: i for i in reversed(fit)}
        chosen = [*dict.fromkeys([*first_of_step.values(), *fit])][:ending]
        chosen += [i for i, end in enumerate(self.ends) if end >= max_length][:unended]
        order = torch.randperm(len(chosen), generator=self.draw.generator)
        src = self.sources[torch.tensor(chosen)[order]]
        model = Given("translator", {"table": self.table, "training": training, "watched": watched})
        args = {"model": model, "src": src, "bos_idx": self.bos, "eos_idx": self.eos, "max_length": max_length}
        return Case(name, args, {"B": len(src), "T": max_length})

    def suits(self) -> bool:
        """Whether there are enough sources of every kind."""
        ending = [end for end, goes_on in zip(self.ends, self.goes_on, strict=True) if goes_on and 2 <= end <= 7]
        early = [end for end in ending if end <= 4]
        return len(ending) >= 8 and len(set(ending)) >= 4 and len(set(early)) >= 2 and self.ends.count(LONGEST) >= 2


def cases(draw: Draw) -> list[Case]:
    make = _Maker(draw)
    while not make.suits():
        make = _Maker(draw)
    batch = draw.integer(4, 6)
    return [
        make.case(ENDING, draw.integer(10, LONGEST), batch),
        make.case(TALKING, draw.integer(7, 9), batch - 1, 2, watched="gradient"),
        make.case(TRAINING, draw.integer(10, LONGEST), batch, training=True),
        make.case(SINGLE, 10, 1),
        make.case(SHORT, 1, 0, batch),
    ]
