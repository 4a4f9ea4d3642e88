"""Plots in a real kernel: sharp, whatever comes first, at their usual size; a learner's own choice stays."""

from __future__ import annotations

import base64
import struct
from collections.abc import Iterator
from typing import Any

import pytest
from jupyter_client.blocking import BlockingKernelClient
from jupyter_client.manager import start_new_kernel

DRAW = "plt.subplots(figsize=(3, 2))[1].plot([1, 2])\nplt.show()"
PYPLOT = "import matplotlib.pyplot as plt"
COURSE = "from grader import check"
FORGET = "import sys; [sys.modules.pop(name) for name in list(sys.modules) if name.startswith('grader')]"
OWN = "from matplotlib_inline.backend_inline import InlineBackend\nInlineBackend.instance().figure_formats = {formats}"


@pytest.fixture(scope="module")
def kernel() -> Iterator[BlockingKernelClient]:
    manager, client = start_new_kernel(kernel_name="python3", startup_timeout=300)
    yield client
    client.stop_channels()
    manager.shutdown_kernel(now=True)


def drawn(kernel: BlockingKernelClient, *cells: str) -> tuple[tuple[int, int], dict[str, Any]]:
    """The pixels of the plot that the last cell draws, and its metadata."""
    found: list[dict[str, Any]] = []
    for cell in cells:
        kernel.execute_interactive(cell, output_hook=lambda message: found.append(message["content"]), timeout=120)
    [plot] = [content for content in found if "image/png" in content.get("data", {})]
    pixels = struct.unpack(">II", base64.b64decode(plot["data"]["image/png"])[16:24])
    return pixels, plot["metadata"].get("image/png", {})


@pytest.mark.parametrize("cells", [(PYPLOT, COURSE), (COURSE, PYPLOT), (f"{PYPLOT}\n{COURSE}",)])
def test_a_plot_has_two_pixels_for_each_one_of_the_page(kernel: BlockingKernelClient, cells: tuple[str, ...]):
    kernel.execute_interactive(f"{FORGET}\n{OWN.format(formats={'png'})}", timeout=120)
    (width, height), shown = drawn(kernel, *cells, DRAW)
    assert abs(width - 2 * shown["width"]) <= 1
    assert abs(height - 2 * shown["height"]) <= 1
    assert 250 < shown["width"] < 320  # 3 inches


def test_a_learners_own_format_stays(kernel: BlockingKernelClient):
    (width, _height), shown = drawn(kernel, f"{FORGET}\n{OWN.format(formats={'png', 'jpeg'})}", COURSE, PYPLOT, DRAW)
    assert shown == {}
    assert 250 < width < 320
