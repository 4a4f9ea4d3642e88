"""What lesson 06 concludes from its experiments."""

from __future__ import annotations

from benchmarks.claims_by_lesson.claim import RATE, STEPS, WIDTH, Claim, times

FOUR_WAYS = ("learnt", "sinusoidal", "bias", "rotary")

CLAIMS = {
    "distance_reaches_further": Claim(
        "right on 16 digits: without positions, the worst of four ways; on 64: learnt, sinusoidal, bias, rotary",
        lambda names: [
            float(names["my_right"]["none"][16].mean()),
            min(float(names["my_right"][way][16].mean()) for way in FOUR_WAYS),
            *(float(names["my_right"][way][64].mean()) for way in FOUR_WAYS),
        ],
        lambda none, short, learnt, sinusoidal, *distance: (
            none < 0.4 and short > 0.97 and learnt < 0.45 and sinusoidal < 0.7 and min(distance) > 0.75
        ),
        times("steps=600", STEPS)
        | times("lr=0.005", RATE | {"a quarter of the rate": 0.25, "four times the rate": 4})
        | times("back=3", {"one place back": 1 / 3, "five places back": 5 / 3})
        | times("width=64", {"a quarter as wide": 0.25} | WIDTH),
        exceptions={
            "a quarter as wide": lambda none, short, learnt, sinusoidal, bias, rotary: (
                short > 0.97 and max(learnt, sinusoidal) < 0.7 < bias and rotary < 0.75
            ),
            "a quarter of the rate": lambda none, short, learnt, sinusoidal, bias, rotary: (
                short > 0.97 and max(learnt, sinusoidal) < 0.6 < bias < 0.8 < rotary
            ),
        },
        sweep="positions",
    ),
}
