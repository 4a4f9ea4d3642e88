"""What a student reads beside an exercise in the gradebook's feedback."""

from __future__ import annotations

from grader.judge.clean_text import clean
from grader.judge.feedback import BROKEN, preface
from grader.judge.result import ExerciseResult, SubmissionResult

COMMENT_BYTES = 4000


def comment_on(exercise: ExerciseResult, result: SubmissionResult) -> str:
    """What a student reads beside the exercise, short: the check's own output has the rest."""
    said = preface(result) if result.unreadable or not result.sandboxed else []
    if exercise.broken:
        said.append(BROKEN)
    if exercise.first_fix:
        said.append(f"First mend {exercise.first_fix}.")
    if exercise.symptom:
        said.append(f"It looks like {exercise.diagnosis}: {exercise.symptom}")
    else:
        failed = next((part for part in exercise.parts if not part.passed), None)
        said += [f"{failed.name}: {failed.message}"] if failed else []
    return clean(" ".join(said), COMMENT_BYTES) or f"{exercise.mark:g} of {exercise.points:g} points."
