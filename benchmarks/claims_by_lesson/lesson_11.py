"""What lesson 11 concludes from its experiments."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch

from benchmarks.claims_by_lesson.claim import Claim, Names, times


def last_ten(losses: Sequence[float]) -> float:
    """The mean of the last ten losses."""
    return sum(losses[-10:]) / 10


TWICE_AS_LONG = {"steps=1200": "steps=2400"}


def late_and_sudden(names: Names) -> list[float]:
    """Steps in the training of lesson 11's model: when it is below the best table; when a third of the names are right;
    from a tenth to half of them. Then the loss of names, in nats, where it is below the table. It is judged every 50
    steps; a step never reached counts as 9999."""
    run = names["my_run"].judged

    def first(reached: Callable[[Any], bool]) -> float:
        return next((step for step, row in run.items() if reached(row)), 9999)

    below = first(lambda row: row.loss < names["best_table"])
    third, tenth, half = (first(lambda row, share=share: row.asked_right > share) for share in (1 / 3, 0.1, 0.5))
    return [below, third, half - tenth, run[min(below, max(run))].asked_loss]


# Half and twice the steps with which lesson 11's models learn letters.
FEWER_ROWS, MORE_ROWS = ({"600 * 32": f"{steps} * 32", "view(600, 32)": f"view({steps}, 32)"} for steps in (300, 1200))


def traced(names: Names) -> list[float]:
    """Of lesson 11's model of letters: the share right without the head of layer 0 that looks one back, and without the
    other; the most that a head of layer 1 then has on what followed; and the first one's weight on the letter before,
    without a head of layer 1, divided by that with all heads."""
    _, *off = names["my_rows"]
    leaver = names["my_leaver"]
    before = names["my_before"][0][leaver]
    return [off[leaver][0], off[1 - leaver][0], max(off[leaver][3:]), off[2][1 + leaver] / before]


def remembering(names: Names) -> list[float]:
    """Of lesson 11's model: its loss and the best table's; the names right with all heads, without the one that
    remembers, and without the worst of the others; how many heads put more than half of their weight, before a name, on
    where it stood, and the largest such weight."""
    tables = [names["attention_weights"](names["my_gpt"], one[None]) for one in names["test_inputs"]]
    rows = zip(tables, names["test_inputs"], names["name_labels"], strict=True)
    looking = []
    for weights, ids, labels in rows:
        places = (ids == labels[:, None]).tril()
        looking.append((weights * places).sum(-1)[..., places.any(1)].mean(-1))
    mean = torch.stack(looking).mean(0).flatten()
    found = names["my_layer"], names["my_head"]
    off = {place: scores.asked_right for place, scores in names["my_off"].items()}
    scores = names["my_run"].judged[names["my_run"].done]
    without = off.pop(found)
    heads = int((mean > 0.5).sum()), float(mean.max())
    return [scores.loss, names["best_table"], scores.asked_right, without, min(off.values()), *heads]


CLAIMS = {
    "tables_know_no_names": Claim(
        "nats of the best table, for names; of a draw among all names",
        lambda names: (names["best_table"], names["best_names"], math.log(len(names["names"]))),
        lambda table, table_names, drawn: table > 1.2 and table_names > drawn,
        {"half the tales": {"counted(train_ids, 5)": "counted(train_ids[: len(train_ids) // 2], 5)"}},
    ),
    "names_come_late_and_suddenly": Claim(
        "steps to below the best table; to a third of the names; from a tenth to half of them; names' nats then",
        late_and_sudden,
        lambda below, third, sudden, before: below <= 150 and third >= 300 and sudden <= 250 and before > 3.5,
        times("peak=0.008", {"half the rate": 0.5}),
        any_rate="one model",
    ),
    "a_rule_beats_the_model": Claim(
        "names right by the copying rule, by the model, by the model that is told that a name is due",
        lambda names: [names["by_rule"], names["my_right"], names["my_told"]],
        lambda rule, model, told: rule > told > model > 0.55,
        {"twice the steps": TWICE_AS_LONG},
        compares="a rule of four lines, which learns nothing, with one model",
    ),
    "one_head_copies_names": Claim(
        "nats, the best table's; names right, without the head, without another; heads that look back, the weight",
        remembering,
        lambda loss, table, right, off, other, heads, weight: (
            loss < table - 0.4
            and right >= 0.55
            and off < 0.6 * right
            and other > right - 0.15
            and heads == 1 > weight > 0.5
        ),
        {"twice the steps": TWICE_AS_LONG, "wider": {'"d_model": 64': '"d_model": 96'}}
        | times("peak=0.008", {"half the rate": 0.5, "twice the rate": 2}),
        any_rate="one trained model with and without a head",
    ),
    "names_by_distance": Claim(
        "at how many tokens back a name has the highest score, for “said”, “and”, “.”",
        lambda names: [1 + float(curve.argmax()) for curve in names["my_by_word"].values()],
        lambda said, heard, stop: 8 <= said <= 30,
        any_rate="one trained model, looked into",
    ),
    "nobody_is_who": Claim(
        "percent of the questions in which the right kind is likelier than the other animal's",
        lambda names: (names["my_of_two"],),
        lambda of_two: 40 < of_two < 60,
        {"twice the steps": TWICE_AS_LONG},
        any_rate="one trained model, looked into",
    ),
    "two_layers_copy_words": Claim(
        "percent right of the letters that come again: one layer, two",
        lambda names: [100 * run.judged[run.done].asked_right for run in names["my_pair"].values()],
        lambda one, two: one < 30 and two > 95,
        {
            "half the steps": FEWER_ROWS,
            "twice the steps": MORE_ROWS,
            "four heads": {"my_layers, 2, 128": "my_layers, 4, 128"},
            "half as wide": {"64, my_layers, 2, 128": "32, my_layers, 2, 64"},
            "twice as wide": {"64, my_layers, 2, 128": "128, my_layers, 2, 256"},
        },
        exceptions=dict.fromkeys(("half the steps", "half as wide"), lambda one, two: one < 30 and two > 85),
        sweep="copied_words",
    ),
    "a_pair_of_heads": Claim(
        "heads of layer 0 with more than half of their weight on the letter before, and the largest; what the heads of "
        "layer 1 have on what followed",
        lambda names: [
            int((names["my_before"][0] > 0.5).sum()),
            names["my_before"][0].max(),
            *names["my_followed"][1],
        ],
        lambda heads, before, *followed: heads == 1 and before > 0.5 and min(followed) > 0.5,
        {"half the steps": FEWER_ROWS},
        # Both heads of layer 0 still share the work then.
        exceptions={"half the steps": lambda heads, before, *followed: heads in (1, 2) and min(followed) > 0.5},
        any_rate="one trained model, looked into",
    ),
    "who_reads_whose_trace": Claim(
        "right without the head that looks one back, without the other of its layer; what layer 1 then has on what "
        "followed; what that head looks at without one of layer 1, by what it did",
        traced,
        lambda without, other, followed, kept: without < 0.3 < 0.8 < other and followed < 0.3 and abs(kept - 1) < 1e-4,
        {"half the steps": FEWER_ROWS},
        # As above.
        exceptions={"half the steps": lambda without, other, followed, kept: without < other and followed < 0.7},
        any_rate="one trained model, looked into",
    ),
    "two_lines_of_2026": Claim(
        "nats of the model on held-out tales, as it is and with RMSNorm and SwiGLU",
        lambda names: [names["my_other"], names["my_loss"]],
        lambda plain, modern: abs(plain - modern) < 0.15,
        sweep="tales",
    ),
    "few_tales_overfit": Claim(
        "held out at its lowest and at the end, without dropout and with it; training at the end",
        lambda names: [
            figure
            for run in names["my_few"].values()
            for losses in [[scores.loss for scores in run.judged.values()]]
            for figure in (min(losses), losses[-1], last_ten(run.losses))
        ],
        lambda low, end, learnt, low_with, end_with, learnt_with: (
            end > low + 0.1 and end_with > low_with + 0.1 and min(low, low_with) > 1.5 and learnt < learnt_with < 0.5
        ),
        {
            "60 tales": {"[:30]": "[:60]"},
            "more dropout": {"(0.0, 0.2)": "(0.0, 0.4)"},
            "half the rate": {"peak=0.008": "peak=0.004"},
        },
        compares="the losses of one run on tales that it has seen and on others, with dropout and without",
    ),
}
