"""What a learner wrote in earlier lessons runs in later ones, if it is right; one line says whose."""

from __future__ import annotations

import json
import linecache
import random
import re
import traceback
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import torch

from grader import languages, use_yours
from grader.authoring.lesson import Lesson
from grader.authoring.model_solutions import LESSONS, lesson_of
from grader.authoring.samples import Sample, submissions
from grader.exercises.registry import exercises
from grader.learner import yours

ROOT = Path(__file__).parents[2]
NAMES = ["MultiHeadAttention", "split_heads", "merge_heads", "apply_rope", "FeedForward"]
NAMES += ["TransformerBlock", "Encoder", "DecoderBlock", "Decoder", "Transformer"]
# Right answers that are built in another way than what later lessons do with them needs.
OTHERWISE = {
    "in float64 and back, a list, extra buffers and helpers": "yours has a parameter or buffer `scale`, which",
    "a Sequential that is made first, whose layers get names of their own": "yours has a parameter or buffer `net.0",
    "an attention of its own with torch's fused one, two dropouts, a Sequential": "yours calls its `attention` diff",
    "sub-layers joined by a module of its own, which has the norm as well": "yours has a parameter or buffer `steps.0",
    "sentence by sentence, positions as a buffer": "yours has a parameter or buffer `place`, which",
    "everything in the open, keywords": "yours calls its `block` differently",
    "one sentence at a time": "yours calls its `attention` differently",
    "one sentence at a time, a mask filled by loops": "yours calls its `encoder.layers.0.attention` differently",
    "buffers of max_length, masks of what is hidden turned round": "yours has no argument `src_vocab_size`",
    "no defaults for the sizes, other names for some": "yours has no argument `src_vocab_size`",
    "a triangle kept as a buffer and cut": "yours has no `src_pad_idx`",
}


@pytest.fixture(autouse=True)
def learners_folder(tmp_path, monkeypatch) -> Path:
    """An empty folder."""
    folder = tmp_path / "notebooks"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


def lesson_with(name: str) -> Lesson:
    return lesson_of(exercises()[name].lesson)


def write_notebook(lesson: Lesson, answers: Mapping[str, str], path: Path | None = None) -> Path:
    """The students' notebook with the model solutions in its cells, but for these answers."""
    notebook = json.loads((ROOT / "notebooks" / f"{lesson.name}.ipynb").read_text())
    solved = {cell.exercise: cell.source for cell in lesson.with_role("solution")}
    for cell in notebook["cells"]:
        if cell["metadata"].get("course", {}).get("role") == "solution":
            source = answers.get(cell["metadata"]["course"]["exercise"])
            if source is None:
                source = re.sub("(?m)^ *### .*\n?", "", solved[cell["metadata"]["course"]["exercise"]])
            cell["source"] = source
    path = path or Path(f"{lesson.name}.ipynb")
    path.write_text(json.dumps(notebook))
    return path


def write_solved() -> None:
    for name in ("MultiHeadAttention", "apply_rope", "FeedForward"):
        write_notebook(lesson_with(name), {})


def lesson_space() -> dict[str, Any]:
    """What a later notebook has by its given cells."""
    space: dict[str, Any] = {"__name__": "__main__", "use_yours": use_yours}
    exec("import math\nimport torch\nimport torch.nn.functional as F\nfrom torch import Tensor, nn", space)
    for lesson in (lesson_with(name) for name in ("causal_mask", "MultiHeadAttention", "apply_rope", "FeedForward")):
        for name, source in lesson.solved.items():
            if name in (*NAMES, "causal_mask", "padding_mask", "decoder_mask"):
                exec(source, space)
    return space


def run(capsys, *names: str) -> tuple[str, dict[str, Any]]:
    """The line that `use_yours` prints, and what it leaves."""
    space = lesson_space()
    exec(f"use_yours({', '.join(names or NAMES)})", space)
    printed = capsys.readouterr()
    assert printed.err == ""
    assert printed.out.count("\n") == 1
    return printed.out.strip(), space


def right_answers() -> list[Sample]:
    return [sample for sample in submissions() if sample.exercise in NAMES and not sample.mistake]


def wrong_answers() -> list[Sample]:
    """A few of each exercise."""
    wrong = {name: [one for one in submissions() if one.exercise == name and one.mistake] for name in NAMES}
    return [one for name in NAMES for one in random.Random(name).sample(wrong[name], 4)]


def test_all_that_is_right_runs_and_calls_what_is_right(capsys):
    write_solved()
    line, space = run(capsys)
    assert line.startswith("Your code runs here: split_heads, merge_heads, MultiHeadAttention, apply_rope, FeedForward")
    assert "course" not in line
    made = space["Transformer"](5, 7, 0, 0, d_model=8, num_layers=1, num_heads=2, d_ff=8)
    assert type(made).__module__ == "your_lesson_07"
    assert type(made.encoder.layers[0].attention) is space["MultiHeadAttention"]
    assert space["MultiHeadAttention"].__module__ == "your_lesson_03"


