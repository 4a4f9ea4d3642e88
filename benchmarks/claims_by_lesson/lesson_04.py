"""What lesson 04 concludes from its experiments."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from benchmarks.claims_by_lesson.claim import RATE, STEPS, WIDTH, Claim, Names, times

STARTS = ("the malt", "this is the")
# Lesson 04's models.
MASKED = times("steps=400", STEPS) | times("lr=0.005", RATE) | times("width=32", WIDTH)
RHYME = MASKED | {
    "ten words at once": {"length = 12": "length = 10"},
    "sixteen words at once": {"length = 12": "length = 16"},
    "two layers": {"num_layers=1": "num_layers=2"},
}


def strange_pairs(names: Names, model: str, starts: Sequence[str] = STARTS) -> int:
    """The number of pairs of words in what a model of lesson 04 wrote after these starts, that the rhyme doesn't
    have."""
    known = set(pairwise(names["words"]))
    written = [names["go_on"](names[model], start).split() for start in starts]
    return sum(pair not in known for words in written for pair in pairwise(words))


def cheats(names: Names) -> list[float]:
    """Figures of lesson 04's first model: its share of right answers, the share that the words so far give, and its
    strange pairs after two short starts and after one as long as what it reads."""
    seen = names["right"](names["cheat"], names["read"], names["wanted"]).mean()
    hidden = sum(names["so_far"]) / names["length"]
    longest = " ".join(names["words"][: names["length"]])
    return [float(seen), hidden, strange_pairs(names, "cheat"), strange_pairs(names, "cheat", [longest])]


CLAIMS = {
    "cheating_is_perfect": Claim(
        "right answers, and from the words so far; pairs of words that the rhyme doesn't have, and from a long start",
        cheats,
        lambda seen, hidden, strange, longest: seen > 0.98 and hidden < 0.8 and strange > 0 and longest == 0,
        RHYME,
        any_rate="one model, asked in two ways",
    ),
    "only_the_end_knows": Claim(
        "at the word without a mask, and at that with a mask but the last, where most is right; at the last",
        lambda names: (min(names["without_mask"]), max(names["with_mask"][:-1]), names["with_mask"][-1]),
        lambda without, before, end: without > 0.95 and 0.45 < before < 0.55 and end > 0.9,
        MASKED | {"three layers": {"num_layers=2": "num_layers=3"}},
        any_rate="nobody can know before the end, so half is the most",
    ),
    "honest_answers_are_fewer": Claim(
        "right answers with the mask, and by the model that cheats; pairs of words that the rhyme doesn't have",
        lambda names: (names["mine"], names["theirs"], strange_pairs(names, "honest")),
        lambda mine, theirs, strange: mine < theirs and strange == 0,
        RHYME,
        any_rate="nobody gets more than 94.5 % from the words so far",
    ),
}
