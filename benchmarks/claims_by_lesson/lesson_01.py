"""What lesson 01 concludes from its experiments."""

from __future__ import annotations

from benchmarks.claims_by_lesson.claim import Claim, trained

CLAIMS = {
    "small_matrices_average": Claim(
        "untrained: the largest and the smallest weight of four tokens are both near a quarter",
        lambda names: (names["untrained"].max(), names["untrained"].min()),
        lambda most, least: most < 0.3 and least > 0.2,
        {
            "half as large": {"0.1 * torch.randn": "0.05 * torch.randn"},
            "twice as large": {"0.1 * torch.randn": "0.2 * torch.randn"},
        },
        exceptions={"twice as large": lambda most, least: most - least > 0.1},
    ),
    "one_layer_is_a_coin": Claim(
        "one layer: how many answers are right, in percent; robot over crate for heavy, by that for weak",
        lambda names: (names["my_share"], names["rows"][0][2] / names["rows"][1][2]),
        lambda share, ratio: 35 < share < 65 and abs(ratio - 1) < 1e-3,
        trained("learn_to_read(one, rate=0.003") | {"narrower": {"(32, 16), (32, 16)": "(32, 8), (32, 8)"}},
        sweep="reads",
    ),
}
