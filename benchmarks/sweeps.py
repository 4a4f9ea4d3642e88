"""What the lessons compare: each way at several learning rates, from three starts, with everything else equal.

    python benchmarks/sweeps.py [NAME ...]     # `make sweeps`; without a name, all of them
    python benchmarks/sweeps.py "reads:two heads"     # one way; what is stored of the others stays

One rate may suit one way and not another, so a lesson that compares at a single rate may conclude what isn't so. Each
way gets five rates or more, far apart, and the number of steps at which the better way is flat. What comes out is
written to `grader/models/sweeps.json`, from where the lessons show it. `tests/lessons/test_claims.py` judges what is
stored there.

Prints a line for each way and rate, and exits with 1 if what is concluded doesn't hold.
"""

from __future__ import annotations

import copy
import json
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor, nn

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.claims import APART, ROOT, Names, cells_for, claims_of, run, seed_moved
from benchmarks.claims_by_lesson.lesson_06 import FOUR_WAYS
from grader.authoring.lesson import read_folder
from grader.authoring.model_solutions import model_solution
from grader.exercises.registry import exercises
from grader.models.letters import repeated_words
from grader.models.robot import ENDING, Layer, Reader, percent_right, robot_sentences
from grader.models.sweeps import STORED, Measured, sweep
from scripts.train_dates import run_lesson
from scripts.train_gpt import LESSON as SMALL_GPT

STARTS = range(3)
Model = Callable[..., Tensor]
Batch = tuple[Tensor, ...]


@dataclass(frozen=True)
class Task:
    """What models are trained for, and how they are judged."""

    batch: Callable[[Names, int], Batch]  # tensors whose first axis is the number of copies
    loss: Callable[[Model, Batch], Tensor]  # of one copy, on its part of the batch
    figure: Callable[[Names, Model, float], float]  # of one trained copy, whose last loss is given
    more_is_better: bool
    # The part of the rate that a step takes, by the share of the steps that are done.
    schedule: Callable[[float], float] = lambda done: 1.0


@dataclass(frozen=True)
class Sweep:
    """A comparison of several ways."""

    says: str  # what is concluded
    names: Callable[[], Names]  # what `ways` and `task` find by name, of a lesson's cells or of model solutions
    ways: Mapping[str, Callable[[Names], nn.Module]]  # by the name that a lesson's table shows, an untrained model
    task: Task
    rates: tuple[float, ...]
    steps: int
    holds: Callable[[Measured], bool]


def train_together(
    models: Sequence[nn.Module], rates: Sequence[float], draw: Callable[[], Batch], task: Task, steps: int
) -> tuple[list[Model], list[float]]:
    """Train models of one shape side by side, each at its own rate of Adam. Returns them, and their last losses.

    Small models take as long for one as for many, so this is many times as fast as one after another.
    """
    one = copy.deepcopy(models[0])
    weights, buffers = torch.func.stack_module_state(list(models))
    adam = torch.optim.Adam(weights.values(), lr=1.0)  # Adam's step is proportional to the rate
    factor = torch.tensor(rates, dtype=torch.float64)

    def loss(weights: dict[str, Tensor], buffers: dict[str, Tensor], *batch: Tensor) -> Tensor:
        return task.loss(lambda *given: torch.func.functional_call(one, (weights, buffers), given), batch)

    for step in range(steps):
        losses = torch.func.vmap(loss, randomness="different")(weights, buffers, *draw())
        adam.zero_grad()
        losses.sum().backward()
        before = {name: weight.detach().clone() for name, weight in weights.items()}
        adam.step()
        taken = factor * task.schedule(step / steps)
        with torch.no_grad():
            for name, weight in weights.items():
                weight.sub_(before[name]).mul_(taken.to(weight.dtype).view(-1, *[1] * (weight.ndim - 1)))
                weight.add_(before[name])

    def copy_of(i: int) -> Model:
        own = {name: tensor[i].detach() for name, tensor in {**weights, **buffers}.items()}
        return lambda *given: torch.func.functional_call(one, own, given)

    return [copy_of(i) for i in range(len(models))], losses.tolist()


def before_claim(claim: str) -> Callable[[], Names]:
    """What the cells bind that a claim's cell needs, without that cell."""

    def names() -> Names:
        lesson, place = claims_of(read_folder(ROOT / "lessons"))[claim]
        return run([cell.source for cell in cells_for(lesson, place)[:-1]], 0)

    return names


def of_solutions(*asked: str) -> Callable[[], Names]:
    """The model solutions of these exercises, with what stands before them in their lessons."""
    return lambda: {name: run([model_solution(exercises()[name])], 0)[name] for name in asked}