@pytest.mark.parametrize("sample", right_answers(), ids=str)
def test_a_right_answer_runs_or_the_line_says_what_is_built_otherwise(sample, capsys):
    write_notebook(lesson_with(sample.exercise), {sample.exercise: sample.source})
    line, space = run(capsys, sample.exercise)
    reason = OTHERWISE.get(sample.title)
    if reason is None:
        assert line == f"Your code runs here: {sample.exercise}."
        assert space[sample.exercise] is not lesson_space()[sample.exercise]
    else:
        assert line.startswith(f"The course's code runs here: {sample.exercise} (")
        assert reason in line


@pytest.mark.parametrize("sample", wrong_answers(), ids=str)
def test_a_wrong_answer_leaves_the_courses_and_the_rest_runs(sample, capsys):
    lesson = lesson_with(sample.exercise)
    write_notebook(lesson, {sample.exercise: sample.source})
    own = [name for name in NAMES if exercises()[name].lesson == lesson.name]
    line, space = run(capsys, *own)
    assert re.search(rf"course's code(?: runs here)?: (\w+, )*{sample.exercise} \({lesson.name}.ipynb: ", line)
    assert space[sample.exercise].__module__ == "__main__"


def test_without_notebooks_the_courses_run(capsys):
    line, space = run(capsys, "MultiHeadAttention", "FeedForward")
    assert line == (
        "The course's code runs here: MultiHeadAttention (you have no 03_multi_head_attention.ipynb beside this "
        "notebook) and FeedForward (you have no 07_transformer.ipynb beside this notebook)."
    )
    assert space["FeedForward"].__module__ == "__main__"


def test_an_untouched_notebook_is_not_written_yet(learners_folder, capsys):
    (learners_folder / "07_transformer.ipynb").write_bytes((ROOT / "notebooks/07_transformer.ipynb").read_bytes())
    line, _ = run(capsys, "FeedForward", "Encoder")
    assert line == "The course's code runs here: FeedForward, Encoder (07_transformer.ipynb: not written yet)."


@pytest.mark.parametrize("text", ["", "no json", "[]", '{"cells": [1]}', '{"cells": [{"cell_type": "code"}]}'])
def test_what_is_no_notebook_is_said_to_be_none(text, capsys):
    Path("07_transformer.ipynb").write_text(text)
    line, _ = run(capsys, "FeedForward")
    assert line == "The course's code runs here: FeedForward (07_transformer.ipynb can't be read: it isn't a notebook)."


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("class FeedForward(nn.Module:\n    pass", "its cell isn't valid Python, line 1: "),
        ("class FeedForward(Missing):\n    pass", "NameError: name 'Missing' is not defined"),
        ("import sys\nclass FeedForward(sys.exit(3)):\n    pass", "SystemExit: 3"),
        ("# nothing yet", "not defined"),
        ("FeedForward = 3", "fails its check"),
    ],
)
def test_a_cell_that_does_not_run_says_why(source, reason, capsys):
    write_notebook(lesson_with("FeedForward"), {"FeedForward": source})
    line, _ = run(capsys, "FeedForward", "TransformerBlock")
    assert line.startswith(
        "Your code runs here: TransformerBlock. The course's code runs here: FeedForward (07_transformer.ipynb: "
    )
    assert reason in line


def test_other_cells_do_not_run_and_may_be_broken(capsys):
    path = write_notebook(lesson_with("FeedForward"), {})
    notebook = json.loads(path.read_text())
    cells = ["print(", "raise SystemExit", "open('made', 'w')", "%%bash\nfor i in", "EPS = open('needed', 'w') and 2"]
    notebook["cells"] += [{"cell_type": "code", "metadata": {}, "source": source} for source in cells]
    path.write_text(json.dumps(notebook))
    line, _ = run(capsys, "FeedForward")
    assert line == "Your code runs here: FeedForward."
    assert not Path("made").exists()
    assert not Path("needed").exists()


def test_a_helper_and_a_number_from_a_cell_of_ones_own_come_along(capsys):
    helper = (
        "print('loud')\nfloor = 0.0\n\n\ndef positive(x):\n    print('louder')\n    return x.clamp(min=floor)\n\n\n"
    )
    solved = (
        lesson_with("FeedForward").solved["FeedForward"].replace("self.linear1(x).relu()", "positive(self.linear1(x))")
    )
    path = write_notebook(lesson_with("FeedForward"), {"FeedForward": solved})
    notebook = json.loads(path.read_text())
    notebook["cells"].insert(3, {"cell_type": "code", "metadata": {}, "source": helper})
    path.write_text(json.dumps(notebook))
    assert "positive(" in solved
    assert run(capsys, "FeedForward")[0] == "Your code runs here: FeedForward."


