"""What lesson 02 concludes from its experiments."""

from __future__ import annotations

from benchmarks.claims_by_lesson.claim import STEPS, Claim, Names, times, trained
from grader.models.robot import ENDING, IT


def found_at_most(names: Names) -> list[float]:
    """Of lesson 02's runs: the most tokens that are found without the scale, and the number of step sizes at which all
    are found with it."""
    unscaled, scaled = names["found_at"].values()
    return [max(unscaled), sum(found == 8 for found in scaled)]


def looks(names: Names) -> list[float]:
    """Of lesson 02's reader with two layers: how many answers are right, in percent; then where "it" looks in the new
    sentences, on average: the first layer's weight on the ending, the last layer's on the noun that is meant."""
    first, last = (layer.weights[:, IT] for layer in names["two"].layers)
    meant = (names["test_ids"] == names["test_nouns"][:, None]) * last
    return [names["share"], float(first[:, ENDING].mean()), float(meant.sum(-1).mean())]


CLAIMS = {
    "variance_is_the_width": Claim(
        "the variance of a dot product, divided by d_k = 1024, is 1",
        lambda names: (names["dots"].var() / 1024,),
        lambda ratio: 0.9 < ratio < 1.1,
        {"four times the pairs": {"5000, width": "20000, width"}, "half the pairs": {"5000, width": "2500, width"}},
    ),
    "unscaled_rows_saturate": Claim(
        "entropy of a row in nats: unscaled at d_k = 1024, scaled at 4, scaled at 1024",
        lambda names: (
            names["entropies"]["unscaled"][1024],
            names["entropies"]["scaled"][4],
            names["entropies"]["scaled"][1024],
        ),
        lambda unscaled, narrow, wide: unscaled < 0.3 and min(narrow, wide) > 1.2,
        {"forty keys": {"(2000, 10)": "(2000, 40)"}, "five keys": {"(2000, 10)": "(2000, 5)"}},
    ),
    "no_step_size_is_enough": Claim(
        "the most tokens of 8 that the unscaled run finds at any step size; at how many the scaled run finds all",
        found_at_most,
        lambda unscaled, sizes: unscaled < 7 and sizes >= 4,
        times("steps=600", STEPS)
        | {
            "more step sizes": {"(0.003, 0.01, 0.03, 0.1, 0.3)": "(0.001, 0.005, 0.015, 0.05, 0.15, 0.5)"},
            "a quarter as wide": {"width=64": "width=16", "64**-0.5": "16**-0.5"},
            "twice as wide": {"width=64": "width=128", "64**-0.5": "128**-0.5"},
        },
        exceptions={"a quarter as wide": lambda unscaled, sizes: unscaled > 7},
        any_rate="five rates are in the lesson",
    ),
    "rand_is_sharp": Claim(
        "mean entropy of a row in nats: torch.rand, both signs",
        lambda names: names["entropies"].mean(-1).tolist(),
        lambda rand, fair: rand < 1 < fair,
    ),
    "a_smaller_start_will_do": Claim(
        "without the scale but from a smaller start: with how many of the five step sizes all 8 tokens are found",
        lambda names: (names["from_small"].count(8),),
        lambda sizes: sizes >= 3,
        times("steps=600", {"four times the steps": 4})
        | {"twice as wide": {"width=64": "width=128", "size=8**-0.5": "size=128**-0.25"}},
        any_rate="five rates are in the lesson",
    ),
    "two_layers_find_it": Claim(
        "two layers: right answers in percent, first layer's weight on the ending, last one's on what it stands for",
        looks,
        lambda share, ending, meant: share > 98 and ending > 0.1 and meant > 0.5,
        trained("learn_to_read(two, rate=0.01") | {"narrower": {"(16, 32), (16, 32)": "(8, 32), (8, 32)"}},
        sweep="reads",
    ),
}
