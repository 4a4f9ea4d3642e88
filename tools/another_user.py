"""Runs a command as another user: `python tools/another_user.py python -m pytest tests/judge`.

Root becomes nobody. Anybody else becomes root, by sudo without a password. Where neither works, it fails.
"""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
NOBODY = "65534"
ENVIRONMENT = {
    **{name: value for name, value in os.environ.items() if name in ("PATH", "OMP_NUM_THREADS", "GRADER_PROGRESS")},
    "HOME": "/tmp",
    "PYTHONPATH": str(ROOT),
    "PYTHONDONTWRITEBYTECODE": "1",
}


def as_nobody(command: list[str], user: str = NOBODY, group: str = "") -> list[str]:
    """The command for root, as another user, who may be in another group too. Homes that are closed to
    others, and in which there is something that it needs, are made visible in a mount namespace of its own."""
    needed = {Path(place).resolve() for place in (sys.base_prefix, sys.prefix, ROOT)}
    closed = {Path("/", path.parts[1]) for path in needed}
    closed = {home for home in closed if home.stat().st_mode & 0o005 != 0o005}
    groups = f"--groups={group}" if group else "--clear-groups"
    become = ["setpriv", f"--reuid={user}", f"--regid={user}", groups, *command]
    steps = ["set -e", "kept=$(mktemp -d)", 'mount -t tmpfs tmpfs "$kept"']
    inside = [path for path in sorted(needed) if Path("/", path.parts[1]) in closed]
    for number, path in enumerate(inside):
        steps += [f'mkdir "$kept/{number}"', f'mount --bind {shlex.quote(str(path))} "$kept/{number}"']
    steps += [f"mount -t tmpfs -o mode=755 tmpfs {home}" for home in sorted(closed)]
    for number, path in enumerate(inside):
        steps += [f"mkdir -p {shlex.quote(str(path))}", f'mount --bind "$kept/{number}" {shlex.quote(str(path))}']
    return ["unshare", "--mount", "sh", "-c", "; ".join([*steps, f"exec {shlex.join(become)}"])] if closed else become


def main(command: list[str]) -> None:
    """Become the command, which ends as it ends."""
    if os.geteuid() == 0:
        words = as_nobody(command)
    else:
        words = ["sudo", "-n", "env", *(f"{name}={value}" for name, value in ENVIRONMENT.items()), *command]
    if shutil.which(words[0]) is None:
        raise SystemExit(f"{words[0]} is not installed: run this as root")
    os.chdir(ROOT)
    os.execvpe(words[0], words, ENVIRONMENT)


if __name__ == "__main__":
    main(sys.argv[1:])
