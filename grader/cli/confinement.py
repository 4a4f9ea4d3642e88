"""What `grader doctor --judge` says of the machine: by what a student's code is confined here."""

from __future__ import annotations

import os
from collections.abc import Iterator

from grader.errors import SandboxUnavailable
from grader.judge.sandbox import NOT_INSTALLED, Sandbox, landlock_abi
from grader.learner.doctor import Observation
from grader.learner.memory_limit import memory_limit, process_limit


def confinement_here() -> Iterator[Observation]:
    """An observation on each of this machine's means to confine students' code, and on what stands in the way of
    more."""
    more = "See docs/operations.md for what helps."
    try:
        yield Observation("Landlock", f"version {landlock_abi()}, on Linux {os.uname().release}")
        with Sandbox() as sandbox:
            yield Observation("A student's process", f"is {sandbox.confinement}")
            why = sandbox.no_bubblewrap
    except SandboxUnavailable as error:
        yield Observation("A student's process", str(error), more)
        return
    yield _limits_around()
    if why == NOT_INSTALLED:
        yield Observation("Bubblewrap", why, "On Debian and Ubuntu: apt-get install bubblewrap.", needed=False)
    elif why:
        good = f"Bubblewrap would be a second wall, which is good to have but not needed. {more}"
        yield Observation("Bubblewrap", f"doesn't start here: {why}", good, needed=False)


def _limits_around() -> Observation:
    """An observation on what would hold if the judge's own limits didn't: the limits of the control group that it runs
    in."""
    memory, processes = memory_limit(), process_limit()
    limits = [f"{memory.size / 1e9:.1f} GB of memory"] if memory else []
    limits += [f"{processes:,d} processes and threads"] if processes else []
    if limits:
        return Observation("Limits around the judge", f"{' and '.join(limits)}, for the judge and all that it starts")
    advice = "Such limits are good to have but not needed. See docs/operations.md for how to set them."
    return Observation("Limits around the judge", "none but the judge's own", advice, needed=False)
