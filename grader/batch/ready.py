"""Everything that a worker imports to grade. The server that this machine's workers are forked from imports it once."""

from __future__ import annotations

import grader.batch.worker
import grader.classroom.comments
import grader.classroom.rebuild
import grader.judge.grading
import grader.judge.sandbox  # noqa: F401
from grader.registry import exercises

exercises()
