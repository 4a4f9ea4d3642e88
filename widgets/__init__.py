"""Interactive views for the lessons: drawn in the browser, told in a sentence, operable by keyboard."""

from widgets.attention_explorer import AttentionExplorer
from widgets.head_splitter import HeadSplitter
from widgets.mask_painter import MaskPainter
from widgets.norm_explorer import NormExplorer
from widgets.position_explorer import PositionExplorer
from widgets.progress_table import ProgressTable
from widgets.scaling_explorer import ScalingExplorer

__all__ = [
    "AttentionExplorer",
    "HeadSplitter",
    "MaskPainter",
    "NormExplorer",
    "PositionExplorer",
    "ProgressTable",
    "ScalingExplorer",
]
