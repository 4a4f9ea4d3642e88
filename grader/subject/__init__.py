"""How a specification reaches a student's code: one interface, two subjects.

`LocalSubject` runs the code in the learner's process; `ForkedSubject` talks to a forked process through a pipe. In
both, the same `Executor` carries out the requests.
"""

from grader.subject.protocol import Outcome, Place, Raised, Request, Subject
from grader.subject.values import Callback, Given, Opaque

__all__ = ["Callback", "Given", "Opaque", "Outcome", "Place", "Raised", "Request", "Subject"]
