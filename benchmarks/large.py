"""What a notebook of 20 MB costs beside a usual one, from the platform's zip to the page of feedback.

    python benchmarks/large.py [SHAPE ...]

Two students hand in the same file, of lesson 01 with its model solutions and 0, 10 or 20 MB more in one of several
shapes. `grader collect`, a look of `grader watch`, `grader autograde`, `feedback` and `insights` run on it. The table
has the seconds of the processor that each takes beyond those for the usual notebook. Twice the size may take about
twice the time: where it takes more than three times, by more than two seconds, the exit code is 1.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.judge import BIN, LESSON, SOLVED, children, course  # noqa: E402
from grader.course.roster import Person, save  # noqa: E402
from grader.judge.outline import Outline  # noqa: E402

MB, PR_SET_CHILD_SUBREAPER = 1_000_000, 36
SIZES = (0, 10, 20)
# What `grader watch` does in its own process, with the course's lock held, at every hand-in, before a worker gets it.
LOOK = f"""
from pathlib import Path
from grader.course.class_directory import ClassDirectory
from grader.handed_in.hand_in import hand_in, handed_out, of_another_lesson
course = ClassDirectory(Path("."), {LESSON!r})
for submission in course.submissions()[0]:
    of_another_lesson(course, hand_in(submission, handed_out(course.outline()), course.limits()))
"""
GRADER = str(BIN / "grader")
STEPS = {
    "collect": (GRADER, "collect", ".", LESSON, "class.zip"),
    "a look of the watch": (sys.executable, "-c", LOOK),
    "autograde": (GRADER, "autograde", ".", LESSON, "--workers", "1"),
    "feedback": (GRADER, "feedback", ".", LESSON),
    "insights": (GRADER, "insights", "."),
}
NAMES = "every exercise's name, and no answer"
Cell = dict[str, object]


def _code(source: str, **more: object) -> Cell:
    cell = {"cell_type": "code", "id": "large", "metadata": {}, "source": source, "outputs": [], "execution_count": 1}
    return {**cell, **more}


def _text(source: str) -> Cell:
    return {"cell_type": "markdown", "id": "large", "metadata": {}, "source": source}


# What a shape puts into a notebook to make it so many bytes larger: a line's end is two bytes of a file.
SHAPES: dict[str, Callable[[int], list[Cell]]] = {
    "one cell of text": lambda size: [_text("a word or two\n\n" * (size // 17))],
    "one cell of code": lambda size: [_code("x = 1  # a line\n" * (size // 17))],
    "one cell of @": lambda size: [_code("@" * size)],
    "one line of brackets": lambda size: [_code("x = " + "(" * size)],
    "1,500 cells of code": lambda size: [_code("x = 1  # a line\n" * (size // 17 // 1500)) for _ in range(1500)],
    "1,500 cells of text": lambda size: [_text("*a* [b](c) $d$ \n" * (size // 17 // 1500)) for _ in range(1500)],
    "an output": lambda size: [_code("1", outputs=[{"output_type": "stream", "name": "stdout", "text": "x" * size}])],
    NAMES: lambda size: [_code(f"{_names()}\n" * (size // 2 // len(_names()))) for _ in range(2)],
    "small values": lambda size: [_code("1", metadata={"x": [[1]] * (size // 6)})],
}


def _names() -> str:
    """The names of all exercises of the course, in a line."""
    return " ".join(
        name for path in sorted(SOLVED.parent.glob("*.ipynb")) for name in Outline.of(path.read_bytes()).exercises
    )


def notebook(shape: str, size: int) -> bytes:
    """The lesson's notebook with its model solutions and `size` bytes more, in one of the `SHAPES`."""
    whole = json.loads(SOLVED.read_bytes())
    more = SHAPES[shape](size) if size else []
    whole["cells"] = more if shape == NAMES else whole["cells"] + more
    return json.dumps(whole).encode()


def seconds(data: bytes) -> dict[str, float]:
    """The seconds of the processor that each step takes for a notebook, by the name of the step."""
    with tempfile.TemporaryDirectory() as folder:
        place = course(Path(folder), stock=False, submissions=[])
        people = [Person("ann", "Ann", "Lee"), Person("bo", "Bo", "Ng")]
        save(place, people)
        with zipfile.ZipFile(place / "class.zip", "w", zipfile.ZIP_DEFLATED) as archive:
            for number, person in enumerate(people):
                archive.writestr(f"{person.full_name}_{number}_assignsubmission_file_/{LESSON}.ipynb", data)
        return {step: _taken(place, words) for step, words in STEPS.items()}


def _taken(place: Path, words: tuple[str, ...]) -> float:
    """The seconds of the processor that a command takes. Its exit code may be 1, something odd about the
    notebook, and no other, or the program ends."""
    before = children()
    done = subprocess.run(words, cwd=place, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):
        raise SystemExit(f"{words[:2]}:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    with suppress(ChildProcessError):  # there are no more
        while True:
            os.waitpid(-1, 0)
    return children() - before


def main() -> int:
    """Measure, print the table; the exit code, 1 if something takes longer than it should for twice the size."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("shapes", nargs="*", choices=[[], *SHAPES], default=[])
    shapes = parser.parse_args().shapes or list(SHAPES)
    # What a command's workers used counts only if somebody waits for them: those that it doesn't become this program's.
    if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "PR_SET_CHILD_SUBREAPER")
    usual, worse = seconds(notebook("", 0)), 0
    print("| what is large | step | usual, s | 10 MB more, + s | 20 MB more, + s |\n| --- | --- | --- | --- | --- |")
    for shape in shapes:
        half, whole = (seconds(notebook(shape, size * MB)) for size in SIZES[1:])
        for step in STEPS:
            more = [took[step] - usual[step] for took in (half, whole)]
            steep = more[1] > 2 + 3 * max(more[0], 0)
            worse += steep
            sign = " **worse than linear**" if steep else ""
            print(f"| {shape} | {step} | {usual[step]:.1f} | {more[0]:+.1f} | {more[1]:+.1f}{sign} |", flush=True)
    return min(worse, 1)


if __name__ == "__main__":
    raise SystemExit(main())
