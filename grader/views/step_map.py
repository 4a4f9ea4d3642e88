"""The map of the Transformer: a box for each of its nineteen steps, masks and residual paths (Vaswani et al. 2017,
figure 1).

It is described once, in units of a pixel at its natural width, and drawn twice: as SVG, which the tracer lights up, and
as a picture for lesson 07 and for paper.
"""

from __future__ import annotations

import base64
import io
from html import escape
from typing import TYPE_CHECKING, Any, NamedTuple

from grader.languages import shown
from grader.sentences import Several, say, together
from grader.views.picture import drawing, sheet
from grader.views.shape_steps import LARGE, STEPS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WIDTH, HEIGHT = 384, 452
TALL = 24  # a box
LETTERS = 11  # pixels
ENLARGED = 1.5  # the picture, by the map
PAPER, LIT, INK, EDGE = "white", "#ffd43b", "#222222", "#767676"
BENDS = 5  # how far an arrow's head reaches


class Box(NamedTuple):
    """A box of the map. A `frame` holds others, and has its text at the top."""

    steps: tuple[int, ...]
    text: str
    left: float
    top: float
    width: float
    height: float = TALL
    frame: bool = False


class Path(NamedTuple):
    """An arrow from the first of its points (x, y) to the last, with right angles between. `kind` is "", "mask" or
    "residual"."""

    points: tuple[tuple[float, float], ...]
    kind: str = ""