def measure(name: str, asked: Sweep, title: str, names: Names) -> list[list[float]]:
    """One way of a comparison at every rate (a row) from every start (a column); a line is printed for each rate."""
    start, models = time.process_time(), []
    for seed in STARTS:
        with seed_moved(APART * seed):
            models += [asked.ways[title](names)] * len(asked.rates)
    torch.manual_seed(0)
    draw = partial(asked.task.batch, names, len(models))
    trained, losses = train_together(models, asked.rates * len(STARTS), draw, asked.task, asked.steps)
    found = [round(float(asked.task.figure(names, *pair)), 4) for pair in zip(trained, losses, strict=True)]
    rows = [found[i :: len(asked.rates)] for i in range(len(asked.rates))]
    for rate, of_starts in zip(asked.rates, rows, strict=True):
        print(f"{name}: {title}, rate {rate:g}: {of_starts}")
    print(f"   ({time.process_time() - start:.0f} s)", flush=True)
    return rows


def store(name: str, asked: Sweep, title: str, rows: list[list[float]]) -> None:
    """Write a way of a comparison to the lessons' file. Other ways stay, unless their rates or steps were others."""
    stored = json.loads(STORED.read_text(encoding="utf-8"))
    about = {"steps": asked.steps, "more_is_better": asked.task.more_is_better, "rates": list(asked.rates)}
    kept = stored.get(name, {})
    figures = kept["figures"] if {**kept, "figures": 0} == {**about, "figures": 0} else {}
    figures[title] = rows
    stored[name] = about | {"figures": {way: figures[way] for way in asked.ways if way in figures}}
    text = ",\n".join(f'"{entry}": {json.dumps(stored[entry], ensure_ascii=False)}' for entry in sorted(stored))
    STORED.write_text(f"{{\n{text}\n}}\n", encoding="utf-8")


RHYME = Task(
    lambda names, copies: (names["read"].expand(copies, -1, -1), names["wanted"].expand(copies, -1)),
    lambda model, batch: F.cross_entropy(model(batch[0]), batch[1]),
    lambda names, model, loss: loss,
    more_is_better=False,
)


def tower(residual: str) -> Callable[[Names], nn.Module]:
    """Lesson 05's forty-eight blocks, by the name of the residual block."""
    return lambda names: names["tower"](names[residual], lambda x, *two: F.layer_norm(x, x.shape[-1:], *two), 48)


SENTENCES = robot_sentences()


def _robot_batch(names: Names, copies: int) -> Batch:
    some = torch.randint(len(SENTENCES[0]), (copies, 64))
    return SENTENCES[0][some], SENTENCES[1][some]


ROBOT = Task(
    _robot_batch,
    lambda model, batch: F.cross_entropy(model(batch[0]), batch[1]),
    lambda names, model, loss: percent_right(model, *SENTENCES[2:]),
    more_is_better=True,
)


def plain_average(x: Tensor) -> Tensor:
    """Lesson 01's first way."""
    return x.mean(dim=-2, keepdim=True).expand_as(x)


def one_head(names: Names) -> Layer:
    """A layer of lesson 01's attention with one head."""
    return Layer(names["self_attention"], (32, 16), (32, 16), (32, 32))


def two_heads(name: str, **options: int) -> Callable[[Names], nn.Module]:
    """A reader with one layer of lesson 03's or 04's attention, with two heads."""
    return lambda names: Reader(Layer(partial(names[name], num_heads=2), *[(32, 32)] * 4), **options)


def deep_reader(residual: str) -> Callable[[Names], nn.Module]:
    """Lesson 05's reader with twenty-four layers, by the name of the residual block."""
    return lambda names: names["deep_reader"](names[residual], names["layer_norm"])


def _letters(names: Names, copies: int) -> Batch:
    drawn = [names["draw_letters"](64) for _ in range(copies)]
    tokens, answers = (torch.stack(several) for several in zip(*drawn, strict=True))
    return tokens, answers


def _letters_right(names: Names, model: Model, loss: float) -> float:
    tokens, answers = names["test_tokens"], names["test_answers"]
    said = model(tokens, tokens, tokens)[0].unflatten(-1, (2, 8)).argmax(-1)
    return float(100 * (said == answers).double().mean())


LETTERS = Task(
    _letters,
    lambda model, batch: F.cross_entropy(model(*[batch[0]] * 3)[0].reshape(-1, 8), batch[1].flatten()),
    _letters_right,
    more_is_better=True,
)


def _pieces(names: Names, copies: int) -> Batch:
    places = torch.randint(len(names["train_ids"]) - 96, (copies, 8, 1)) + torch.arange(97)
    pieces = names["train_ids"][places]
    return pieces[..., :-1], pieces[..., 1:]


def _next_token_loss(model: Model, batch: Batch) -> Tensor:
    return F.cross_entropy(model(batch[0]).flatten(0, 1), batch[1].flatten())


