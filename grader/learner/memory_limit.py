"""How much memory and how many processes a server may take where that is limited, and whether the memory was reached.
Docker, Kubernetes and systemd keep such limits in control groups. Who wants more memory is ended, who wants another
process is refused it."""

from __future__ import annotations

import contextlib
import re
from dataclasses import dataclass
from pathlib import Path

GROUPS, OWN_GROUPS = Path("/sys/fs/cgroup"), Path("/proc/self/cgroup")
# By version of control groups: the limit, and where the processes that were ended are counted.
FILES = {"2": ("memory.max", "memory.events"), "1": ("memory.limit_in_bytes", "memory.oom_control")}
NO_LIMIT = 1 << 50  # version 1 has a number for "none", which is larger than this


@dataclass(frozen=True)
class MemoryLimit:
    """A limit for all processes of a server together: `size` in bytes, and how many were `ended` because they wanted
    more."""

    size: int
    ended: int


def memory_limit() -> MemoryLimit | None:
    """The tightest limit of this process's control groups; None if there is none."""
    found = [limit for folder, version in _folders("memory") if (limit := _limit(folder, *FILES[version]))]
    return min(found, key=lambda limit: limit.size, default=None)


def process_limit() -> int | None:
    """How many processes and threads this process's control groups may have together; None if there is no limit."""
    found = []
    for folder, _version in _folders("pids"):
        with contextlib.suppress(OSError, ValueError):  # "max" is no number
            found.append(int((folder / "pids.max").read_text(encoding="utf-8")))
    return min(found, default=None)


def _folders(kind: str) -> list[tuple[Path, str]]:
    """The folders of this process's control groups that may have a limit of this kind ("memory" or "pids"), each with
    the version of its files, from the innermost outwards."""
    try:
        lines = OWN_GROUPS.read_text(encoding="utf-8").splitlines()
    except OSError:
        return []
    folders = []
    for line in lines:
        _number, kinds, path = line.split(":", 2)
        if kinds not in ("", kind):
            continue
        top = GROUPS / kinds
        own = top / path.lstrip("/")  # a container may not see its own: then the top is its own
        inside = own.relative_to(top).parts
        folders += [(top.joinpath(*inside[:depth]), "1" if kinds else "2") for depth in range(len(inside), -1, -1)]
    return folders


def _limit(folder: Path, limit: str, count: str) -> MemoryLimit | None:
    try:
        size = (folder / limit).read_text(encoding="utf-8").strip()
        ended = re.search(r"(?m)^oom_kill (\d+)$", (folder / count).read_text(encoding="utf-8"))
    except OSError:
        return None
    if not size.isdecimal() or int(size) >= NO_LIMIT:
        return None
    return MemoryLimit(int(size), int(ended[1]) if ended else 0)
