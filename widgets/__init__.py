"""Interactive views for the lessons: drawn in the browser, told in a sentence, operable by keyboard."""

from widgets.alignment_view import AlignmentView
from widgets.attention_explorer import AttentionExplorer
from widgets.head_explorer import HeadExplorer
from widgets.head_splitter import HeadSplitter
from widgets.mask_painter import MaskPainter
from widgets.norm_explorer import NormExplorer
from widgets.online_softmax import OnlineSoftmax
from widgets.position_explorer import PositionExplorer
from widgets.progress_table import ProgressTable
from widgets.scaling_explorer import ScalingExplorer
from widgets.shape_tracer import ShapeTracer
from widgets.training_monitor import TrainingMonitor

__all__ = [
    "AlignmentView",
    "AttentionExplorer",
    "HeadExplorer",
    "HeadSplitter",
    "MaskPainter",
    "NormExplorer",
    "OnlineSoftmax",
    "PositionExplorer",
    "ProgressTable",
    "ScalingExplorer",
    "ShapeTracer",
    "TrainingMonitor",
]
