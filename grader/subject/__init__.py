"""How a specification reaches a student's code: one interface, two subjects.

`LocalSubject` works in the learner's own process; `ForkedSubject` talks to a forked process through a pipe.
Both let the same `Executor` touch the student's objects, so what works in one works in the other.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from grader.subject.protocol import Outcome, Raised, Request, Subject
    from grader.subject.values import Callback, Given, Opaque

__all__ = ["Callback", "Given", "Opaque", "Outcome", "Raised", "Request", "Subject"]


def __getattr__(name: str) -> Any:
    """Imported when first asked for: who only starts a sandbox should not wait for torch."""
    if name not in __all__:
        raise AttributeError(f"module 'grader.subject' has no attribute {name!r}")
    place = "values" if name in ("Callback", "Given", "Opaque") else "protocol"
    return getattr(importlib.import_module(f"grader.subject.{place}"), name)
