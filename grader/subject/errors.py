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


class Closed(Exception):
    """The other end is gone, or can no longer be talked to: it stopped in the middle of a frame, or never stops."""


class Late(Exception):
    """No whole frame came, or could be sent, before the deadline."""


class WireError(ValueError):
    """A frame that is malformed, too large, or holds a forbidden type. The reader stops talking to the sender."""


class TooLarge(WireError):
    """A value that is too large to be sent."""


class ZygoteGone(RuntimeError):
    """The zygote itself has ended. Nothing is wrong with any submission: start another one."""


class Missing(Exception):
    """A name that the student's code does not define."""
