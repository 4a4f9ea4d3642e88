"""What makes a command cheap where it runs a thousand times in one process, and changes nothing of what it does."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cache
from typing import Any

import nbgrader.api
import pytest
from hypothesis.internal.conjecture import providers
from hypothesis.internal.constants_ast import Constants
from sqlalchemy import create_engine
from sqlalchemy.pool import NullPool

from grader.judge import fingerprint


def cheap(patch: pytest.MonkeyPatch) -> None:
    """Words of SQL are put together once, nothing waits for the disk, and the course's own code is read once."""
    patch.setattr(nbgrader.api, "create_engine", _engine)
    patch.setattr(nbgrader.api.Base.metadata, "create_all", lambda **_bind: None)  # the course's gradebook has them
    patch.setattr(os, "fsync", lambda _file: None)
    for name in ("code_version", "files_that_decide", "_digest_of"):
        patch.setattr(fingerprint, name, _once(getattr(fingerprint, name)))
    # Hypothesis reads all modules for numbers to try; what it tries would be another thing after each change of them.
    patch.setattr(providers, "_get_local_constants", Constants)


def _once(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, which is asked once for the same names or paths."""
    known = cache(function)
    return lambda names, *more: known(tuple(names), *more)


@cache
def _engine(url: str, **options: Any) -> Any:
    """An engine for each database, which keeps what it has compiled. It keeps no connection, so another database may
    come to lie there."""
    return create_engine(url, poolclass=NullPool, **options)
