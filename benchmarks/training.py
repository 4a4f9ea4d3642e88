"""The trainings of lessons 08 and 11 over five seeds.

    python benchmarks/training.py [08|11] [THREADS]     # both lessons, one thread

Lesson 08: seconds to 99 % and the final loss, beside what a model could say that doesn't read the source; and its model
beside the same one built from `nn.Transformer`. Lesson 11: the loss on the tales held out beside the baselines,
the names, and tokens a second that are written with and without the cache.

Everything that is measured is made by the lesson's own cells. Seconds are those of the steps; judging the test dates
every 20 steps is not counted. Processor seconds are printed beside them, since other programs make the clock run on.
"""

from __future__ import annotations

import contextlib
import io
import math
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

sys.path.insert(0, str(Path(__file__).parents[1]))

from scripts.train_dates import SIZES, run_lesson
from scripts.train_gpt import LESSON as SMALL_GPT

SEEDS = range(5)
EVERY = 20
ROUNDS = 25


class FromPyTorch(nn.Module):
    """The lesson's model with `nn.Transformer` inside: post-norm, ReLU, no norm after the last layers."""

    def __init__(self, lesson: dict[str, Any]) -> None:
        super().__init__()
        width, layers = SIZES["d_model"], SIZES["num_layers"]
        sizes = (width, SIZES["num_heads"], SIZES["d_ff"], SIZES["dropout"])
        embed = nn.Embedding
        self.tokens = nn.ModuleList(embed(len(lesson[name]), width) for name in ("SOURCE", "TARGET"))
        self.positions = nn.ModuleList(embed(SIZES["max_length"], width) for _ in range(2))
        encoder = nn.TransformerEncoder(
            nn.TransformerEncoderLayer(*sizes, batch_first=True), layers, enable_nested_tensor=False
        )
        decoder = nn.TransformerDecoder(nn.TransformerDecoderLayer(*sizes, batch_first=True), layers)
        self.transformer = nn.Transformer(*sizes[:2], custom_encoder=encoder, custom_decoder=decoder, batch_first=True)
        self.fc_out = nn.Linear(width, len(lesson["TARGET"]))
        self.pad = lesson["PAD"]

    def forward(self, src: Tensor, trg: Tensor) -> Tensor:
        """Logits (B, T, V) of ids src (B, S) and trg (B, T), as the lesson's model gives them."""
        both = zip((src, trg), self.tokens, self.positions, strict=True)
        embedded = [token(ids) + position(torch.arange(ids.shape[1])) for ids, token, position in both]
        future = torch.ones(trg.shape[1], trg.shape[1], dtype=torch.bool).triu(1)
        hidden, trg_hidden = src == self.pad, trg == self.pad
        return self.fc_out(
            self.transformer(
                *embedded,
                tgt_mask=future,
                src_key_padding_mask=hidden,
                tgt_key_padding_mask=trg_hidden,
                memory_key_padding_mask=hidden,
            )
        )


def to_99(lesson: dict[str, Any], seed: int) -> tuple[float, float, int, float, float, float]:
    """Seconds on the clock and of the processor until 99 % of the dates are right, and the step (inf and 0 if never),
    then the seconds of the whole run, and the share right and the loss, in nats, at its end."""
    model, losses = lesson["new_model"](seed), list[float]()
    rates = lesson["all_rates"](lesson["noam_rate"])
    adam = torch.optim.Adam(model.parameters())
    clock = work = 0.0
    reached = (float("inf"), float("inf"), 0)
    share = 0.0
    for until in range(EVERY, len(rates) + 1, EVERY):
        start, start_work = time.perf_counter(), time.process_time()
        lesson["learn"](model, adam, losses, rates[:until], lesson["train_step"])
        clock, work = clock + time.perf_counter() - start, work + time.process_time() - start_work
        share = lesson["share_right"](model, lesson["test_data"])
        if share >= 0.99 and not reached[2]:
            reached = (clock, work, until)
    return *reached, clock, share, test_loss(lesson, model)


