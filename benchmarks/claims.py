"""What the lessons conclude from their experiments, with other seeds and with the edits that a curious student makes.

    python benchmarks/claims.py [NAME ...]     # `make claims`; without a name, all of them

A cell of a lesson whose outcome its text draws a conclusion from carries `claim="name"`; here stands what has to hold.
Every claim is run with five seeds as the lesson has it, and every edit with two. The lesson's own cells run, those that
the claim's cell needs, in a namespace of their own. An edit replaces text in them, as a student would. Another seed is
another start for every generator at once, so data that is drawn at random is drawn anew, too. Lesson 10 then looks into
another model, trained by lesson 08's cells from that start.

Prints a table, and exits with 1 if a line of it fails.
"""

from __future__ import annotations

import ast
import builtins
import contextlib
import functools
import io
import math
import random
import re
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

import matplotlib.pyplot  # noqa: E402

matplotlib.use("agg")

import torch  # noqa: E402

import grader  # noqa: E402
from grader.authoring.lesson import Lesson, LessonCell, read_folder  # noqa: E402
from grader.judge.needed import names_of_example  # noqa: E402
from grader.models.dates import Trained, trained_dates  # noqa: E402
from grader.models.robot import ENDING, IT  # noqa: E402
from grader.subject.names import names_of  # noqa: E402

SEEDS = range(5)
OF_AN_EDIT = range(2)
APART = 1000  # a lesson's own seeds are smaller
# These run only where the claim is their own; a cell that defines how something is drawn runs where that is called.
LEFT_OUT = ("check", "draw")
BUILT_IN = frozenset(dir(builtins))  # a cell that calls `sum` doesn't change it

Names = Mapping[str, Any]
Figures = tuple[float, ...]


@dataclass(frozen=True)
class Claim:
    """A conclusion of a lesson, `says`, with its figures in order: `figures` takes them out of the names that the
    lesson's cells leave behind, `holds` judges them. `edits` have a title and, by the text in a cell, what a student
    writes in its place. `exceptions` are judges by an edit's title, for edits of which the text says that something
    else comes out.

    A claim whose cells train compares ways, and then `sweep` names the comparison in `benchmarks/sweeps.py` that gives
    each of them several learning rates. Or no rate could overturn it, and `any_rate` says why."""

    says: str
    figures: Callable[[Names], Sequence[float]]
    holds: Callable[..., bool]
    edits: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    exceptions: Mapping[str, Callable[..., bool]] = field(default_factory=dict)
    sweep: str = ""
    any_rate: str = ""


def claims_of(lessons: Mapping[str, Lesson]) -> dict[str, tuple[Lesson, int]]:
    """The claims in the lessons' cells by name: the lesson, and the place of the cell in it."""
    return {cell.claim: (lesson, i) for lesson in lessons.values() for i, cell in enumerate(lesson.cells) if cell.claim}


def cells_for(lesson: Lesson, place: int) -> list[LessonCell]:
    """The cell at `place` and those before it that it needs, in order. A name that a cell binds itself is its own, such
    as that of a loop."""
    cells = [cell for cell in lesson.cells[:place] if cell.is_code and (cell.role not in LEFT_OUT or _defines(cell))]
    functions = {name for cell in cells for name in names_of_example(cell.source, definitions=True).makes}
    wanted = [lesson.cells[place]]
    words = names_of_example(wanted[0].source).uses - _binds(wanted[0])
    for cell in reversed(cells):
        names = names_of_example(cell.source)
        changed = names.makes - functions  # that call a function, and change what they hand it
        if (words - BUILT_IN) & (changed | _binds(cell)):
            wanted.append(cell)
            words |= names.uses - _binds(cell)
    return wanted[::-1]


def _defines(cell: LessonCell) -> bool:
    return any(isinstance(node, ast.FunctionDef) for node in ast.parse(cell.source).body)


def _binds(cell: LessonCell) -> frozenset[str]:
    return names_of(compile(cell.source, "<cell>", "exec")).binds


def edited(cells: Sequence[LessonCell], edit: Mapping[str, str]) -> list[str]:
    """The cells' sources with an edit made. ValueError if none holds a text that it replaces."""
    sources = [cell.source for cell in cells]
    for text, instead in edit.items():
        if not any(text in source for source in sources):
            raise ValueError(f"no cell of this claim holds {text!r}")
        sources = [source.replace(text, instead) for source in sources]
    return sources


