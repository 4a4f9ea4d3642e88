"""What a view computes and says in the browser, by node: the same JavaScript, without a page."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from grader.views.base import View

RUNNER = Path(__file__).with_name("browser.mjs")
NODE = shutil.which("node") or "node"
Told = tuple[dict[str, Any], str]


def in_browser(file: str, *cases: tuple[View, dict[str, Any]]) -> list[Told]:
    """For each view and what is chosen in it: the numbers by name, matrices in float64, and the sentence."""
    sent = [{"file": file, "traits": view.state()["traits"], "choices": choices} for view, choices in cases]
    done = subprocess.run([NODE, RUNNER], input=json.dumps(sent), stdout=subprocess.PIPE, text=True, check=True)
    return [(told["numbers"], told["sentence"]) for told in json.loads(done.stdout, object_hook=_read)]


def _read(value: dict[str, Any]) -> Any:
    return _matrix(**value) if value.keys() == {"rows", "columns", "values"} else value


def _matrix(rows: int, columns: int, values: list[str]) -> Tensor:
    return torch.tensor([float(number) for number in values], dtype=torch.float64).reshape(rows, columns)
