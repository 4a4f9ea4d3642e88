"""The folder in which students hand in on a machine that all share, nbgrader's exchange: is it open as it has to be?"""

from __future__ import annotations

import os
import shlex
import stat
from collections.abc import Iterator
from pathlib import Path

from grader.nbgrader_settings import foreign_exchange, settings
from grader.sentences import say

NBGRADERS = "/usr/local/share/nbgrader/exchange"
# Of the folders of a course in it: what others must be able to do, what they must not, and the mode that does both. It
# is for others only: a group of teachers keeps what it may.
# Who can list what was handed in can also write to it: nbgrader opens each submission, and hides its name.
FOLDERS = {
    "inbound": (0o003, 0o004, "o=wx", "students can't hand anything in", "students see each other's submissions"),
    "outbound": (0o005, 0o002, "o=rx", "students can't fetch assignments", "students can change assignments"),
    "feedback": (0o001, 0o006, "o=x", "students can't fetch feedback", "students can see each other's feedback"),
}


def exchange() -> Path | str | None:
    """The folder of nbgrader's exchange here; a sentence if the exchange is none of nbgrader's; None if there is
    none."""
    config = settings([os.getcwd()])
    if foreign_exchange(config):
        names = ", ".join(foreign_exchange(config))
        return say("belongs to another system ({names}), and is left as it is", names=names)
    named = config.Exchange.get("root", "")
    if not named and not Path(NBGRADERS).is_dir():
        return None
    return Path(named or NBGRADERS)


def faults(root: Path) -> Iterator[tuple[str, str]]:
    """What is wrong with an exchange's modes, each with the command that puts it right."""
    place = shlex.quote(str(root))
    if not root.is_dir():
        missing = say("{folder} isn't there, so nobody can fetch or hand in assignments", folder=root)
        yield missing, f"sudo install -d -m 1777 {place}"
        return
    mode = root.stat().st_mode
    shown = f"{mode & 0o7777:o}"
    if not mode & stat.S_IWOTH or not os.access(root, os.W_OK | os.X_OK):
        closed = say("{folder} (mode {mode}) isn't open to all, so nbgrader refuses it", folder=root, mode=shown)
        yield closed, f"sudo chmod 1777 {place}"
        return
    if not mode & stat.S_ISVTX:
        said = say("{folder} (mode {mode}): every user can rename or remove a course in it", folder=root, mode=shown)
        yield said, f"sudo chmod 1777 {place}"
    for path in sorted(path for course in root.iterdir() for path in map(course.joinpath, FOLDERS) if path.is_dir()):
        needed, forbidden, right, closed, open_ = FOLDERS[path.name]
        mode = path.stat().st_mode
        said = closed if mode & needed != needed else open_ if mode & forbidden else ""
        if said:
            found = say("{folder} (mode {mode}): {fault}", folder=path, mode=f"{mode & 0o7777:o}", fault=say(said))
            yield found, f"sudo chmod {right} {shlex.quote(str(path))}"