@contextlib.contextmanager
def seed_moved(by: int) -> Iterator[None]:
    """Inside the block, every seed given to a generator is raised by `by`; torch and random start from `by` itself."""
    kept = torch.manual_seed, torch.Generator, random.Random, random.seed

    class Generator(torch.Generator):
        def manual_seed(self, seed: int) -> torch.Generator:
            return super().manual_seed(seed + by)

    class Random(random.Random):
        def __init__(self, seed: Any = None) -> None:
            super().__init__(seed + by if isinstance(seed, int) else seed)

    torch.manual_seed, torch.Generator = (lambda seed: kept[0](seed + by)), Generator  # type: ignore[misc]
    random.Random, random.seed = Random, (lambda seed=None: kept[3]((seed or 0) + by))  # type: ignore[misc]
    try:
        torch.manual_seed(0)
        random.seed(0)
        yield
    finally:
        torch.manual_seed, torch.Generator, random.Random, random.seed = kept  # type: ignore[misc]


@functools.cache
def translator(seed: int) -> Trained:
    """The model that lesson 10 looks into: the stored one for seed 0, for another seed one that lesson 08's cells
    train."""
    stored = trained_dates()
    if seed == 0:
        return stored
    lesson, place = claims_of(read_folder(ROOT / "lessons"))["dates_are_learnt"]
    names = run([cell.source for cell in cells_for(lesson, place)], seed)
    return replace(stored, weights=names["my_translator"].state_dict(), pairs=names["held_out"][: len(stored.pairs)])


@contextlib.contextmanager
def another_translator(sources: Sequence[str], seed: int) -> Iterator[None]:
    """Inside the block, cells that ask for the trained model get that of the seed, if the `sources` ask for it."""
    if any("trained_dates()" in source for source in sources):
        trained = translator(seed)
        grader.trained_dates = lambda: trained
    try:
        yield
    finally:
        grader.trained_dates = trained_dates


def run(sources: Sequence[str], seed: int) -> Names:
    """The names that cells leave behind when their generators' seeds are moved by `seed`."""
    namespace: dict[str, Any] = {"__name__": "lesson"}
    asked = another_translator(sources, seed)
    with asked, seed_moved(APART * seed), contextlib.redirect_stdout(io.StringIO()):
        for source in sources:
            exec(compile(source, "<lesson>", "exec"), namespace)
    matplotlib.pyplot.close("all")
    return namespace


def table(name: str, claim: Claim, cells: Sequence[LessonCell]) -> Iterator[tuple[str, bool]]:
    """The lines of a claim's table, each with whether it holds; `cells` are those that the claim needs."""
    threads = {"two threads": {"set_num_threads(1)": "set_num_threads(2)"}}
    several = any("set_num_threads(1)" in cell.source for cell in cells)
    yield f"{name}: {claim.says}", True
    for title, edit in {"as it is": {}, **claim.edits, **(threads if several else {})}.items():
        found: list[Figures] = []
        start = time.process_time()
        for seed in SEEDS if title == "as it is" else OF_AN_EDIT:
            found.append(tuple(float(figure) for figure in claim.figures(run(edited(cells, edit), seed))))
        holds = claim.exceptions.get(title, claim.holds)
        fine = all(holds(*figures) for figures in found)
        shown = "  ".join(" ".join(f"{figure:.3g}" for figure in figures) for figures in found)
        seconds = (time.process_time() - start) / len(found)
        yield f"  {'holds' if fine else 'FAILS'}  {title:28} {shown}   ({seconds:.0f} s each)", fine


# What a curious student does to a number first, by what it is.
STEPS = {"half the steps": 0.5, "four times the steps": 4}
RATE = {"half the rate": 0.5, "twice the rate": 2}
DEPTH = {"half the depth": 0.5, "twice the depth": 2}
WIDTH = {"half as wide": 0.5, "twice as wide": 2}


def times(text: str, factors: Mapping[str, float]) -> dict[str, dict[str, str]]:
    """Edits, by title, that multiply the number at the end of a text of the lesson; `factors` has the factors by title.

    >>> times("steps=300", {"four times the steps": 4})
    {'four times the steps': {'steps=300': 'steps=1200'}}
    """
    begin, number = re.fullmatch(r"(.*?)([\d.]+)", text).groups()  # type: ignore[union-attr]
    return {title: {text: f"{begin}{float(number) * factor:g}"} for title, factor in factors.items()}