def _attention(left: float, top: float) -> list[Box]:
    """The boxes of the encoder's attention, steps 6 to 12: three in a line, the second line from right to left."""
    texts = (
        "Q, K, V",
        say("heads"),
        say("scores"),
        say("mask"),
        "softmax",
        say("mix"),
        say("join, project"),
    )
    columns, lefts, widths = (0, 1, 2, 2, 1, 0), (4, 48, 110), (42, 60, 42)
    at = [(left + lefts[column], top + 17 + 25 * (i // 3), widths[column]) for i, column in enumerate(columns)]
    at.append((left + 4, top + 67, 148))
    inside = [Box((6 + i,), text, *place, 22) for i, (text, place) in enumerate(zip(texts, at, strict=True))]
    return [Box((2,), say("attention, E = H · D"), left, top, 156, 95, frame=True), *inside]


ENC, DEC, WIDE = 13, 215, 156  # where the boxes of the two columns begin, and how wide they are
BOXES = (
    Box((1,), say("source ids"), ENC, 8, WIDE),
    Box((4,), say("embedding"), ENC, 42, WIDE),
    Box((5,), say("+ positions"), ENC, 76, WIDE),
    Box((15,), say("the encoder's layers"), 4, 116, 176, 213, frame=True),
    *_attention(ENC, 140),
    Box((13,), say("add, normalise"), ENC, 243, WIDE),
    Box((14,), say("feed-forward"), ENC, 270, WIDE),
    Box((14,), say("add, normalise"), ENC, 297, WIDE),
    Box((15,), say("memory"), ENC, 344, WIDE),
    Box((3,), say("masks"), 171, 8, 42, 42),
    Box((1,), say("target ids"), DEC, 8, WIDE),
    Box((4,), say("embedding"), DEC, 42, WIDE),
    Box((5,), say("+ positions"), DEC, 76, WIDE),
    Box((18,), say("the decoder's layers"), 204, 116, 176, 213, frame=True),
    Box((16,), say("masked self-attention"), DEC, 140, WIDE),
    Box((16,), say("add, normalise"), DEC, 167, WIDE),
    Box((17,), say("cross-attention"), DEC, 203, WIDE, 28),
    Box((17,), say("add, normalise"), DEC, 243, WIDE),
    Box((17,), say("feed-forward"), DEC, 270, WIDE),
    Box((17,), say("add, normalise"), DEC, 297, WIDE),
    Box((18,), say("fc_out: scores of words"), DEC, 344, WIDE),
    Box((18, 19), say("logits"), DEC, 378, WIDE),
    Box((19,), say("the whole: Transformer(src, trg)"), 4, 418, 376, 26),
)


def _round(side: float, edge: float, start: float, end: float) -> Path:
    """The path of a residual: from the middle of a column out to `side`, and back to the `edge` of the box that adds.
    `start` and `end` are heights."""
    middle = edge + WIDE / 2 if side < edge else edge - WIDE / 2
    return Path(((middle, start), (side, start), (side, end), (edge, end)), "residual")


LEFT, RIGHT = ENC + WIDE / 2, DEC + WIDE / 2  # the middles of the columns
PATHS = (
    *(Path(((x, y), (x, y + 10))) for x in (LEFT, RIGHT) for y in (32, 66)),
    Path(((LEFT, 100), (LEFT, 140))),
    Path(((RIGHT, 100), (RIGHT, 140))),
    *(Path(((LEFT, y), (LEFT, end))) for y, end in ((235, 243), (267, 270), (294, 297), (321, 344))),
    *(
        Path(((RIGHT, y), (RIGHT, end)))
        for y, end in ((164, 167), (191, 203), (231, 243), (267, 270), (294, 297), (321, 344), (368, 378))
    ),
    _round(8.5, ENC, 132, 255),
    _round(8.5, ENC, 268.5, 309),
    _round(375.5, DEC + WIDE, 132, 179),
    _round(375.5, DEC + WIDE, 197, 255),
    _round(375.5, DEC + WIDE, 268.5, 309),
    # From the memory up between the columns; the masks down between them, to what they mask.
    Path(((ENC + WIDE, 356), (192, 356), (192, 222), (DEC, 222))),
    Path(((186, 50), (186, 193), (ENC + 152, 193)), "mask"),
    Path(((186, 193), (186, 211), (DEC, 211)), "mask"),
    Path(((198, 50), (198, 152), (DEC, 152)), "mask"),
)


def svg() -> str:
    """The map as SVG for a browser: for every box a group that names its steps in `data-steps`. Colours and letters are
    the style sheet's."""
    frames = [_group(box) for box in BOXES if box.frame]
    boxes = [_group(box) for box in BOXES if not box.frame]
    lines = [f'<polyline class="map-path {path.kind}" points="{_points(path)}"/>' for path in PATHS]
    heads = [f'<polygon class="map-head {path.kind}" points="{_head(path)}"/>' for path in PATHS]
    return f'<svg viewBox="0 0 {WIDTH} {HEIGHT}">{"".join(frames + lines + heads + boxes)}</svg>'


def _group(box: Box) -> str:
    x, y, anchor = (box.left + 6, box.top + 12, "start") if box.frame else (*_middle(box), "middle")
    kind = "map-frame" if box.frame else "map-box"
    size = f'x="{box.left:g}" y="{box.top:g}" width="{box.width:g}" height="{box.height:g}" rx="3"'
    text = f'<text x="{x:g}" y="{y + 4 * (not box.frame):g}" text-anchor="{anchor}">{escape(shown(box.text))}</text>'
    # On the corner: inside a small box it would lie on the text.
    mark = f'<text class="map-mark" x="{box.left + box.width + 2:g}" y="{box.top + 4:g}" text-anchor="end"></text>'
    return f'<g class="{kind}" data-steps="{" ".join(map(str, box.steps))}"><rect {size}/>{text}{mark}</g>'


def _points(path: Path) -> str:
    return " ".join(f"{x:g},{y:g}" for x, y in path.points)


def _head(path: Path) -> str:
    """The three corners of a path's arrow head, as SVG's points."""
    (x0, y0), (x, y) = path.points[-2:]
    along = ((x > x0) - (x < x0), (y > y0) - (y < y0))
    back = (x - BENDS * along[0], y - BENDS * along[1])
    across = (BENDS / 2 * along[1], BENDS / 2 * along[0])
    corners = ((x, y), (back[0] + across[0], back[1] + across[1]), (back[0] - across[0], back[1] - across[1]))
    return " ".join(f"{a:g},{b:g}" for a, b in corners)


def show_steps(first: int, last: int) -> None:
    """Show the map with the steps from `first` to `last` (1 to 19, both included) lit up. ValueError for other
    numbers."""
    if not 1 <= first <= last <= len(STEPS):
        raise ValueError(f"steps {first!r} to {last!r}: expected two whole numbers from 1 to {len(STEPS)}, in order")
    from IPython.display import display

    display(StepMap(first, last))


class StepMap:
    """The map with some steps lit up.

    >>> StepMap(8, 8)
    Step 8 of 19, Scores: scores (128, 8, 28, 28).
    """

    def __init__(self, first: int, last: int) -> None:
        self.lit = range(first, last + 1)

    def __repr__(self) -> str:
        return shown(together(*map(_in_words, self.lit)))

    def picture(self) -> Figure:
        """A picture of the map, in which what belongs to the steps is yellow."""
        from matplotlib.patches import Polygon, Rectangle

        figure = sheet(ENLARGED * WIDTH / 100, ENLARGED * HEIGHT / 100)
        figure.set_layout_engine("none")
        axes: Any = figure.add_axes((0, 0, 1, 1), xlim=(0, WIDTH), ylim=(HEIGHT, 0))
        axes.axis("off")
        for box in BOXES:
            lit = any(step in box.steps for step in self.lit)
            face, edge, width = (LIT if lit else PAPER), (INK if lit else EDGE), (2 if lit else 0.8)
            style: dict[str, Any] = {"facecolor": "none" if box.frame else face, "edgecolor": edge, "linewidth": width}
            axes.add_patch(Rectangle((box.left, box.top), box.width, box.height, zorder=2 - 2 * box.frame, **style))
            x, y = (box.left + 6, box.top + 9) if box.frame else _middle(box)
            letters = {"fontsize": 0.72 * ENLARGED * LETTERS, "color": INK}
            behind = {"facecolor": PAPER, "edgecolor": "none", "pad": 1} if box.frame else None
            axes.text(
                x, y, box.text, ha="left" if box.frame else "center", va="center", bbox=behind, zorder=3, **letters
            )
        for path in PATHS:
            dashes = {"mask": ":", "residual": "--"}.get(path.kind, "-")
            axes.plot(*zip(*path.points, strict=True), dashes, color=EDGE, linewidth=1.1, zorder=1)
            corners = [tuple(map(float, corner.split(","))) for corner in _head(path).split()]
            axes.add_patch(Polygon(corners, color=EDGE, linewidth=0, zorder=1))
        return figure

    def _repr_mimebundle_(self, **_options: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        drawn = drawing(self.picture)
        assert drawn is not None
        return {"image/png": _few_colours(drawn), "text/plain": repr(self)}, {"image/png": {"alt": repr(self)}}


def _in_words(step: int) -> str:
    what = STEPS[step - 1]
    named = (say("{name} {shape}", name=say(piece.name), shape=piece.shape(LARGE)) for piece in what.out)
    steps, title = len(STEPS), say(what.title)
    return say(
        "Step {step} of {steps}, {title}: {shapes}.", step=step, steps=steps, title=title, shapes=Several(named, ", ")
    )


def _middle(box: Box) -> tuple[float, float]:
    return box.left + box.width / 2, box.top + box.height / 2


def _few_colours(png: str) -> str:
    """The picture `png`, in base64, with fewer colours: a third of the bytes."""
    from PIL import Image

    stored = io.BytesIO()
    Image.open(io.BytesIO(base64.b64decode(png))).convert("RGB").quantize(16).save(stored, format="png")
    return base64.b64encode(stored.getvalue()).decode()
