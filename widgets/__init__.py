"""Interactive views for the lessons: drawn in the browser, told in a sentence, operable by keyboard."""

from widgets.attention_explorer import AttentionExplorer
from widgets.progress_table import ProgressTable

__all__ = ["AttentionExplorer", "ProgressTable"]
