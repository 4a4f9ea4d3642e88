"""Trains lesson 08's date translator and stores it in the package: `grader/models/dates.safetensors`, `dates.json`.

    python scripts/train_dates.py && grader build 10

The lesson is the only source: the cells that its claim "dates_are_learnt" needs are run, up to the point where the
trained model has been judged; nothing of them is written here. `grader.models.dates.trained_dates` reads the files.

The stored model is from the time when the lesson's rates fell in a straight line, and the figures of lesson 10 are its.

In `dates.json`, `model` has the arguments of lesson 07's `Transformer`, `source` and `target` the tokens by id; `pad`,
`bos` and `eos` are ids, and `held_out` some pairs that the model has never seen in training.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from grader.authoring.lesson import read_folder

ROOT = Path(__file__).parents[1]
LESSON = ROOT / "lessons" / "08_training.py"
STORED = ROOT / "grader" / "models"
# What the lesson's new_model gives to Transformer, by the names of its arguments.
SIZES = {"d_model": 64, "num_layers": 2, "num_heads": 4, "d_ff": 128, "dropout": 0.0, "max_length": 40}


def run_lesson(until: str, training: bool = True, lesson: Path = LESSON) -> dict[str, Any]:
    """The names that a lesson's cells bind, up to and with the first that binds `until`. Left out are checks, what only
    draws or answers a prediction, what calls a student's exercise and, without `training`, what trains."""
    namespace: dict[str, Any] = {"__name__": f"lesson_{lesson.name[:2]}"}
    left_out = ["check", "try", "draw", "answer", *([] if training else ["train"])]
    for cell in read_folder(lesson.parent)[lesson.stem].cells:
        if cell.is_code and cell.role not in left_out:
            exec(compile(cell.source, str(lesson), "exec"), namespace)
        if until in namespace:
            return namespace
    raise ValueError(f"{lesson.name} binds no {until}")


def main() -> int:
    """Train, judge, store; 1 if the model isn't good enough to be stored."""
    from safetensors.torch import save_file

    from benchmarks.claims import cells_for, claims_of, run

    cells = cells_for(*claims_of(read_folder(LESSON.parent))["dates_are_learnt"])
    lesson = run([cell.source for cell in cells], seed=0)
    model, share = lesson["my_translator"], lesson["my_share"]
    print(f"{100 * share:.1f} % of {len(lesson['test_pairs'])} test dates exactly right")
    if share < 0.99:
        return 1
    vocabularies = {"src_vocab_size": len(lesson["SOURCE"]), "trg_vocab_size": len(lesson["TARGET"])}
    padding = {"src_pad_idx": lesson["PAD"], "trg_pad_idx": lesson["PAD"]}
    sizes = vocabularies | padding | SIZES
    lesson["Transformer"](**sizes).load_state_dict(model.state_dict())  # or the sizes above are not the lesson's
    about = {
        "model": sizes,
        "source": lesson["SOURCE"],
        "target": lesson["TARGET"],
        **{name: lesson[name.upper()] for name in ("pad", "bos", "eos")},
        "held_out": lesson["held_out"][:200],
    }
    save_file(model.state_dict(), STORED / "dates.safetensors")
    text = json.dumps(about, indent=1, ensure_ascii=False)
    (STORED / "dates.json").write_text(text + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
