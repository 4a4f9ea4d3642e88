"""The training monitor's Python side: what it says and sends, and how often."""

from __future__ import annotations

import pytest
import torch

from grader.views import TrainingMonitor
from grader.views.training_monitor import changes


def curves(monitor: TrainingMonitor) -> tuple[list[float], list[list[float]]]:
    flat = torch.frombuffer(bytearray(monitor.curves), dtype=torch.float32)
    count = next(columns for name, _, columns in monitor.layout_of_curves if name == "losses")
    return flat[:count].tolist(), flat[count:].reshape(-1, 2).tolist()


def test_it_is_told_in_a_sentence():
    monitor = TrainingMonitor(10)
    assert repr(monitor) == "Training monitor, step 0 of 10, nothing to show yet."
    monitor.show([2.5, 0.031], {0: 0.0, 2: 0.125}, now=True)
    assert repr(monitor) == "Training monitor, step 2 of 10: loss 0.031, 12 % of held-out dates right."
    assert monitor.outputs()[0][0]["text/plain"] == repr(monitor)


def test_it_sends_all_losses_and_the_scores_by_step():
    monitor = TrainingMonitor(10)
    assert monitor.layout_of_curves == [["losses", 1, 0], ["scores", 0, 2]]
    monitor.show([2.5, 2.0, 0.5], {0: 0.0, 3: 0.25}, now=True)
    assert curves(monitor) == ([2.5, 2.0, 0.5], [[0, 0], [3, 0.25]])


def test_a_training_that_calls_it_at_every_step_does_not_wait_for_the_browser(monkeypatch):
    monitor = TrainingMonitor(1000)
    clock = iter(at / 100 for at in range(10**6))
    monkeypatch.setattr("grader.views.training_monitor.time.monotonic", lambda: next(clock) + 1e6)
    sent = []
    monitor.observe(lambda change: sent.append(change["new"]), "curves")
    for step in range(1, 101):
        monitor.show([1.0] * step, {})
    assert 3 <= len(sent) <= 11
    monitor.show([1.0] * 101, {}, now=True)
    assert len(curves(monitor)[0]) == 101


def test_a_training_without_steps_is_refused():
    with pytest.raises(ValueError, match="steps: got 0"):
        TrainingMonitor(0)


def test_it_shows_one_example_being_written():
    monitor = TrainingMonitor(10, watched=("May 2024", "2024-05"))
    assert repr(monitor) == "Training monitor, step 0 of 10, nothing to show yet."
    monitor.show([2.5, 2.0], {}, {0: "77", 1: "2020", 2: "2024-05"}, now=True)
    assert monitor.watched == ["May 2024", "2024-05"]
    assert monitor.written == [[0, "77"], [1, "2020"], [2, "2024-05"]]
    assert repr(monitor).endswith('loss 2. The model writes "May 2024" as "2024-05".')


def test_its_picture_has_what_was_written_whenever_it_became_another():
    monitor = TrainingMonitor(100, watched=("May 2024", "2024-05"))
    monitor.show([2.5], {0: 0.0}, {0: "77", 20: "2020", 40: "2020", 60: "2024-05"}, now=True)
    figure = monitor.picture()
    assert figure is not None
    words = [text.get_text() for text in figure.axes[-1].texts]
    assert words == ["step 0", "77", "step 20", "2020", "step 60", "2024-05"]


def test_of_many_changes_the_first_and_the_last_are_shown():
    written = [[step, str(step)] for step in range(20)]
    assert changes(written) == [(0, "0"), *((step, str(step)) for step in range(12, 20))]
