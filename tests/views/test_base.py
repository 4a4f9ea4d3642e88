"""The shared part of the views: one module out of several files, matrices as bytes."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import matplotlib
import pytest
import torch

from grader.views.base import module, pack, style

FOLDER = Path(__file__).parents[2] / "grader" / "views"
NODE = shutil.which("node") or "node"
VIEWS = sorted(path.stem for path in FOLDER.glob("*.py") if (FOLDER / f"{path.stem}.js").exists())


def run_in_node(source: str) -> object:
    done = subprocess.run(
        [NODE, "--input-type=module", "-e", source], capture_output=True, text=True, check=True, cwd=FOLDER
    )
    return json.loads(done.stdout)


def test_a_module_holds_what_it_imports_once_and_imports_nothing():
    source = module("attention_explorer.js")
    assert not re.search(r"^import ", source, re.MULTILINE)
    assert source.count("function cividis(") == 1
    assert re.findall(r"^export .*", source, re.MULTILINE) == ["export default rendering(AttentionExplorer);"]


def test_a_piece_stands_before_what_needs_it():
    source = module("attention_explorer.js")
    assert source.index("function written(") < source.index("class Heatmap") < source.index("class AttentionExplorer")


@pytest.mark.parametrize("view", VIEWS)
def test_the_joined_module_loads(view):
    source = module(f"{view}.js").replace("export default", "const view =")
    assert run_in_node(source + "\nconsole.log(JSON.stringify(typeof view.render));") == "function"


@pytest.mark.parametrize("view", VIEWS)
def test_nothing_is_loaded_from_elsewhere(view):
    for text in (module(f"{view}.js"), style(f"{view}.css")):
        # The name of SVG's elements looks like an address, but nothing is fetched from it.
        assert not re.search(r"https?://|@import|url\(", text.replace("http://www.w3.org/2000/svg", ""))


def test_matrices_are_packed_row_by_row_in_float32():
    layout, buffer = pack({"a": torch.tensor([[1, 2], [3, 4]]), "b": torch.tensor([[0.5]], dtype=torch.float64)})
    assert layout == [["a", 2, 2], ["b", 1, 1]]
    assert torch.frombuffer(bytearray(buffer), dtype=torch.float32).tolist() == [1, 2, 3, 4, 0.5]


def test_a_transposed_matrix_is_packed_as_it_is_read():
    assert pack({"a": torch.tensor([[1.0, 2.0]]).T})[1] == pack({"a": torch.tensor([[1.0], [2.0]])})[1]


def test_colours_are_those_of_matplotlib():
    colours = run_in_node(
        'import { cividis } from "./colour.js";'
        "console.log(JSON.stringify(Array.from({ length: 101 }, (_, at) => cividis(at / 100))));"
    )
    for at, colour in enumerate(colours):
        right = [255 * part for part in matplotlib.colormaps["cividis"](at / 100)[:3]]
        assert colour == pytest.approx(right, abs=6), at


def brightness(colour: str) -> float:
    """Relative luminance, as WCAG defines it."""
    digits = colour.lstrip("#")
    parts = [
        int((digits if len(digits) == 6 else "".join(2 * one for one in digits))[i : i + 2], 16) for i in (0, 2, 4)
    ]
    red, green, blue = (c / 12.92 if (c := part / 255) <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def test_borders_and_the_focus_ring_stand_out():
    """Elsewhere than in JupyterLab, whose own colours take their place."""
    sheet = style("base.css")
    for theme in (0, 1):
        paper, border, accent = (
            brightness(re.findall(rf"--att-{name}: .*?light-dark\((#\w+), (#\w+)\)", sheet)[0][theme])
            for name in ("paper", "border", "accent")
        )
        for other in (border, accent):
            assert (max(paper, other) + 0.05) / (min(paper, other) + 0.05) >= 3
    assert re.search(r":focus-visible \{\s+outline: 2px solid var\(--att-accent\)", sheet)
