"""docs/accessibility.md names every criterion of WCAG 2.2 AA, and only tests that are there."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "docs" / "accessibility.md").read_text("utf-8")
ROWS = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in re.findall(r"(?m)^\| \d.*\|$", TEXT)]
# Levels A and AA, without those of sound and film (1.2.1 to 1.2.5), which have one row. https://www.w3.org/TR/WCAG22/
CRITERIA = re.findall(
    r"[\d.]+",
    """1.1.1 1.3.1 1.3.2 1.3.3 1.3.4 1.3.5 1.4.1 1.4.2 1.4.3 1.4.4 1.4.5 1.4.10 1.4.11 1.4.12 1.4.13
    2.1.1 2.1.2 2.1.4 2.2.1 2.2.2 2.3.1 2.4.1 2.4.2 2.4.3 2.4.4 2.4.5 2.4.6 2.4.7 2.4.11 2.5.1 2.5.2 2.5.3 2.5.4 2.5.7
    2.5.8 3.1.1 3.1.2 3.2.1 3.2.2 3.2.3 3.2.4 3.2.6 3.3.1 3.3.2 3.3.3 3.3.4 3.3.7 3.3.8 4.1.2 4.1.3""",
)


def test_every_criterion_has_a_row():
    assert sorted(row[0] for row in ROWS) == sorted([*CRITERIA, "1.2.1 to 1.2.5"])
    assert {row[2] for row in ROWS} <= {"met", "met in part", "nothing of the kind"}


def test_what_is_met_names_a_test():
    assert [row[0] for row in ROWS if row[2] == "met" and not re.search(r"`tests/", row[4])] == []


def test_every_test_that_it_names_is_there():
    python = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", TEXT)
    javascript = re.findall(r"`(tests/[\w/]+\.test\.js)`, \"(.+?)\"", TEXT)
    assert len(python) + len(javascript) == TEXT.count("`tests/")
    lost = [f"{file}::{name}" for file, name in python if f"\ndef {name}(" not in (ROOT / file).read_text("utf-8")]
    lost += [f"{file}: {name}" for file, name in javascript if f'test("{name}"' not in (ROOT / file).read_text("utf-8")]
    assert lost == []


def test_what_is_met_in_part_is_explained():
    explained = TEXT.partition("## What isn't met, and why")[2]
    assert [row[0] for row in ROWS if row[2] == "met in part" and row[0] not in explained] == []
