"""The fixtures of `tests/classroom.py`, and a gradebook in memory."""

from __future__ import annotations

import pytest

from tests.book.in_memory import LESSON, gradebook_in_memory
from tests.classroom import _schema, classroom  # noqa: F401


@pytest.fixture
def book():
    """A gradebook in memory with one lesson."""
    with gradebook_in_memory(LESSON) as made:
        yield made
