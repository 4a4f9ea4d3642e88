"""How a specification reaches a student's code: one interface, two subjects.

`LocalSubject` works in the learner's own process; `ForkedSubject` talks to a forked process through a pipe.
Both let the same `Executor` touch the student's objects, so what works in one works in the other.
"""

from grader.subject.protocol import Outcome, Raised, Request, Subject
from grader.subject.values import Callback, Given, Opaque

__all__ = ["Callback", "Given", "Opaque", "Outcome", "Raised", "Request", "Subject"]
