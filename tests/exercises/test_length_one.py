"""An axis of length 1 stays: a right answer with a `squeeze` at its end is refused."""

from __future__ import annotations

import pytest
from torch import Tensor

from grader.authoring.model_solutions import model_solution
from grader.exercises.registry import exercises
from grader.spec.evaluate import evaluate
from grader.subject.local import LocalSubject

SQUEEZES = {
    "squeeze()": lambda tensor: tensor.squeeze(),
    "squeeze(0)": lambda tensor: tensor.squeeze(0) if tensor.dim() else tensor,
}

# Where nothing is lost: there is no tensor, or none with an axis that may have length 1.
NO_TENSOR = "returns no tensor"
ONE_NUMBER = "returns a tensor without axes"
HARMLESS = {
    "validate_attention": {"squeeze()": NO_TENSOR, "squeeze(0)": NO_TENSOR},
    "leaks_future": {"squeeze()": NO_TENSOR, "squeeze(0)": NO_TENSOR},
    "batch_norm": {"squeeze(0)": "a batch of one has no variance: `F.batch_norm` refuses it"},
    "BatchNorm": {"squeeze(0)": "the exercise promises two rows or more"},
    "sequence_loss": {"squeeze()": ONE_NUMBER, "squeeze(0)": ONE_NUMBER},
    "noam_rate": {"squeeze()": NO_TENSOR, "squeeze(0)": NO_TENSOR},
    "train_step": {"squeeze()": NO_TENSOR, "squeeze(0)": NO_TENSOR},
    "exact_match": {"squeeze()": NO_TENSOR, "squeeze(0)": NO_TENSOR},
    "attention_matrix_bytes": {"squeeze()": NO_TENSOR, "squeeze(0)": NO_TENSOR},
    "kv_cache_bytes": {"squeeze()": NO_TENSOR, "squeeze(0)": NO_TENSOR},
    "classify_pattern": {"squeeze()": NO_TENSOR, "squeeze(0)": NO_TENSOR},
    "bigram_loss": {"squeeze()": NO_TENSOR, "squeeze(0)": NO_TENSOR},
    "byte_pair_encode": {"squeeze()": NO_TENSOR, "squeeze(0)": NO_TENSOR},
    "fit": {"squeeze()": NO_TENSOR, "squeeze(0)": NO_TENSOR},
    "head_that_remembers": {"squeeze()": NO_TENSOR, "squeeze(0)": NO_TENSOR},
}

# These have another name, or none, for a lost axis: they compare more than shapes and values.
NAMED_OTHERWISE = {
    "padding_mask": "missing-axes",  # (B, 1, 1, T) always has axes of length 1
    "decoder_mask": "missing-axes",
    "greedy_decode": "wrong-type",
    "generate": "wrong-type",
    "generate_with_cache": "wrong-type",
}

EXERCISES = {name: exercise for name, exercise in exercises().items() if exercise.kind != "answers"}
CASES = [(name, how) for name in EXERCISES for how in SQUEEZES]


def everywhere(change, value):
    """`change` applied to every tensor of a result."""
    if isinstance(value, Tensor):
        return change(value)
    return type(value)(everywhere(change, item) for item in value) if isinstance(value, tuple | list) else value


def squeezed(right, change):
    """A function or a class as the right one, whose result has lost axes of length 1."""
    if not isinstance(right, type):
        return lambda *args, **named: everywhere(change, right(*args, **named))

    class Squeezed(right):
        def forward(self, *args, **named):
            return everywhere(change, super().forward(*args, **named))

    return Squeezed


@pytest.mark.parametrize(("name", "how"), CASES)
def test_a_lost_axis_of_length_one_is_noticed(name, how):
    exercise, namespace = EXERCISES[name], {"__name__": "__main__"}
    exec(model_solution(exercise), namespace)
    right = evaluate(exercise, LocalSubject({**namespace}), exercises=EXERCISES)
    assert right.passed, str(right)
    wrong = LocalSubject({**namespace, name: squeezed(namespace[name], SQUEEZES[how])})
    report = evaluate(exercise, wrong, exercises=EXERCISES)
    assert not report.broken, report.traceback
    assert report.passed == (how in HARMLESS.get(name, {})), str(report)
    if not report.passed:
        assert report.diagnosis in ("squeezed", NAMED_OTHERWISE.get(name)), str(report)
        assert report.hints