def test_an_error_later_shows_the_learners_line(capsys):
    write_solved()
    _, space = run(capsys, "FeedForward")
    try:
        space["FeedForward"](4, 8)(torch.ones(2, 3))
    except RuntimeError as error:
        shown = "".join(traceback.format_exception(error))
    assert 'File "<07_transformer.ipynb, code cell' in shown
    assert "return self.linear2(self.linear1(x).relu())" in shown
    assert any(name.startswith("<07_transformer.ipynb") for name in linecache.cache)


def test_where_a_program_runs_the_notebook_the_courses_run(monkeypatch, capsys):
    write_solved()
    monkeypatch.setattr(yours, "is_attended", lambda: False)
    line, space = run(capsys, "MultiHeadAttention", "FeedForward")
    assert line == "The course's code runs here: MultiHeadAttention, FeedForward."
    assert space["FeedForward"].__module__ == "__main__"


def test_the_instructors_notebook_is_no_learners(learners_folder, capsys):
    (learners_folder / "07_transformer.ipynb").write_bytes((ROOT / "solutions/07_transformer.ipynb").read_bytes())
    assert "you have no 07_transformer.ipynb" in run(capsys, "FeedForward")[0]


def test_a_copy_and_a_folder_beside_are_found(learners_folder, capsys):
    write_notebook(lesson_with("FeedForward"), {}, Path("07_transformer (1).ipynb"))
    folder = learners_folder.parent / "03_multi_head_attention"
    folder.mkdir()
    write_notebook(lesson_with("MultiHeadAttention"), {}, folder / "03_multi_head_attention.ipynb")
    assert (
        run(capsys, "MultiHeadAttention", "FeedForward")[0] == "Your code runs here: MultiHeadAttention, FeedForward."
    )


@pytest.mark.parametrize("written_in", ["en", "ko"])
def test_of_two_languages_the_notebook_with_more_written_in_it_counts(
    learners_folder, monkeypatch, tmp_path, capsys, written_in
):
    (tmp_path / "languages.json").write_text('{"ko": "한국어"}')
    monkeypatch.setattr(languages, "WORDS", tmp_path)
    folders = {"en": learners_folder, "ko": learners_folder / "ko"}
    folders["ko"].mkdir()
    name = "07_transformer.ipynb"
    for folder in folders.values():
        (folder / name).write_bytes((ROOT / "notebooks" / name).read_bytes())
    write_notebook(lesson_with("FeedForward"), {}, folders[written_in] / name)
    for folder in folders.values():
        monkeypatch.chdir(folder)
        assert run(capsys, "FeedForward")[0] == "Your code runs here: FeedForward."


def test_the_cell_may_run_twice_and_a_broken_notebook_gives_the_courses_back(capsys):
    write_solved()
    _, space = run(capsys, "FeedForward")
    exec("use_yours(FeedForward)", space)
    assert capsys.readouterr().out == "Your code runs here: FeedForward.\n"
    assert space["FeedForward"].__module__ == "your_lesson_07"
    Path("07_transformer.ipynb").unlink()
    exec("use_yours(FeedForward)", space)
    assert capsys.readouterr().out.startswith("The course's code runs here: FeedForward (you have no ")
    assert space["FeedForward"].__module__ == "__main__"


def test_random_numbers_and_threads_are_as_they_were(capsys):
    write_solved()
    torch.manual_seed(3)
    random.seed(3)
    expected = torch.rand(3), random.random()
    torch.manual_seed(3)
    random.seed(3)
    run(capsys)
    assert torch.equal(torch.rand(3), expected[0])
    assert random.random() == expected[1]


def test_what_is_no_exercise_is_the_authors_error():
    with pytest.raises(ValueError, match="use_yours: got 1 things; exercises among them: none"):
        use_yours(print)


def test_every_lesson_that_takes_over_a_class_asks_for_the_learners():
    """Where a lesson is given what 03, 06 or 07 solves, its cell with `use_yours` names the classes."""
    for path in sorted(LESSONS.glob("*.py")):
        text = path.read_text()
        taken = re.findall(r"(?m)^from lesson_0[367] import (.+)$", text)
        classes = {name for names in taken for name in names.split(", ") if name[0].isupper()}
        asked = re.search(r"(?ms)^use_yours\((.*?)\)", text)
        assert classes <= set(re.findall(r"\w+", asked[1] if asked else "")), path.name