STARTS = ("the malt", "this is the")
# Lesson 04's models.
MASKED = times("steps=400", STEPS) | times("lr=0.005", RATE) | times("width=32", WIDTH)
RHYME = MASKED | {
    "ten words at once": {"length = 12": "length = 10"},
    "sixteen words at once": {"length = 12": "length = 16"},
    "two layers": {"num_layers=1": "num_layers=2"},
}


def strange_pairs(names: Names, model: str, starts: Sequence[str] = STARTS) -> int:
    """The number of pairs of words in what a model of lesson 04 wrote after these starts, that the rhyme doesn't
    have."""
    known = set(pairwise(names["words"]))
    written = [names["go_on"](names[model], start).split() for start in starts]
    return sum(pair not in known for words in written for pair in pairwise(words))


def cheats(names: Names) -> list[float]:
    """Figures of lesson 04's first model: its share of right answers, the share that the words so far give, and its
    strange pairs after two short starts and after one as long as what it reads."""
    seen = names["right"](names["cheat"], names["read"], names["wanted"]).mean()
    hidden = sum(names["so_far"]) / names["length"]
    longest = " ".join(names["words"][: names["length"]])
    return [float(seen), hidden, strange_pairs(names, "cheat"), strange_pairs(names, "cheat", [longest])]


def last_ten(losses: Sequence[float]) -> float:
    """The mean of the last ten losses."""
    return sum(losses[-10:]) / 10


def first_by_last(names: Names) -> list[float]:
    """Of lesson 05's stacks, the first layer's gradient divided by the last one's. For post-norm it is the factor for
    one layer, then for pre-norm the whole ratio; both for each kind of layer."""
    lengths, kinds = names["lengths"], ("ReLU and a bias", "strong tanh")
    post, pre = ([lengths[kind, pre][0] / lengths[kind, pre][-1] for kind in kinds] for pre in (False, True))
    return [ratio ** (1 / (names["layers"] - 1)) for ratio in post] + pre


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


def trained(call: str) -> dict[str, dict[str, str]]:
    """Edits of lesson 01's and 02's readers; `call` trains one and ends with the rate."""
    steps = {"half the steps": 300, "four times the steps": 2400}
    return {title: {call: f"{call}, steps={count}"} for title, count in steps.items()} | times(call, RATE)


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


def one_by_two(names: Names) -> list[float]:
    """The worse of two answers of lesson 03's models, in percent right: with one head on average, with two at its
    lowest."""
    one, two = names["right"].chunk(2)
    return [one.amin(1).mean(), two.min()]


def robots_read(names: Names) -> list[float]:
    """Of lesson 03's readers, from five starts: the best share of right answers with one head, in percent; how many
    starts have more than 90 % with two heads; the best share with two, in percent."""
    one, two = names["my_shares"]
    return [one.max(), (two > 90).sum(), two.max()]


def saved_by_a_cache(names: Names) -> list[float]:
    """Of lesson 09's steps: how many times as fast the last is with a cache, and by how much more than after 64
    tokens."""
    plain, cached = names["times"].values()
    last, early = plain[-1] / cached[-1], plain[2] / cached[2]
    return [last, last / early]


# Of lesson 10's dates.
HALF_THE_DATES = {
    "half the dates": {"pairs = trained.pairs": "pairs = trained.pairs[:100]"},
    "the other half": {"pairs = trained.pairs": "pairs = trained.pairs[100:]"},
}


def bugs(names: Names) -> list[float]:
    """Of lesson 08's runs: what the right one reports, the most that a run reports whose answers leak, the share of
    dates that the right one writes, and the largest share that a run with a bug writes; then, of the run that counts
    padding, its honest loss divided by what it reports."""
    right, no_shift, padding, no_mask = names["my_table"]
    honest = padding[1] / padding[0]
    return [right[0], max(no_shift[0], no_mask[0]), right[3], max(no_shift[3], padding[3], no_mask[3]), honest]


