"""Where one is: a drawing of the Transformer with one of its nineteen steps lit up (Vaswani et al. 2017, figure 1)."""

from __future__ import annotations

import base64
import io
from typing import TYPE_CHECKING, Any, NamedTuple

from grader.views.picture import drawing, sheet
from grader.views.shape_steps import LARGE, STEPS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SIZE = (9.6, 3.25)  # inches
PAPER, LIT, INK, EDGE = "white", "#ffd43b", "#222222", "#8a8a8a"
ENCODER, DECODER = 2.0, 0.3  # the lower edge of a row's boxes
TALL = 0.62


class Box(NamedTuple):
    """A box of the drawing, its sizes in inches. A `frame` has its text at the top and is lit up at its edge."""

    steps: tuple[int, ...]
    text: str
    left: float
    bottom: float
    width: float
    height: float = TALL
    frame: bool = False


def _frame(step: int, text: str, left: float, bottom: float, width: float, height: float) -> Box:
    return Box((step,), text, left, bottom, width, height, frame=True)


INSIDE = ("Q, K, V", "heads", "scores", "mask", "softmax", "mix", "join")
BOXES = (
    _frame(19, "", 0.05, 0.05, 9.5, 3.15),
    _frame(15, "the encoder: this layer, several times", 2.3, 1.76, 6.45, 1.34),
    _frame(2, "attention, E = H · D", 2.4, 1.88, 4.4, 0.9),
    _frame(18, "the decoder: this layer, several times", 2.3, 0.15, 5.15, 1.0),
    *(Box((6 + i,), text, 2.47 + 0.61 * i, ENCODER - 0.05, 0.57, 0.55) for i, text in enumerate(INSIDE)),
    Box((13,), "add,\nnormalise", 6.92, ENCODER, 0.77),
    Box((14,), "feed-\nforward", 7.83, ENCODER, 0.77),
    Box((15,), "memory", 8.88, ENCODER, 0.6),
    Box((16,), "attention over\nthe target", 2.6, DECODER, 1.5),
    Box((17,), "attention over the memory,\nfeed-forward", 4.75, DECODER, 2.4),
    Box((18,), "a score for\nevery word", 7.6, DECODER, 0.95),
    Box((18, 19), "logits", 8.88, DECODER, 0.6),
    Box((3,), "masks", 0.2, 1.28, 0.55, 0.42),
    *(
        Box((step,), text, left, bottom, width)
        for bottom, ids in ((ENCODER, "source\nids"), (DECODER, "target\nids"))
        for step, text, left, width in ((1, ids, 0.2, 0.55), (4, "embed", 0.9, 0.55), (5, "+ posi-\ntions", 1.6, 0.55))
    ),
)
# The arrow from the memory to the decoder's layer, bends included.
MEMORY = ((9.18, 9.18, 5.95, 5.95), (ENCODER, 1.45, 1.45, DECODER + TALL))


def show_step(step: int) -> None:
    """Show where in the model `step`, 1 to 19, takes place, and what comes out of it in lesson 07's large example."""
    if step not in range(1, len(STEPS) + 1):
        raise ValueError(f"step: got {step!r}, expected a whole number from 1 to {len(STEPS)}")
    from IPython.display import display

    display(StepMap(step))


class StepMap:
    """The drawing with one step lit up.

    >>> StepMap(8)
    Step 8 of 19, Scores: scores (128, 8, 28, 28).
    """

    def __init__(self, step: int) -> None:
        self.step = step

    def __repr__(self) -> str:
        what = STEPS[self.step - 1]
        out = ", ".join(f"{piece.name} {piece.shape(LARGE)}" for piece in what.out)
        return f"Step {self.step} of {len(STEPS)}, {what.title}: {out}."

    def picture(self) -> Figure:
        """Two rows of boxes, the encoder's above the decoder's; what belongs to the step is yellow."""
        from matplotlib.patches import Rectangle

        figure = sheet(*SIZE)
        axes: Any = figure.add_subplot(xlim=(0, SIZE[0]), ylim=(0, SIZE[1]))
        axes.axis("off")
        for row in (ENCODER, DECODER):
            axes.plot((0.5, 9.2), (row + TALL / 2, row + TALL / 2), color=EDGE, linewidth=1, zorder=0)
        axes.plot(*MEMORY, color=EDGE, linewidth=1)
        axes.annotate("", (5.95, DECODER + TALL), (5.95, 1.3), arrowprops={"arrowstyle": "->", "color": EDGE})
        for box in BOXES:
            lit = self.step in box.steps
            face, edge = (LIT if lit else PAPER), (LIT if lit and box.frame else INK if lit else EDGE)
            colours: dict[str, Any] = {
                "facecolor": face,
                "edgecolor": edge,
                "linewidth": 3.0 if lit else 0.8,
                "fill": not box.frame,
            }
            axes.add_patch(Rectangle((box.left, box.bottom), box.width, box.height, **colours))
            at = (box.left + 0.07, box.bottom + box.height - 0.09) if box.frame else _middle(box)
            place = {"ha": "left", "va": "top"} if box.frame else {"ha": "center", "va": "center"}
            axes.text(*at, box.text, fontsize=7, color=INK, weight="bold" if lit else "normal", **place)
        return figure

    def _repr_mimebundle_(self, **_options: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        drawn = drawing(self.picture)
        assert drawn is not None
        return {"image/png": _few_colours(drawn), "text/plain": repr(self)}, {"image/png": {"alt": repr(self)}}


def _middle(box: Box) -> tuple[float, float]:
    return box.left + box.width / 2, box.bottom + box.height / 2


def _few_colours(png: str) -> str:
    """The same picture, base64, in a third of the bytes: a notebook holds nineteen of them."""
    from PIL import Image

    stored = io.BytesIO()
    Image.open(io.BytesIO(base64.b64decode(png))).convert("RGB").quantize(16).save(stored, format="png")
    return base64.b64encode(stored.getvalue()).decode()
