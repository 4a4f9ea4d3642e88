"""Makes what lesson 11 starts from: the tales that its models learn, and the weights of the course's own small GPT.

    python scripts/train_gpt.py text      # grader/models/tales.txt, by the grammar of scripts/tales.py
    python scripts/train_gpt.py weights   # gpt.safetensors and gpt.json there, from tales.txt; then grader build 11

Whoever changes the tales trains anew: the weights and the lesson's stored outputs belong to this text.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import torch

sys.path.insert(0, str(Path(__file__).parents[1]))

from scripts.tales import NAMES, STRANGERS, tales
from scripts.train_dates import run_lesson

ROOT = Path(__file__).parents[1]
STORED = ROOT / "grader" / "models"
LESSON = ROOT / "lessons" / "11_small_gpt.py"
COUNTS = (800, 80, 40)  # tales to learn from, held out, with names that are in neither
# The course's model is as large as the lesson's. It trains for longer, with dropout.
DROPOUT, STEPS = 0.1, 3000
PROMPT, WRITTEN, TEMPERATURE, MOMENTS = "Once there was a", 110, 0.7, (100, 400, STEPS)


def make_text() -> int:
    """Store the tales: three parts with an empty line between them."""
    learnt, held_out, strange = COUNTS
    lines = tales(learnt + held_out, NAMES, seed=11).splitlines(keepends=True)
    parts = ("".join(lines[:learnt]), "".join(lines[learnt:]), tales(strange, STRANGERS, seed=12))
    (STORED / "tales.txt").write_text("\n".join(parts), encoding="utf-8")
    print(f"{sum(COUNTS)} tales, {sum(map(len, parts))} characters")
    return 0


@torch.no_grad()
def sample(lesson: dict[str, Any], model: torch.nn.Module) -> str:
    """What the model writes after PROMPT, about as long as a tale."""
    generator, tokens = torch.Generator().manual_seed(11), lesson["encode"](PROMPT)
    model.eval()
    for _ in range(WRITTEN):
        probabilities = (model(tokens)[:, -1] / TEMPERATURE).softmax(-1)
        tokens = torch.cat([tokens, torch.multinomial(probabilities, 1, generator=generator)], dim=1)
    model.train()
    return str(lesson["decode"](tokens[0]))


def make_weights() -> int:
    """Train the lesson's model, longer than the lesson does, and store it; 1 if it doesn't know enough names."""
    from safetensors.torch import save_file

    lesson = run_lesson(until="go_on", training=False, lesson=LESSON)
    torch.manual_seed(0)
    sizes = {"vocab_size": lesson["V"], **lesson["SIZES"], "dropout": DROPOUT, "max_length": 256}
    model = lesson["GPT"](**sizes)
    samples = {0: sample(lesson, model)}
    starts = lesson["drawn_starts"](lesson["train_ids"], STEPS)
    run = lesson["Training"](model, lesson["fit"], lesson["train_ids"], starts)
    for step in MOMENTS:
        lesson["go_on"](run, until=step)
        samples[step] = sample(lesson, model)
        print(step, run.judged[step], repr(samples[step]), flush=True)
    loss, right = run.judged[run.done].loss, run.judged[run.done].asked_right
    if right < 0.7:
        return 1
    # A shared weight is stored under both of its names: safetensors takes no two tensors in one place.
    save_file({name: tensor.clone() for name, tensor in model.state_dict().items()}, STORED / "gpt.safetensors")
    about = {
        "sizes": sizes,
        "words": lesson["WORDS"],
        "loss": round(loss, 3),
        "right": round(right, 3),
        "prompt": PROMPT,
    }
    stored = json.dumps({**about, "samples": samples}, indent=1, ensure_ascii=False)
    (STORED / "gpt.json").write_text(stored + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    made = {"text": make_text, "weights": make_weights}
    if len(sys.argv) != 2 or sys.argv[1] not in made:
        sys.exit("usage: python scripts/train_gpt.py text|weights")
    sys.exit(made[sys.argv[1]]())
