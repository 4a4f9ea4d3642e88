"""The fixtures of `tests/classroom.py`."""

from tests.classroom import _schema, classroom  # noqa: F401
