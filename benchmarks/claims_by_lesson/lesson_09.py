"""What lesson 09 concludes from its experiments."""

from __future__ import annotations

from benchmarks.claims_by_lesson.claim import RATE, Claim, Names, times


def saved_by_a_cache(names: Names) -> list[float]:
    """Of lesson 09's steps: how many times as fast the last is with a cache, and by how much more than after 64
    tokens."""
    plain, cached = names["times"].values()
    last, early = plain[-1] / cached[-1], plain[2] / cached[2]
    return [last, last / early]


CLAIMS = {
    "a_cached_step_is_cheaper": Claim(
        "how many times as fast a step is with a cache, after 1024 tokens, and how much that has grown since 64",
        saved_by_a_cache,
        lambda faster, grown: faster > 5 and grown > 2,
        {"twice as wide": {"128": "256"}, "half as wide": {"128": "64"}},
    ),
    "key_heads_must_be_trained": Claim(
        "the loss with one key head, the mean of two: at once",
        lambda names: (names["my_loss"],),
        lambda at_once: at_once > 1.3,
    ),
    "training_on_repairs_it": Claim(
        "the loss with two key heads, with one, the mean of them, and with that one trained on",
        lambda names: [
            float(names["judged"](names["attend_with_cache"])[0]),
            *(float(row[0]) for row in names["my_rows"]),
        ],
        lambda two, averaged, trained: trained < two + 0.15 < averaged - 1,
        times("steps=150", {"half the steps": 0.5, "twice the steps": 2}) | times("rate=0.002", RATE),
        any_rate="one model before and after training",
    ),
}