FOUR_WAYS = ("learnt", "sinusoidal", "bias", "rotary")

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
    "one_layer_is_a_coin": Claim(
        "one layer: how many answers are right, in percent; robot over crate for heavy, by that for weak",
        lambda names: (names["my_share"], names["rows"][0][2] / names["rows"][1][2]),
        lambda share, ratio: 35 < share < 65 and abs(ratio - 1) < 1e-3,
        trained("learn_to_read(one, rate=0.003") | {"narrower": {"(32, 16), (32, 16)": "(32, 8), (32, 8)"}},
        sweep="reads",
    ),
    "two_layers_find_it": Claim(
        "two layers: right answers in percent, first layer's weight on the ending, last one's on what it stands for",
        looks,
        lambda share, ending, meant: share > 98 and ending > 0.1 and meant > 0.5,
        trained("learn_to_read(two, rate=0.01") | {"narrower": {"(16, 32), (16, 32)": "(8, 32), (8, 32)"}},
        sweep="reads",
    ),
    "each_head_takes_a_question": Claim(
        "percent right of both answers without head 0, then without head 1: neither can be spared",
        lambda names: names["right"][1:].flatten().tolist(),
        lambda *right: min(right[:2]) < 70 and min(right[2:]) < 70,
        times("steps=600", STEPS) | times("rate=0.01", RATE),
        any_rate="one trained model with and without a head",
    ),
    "one_head_makes_mistakes": Claim(
        "percent right of the worse answer: with one head on average, with two at its lowest",
        one_by_two,
        lambda one, two: one < 99.5 and two > 99.9,
        times("steps=600", STEPS) | times("rate=0.01", RATE),
        exceptions={"four times the steps": lambda one, two: one > 98 and two > 99.9},
        sweep="letters",
    ),
    "two_heads_read_the_robot": Claim(
        "percent of new sentences right: best with one head; starts of five with two heads above 90; best with two",
        robots_read,
        lambda one, starts, two: one < 60 and starts >= 3 and two > 95,
        times("steps=600", STEPS) | times("rate=0.01", RATE),
        exceptions={"half the steps": lambda one, starts, two: one < 60 and two > 90},
        sweep="reads",
    ),
    "cheating_is_perfect": Claim(
        "right answers, and from the words so far; pairs of words that the rhyme doesn't have, and from a long start",
        cheats,
        lambda seen, hidden, strange, longest: seen > 0.98 and hidden < 0.8 and strange > 0 and longest == 0,
        RHYME,
        any_rate="one model, asked in two ways",
    ),
    "only_the_end_knows": Claim(
        "at the word without a mask, and at that with a mask but the last, where most is right; at the last",
        lambda names: (min(names["without_mask"]), max(names["with_mask"][:-1]), names["with_mask"][-1]),
        lambda without, before, end: without > 0.95 and 0.45 < before < 0.55 and end > 0.9,
        MASKED | {"three layers": {"num_layers=2": "num_layers=3"}},
        any_rate="nobody can know before the end, so half is the most",
    ),
    "honest_answers_are_fewer": Claim(
        "right answers with the mask, and by the model that cheats; pairs of words that the rhyme doesn't have",
        lambda names: (names["mine"], names["theirs"], strange_pairs(names, "honest")),
        lambda mine, theirs, strange: mine < theirs and strange == 0,
        RHYME,
        any_rate="nobody gets more than 94.5 % from the words so far",
    ),
    "a_norm_frees_the_start": Claim(
        "the last loss with one rate and start: without norms in the layers, with them",
        lambda names: [loss for loss, _ in names["ends"]],
        lambda without, with_norms: with_norms < 0.2 and without > 5 * with_norms,
        times("depth=48", {"half as deep again": 1.5, "half the depth": 0.5})
        | times("steps=150", {"twice the steps": 2})
        | times("rate=0.003", RATE),
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
        lambda names: [names["says"][f"{mode} mode, in company"] in names["rhyme"] for mode in ("eval", "train")],
        lambda evaluating, training: evaluating == 1 and training == 0,
        times("BatchNorm1d, depth=6", DEPTH) | times("steps=150", STEPS),
        any_rate="one model in two modes",
    ),
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
    ),
    "relu_is_needed": Claim(
        "loss with ReLU and without",
        lambda names: (names["trained_loss"](torch.nn.ReLU()), names["trained_loss"](torch.nn.Identity())),
        lambda relu, identity: relu < 0.1 and 0.68 < identity < 0.71,
        times("range(300", STEPS)
        | times("lr=0.05", RATE)
        | {"twice as wide": {"nn.Linear(2, 16)": "nn.Linear(2, 32)", "nn.Linear(16, 1)": "nn.Linear(32, 1)"}},
        any_rate="without ReLU no rate can, as the network is a straight line",
    ),
    "a_dozen_by_heart": Claim(
        "right sentences of 12",
        lambda names: (names["my_right"],),
        lambda right: right == 12,
        times("steps=150", STEPS) | times("rate=0.003", RATE) | times("layers=2", DEPTH),
        any_rate="one model",
    ),
    "no_places_no_who": Claim(
        "right sentences of 12 without positions in the source",
        lambda names: (names["my_count"],),
        lambda count: count == 6,
        times("steps=150", STEPS) | times("rate=0.003", RATE) | times("layers=2", DEPTH),
        any_rate="without places both orders are the same sentence",
    ),
    "two_left_out": Claim(
        "right sentences of the two that were left out",
        lambda names: (names["my_new"],),
        lambda new: new == 2,
        times("steps=150", STEPS)
        | times("rate=0.003", RATE)
        | {"two others": {'the dog bites the man")': 'the man sees the woman")', "the woman sees": "the woman bites"}},
        any_rate="one model",
    ),
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
    ),
    "no_new_century": Claim(
        "the share of right dates between 2100 and 2199",
        lambda names: (names["my_far_share"],),
        lambda share: share < 0.2,
        any_rate="one model",
    ),
    "smoothing_costs_no_date": Claim(
        "with label smoothing: its loss, right test dates, how sure it is of its guesses; the same two without",
        lambda names: (names["my_end"], *names["my_judged"]["with"], *names["my_judged"]["without"]),
        lambda loss, right, sure, plain, plain_sure: (
            0.54 < loss < 0.57 and min(right, plain) > 0.985 and 0.89 < sure < 0.92 and plain_sure > 0.99
        ),
        times("factor=0.2", RATE),
        exceptions={
            "half the rate": lambda loss, right, sure, plain, plain_sure: loss < 0.6 and min(right, plain) > 0.98
        },
    ),
    "bugs_look_good": Claim(
        "reported by the right code, without shift or mask at most; written right by it, with a bug at most; "
        "padding counted: the honest loss by the reported one",
        bugs,
        lambda right, bug, writes, most, honest: bug < right and most < writes and honest > 3,
        {"half the steps": {"steps=120": "steps=60"}},
    ),
    "padding_learns_later": Claim(
        "padding counted, 240 steps: the share of right dates",
        lambda names: (names["my_slow_share"],),
        lambda share: share > 0.9,
        times("factor=0.2", {"half the rate": 0.5}),
        exceptions={"half the rate": lambda share: share < 0.95},  # too few steps
        any_rate="one model, trained longer",
    ),
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
    "others_read_it_too": Claim(
        "without the head that reads the 6: the right date is written (1), the loss of the 6 in nats",
        lambda names: (names["written"] == names["answer"], names["its_loss"]),
        lambda right, loss: right == 1 and loss < 0.1,
        {
            "2 May 1947": {'"6 August 1939", "1939-08-06"': '"2 May 1947", "1947-05-02"', 'index("6")': 'index("2")'},
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
        lambda place, ratio: place > 4 and ratio > 3,
        HALF_THE_DATES,
        exceptions={"half the dates": lambda place, ratio: ratio > 3},
    ),
    "together_is_more": Claim(
        "what all eight heads cost together, by the sum of each alone: encoder, decoder, cross",
        lambda names: [names["together"][kind] / names["alone"][kind] for kind in names["alone"]],
        lambda *ratios: min(ratios) >= 3,
        HALF_THE_DATES,
    ),
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
        any_rate="one trained model, looked into",
    ),
    "who_reads_whose_trace": Claim(
        "right without the head that looks one back, without the other of its layer; what layer 1 then has on what "
        "followed; what that head looks at without one of layer 1, by what it did",
        traced,
        lambda without, other, followed, kept: without < 0.3 < 0.8 < other and followed < 0.3 and abs(kept - 1) < 1e-4,
        {"half the steps": FEWER_ROWS},
        # Both heads of layer 0 still share the work then.
        exceptions={"half the steps": lambda without, other, followed, kept: without < other and followed < 0.7},
        any_rate="one trained model, looked into",
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
    ),
}


def main() -> int:
    """Print the table of the claims asked for. Returns the exit code: 1 if a line fails, 2 for a claim that isn't
    known."""
    found = claims_of(read_folder(ROOT / "lessons"))
    asked = sys.argv[1:] or list(found)
    if unknown := [name for name in asked if name not in found or name not in CLAIMS]:
        print(f"no such claim: {', '.join(unknown)}; there are {', '.join(sorted(found))}", file=sys.stderr)
        return 2
    failed = 0
    for name in asked:
        lesson, place = found[name]
        for line, fine in table(f"{lesson.number} {name}", CLAIMS[name], cells_for(lesson, place)):
            print(line, flush=True)
            failed += not fine
    print(f"{len(asked)} claims, {failed} lines fail")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
