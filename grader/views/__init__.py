"""Interactive views for the lessons: drawn in the browser, summarised in a sentence, operable by keyboard."""

from grader.views.alignment_view import AlignmentView
from grader.views.attention_explorer import AttentionExplorer
from grader.views.head_explorer import HeadExplorer
from grader.views.head_splitter import HeadSplitter
from grader.views.mask_painter import MaskPainter
from grader.views.norm_explorer import NormExplorer
from grader.views.online_softmax import OnlineSoftmax
from grader.views.position_explorer import PositionExplorer
from grader.views.prediction import Prediction
from grader.views.progress_table import ProgressTable
from grader.views.sampler import Sampler
from grader.views.scaling_explorer import ScalingExplorer
from grader.views.shape_tracer import ShapeTracer
from grader.views.training_monitor import TrainingMonitor

__all__ = [
    "AlignmentView",
    "AttentionExplorer",
    "HeadExplorer",
    "HeadSplitter",
    "MaskPainter",
    "NormExplorer",
    "OnlineSoftmax",
    "PositionExplorer",
    "Prediction",
    "ProgressTable",
    "Sampler",
    "ScalingExplorer",
    "ShapeTracer",
    "TrainingMonitor",
]
