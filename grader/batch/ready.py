"""Everything that a worker imports to grade. The server that this machine's workers are forked from imports it once."""

from __future__ import annotations

import gc
import importlib

# What is imported stays: to look through it for garbage again and again takes a tenth of the time.
gc.disable()
for name in (
    "grader.batch.worker",
    "grader.judge.grading",
    "grader.classroom.comments",
    "grader.classroom.rebuild",
):
    importlib.import_module(name)
importlib.import_module("grader.exercises.registry").exercises()
gc.freeze()
gc.enable()
