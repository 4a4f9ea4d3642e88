"""What lesson 10 concludes from its experiments."""

from __future__ import annotations

from benchmarks.claims_by_lesson.claim import Claim

# Of lesson 10's dates.
HALF_THE_DATES = {
    "half the dates": {"pairs = trained.pairs": "pairs = trained.pairs[:100]"},
    "the other half": {"pairs = trained.pairs": "pairs = trained.pairs[100:]"},
}

CLAIMS = {
    "others_read_it_too": Claim(
        "without the head that reads the 6: the right date is written (1), the loss of the 6 in nats",
        lambda names: (names["written"] == names["answer"], names["its_loss"]),
        lambda right, loss: right == 1 and loss < 0.1,
        {
            "2 May 1947": {'"6 August 1939", "1939-08-06"': '"2 May 1947", "1947-05-02"'},
            "by another form": {'"6 August 1939"': '"August 6, 1939"'},
        },
        exceptions={"by another form": lambda right, loss: loss < 0.6},  # the 6 stays likelier than all else
    ),
    "layer_0_reads_it": Claim(
        "probability of the 6 before any cross-attention and after that of layer 0; loss of all dates at these two, "
        "before and after the cross-attention of layer 1, and at the end",
        lambda names: [
            *names["chances"][names["last_row"]][[1, 2]].tolist(),
            *(names["by_stage"][stage] for stage in ("own 0", "cross 0", "own 1", "cross 1", "feed 1")),
        ],
        lambda before, after, no_date, read, own, again, last: (
            before < 0.5 < after and no_date > 1.2 and read < 0.7 and own > 0.1 and again < 0.06 and last < 0.01
        ),
        {"another date": {'"6 August 1939", "1939-08-06"': '"6 May 1947", "1947-05-06"'}} | HALF_THE_DATES,
    ),
    "an_encoder_head_is_missed_most": Claim(
        "by how many nats the loss grows without the most needed head of the encoder, the decoder, the cross-attention",
        lambda names: (names["table"].view(3, 8).amax(-1) / 1000).tolist(),
        lambda encoder, decoder, cross: encoder > cross > decoder,
        HALF_THE_DATES,
        exceptions={"half the dates": lambda encoder, decoder, cross: min(encoder, cross) > 3 * decoder},
    ),
    "sharp_is_not_needed": Claim(
        "the most needed head's place by sharpness, of 16, counted from 0; its cost by that of the sharpest",
        lambda names: (names["place"], max(names["costs"]) / names["cost"][names["by_sharpness"][0]]),
        lambda place, ratio: place > 4 and ratio > 1.3,
        HALF_THE_DATES,
        exceptions={"half the dates": lambda place, ratio: ratio > 3},
    ),
    "together_is_more": Claim(
        "what all eight heads cost together, by the sum of each alone: encoder, decoder, cross",
        lambda names: [names["together"][kind] / names["alone"][kind] for kind in names["alone"]],
        lambda *ratios: min(ratios) >= 3,
        HALF_THE_DATES,
    ),
}
