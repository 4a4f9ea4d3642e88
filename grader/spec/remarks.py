"""What is remarked on a right answer and costs nothing: what it would do on a GPU."""

from __future__ import annotations

from grader.sentences import say
from grader.spec.session import Session
from grader.subject import Raised

MIXED_MADE = (
    "On a GPU this raises an error in line {number}, `{line}`, because line {made_number}, `{made}`, makes a tensor on "
    "the CPU. With `device=` it is made where the input is. This costs no points."
)
MIXED_THERE = (
    "On a GPU this raises an error, because line {number}, `{line}`, makes a tensor on the CPU and uses it beside the "
    "input. With `device=` it is made where the input is. This costs no points."
)
MIXED = (
    "On a GPU this raises an error in line {number}, `{line}`, because it uses a tensor on the CPU beside the input. "
    "`.to(x.device)` moves a tensor to the input's device, and a module moves what it keeps with `register_buffer`. "
    "This costs no points."
)
LEFT_MADE = (
    "On a GPU the result would be on the CPU, because line {made_number}, `{made}`, makes it there. It belongs on the "
    "device of the input. This costs no points."
)
LEFT = (
    "On a GPU the result would be on the CPU, although the input is on the GPU. It belongs on the device of the input. "
    "This costs no points."
)


def on_another_device(session: Session) -> str:
    """Repeat what the check has asked, as if on a GPU, until something goes wrong there: the remark on that, empty if
    nothing does. Any other error there is no reason for a remark: the stand-in for a GPU can't do all that one can."""
    for outcome in session.repeated_elsewhere():
        if outcome.raised is not None and outcome.raised.name in ("DevicesMixed", "ResultLeft"):
            return _remark(outcome.raised)
    return ""


def _remark(raised: Raised) -> str:
    number, _, made = raised.message.partition(" ")
    here = {"number": raised.line_number, "line": raised.line}
    if raised.name == "ResultLeft":
        return say(LEFT_MADE, made_number=number, made=made) if made else say(LEFT)
    if not made:
        return say(MIXED, **here)
    if number == str(raised.line_number):
        return say(MIXED_THERE, **here)
    return say(MIXED_MADE, **here, made_number=number, made=made)
