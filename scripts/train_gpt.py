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

from grader.authoring.lesson import read_folder

ROOT = Path(__file__).parents[1]
STORED = ROOT / "grader" / "models"
LESSONS = [f"{number:02}" for number in range(11)]
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
    (re.compile(r"(?<!\w)\*{1,3}|\*{1,3}(?!\w)|`|(?<!\w)_(?=\w)|(?<=\w)_(?!\w)"), ""),
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
    """Store the prose of lessons 00 to 10 without their quizzes, each paragraph once. They are shuffled, so that the end,
    which is held out, is about the same things as the rest."""
    lessons = [lesson for name, lesson in read_folder(ROOT / "lessons").items() if name[:2] in LESSONS]
    cells = [cell for lesson in lessons for cell in lesson.cells if not cell.is_code and ": `quiz_" not in cell.source]
    lines = list(dict.fromkeys(line for cell in cells for line in paragraphs(cell.source)))
    random.Random(11).shuffle(lines)
    (STORED / "prose.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(f"{len(lines)} paragraphs, {sum(map(len, lines)) + len(lines)} characters")
    return 0
