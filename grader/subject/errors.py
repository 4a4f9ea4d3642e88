"""The errors between the judge and the process that runs a student's code.

    WireError     a frame that isn't one of ours
    └─ TooLarge     a value that is too large to be sent
    Closed        the other end of a channel is gone
    Late          no whole frame before the deadline
    ZygoteGone    the process that forks has ended
    Missing       the student's code doesn't define a name

`TimeLimit`, which is no `Exception`, is beside what raises it (`grader.subject.time_limit`).
"""

from __future__ import annotations

import json


def say(template: str, **values: object) -> str:
    """A sentence as JSON, as `grader.sentences.from_json` reads it: this folder imports nothing of the course's."""
    return json.dumps({"say": template, "with": {name: str(value) for name, value in values.items()}})


class Closed(Exception):
    """The other end is gone, or can no longer be talked to: it stopped in the middle of a frame, or never stops."""


class Late(Exception):
    """No whole frame came, or could be sent, before the deadline."""


class WireError(ValueError):
    """A frame that is malformed, too large, or holds a forbidden type. The reader stops talking to the sender."""


class TooLarge(WireError):
    """A value that is too large to be sent. Its text is how large it is, as `say` has it."""


class ZygoteGone(RuntimeError):
    """The zygote itself has ended. Nothing is wrong with any submission: start another one."""


class Missing(Exception):
    """A name that the student's code does not define."""