@torch.no_grad()
def _held_out(names: Names, model: Model, loss: float) -> float:
    return float(_next_token_loss(model, (names["test_inputs"], names["test_labels"])))


TALES = Task(
    _pieces,
    _next_token_loss,
    _held_out,
    more_is_better=False,
    schedule=lambda done: min(24 * done + 0.02, 1.04 * (1 - done)),  # as lesson 11's loop, up for 50 of 1200 steps
)


def _rows_of_letters(names: Names, copies: int) -> Batch:
    rows, _ = repeated_words(copies * 32, torch.default_generator)
    rows = rows.unflatten(0, (copies, 32))
    return rows[..., :-1], rows[..., 1:]


@torch.no_grad()
def _letters_copied(names: Names, model: Model, loss: float) -> float:
    hits = model(names["letter_inputs"]).argmax(-1) == names["letter_labels"]
    return float(100 * hits[names["comes_again"]].double().mean())


COPIES = Task(
    _rows_of_letters,
    _next_token_loss,
    _letters_copied,
    more_is_better=True,
    schedule=lambda done: min(12 * done + 0.02, 1.09 * (1 - done)),  # as above, up for 50 of 600 steps
)


def gpt(width: int) -> Callable[[Names], nn.Module]:
    """Lesson 11's model of the tales, of some width."""
    return lambda names: names["GPT"](names["V"], width, 2, 2, 2 * width)


def _digits_right(names: Names, model: Model, loss: float) -> float:
    asked = torch.randint(10, (500, 64), generator=torch.Generator().manual_seed(1))
    return float(100 * (model(asked).argmax(-1)[:, 3:] == asked[:, :-3]).double().mean())


DIGITS = Task(  # lesson 06's models name the digit three places back
    lambda names, copies: (torch.randint(10, (copies, 32, 16)),),
    lambda model, batch: F.cross_entropy(model(batch[0])[:, 3:].flatten(0, 1), batch[0][:, :-3].flatten()),
    _digits_right,
    more_is_better=True,
)


def knows(losses: Sequence[float]) -> list[bool]:
    """At which rates lesson 05's rhyme is learnt, by the largest losses of the starts."""
    return [loss < 0.3 for loss in losses]


