"""Colours for the small heatmaps of a report: cividis, as in the views."""

from __future__ import annotations

import math

# matplotlib's cividis at 33 even steps; importing matplotlib would take half a second.
CIVIDIS = """
00224e 00285b 002e6a 053371 1a386f 273e6e 32436d 3b496c 434e6c 4b546c 535a6d
5a5f6e 61656f 686a71 6f7073 767676 7d7c78 848279 8c8878 938e78 9b9476 a39a74
aba072 b4a76f bcae6c c4b468 cdbb63 d5c25e dec958 e7d150 f0d846 f9e03a fee838
"""
STOPS = [tuple(bytes.fromhex(stop)) for stop in CIVIDIS.split()]

RGB = tuple[int, ...]


def cividis(share: float) -> RGB:
    """The colour of a share of the scale, 0 to 1; shares outside get the nearest end's.

    >>> cividis(0), cividis(2)
    ((0, 34, 78), (254, 232, 56))
    """
    position = min(max(share, 0.0), 1.0) * (len(STOPS) - 1)
    below = min(int(position), len(STOPS) - 2)
    return tuple(round(a + (b - a) * (position - below)) for a, b in zip(STOPS[below], STOPS[below + 1], strict=True))


def ink(colour: RGB) -> str:
    """Black or white, whichever contrasts more with a colour (WCAG 2.2)."""
    parts = [part / 255 for part in colour]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    luminance = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    return "#000" if luminance > 0.179 else "#fff"


def cell_style(value: float, low: float, high: float) -> str:
    """The inline style of a cell whose scale goes from `low` to `high`; "" for NaN and infinities, which are not on the
    scale."""
    if not math.isfinite(value):
        return ""
    colour = cividis((value - low) / (high - low) if high > low else 0.5)
    return f"background:#{bytes(colour).hex()};color:{ink(colour)}"
