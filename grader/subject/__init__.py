"""How a specification reaches a student's code: one interface, two subjects.

`LocalSubject` runs the code in the learner's process; `ForkedSubject` talks to a forked process through a pipe. In
both, the same `Executor` carries out the requests.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from grader.subject.protocol import Outcome, Place, Raised, Request, Subject
    from grader.subject.values import Callback, Given, Opaque

__all__ = ["Callback", "Given", "Opaque", "Outcome", "Place", "Raised", "Request", "Subject"]

_OF_VALUES = ("Callback", "Given", "Opaque")


def __getattr__(name: str) -> Any:
    """Import a public name when it is first asked for: what starts a zygote, and the command that grades a class, need
    no torch. AttributeError for any other."""
    if name not in __all__:
        raise AttributeError(f"module 'grader.subject' has no attribute {name!r}")
    module = importlib.import_module(f"grader.subject.{'values' if name in _OF_VALUES else 'protocol'}")
    return getattr(module, name)
