"""What lesson 08 concludes from its experiments."""

from __future__ import annotations

from benchmarks.claims_by_lesson.claim import RATE, Claim, Names, times


def bugs(names: Names) -> list[float]:
    """Of lesson 08's runs: what the right one reports, the most that a run reports whose answers leak, the share of
    dates that the right one writes, and the largest share that a run with a bug writes; then, of the run that counts
    padding, its honest loss divided by what it reports."""
    right, no_shift, padding, no_mask = names["my_table"]
    honest = padding[1] / padding[0]
    return [right[0], max(no_shift[0], no_mask[0]), right[3], max(no_shift[3], padding[3], no_mask[3]), honest]


CLAIMS = {
    "loss_falls_first": Claim(
        "after 40 steps: the loss, the share of right dates",
        lambda names: (names["losses"][39], names["shares"][40]),
        lambda loss, share: loss < 1 and share < 1 / 6,
        times("factor=0.2", {"half the rate": 0.5}),
        exceptions={"half the rate": lambda loss, share: 1 < loss < 1.6 and share < 1 / 6},
        any_rate="one model",
    ),
    "dates_are_learnt": Claim(
        "the share of right test dates",
        lambda names: (names["my_share"],),
        lambda share: share >= 0.99,
        times("factor=0.2", RATE) | {"twice the steps": {"steps=240": "steps=480", "Monitor(240": "Monitor(480"}},
        exceptions={"twice the rate": lambda share: share > 0.985},
        any_rate="one model",
    ),
    "warm_up_allows_a_high_rate": Claim(
        "loss after 100 steps at the full rate: with a warm-up, without",
        lambda names: names["my_ends"].values(),
        lambda with_one, without: 1.5 * with_one < without,
        {
            "twice the steps": {"steps=100": "steps=200"},
            "a warm-up twice as long": {"(60, ": "(120, "},
            "a warm-up half as long": {"(60, ": "(30, "},
            "a rate of 0.03": {"rate=0.02": "rate=0.03"},
            "two layers": {"num_layers=1": "num_layers=2"},
        }
        | times("rate=0.02", {"half the rate": 0.5}),
        exceptions={
            "half the rate": lambda with_one, without: max(with_one, without) < 0.15,
            "two layers": lambda with_one, without: without > 0.8,
        },
        compares="two courses of the rate itself, one of which rises slowly",
    ),
    "no_new_century": Claim(
        "the share of right dates between 2100 and 2199",
        lambda names: (names["my_far_share"],),
        lambda share: share < 0.2,
        any_rate="one model",
    ),
    "a_smoothed_loss_stays_high": Claim(
        "with label smoothing: its loss, right test dates, how sure it is of its guesses",
        lambda names: (names["my_end"], *names["my_judged"]["with"]),
        lambda loss, right, sure: 0.54 < loss < 0.57 and right > 0.985 and 0.89 < sure < 0.92,
        times("factor=0.2", RATE),
        exceptions={"half the rate": lambda loss, right, sure: loss < 0.6 and right > 0.98},
        compares="what a loss is with how much is right, for one model",
    ),
    "bugs_look_good": Claim(
        "reported by the right code, without shift or mask at most; written right by it, with a bug at most; "
        "padding counted: the honest loss by the reported one",
        bugs,
        lambda right, bug, writes, most, honest: bug < right and most < writes and honest > 3,
        {"half the steps": {"steps=120": "steps=60"}},
        compares="what a loss reports with what is true, for the right code and for three bugs",
    ),
    "padding_learns_later": Claim(
        "padding counted, 240 steps: the share of right dates",
        lambda names: (names["my_slow_share"],),
        lambda share: share > 0.9,
        times("factor=0.2", {"half the rate": 0.5}),
        exceptions={"half the rate": lambda share: share < 0.95},  # too few steps
        any_rate="one model, trained longer",
    ),
}
