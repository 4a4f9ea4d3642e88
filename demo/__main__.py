"""`make demo`: grades a sample class as a teacher would, and says where to look.

Makes a course in a new temporary folder, puts in the submissions of `sample_class` (or those of the students named),
runs `grader autograde`, `nbgrader generate_feedback` and `grader insights`.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
BIN = Path(sys.executable).parent


def run(course: Path, *command: str, quiet: bool = False) -> int:
    """Run a command in the course, as it would be typed; its exit code."""
    print(f"\n$ {' '.join(command)}", flush=True)
    environment = {**os.environ, "PATH": f"{BIN}{os.pathsep}{os.environ.get('PATH', '')}"}
    log = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True} if quiet else {}
    done = subprocess.run(command, cwd=course, env=environment, check=False, **log)  # type: ignore[call-overload]
    if quiet and done.returncode:
        print(done.stdout[-3000:])
    return done.returncode


def main(students: list[str]) -> int:
    """Make, grade, show."""
    sys.path.insert(0, str(ROOT))
    from demo.sample_class import CLASS, LESSON

    unknown = set(students) - CLASS.keys()
    if unknown:
        print(f"No such student: {', '.join(sorted(unknown))}. There are: {', '.join(CLASS)}", file=sys.stderr)
        return 2
    students = students or list(CLASS)

    course = Path(tempfile.mkdtemp(prefix="attention-demo-")) / "course"
    print(f"A course in {course}")
    failed = run(ROOT, "grader", "course", "create", str(course))
    failed |= run(course, "nbgrader", "generate_assignment", LESSON, quiet=True)
    with (course / "nbgrader_config.py").open("a") as config:  # one of them never ends
        config.write('c.JudgingExporter.limits = {"check_seconds": 3}\n')
    for student in students:
        place = course / "submitted" / student / LESSON
        place.mkdir(parents=True)
        (place / f"{LESSON}.ipynb").write_bytes(CLASS[student]())
    print(f"\n{len(students)} students hand in: some perfect, some half done, some wrong, some broken, some hostile.")
    # 1 is the exit code where a notebook can't be read, and one of them can't.
    graded = run(course, "grader", "autograde", ".", LESSON)
    failed |= run(course, "nbgrader", "generate_feedback", LESSON, quiet=True)
    failed |= run(course, "grader", "insights", ".")
    pages = sorted((course / "feedback").glob(f"*/{LESSON}/*.html"))
    print("\nFeedback to look at, for example:")
    for page in pages:
        if page.parts[-3] in ("grace", "sophie", "vera"):
            print(f"  {page}")
    print(f"\nFormgrader shows the same: cd {course}; jupyter lab")
    return 1 if failed or graded not in (0, 1) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