@torch.no_grad()
def test_loss(lesson: dict[str, Any], model: nn.Module) -> float:
    """The model's loss on the test dates, in nats."""
    src, trg = lesson["test_data"]
    return float(lesson["sequence_loss"](model.eval()(src, trg[:, :-1]), trg[:, 1:], lesson["PAD"]))


def baselines(lesson: dict[str, Any]) -> dict[str, float]:
    """The loss on the test dates, in nats, of what never reads the source: all tokens alike, or as often as they are at
    each position of the training answers."""
    tokens = len(lesson["TARGET"])
    learnt, wanted = (lesson[name][1][:, 1:] for name in ("train_data", "test_data"))
    counts = torch.stack([torch.bincount(column, minlength=tokens) for column in learnt.T]).double() + 1
    counts[:, lesson["PAD"]] = 0
    often = (counts / counts.sum(dim=1, keepdim=True)).log().expand(len(wanted), -1, -1)
    return {
        "every token alike": math.log(tokens),
        "as often as at that position": float(lesson["sequence_loss"](often, wanted, lesson["PAD"])),
    }


def side_by_side(*actions: Callable[[], object]) -> list[float]:
    """The median milliseconds of each action, in turns, so that a busy moment meets all of them."""
    times: list[list[float]] = [[] for _ in actions]
    for _ in range(ROUNDS):
        for action, taken in zip(actions, times, strict=True):
            start = time.perf_counter()
            action()
            taken.append(1000 * (time.perf_counter() - start))
    return [statistics.median(taken) for taken in times]


def compare(lesson: dict[str, Any]) -> None:
    """Print a training step and greedy decoding, ours beside PyTorch's."""
    models = [lesson["new_model"](0), FromPyTorch(lesson)]
    counts = [sum(parameter.numel() for parameter in model.parameters()) for model in models]
    print(f"\n{'milliseconds, median':26}{'the lesson':>12}{'nn.Transformer':>16}{'ratio':>8}   parameters {counts}")
    src = lesson["test_data"][0][:64]

    def step(model: nn.Module) -> Callable[[], object]:
        adam = torch.optim.Adam(model.parameters())
        return lambda: lesson["learn"](model.train(), adam, [], [0.0], lesson["train_step"])

    def decode(model: nn.Module) -> Callable[[], object]:
        # No id is -1: all twelve columns are written, whatever the untrained model says.
        return lambda: lesson["greedy_decode"](model, src, lesson["BOS"], -1, 12)

    for title, made in (("a training step, 64 dates", step), ("greedy decoding, 64 dates", decode)):
        ours, theirs = side_by_side(*(made(model) for model in models))
        print(f"{title:26}{ours:12.1f}{theirs:16.1f}{ours / theirs:8.2f}")


def dates() -> None:
    """Print both tables of lesson 08."""
    with contextlib.redirect_stdout(io.StringIO()):
        lesson = run_lesson(until="exact_match", training=False)
    columns = ("to 99 %, s", "processor s", "at step", "whole run, s", "right at the end", "loss")
    print("seed" + "".join(f"{column:>{len(column) + 3}}" for column in columns))
    found = []
    for seed in SEEDS:
        found.append(to_99(lesson, seed))
        clock, work, step, whole, share, loss = found[-1]
        print(f"{seed:4}{clock:13.1f}{work:14.1f}{step:10}{whole:15.1f}{share:19.1%}{loss:7.4f}", flush=True)
    seconds, worked = ([one[i] for one in found] for i in (0, 1))
    print(f"seconds to 99 %: median {statistics.median(seconds):.1f}, worst {max(seconds):.1f}")
    print(f"processor seconds to 99 %: median {statistics.median(worked):.1f}, worst {max(worked):.1f}")
    for baseline, loss in baselines(lesson).items():
        print(f"loss without reading the source, {baseline}: {loss:.2f}")
    compare(lesson)


