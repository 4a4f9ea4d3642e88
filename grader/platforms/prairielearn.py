"""PrairieLearn, which has the judge in a question of its own and takes `results.json`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from grader.platforms.platform import Platform


class PrairieLearn(Platform):
    """PrairieLearn."""

    key, title = "prairielearn", "PrairieLearn"
    gives_result = True
    names_in_words = "none: PrairieLearn calls the judge for one student at a time"
    students_write = "the notebook"
    times_in_words = "PrairieLearn's own"
    marks_in_words = "`results.json`, by PrairieLearn's external grader ([elsewhere](elsewhere.md))"

    def result(self, about: Mapping[str, Any], visibility: str) -> dict[str, Any]:
        """`results.json`, with the score as a share, 0 to 1. A notebook that can't be read, or a fault of ours, is no
        attempt there."""
        if about["problem"]:
            return {"gradable": False, "format_errors": list(dict.fromkeys([about["problem"], *about["notes"]]))}
        return {
            "gradable": True,
            "score": round(about["mark"] / about["points"], 6) if about["points"] else 0.0,
            "message": f"{about['mark']:g} of {about['points']:g} points",
            "output": "\n".join(about["notes"]),
            "tests": [
                {"name": row["name"], "points": row["mark"], "max_points": row["points"], "output": row["text"]}
                for row in about["exercises"]
            ],
        }


PLATFORM = PrairieLearn()
