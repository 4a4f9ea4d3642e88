"""Lesson 09's limit on memory, which a student's process can't vouch for: patched, it would say what it likes."""

from __future__ import annotations

from dataclasses import replace

import pytest

from grader.exercises.registry import exercises
from grader.judge.outline import Outline
from tests.judge.conftest import LIMITS
from tools import notebooks as nb

LESSON = "09_efficient_attention"
# The log of the largest tensor is switched off, and the operations of a walk over blocks are made up.
PATCH = """
from grader.subject.watch import Log
Log.measure = lambda self, result: None
def pretend(key, size):
    for _ in range(0, key.shape[-2], size):
        torch.ones(1)
"""
FULL = """
def {name}(query, key, value, size):
    pretend(key, size)
    return torch.softmax(query @ key.mT / query.shape[-1] ** 0.5, -1) @ value
"""


@pytest.fixture(scope="module")
def outline() -> Outline:
    return Outline.of(nb.instructor(LESSON))


def graded(judge, outline, **answers):
    limits = replace(LIMITS, check_seconds=20, submission_seconds=120)  # the machine may be busy with other tests
    return judge(nb.solved(LESSON, **answers), outline=outline, known=exercises(), limits=limits)


def test_solved_lesson_gets_full_marks_with_little_memory(judge, outline):
    result = graded(judge, outline)
    assert result.mark == result.points, result


def test_full_table_does_not_pass_whatever_the_process_says(judge, outline):
    names = ("chunked_attention", "online_attention")
    result = graded(judge, outline, **{name: PATCH + FULL.format(name=name) for name in names})
    for name in names:
        [part] = [part for part in result[name].parts if part.name == "makes no tensor as large as Tq × Tk"]
        assert (part.passed, part.kind) == (False, "full-matrix")
        assert "as large as the whole matrix" in part.message
        assert not result[name].broken
    others = [one for one in result.exercises if one.name not in names]
    assert all(one.passed for one in others)


def test_what_is_made_up_for_long_sequences_does_not_pass(judge, outline):
    lazy = PATCH + FULL.format(name="small") + (
        "\ndef chunked_attention(query, key, value, size):\n"
        "    if query.shape[-2] > 500:\n        return torch.zeros_like(query)\n    return small(query, key, value, size)"
    )  # fmt: skip
    result = graded(judge, outline, chunked_attention=lazy)["chunked_attention"]
    assert [part.kind for part in result.parts if not part.passed] == ["wrong-values"]


def test_honest_code_has_memory_enough(judge, outline):
    """Threads and tensors of some size are no reason to fail."""
    honest = (
        "from concurrent.futures import ThreadPoolExecutor\nnotes = torch.zeros(2**21)\npool = ThreadPoolExecutor(3)\n"
        "print(list(pool.map(torch.ones, range(9))))\n"
        "def chunked_attention(query, key, value, chunk_size):\n"
        "    rows = [torch.softmax(q @ key.mT / query.shape[-1] ** 0.5, -1) @ value for q in query.split(chunk_size, -2)]\n"
        "    return torch.cat(rows, -2)"
    )
    assert graded(judge, outline, chunked_attention=honest)["chunked_attention"].passed


def test_right_code_of_many_small_temporaries_has_memory_enough(judge, outline):
    """The C library doesn't take all that is freed again: it took 96 MiB before large pieces were mapped apart."""
    answer = (
        "def chunked_attention(query, key, value, size):\n"
        "    found = []\n"
        "    for at in range(0, query.shape[-2], 4):\n"
        "        q = query[..., at : at + 4, :].double().unsqueeze(-2)\n"
        "        w = ((q * key.double().unsqueeze(-3)).sum(-1) / query.shape[-1] ** 0.5).softmax(-1)\n"
        "        found.append((w.unsqueeze(-1) * value.double().unsqueeze(-3)).sum(-2))\n"
        "    return torch.cat(found, -2).to(query.dtype)"
    )
    result = graded(judge, outline, chunked_attention=answer)
    assert result["chunked_attention"].passed, result
