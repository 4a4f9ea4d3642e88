"""What a result depends on, as one hash: the same key means the same result, so nothing has to be graded again."""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import grader
from grader.judge.limits import Limits

# What decides a mark. The rest (this folder, the build, the command line, ...) may change without grading anew.
PARTS = ("*.py", "exercises/*.py", "judge/**/*.py", "subject/*.py")
WITHOUT = ("cli*.py", "learner.py", "doctor.py", "progress.py", "course.py")


@cache
def specifications() -> str:
    """The version of the specifications and of the judge: a hash of their source, the same wherever the same wheel is
    installed."""
    root = Path(grader.__file__).parent
    left_out = {path for pattern in WITHOUT for path in root.glob(pattern)}
    digest = hashlib.sha256()
    for path in sorted({path for pattern in PARTS for path in root.glob(pattern)} - left_out):
        digest.update(f"{path.relative_to(root).as_posix()}\0".encode())
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


@dataclass(frozen=True)
class GradingSettings:
    """On which terms a lesson is graded. `instructor` is the code of the instructor's notebook. What of it is secret
    stays out of logs and messages."""

    instructor: bytes
    secret: bytes
    limits: Limits
    sandboxed: bool = True

    def __repr__(self) -> str:
        return f"GradingSettings({self.name[:8]})"

    @property
    def name(self) -> str:
        """The terms as one hash, from which the secret can't be had."""
        parts = (hashlib.sha256(self.instructor).hexdigest(), specifications(), repr(self.limits), str(self.sandboxed))
        return hmac.new(self.secret, "\0".join(parts).encode(), hashlib.sha256).hexdigest()

    def key(self, student: str, submission: str) -> str:
        """The key of one result; `submission` is the hash of the notebook, or why it can't be read."""
        return hashlib.sha256("\0".join((self.name, student, submission)).encode()).hexdigest()
