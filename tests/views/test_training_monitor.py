"""The training monitor's Python side: what it says and sends, and how often."""

from __future__ import annotations

import pytest
import torch

from grader.views import TrainingMonitor


def curves(monitor: TrainingMonitor) -> tuple[list[float], list[list[float]]]:
    flat = torch.frombuffer(bytearray(monitor.curves), dtype=torch.float32)
    count = monitor.layout_of_curves["losses"][1]
    return flat[:count].tolist(), flat[count:].reshape(-1, 2).tolist()


def test_it_is_told_in_a_sentence():
    monitor = TrainingMonitor(10)
    assert repr(monitor) == "Training monitor, step 0 of 10, nothing to show yet."
    monitor.show([2.5, 0.031], {0: 0.0, 2: 0.125}, now=True)
    assert repr(monitor) == "Training monitor, step 2 of 10: loss 0.031, 12 % of held-out dates right."
    assert monitor._repr_mimebundle_()[0]["text/plain"] == repr(monitor)


def test_it_sends_all_losses_and_the_scores_by_step():
    monitor = TrainingMonitor(10)
    assert monitor.layout_of_curves == {"losses": [1, 0], "scores": [0, 2]}
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
