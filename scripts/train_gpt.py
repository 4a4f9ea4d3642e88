"""Makes what lesson 11 starts from: the text that its models learn, and the weights of the course's own small GPT.

    python scripts/train_gpt.py text      # grader/models/prose.txt, from the lessons' prose
    python scripts/train_gpt.py weights   # gpt.safetensors and gpt.json there, from prose.txt; then grader build 11

The text is made once and kept. A lesson may change without it: weights and stored outputs belong to this text.
"""

from __future__ import annotations

import json
import random
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch

from grader.authoring.lesson import read_folder

sys.path.insert(0, str(Path(__file__).parents[1]))

from scripts.train_dates import run_lesson

ROOT = Path(__file__).parents[1]
STORED = ROOT / "grader" / "models"
LESSON = ROOT / "lessons" / "11_small_gpt.py"
LESSONS = [f"{number:02}" for number in range(11)]
# The arguments of the lesson's GPT and of its Training.
SIZES = {"d_model": 96, "num_layers": 4, "num_heads": 4, "d_ff": 192, "dropout": 0.1, "max_length": 128}
TRAINED = {"steps": 2400, "batch_size": 16, "block_size": 128, "peak": 0.004}
PROMPT, WRITTEN, SAMPLED = "Attention ", (0, 100, 1000), {"temperature": 0.7}
FEWEST = 30  # characters of a paragraph
ODD = re.compile(r"[^A-Za-z0-9 .,;:!?'\"()_-]")
SENTENCE = re.compile(r"(?<=[.!?:]) (?=[A-Z\"(])")
PLAINER = str.maketrans({"’": "'", "“": '"', "”": '"', "–": "-", "−": "-", "×": "x", "·": "x"})
# What is no running text: code, formulas, tags, addresses, marks. A list's item becomes a paragraph of its own.
NO_TEXT = (
    (re.compile(r"(?ms)^```.*?^```$|\$\$.*?\$\$"), ""),
    (re.compile(r"(?s)<!--.*?-->|<summary>.*?</summary>|</?\w[^>]*>"), ""),
    (re.compile(r"!?\[([^\]]*)\]\([^)]*\)"), r"\1"),
    (re.compile(r"\*The picture in words:\* "), ""),
    (re.compile(r"(?<!\w)\*{1,3}|\*{1,3}(?!\w)|`"), ""),
    (re.compile(r"(?m)^\s*(?:[-*]|\d+\.|[a-z]\.)\s+"), "\n"),
)


def paragraphs(markdown: str) -> Iterator[str]:
    """The paragraphs of a markdown cell, each one line, without the sentences that hold an odd character.

    >>> list(paragraphs("# Title\\n\\nEvery **row** of `weights` sums to one. That is $x^2$. So is this."))
    ['Every row of weights sums to one. So is this.']
    """
    for pattern, instead in NO_TEXT:
        markdown = pattern.sub(instead, markdown)
    for block in re.split(r"\n\s*\n", markdown):
        if not block.lstrip().startswith(("#", "|")):
            sentences = SENTENCE.split(" ".join(block.split()).translate(PLAINER))
            line = " ".join(one for one in sentences if not ODD.search(one) and one.endswith((".", "!", "?", ":")))
            if len(line) >= FEWEST:
                yield line[0].upper() + line[1:]


def make_text() -> int:
    """Store the prose of lessons 00 to 10 without their quizzes, each paragraph once.

    They are shuffled, so that the end, which is held out, is about the same things as the rest.
    """
    lessons = [lesson for name, lesson in read_folder(ROOT / "lessons").items() if name[:2] in LESSONS]
    cells = [cell for lesson in lessons for cell in lesson.cells if not cell.is_code and ": `quiz_" not in cell.source]
    lines = list(dict.fromkeys(line for cell in cells for line in paragraphs(cell.source)))
    random.Random(11).shuffle(lines)
    (STORED / "prose.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(f"{len(lines)} paragraphs, {sum(map(len, lines)) + len(lines)} characters")
    return 0


def sample(lesson: dict[str, Any], model: torch.nn.Module) -> str:
    """What the model writes after PROMPT, within its max_length."""
    generator = torch.Generator().manual_seed(11)
    prompt = lesson["encode"](PROMPT)
    room = SIZES["max_length"] - prompt.shape[1]
    return str(lesson["decode"](lesson["generate"](model, prompt, room, generator, **SAMPLED)[0]))


def make_weights() -> int:
    """Train the lesson's model, longer than the lesson does, and store it; 1 if it doesn't beat bigrams clearly."""
    from safetensors.torch import save_file

    lesson = run_lesson(until="generate_with_cache", training=False, lesson=LESSON)
    torch.manual_seed(0)
    sizes = {"vocab_size": len(lesson["CHARACTERS"]), **SIZES}
    model = lesson["GPT"](**sizes)
    run = lesson["Training"](model, lesson["language_batch"], lesson["clip_gradients"], **TRAINED)
    samples = {0: sample(lesson, model)}
    for step in (*WRITTEN[1:], TRAINED["steps"]):
        lesson["go_on"](run, until=step)
        samples[step] = sample(lesson, model)
        print(step, f"{run.held_out[step]:.3f} nats", repr(samples[step]), flush=True)
    loss = run.held_out[run.done]
    if loss > lesson["bigram_loss"](lesson["train_ids"], lesson["test_ids"], sizes["vocab_size"]) - 0.5:
        return 1
    # A shared weight is stored under both of its names: safetensors takes no two tensors in one place.
    save_file({name: tensor.clone() for name, tensor in model.state_dict().items()}, STORED / "gpt.safetensors")
    about = {"sizes": sizes, "characters": lesson["CHARACTERS"], "loss": round(loss, 3), "prompt": PROMPT}
    stored = json.dumps({**about, "samples": samples}, indent=1, ensure_ascii=False)
    (STORED / "gpt.json").write_text(stored + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    made = {"text": make_text, "weights": make_weights}
    if len(sys.argv) != 2 or sys.argv[1] not in made:
        sys.exit("usage: python scripts/train_gpt.py text|weights")
    sys.exit(made[sys.argv[1]]())
