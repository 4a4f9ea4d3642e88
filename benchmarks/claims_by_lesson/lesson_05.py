"""What lesson 05 concludes from its experiments."""

from __future__ import annotations

from benchmarks.claims_by_lesson.claim import DEPTH, RATE, STEPS, WIDTH, Claim, Names, times


def first_by_last(names: Names) -> list[float]:
    """Of lesson 05's stacks, the first layer's gradient divided by the last one's. For post-norm it is the factor for
    one layer, then for pre-norm the whole ratio; both for each kind of layer."""
    lengths, kinds = names["lengths"], ("ReLU and a bias", "strong tanh")
    post, pre = ([lengths[kind, pre][0] / lengths[kind, pre][-1] for kind in kinds] for pre in (False, True))
    return [ratio ** (1 / (names["layers"] - 1)) for ratio in post] + pre


CLAIMS = {
    "a_norm_frees_the_start": Claim(
        "the last loss with one rate and start: without norms in the layers, with them",
        lambda names: [loss for loss, _ in names["ends"]],
        lambda without, with_norms: with_norms < 0.2 and without > 5 * with_norms,
        times("depth=48", {"half as deep again": 1.5, "half the depth": 0.5})
        | times("steps=150", {"twice the steps": 2})
        | times("rate=0.003", RATE),
        exceptions={"half the depth": lambda without, with_norms: max(without, with_norms) < 0.2},
        sweep="norms_in_layers",
    ),
    "post_norm_multiplies": Claim(
        "first gradient by last, post-norm for a layer, pre-norm for all: ReLU and a bias, strong tanh, and again",
        first_by_last,
        lambda relu, tanh, *pre: relu < 0.9 and tanh > 1.1 and all(0.5 < ratio < 100 for ratio in pre),
        times("layers = 48", DEPTH) | times("width=32", WIDTH),
    ),
    "last_gradient_shrinks": Claim(
        "the last gradient at 48 layers: post-norm, pre-norm",
        lambda names: names["last"][:, -1].tolist(),
        lambda post, pre: pre < 0.6 * post,
        {
            "one stack instead of eight": {"range(8)": "range(1)", "gradients[-1] / 8": "gradients[-1]"},
            "twice as wide": {"width=32": "width=64"},
        },
    ),
    "pre_norm_goes_deep": Claim(
        "last loss of forty-eight blocks at one rate: post-norm, pre-norm",
        lambda names: names["my_losses"].values(),
        lambda post, pre: post > 1 and pre < 0.2,
        times("steps=150", {"twice the steps": 2}) | times("rate=0.006", RATE),
        sweep="deep_towers",
    ),
    "norms_let_it_read": Claim(
        "a reader of twenty-four layers with pre-norm: percent of new sentences right",
        lambda names: (names["my_share"],),
        lambda share: share > 90,
        times("rate=0.001", RATE) | times("depth=24", {"half the depth": 0.5}),
        sweep="reads_deep",
    ),
    "the_windows_become_one": Claim(
        "how far the windows' scores are apart: post-norm and pre-norm untrained, both after 20 steps",
        lambda names: [float(names["apart"][way, stage]) for stage in (0, 3) for way in (0, 1)],
        lambda post, pre, post_later, pre_later: post < pre and post_later < post / 5 and pre_later > 3 * pre,
        times("rate=0.006", RATE) | {"twice as wide": {"width=32": "width=64"}},
        any_rate="shows what happens at a rate at which post-norm fails",
    ),
    "a_heavier_path_goes_deep": Claim(
        "last loss at 48 blocks: post-norm with x three times in the sum, pre-norm with RMSNorm",
        lambda names: [loss for loss, _ in names["final"]],
        lambda heavier, rms: max(heavier, rms) < 0.2,
        times("steps=150", STEPS)
        | times("rate=0.006", RATE)
        | {
            "twice in the sum": {"3 * x": "2 * x"},
            "five times, twice the rate": {"3 * x": "5 * x", "rate=0.006": "rate=0.012"},
        },
        exceptions={
            title: lambda heavier, rms: rms < 0.2 < 1 < heavier for title in ("twice the rate", "twice in the sum")
        },
        any_rate="both learn at a rate at which the other way fails",
    ),
    "company_decides": Claim(
        "BatchNorm in company says the rhyme (1): in eval mode, in train mode",
        lambda names: [
            names["says"][f"{mode} mode, in company"] in " ".join(names["words"]) for mode in ("eval", "train")
        ],
        lambda evaluating, training: evaluating == 1 and training == 0,
        times("BatchNorm1d, depth=6", DEPTH) | times("steps=150", STEPS),
        any_rate="one model in two modes",
    ),
}