def small_gpt() -> None:
    """Print, for lesson 11, the baselines, the training over the seeds, and writing with and without the cache."""
    with contextlib.redirect_stdout(io.StringIO()):
        lesson = run_lesson(until="generate_with_cache", training=False, lesson=SMALL_GPT)
    bigram = lesson["bigram_loss"](lesson["train_ids"], lesson["test_ids"], lesson["V"])
    tables = [lesson["table_losses"](lesson["after"], back) for back in range(6)]
    best = min(losses.mean().item() for losses in tables)
    names = min(losses[lesson["again"]].mean().item() for losses in tables)
    print(f"nats on the tales held out: uniform {math.log(lesson['V']):.2f}, unigram {tables[0].mean():.2f}", end="")
    print(f", bigram {bigram:.2f}, best table {best:.2f}, on names named before {names:.2f}")
    print(f"{'seed':>4}{'below the table at step':>25}{'half the names at step':>24}{'whole run, s':>14}", end="")
    print(f"{'processor s':>13}{'loss':>7}{'of names':>10}{'names right':>13}")
    found = []
    for seed in SEEDS:
        found.append(learn_text(lesson, seed, best))
        passed, half, clock, work, (loss, of_names, right) = found[-1]
        print(
            f"{seed:4}{passed:25}{half:24}{clock:14.1f}{work:13.1f}{loss:7.2f}{of_names:10.2f}{right:13.0%}", flush=True
        )
    print(f"whole run: median {statistics.median(one[3] for one in found):.1f} s of the processor, ", end="")
    print(f"worst {max(one[3] for one in found):.1f}; highest loss {max(one[4][0] for one in found):.2f}")
    write(lesson)


def learn_text(lesson: dict[str, Any], seed: int, best: float) -> tuple[int, int, float, float, tuple[float, ...]]:
    """The steps after which the loss is below `best`, that of the best table, and half of the names named before are
    right (0 if never); seconds on the clock and of the processor for the run, and its loss, that of the names, and the
    share of names right at its end. Judging isn't counted."""
    torch.manual_seed(seed)
    model = lesson["GPT"](lesson["V"], **lesson["SIZES"])
    ids = lesson["train_ids"]
    run = lesson["Training"](model, lesson["fit"], ids, lesson["drawn_starts"](ids, seed=seed))
    clock, work, passed, half = 0.0, 0.0, 0, 0
    while run.done < run.steps:
        start, start_work = time.perf_counter(), time.process_time()
        for _ in range(EVERY):
            run.one_step()
        clock, work = clock + time.perf_counter() - start, work + time.process_time() - start_work
        scores = run.judged[run.done] = lesson["judged"](model)
        passed = passed or run.done * (scores.loss < best)
        half = half or run.done * (scores.asked_right > 0.5)
    return passed, half, clock, work, (scores.loss, scores.asked_loss, scores.asked_right)


def write(lesson: dict[str, Any]) -> None:
    """Print tokens a second for one text and for sixteen at once, with and without the cache, in turns."""
    model = lesson["GPT"](lesson["V"], **(lesson["SIZES"] | {"max_length": 512}))
    print(f"\n{'tokens a second':26}{'without cache':>15}{'with cache':>12}{'ratio':>8}")
    for texts, length in ((1, 100), (1, 400), (16, 400)):
        prompt = lesson["encode"]("Once there was a").expand(texts, -1)
        times: list[list[float]] = [[], []]
        for _ in range(3):
            for taken, function in zip(times, (lesson["generate"], lesson["generate_with_cache"]), strict=True):
                start = time.perf_counter()
                function(model, prompt, length, torch.Generator().manual_seed(0))
                taken.append(time.perf_counter() - start)
        without, cached = (texts * length / statistics.median(taken) for taken in times)
        title = f"{texts} text{'s' if texts > 1 else ''}, {length} new"
        print(f"{title:26}{without:15.0f}{cached:12.0f}{cached / without:8.1f}", flush=True)


def main() -> None:
    """Print what was asked for."""
    lessons = {"08": dates, "11": small_gpt}
    asked = [name for name in sys.argv[1:] if name in lessons]
    threads = [name for name in sys.argv[1:] if name not in lessons]
    torch.set_num_threads(int(threads[0]) if threads else 1)  # the lessons take one
    for name in asked or lessons:
        lessons[name]()


if __name__ == "__main__":
    main()