SWEEPS = {
    "norms_in_layers": Sweep(
        "without norms in the layers, no rate makes all three starts learn the rhyme; with them, some rate does",
        before_claim("a_norm_frees_the_start"),
        {
            f"{title}, size {size:g}": lambda names, norm=norm, size=size: names["deep"](norm, size=size)  # type: ignore[misc]
            for title, norm in (("without", nn.Identity), ("with norms", nn.LayerNorm))
            for size in (0.5, 1, 2)
        },
        RHYME,
        (0.0003, 0.001, 0.003, 0.01, 0.03),
        300,
        lambda found: (
            not any(any(knows(row)) for row in found.worst()[:3]) and all(any(knows(row)) for row in found.worst()[3:])
        ),
    ),
    "deep_towers": Sweep(
        "forty-eight blocks learn the rhyme in pre-norm at all rates, in post-norm at the smallest only",
        before_claim("pre_norm_goes_deep"),
        {"post-norm": tower("post_norm_residual"), "pre-norm": tower("pre_norm_residual")},
        RHYME,
        (0.0003, 0.001, 0.003, 0.01, 0.03),
        300,
        lambda found: all(knows(found.worst()[1])) and knows(found.worst()[0]) == [True, False, False, False, False],
    ),
    "letters": Sweep(
        "two heads give every answer at their best rate, and one doesn't",
        before_claim("one_head_makes_mistakes"),
        {
            f"{number} head(s)": lambda names, heads=number: names["MultiHeadAttention"](16, heads)  # type: ignore[misc]
            for number in (1, 2)
        },
        LETTERS,
        (0.001, 0.003, 0.01, 0.03, 0.1),
        600,
        lambda found: max(found.at_best("1 head(s)")) < 99.9 < min(found.at_best("2 head(s)")),
    ),
    "tales": Sweep(
        "at their best rates, width 16 ends lower than 8, 32 hardly lower than 16, 64 a quarter lower than 32; with "
        "RMSNorm and SwiGLU each start of width 64 ends higher",
        lambda: run_lesson(until="of_2026", lesson=SMALL_GPT),
        {
            **{f"width {width}": gpt(width) for width in (8, 16, 32, 64)},
            "width 64, RMSNorm and SwiGLU": lambda names: names["of_2026"](gpt(64)(names), **names["SIZES"]),
        },
        TALES,
        (0.001, 0.003, 0.006, 0.012, 0.03),
        1200,
        lambda found: (
            max(found.at_best("width 64")) < 0.75 * min(found.at_best("width 32"))
            and 0.95 < min(found.at_best("width 32")) / max(found.at_best("width 16")) < 1
            and max(found.at_best("width 16")) < min(found.at_best("width 8"))
            and max(found.at_best("width 64")) < min(found.at_best("width 64, RMSNorm and SwiGLU"))
        ),
    ),
    "copied_words": Sweep(
        "one layer gets less than a third of the letters that come again at any rate; two layers practically all at "
        "their best",
        before_claim("two_layers_copy_words"),
        {
            f"{layers} layer(s)": lambda names, layers=layers: names["GPT"](  # type: ignore[misc]
                len(names["LETTERS"]), 64, layers, 2, 128, tied=False
            )
            for layers in (1, 2)
        },
        COPIES,
        (0.0005, 0.0015, 0.004, 0.012, 0.03),
        600,
        lambda found: all(max(starts) < 30 for starts in found.figures[0]) and min(found.at_best("2 layer(s)")) > 95,
    ),
    "positions": Sweep(
        "in sentences four times as long, each at its best rate, learnt and sinusoidal positions find fewer of the "
        "digits than a bias or rotary positions",
        before_claim("distance_reaches_further"),
        {way: lambda names, way=way: names["MyReader"](way) for way in FOUR_WAYS},  # type: ignore[misc]
        DIGITS,
        (0.0005, 0.0015, 0.005, 0.015, 0.05),
        600,
        lambda found: (
            max(*found.at_best("learnt"), *found.at_best("sinusoidal")) < 50
            and min(*found.at_best("bias"), *found.at_best("rotary")) > 85
        ),
    ),
    "reads": Sweep(
        "one layer with one head reads half of the sentences at most; two layers read all, and so do two heads, with a "
        "mask only where the last word is asked; one start of three may get stuck",
        of_solutions("context_vectors", "self_attention", "multi_head_attention", "causal_multi_head_attention"),
        {
            "plain average": lambda names: Reader(Layer(plain_average)),
            "dot products": lambda names: Reader(Layer(names["context_vectors"])),
            "one layer": lambda names: Reader(one_head(names)),
            "two layers": lambda names: Reader(one_head(names), one_head(names)),
            "two heads": two_heads("multi_head_attention"),
            "two heads, masked": two_heads("causal_multi_head_attention"),
            "masked, asked at the end": two_heads("causal_multi_head_attention", asked=ENDING),
        },
        ROBOT,
        (0.001, 0.003, 0.01, 0.03, 0.1),
        600,
        lambda found: (
            all(max(found.at_best(way)) < 60 for way in (*found.ways[:3], "two heads, masked"))
            and all(
                sorted(found.at_best(way))[1] > 90 for way in ("two layers", "two heads", "masked, asked at the end")
            )
        ),
    ),
    "reads_deep": Sweep(
        "without norms twenty-four layers read half of the sentences at no rate; with pre-norm they read most at all "
        "rates, with post-norm at all but the largest",
        lambda: {**of_solutions("post_norm_residual")(), **before_claim("norms_let_it_read")()},
        {
            "24 layers, no norm": deep_reader("no_norm_residual"),
            "24 layers, post-norm": deep_reader("post_norm_residual"),
            "24 layers, pre-norm": deep_reader("pre_norm_residual"),
        },
        ROBOT,
        (0.0003, 0.001, 0.003, 0.01, 0.03),
        300,
        lambda found: (
            max(found.at_best("24 layers, no norm")) < 50
            and [right > 80 for right in found.worst()[1]] == [True] * 4 + [False]
            and min(found.worst()[2]) > 80
        ),
    ),
}


def main() -> int:
    """Measure the comparisons asked for and store them. Returns the exit code: 1 if what is concluded from one doesn't
    hold, 2 for one that isn't known."""
    failed = 0
    for given in sys.argv[1:] or list(SWEEPS):
        name, _, only = given.partition(":")
        if name not in SWEEPS or (only and only not in SWEEPS[name].ways):
            print(f"no such comparison: {given}; there are {', '.join(sorted(SWEEPS))}", file=sys.stderr)
            return 2
        asked, names = SWEEPS[name], SWEEPS[name].names()
        for title in [only] if only else asked.ways:
            store(name, asked, title, measure(name, asked, title, names))
        sweep.cache_clear()
        if sweep(name).ways != tuple(asked.ways):
            print(f"{name}: not every way has been measured", flush=True)
            continue
        fine = asked.holds(sweep(name))
        print(f"{'holds' if fine else 'FAILS'}  {name}: {asked.says}", flush=True)
        failed += not fine
    return 1 if failed else 0


if __name__ == "__main__":
    torch.set_num_threads(1)
    sys.exit(main())
