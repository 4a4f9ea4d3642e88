"""Honest notebooks that are awkward to grade: the solved lesson 01, changed as students and their tools change it.

`awkward.toml` has what stock nbgrader, with its own settings, gives each of them. `python -m tests.judge.awkward`
measures those that the file lacks, with `--all` every one (ten minutes), as `make test-slow` does to compare.
"""

from __future__ import annotations

import copy
import json
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
LESSON, POINTS = "01_self_attention", 18.0
MARKS = Path(__file__).with_name("awkward.toml")
HEAD = """\
# The points, of 18, that stock nbgrader gives each notebook of `awkward.py`: `nbgrader autograde` of the environment in
# requirements.lock, without any setting of this project. 0 also stands where it refuses the notebook or its kernel ends.
# Written by `python -m tests.judge.awkward`.

"""
Cells = list[dict[str, Any]]
IMPORTS = "imports"  # stands for the lesson's cell with its imports, whose id goes by what is in it
SOFTMAX, DOTS = "stable_softmax", "pairwise_dot_products"
HELPER = "def largest(scores):\n    return scores.amax(dim=-1, keepdim=True)\n"
BY_HELPER = (
    "def stable_softmax(scores):\n    e = (scores - largest(scores)).exp()\n    return e / e.sum(-1, keepdim=True)"
)
BY_HAND = "def stable_softmax(scores):\n    e = (scores - scores.amax(-1, keepdim=True)).exp()\n    return e / e.sum(-1, keepdim=True)"
WRONG = "def stable_softmax(scores):\n    return scores\n"


def solved() -> Cells:
    """The cells of the lesson's notebook with all answers, as a student has them."""
    notebook = json.loads((ROOT / "solutions" / f"{LESSON}.ipynb").read_text(encoding="utf-8"))
    cells: Cells = notebook["cells"]
    for cell in cells:
        cell["source"] = "".join(cell["source"])
        if cell["cell_type"] == "code":
            cell.update(outputs=[], execution_count=None)
    return cells


def code(source: str, id: str) -> dict[str, Any]:
    return {"cell_type": "code", "id": id, "metadata": {}, "source": source, "outputs": [], "execution_count": None}


def place(cells: Cells, name: str, role: str = "solution") -> int:
    """The place of an exercise's cell, of the one with the id `name`, or of that of the imports."""
    if name == IMPORTS:
        return next(i for i, cell in enumerate(cells) if "\nimport torch\n" in cell["source"])
    ids = (name, f"{name}-{role}")
    return next(i for i, cell in enumerate(cells) if cell["id"] in ids)


Change = Callable[[Cells], Any]


def top(text: str, name: str = IMPORTS) -> Change:
    """`text` above what a cell has."""

    def change(cells: Cells) -> None:
        cell = cells[place(cells, name)]
        cell["source"] = f"{text}\n{cell['source']}"

    return change


def after(line: str, text: str, name: str = IMPORTS) -> Change:
    """`text` behind a line of a cell."""

    def change(cells: Cells) -> None:
        cell = cells[place(cells, name)]
        assert line in cell["source"]
        cell["source"] = cell["source"].replace(line, f"{line}\n{text}")

    return change


def end(text: str, name: str = IMPORTS) -> Change:
    """`text` below what a cell has."""

    def change(cells: Cells) -> None:
        cells[place(cells, name)]["source"] += f"\n{text}"

    return change


def whole(source: str, name: str = SOFTMAX) -> Change:
    """Another text for a cell."""

    def change(cells: Cells) -> None:
        cells[place(cells, name)]["source"] = source

    return change


def extra(*sources: str, before: str = SOFTMAX) -> Change:
    """Cells of the student's own above a cell."""

    def change(cells: Cells) -> None:
        at = place(cells, before)
        cells[at:at] = [code(source, f"mine-{before}-{number}") for number, source in enumerate(sources)]

    return change


def kind(kind: str, *names: str) -> Change:
    """Cells of another kind, as the keys M and R make them."""

    def change(cells: Cells) -> None:
        for name in names:
            cell = cells[place(cells, name)]
            cell["cell_type"] = kind
            for key in ("outputs", "execution_count"):
                cell.pop(key, None)

    return change


def both(*changes: Change) -> Change:
    def change(cells: Cells) -> None:
        for one in changes:
            one(cells)

    return change


def _answers(cells: Cells) -> Iterable[dict[str, Any]]:
    return (cell for cell in cells if cell["metadata"].get("course", {}).get("role") == "solution")


def every_answer(form: str) -> Change:
    """Each answer's text put into `form`."""

    def change(cells: Cells) -> None:
        for cell in _answers(cells):
            cell["source"] = form.format(cell["source"])

    return change


def split(cells: Cells) -> None:
    """Each of two answers in two cells, the second one new."""
    for name in (SOFTMAX, DOTS):
        at = place(cells, name)
        cells.insert(at + 1, code(cells[at]["source"], f"split-{name}"))
        cells[at]["source"] = "# my first thoughts\nscale = 1"


def copies(cells: Cells) -> None:
    """The right answer again below, with the same ids, as some editors copy."""
    at = place(cells, SOFTMAX)
    cells.insert(at + 1, copy.deepcopy(cells[at]))
    cells.insert(at, {**copy.deepcopy(cells[at]), "source": WRONG})


def reordered(cells: Cells) -> None:
    """An exercise with its check above the one before it, and the imports split off upwards."""
    first, second = place(cells, DOTS), place(cells, SOFTMAX)
    moved = cells[second : second + 2]
    del cells[second : second + 2]
    cells[first:first] = moved


def note_of_an_answer(cells: Cells) -> None:
    """A first attempt kept as text: a copy of the answer's cell, its marks included, turned into Markdown."""
    at = place(cells, SOFTMAX)
    attempt = {**copy.deepcopy(cells[at]), "cell_type": "markdown", "id": "attempt", "source": WRONG}
    attempt.pop("outputs"), attempt.pop("execution_count")
    cells.insert(at + 1, attempt)


def by_number(cells: Cells) -> None:
    """What a cell showed, taken up by the cell's number."""
    at = place(cells, SOFTMAX)
    number = 1 + sum(cell["cell_type"] == "code" and bool(cell["source"].strip()) for cell in cells[:at])
    mine = ("-1", f"AXIS = _{number}", f"AXIS += Out[{number}] - _oh[{number}]", f"assert In[{number}] == '-1'")
    cells[at:at] = [code(source, f"mine-{place}") for place, source in enumerate(mine)]
    cells[at + len(mine)]["source"] = BY_AXIS


def by_a_name(*sources: str) -> Change:
    """Cells of one's own that make `AXIS`, and an answer that needs it."""
    return both(extra(*sources), whole(BY_AXIS))


BY_AXIS = BY_HAND.replace("(-1, keep", "(AXIS, keep")
LINE_MAGIC = (
    "from IPython.core.magic import register_line_magic\n@register_line_magic\ndef axis(line):\n    return -int(line)"
)
CELL_MAGIC = (
    "from IPython.core.magic import register_cell_magic\n@register_cell_magic\ndef noted(line, cell):\n"
    "    NOTES.append(line)\n    exec(cell, get_ipython().user_ns)\nNOTES = []"
)
FIRST = "import math"
COLAB = "from google.colab import drive\ndrive.mount('/content/drive')"
# What was tried, and how it changes the solved notebook.
AWKWARD: dict[str, Change] = {
    "as it is": lambda _cells: None,
    "an answer turned into Markdown": kind("markdown", SOFTMAX),
    "two answers turned into raw cells": kind("raw", SOFTMAX, DOTS),
    "checks turned into Markdown": kind("markdown", "stable_softmax-check", "project_qkv-check"),
    "the imports turned into a raw cell": kind("raw", IMPORTS),
    "a first attempt kept as Markdown": note_of_an_answer,
    "%%time above every answer": every_answer("%%time\n{0}"),
    "%%capture and %%time above every answer": every_answer("%%capture kept\n%%time\n{0}"),
    "%time in front of a use of the imports": extra("%time e = math.exp(1)\n%timeit -n 1 -r 1 torch.ones(2)"),
    "top-level await": whole(f"import asyncio\nawait asyncio.sleep(0)\n{BY_HAND}"),
    "await in a cell of its own": both(
        extra(
            "import asyncio\nasync def slowly():\n    return 1\ntask = asyncio.create_task(slowly())",
            "ONE = await task",
        ),
        whole(f"{BY_HAND} * ONE"),
    ),
    "async with and a timed await": whole(
        "%%time\nimport asyncio\nasync with asyncio.timeout(5) as limit:\n    await asyncio.sleep(0)\n" + BY_HAND
    ),
    "%%writefile and its import": both(
        extra(f"%%writefile helfer.py\n{HELPER}", "from helfer import largest"), whole(BY_HELPER)
    ),
    "%%writefile in two parts and %run": both(
        extra("%%writefile helfer.py\nimport torch\n", f"%%writefile -a helfer.py\n{HELPER}", "%run helfer.py"),
        whole(BY_HELPER),
    ),
    "a module written with open": both(
        extra(f"with open('helfer2.py', 'w') as file:\n    file.write('''{HELPER}''')", "import helfer2"),
        whole(BY_HELPER.replace("largest", "helfer2.largest")),
    ),
    "matplotlib.use at the top": top("import matplotlib\nmatplotlib.use('TkAgg')"),
    "matplotlib.use behind pyplot": after("import matplotlib.pyplot as plt", "plt.switch_backend('QtAgg')"),
    "figures left open": extra("for i in range(30):\n    plt.figure()"),
    "pandas first": top("import pandas_of_mine as pd\nimport seaborn_of_mine as sns"),
    "pandas in the middle": after(
        FIRST, "import pandas_of_mine as pd, collections\npd.set_option('display.width', 80)"
    ),
    "pandas last": end("import pandas_of_mine as pd\nWIDTH = 80"),
    "pandas among others in one line": after(
        FIRST, "import pandas_of_mine, os, sys\nfrom math import no_such_thing, pi"
    ),
    "google.colab and drive.mount": top(COLAB),
    "google.colab under an if": top(
        "if True:\n    from google.colab import files\n    import os\n    HERE = os.getcwd()"
    ),
    "a star import of what is missing": top("from my_helpers_at_home import *"),
    "a with around the imports": top(
        "import warnings\nwith warnings.catch_warnings():\n    import pandas_of_mine\n    from math import tau"
    ),
    "names behind a missing import": both(
        top("import pandas_of_mine as pd\nAXIS = -1\ntorch_of_mine = __import__('torch')"),
        whole(BY_HAND.replace("(-1, keep", "(AXIS, keep")),
    ),
    "a helper behind a missing import": both(extra(f"{COLAB}\n{HELPER}"), whole(BY_HELPER)),
    "a helper once more behind a missing import": both(
        extra("def largest(scores):\n    return scores\n", f"import pandas_of_mine\n{HELPER}"), whole(BY_HELPER)
    ),
    "an answer behind a missing import": top("import einops_of_mine", SOFTMAX),
    "type hints of a missing module": both(
        top("from jaxtyping_of_mine import Float"),
        whole(BY_HAND.replace("(scores)", "(scores: Float[Tensor, 'T T']) -> Float")),
    ),
    "type hints that are never evaluated": both(
        top("from __future__ import annotations"), whole(BY_HAND.replace("(scores)", "(scores: NotHere) -> NotHere"))
    ),
    "input() in an answer's cell": end("name = input('Your name? ')", SOFTMAX),
    "input() above an answer": top("name = input('Your name? ')", SOFTMAX),
    "exit() at the end": extra("exit()", before="quiz_01-check"),
    "an old version behind an error": end(f"1 / 0\n{WRONG}", SOFTMAX),
    "an old version behind a raise": end(f"raise SystemExit('old:')\n{WRONG}", SOFTMAX),
    "an old version behind an assert": end(f"assert stable_softmax(torch.ones(2, 2)).sum() == 7\n{WRONG}", SOFTMAX),
    "an old version behind a name that is none": end(f"STOP_HERE\n{WRONG}", SOFTMAX),
    "an old version behind a missing import": end(f"import nothing_of_the_kind\n{WRONG}", SOFTMAX),
    "an experiment in a cell that raises": extra(f"torch.ones(2) @ torch.ones(3)\n{WRONG}", before="context_vectors"),
    "copies of an answer": copies,
    "answers split over cells": split,
    "cells in another order": reordered,
    "magics of many kinds": extra(
        "%matplotlib inline\n%config InlineBackend.figure_format = 'retina'\n%load_ext autoreload\n%autoreload 2\n%who",
        "%%bash\necho hello",
        "%%html\n<b>hello</b>",
        "%cd .\n%env WIDTH=80\n%pwd",
        "import os\nassert os.environ['WIDTH'] == '80'\nwidth = int(os.environ['WIDTH'])",
        before=DOTS,
    ),
    "shell escapes": extra("!pip list\nfiles = !ls\nprint(files)", "torch.ones?\n!nvidia-smi"),
    "pip and conda": extra("%pip install --quiet nothing-of-the-kind", "!conda install -y torch", "pip install torch"),
    "%matplotlib widget without ipympl": top("%matplotlib widget"),
    "nest_asyncio": whole(
        "import asyncio, nest_asyncio\nnest_asyncio.apply()\nasync def one():\n    return 1\n"
        f"ONE = asyncio.get_event_loop().run_until_complete(one())\n{BY_HAND} * ONE"
    ),
    "os.chdir": top("import os\nos.chdir('/content/drive/MyDrive')\nSIZE = 3"),
    "os.chdir to a folder of one's own": extra("import os\nos.makedirs('mine', exist_ok=True)\nos.chdir('mine')"),
    "files of one's own": both(
        extra("with open('note.txt', 'w') as file:\n    file.write('-1')", "AXIS = int(open('note.txt').read())"),
        whole(BY_HAND.replace("(-1, keep", "(AXIS, keep")),
    ),
    "a file that isn't there": extra("data = torch.load('/content/weights.pt')\nAXIS = -1", before=DOTS),
    "a style that is missing": after("import matplotlib.pyplot as plt", "plt.style.use('seaborn-of-mine')"),
    "tqdm": top("from tqdm.notebook_of_mine import tqdm\nfrom tqdm.auto import trange"),
    "os.environ": top(
        "import os\nos.environ['CUDA_LAUNCH_BLOCKING'] = '1'\nos.environ['TOKENIZERS_PARALLELISM'] = 'false'"
    ),
    "a GPU asked for": top("import torch\nprint(torch.cuda.get_device_name(0))\nDEVICE = 'cpu'"),
    "if __name__": every_answer("if __name__ == '__main__':\n    pass\n{0}"),
    "everything under if __name__": top(
        "if __name__ == '__main__':\n    import pandas_of_mine\n    from torch import Tensor"
    ),
    "IPython.display": top(
        "from IPython.display import HTML, Markdown, clear_output, display\nclear_output()\nHTML('<b>a</b>')"
    ),
    "a widget": extra("import ipywidgets as widgets\nwidgets.IntSlider(value=3)"),
    "warnings as errors": extra("import warnings\nwarnings.simplefilter('error')"),
    "logging": top(
        "import logging\nlogging.basicConfig(level=logging.DEBUG)\nlogging.getLogger('matplotlib').info('hi')"
    ),
    "a last expression used again": both(extra("-1", "AXIS = _"), whole(BY_HAND.replace("(-1, keep", "(AXIS, keep"))),
    "the value of a cell by its number": by_number,
    "the latest values": by_a_name("-1", "2", "'three'", "AXIS = ___ if len(_) > __ else 0"),
    "the value of an example of the course's": both(
        extra("SIZE = _\nassert SIZE is Out[max(Out)]"), whole(f"{BY_HAND} * (SIZE is SIZE)")
    ),
    "a line magic of one's own": by_a_name(LINE_MAGIC, "AXIS = %axis 1"),
    "a cell magic of one's own": both(extra(CELL_MAGIC), whole(f"%%noted by hand\n{BY_HAND}")),
    "magics as a class": by_a_name(
        "from IPython.core.magic import Magics, line_magic, magics_class\n@magics_class\nclass Mine(Magics):\n"
        "    @line_magic\n    def axis(self, line):\n        return self.shell.user_ns['ONE'] - 2\n"
        "ONE = 1\nget_ipython().register_magics(Mine)",
        "AXIS = %axis",
    ),
    "what %%capture kept": by_a_name("%%capture kept\nprint(-1)", "kept.show()\nAXIS = int(kept.stdout)"),
    "what %timeit gives": by_a_name(
        "took = %timeit -o -n 2 -r 3 torch.ones(2)",
        "%timeit -o -q torch.ones(2)",
        "AXIS = -1 if took.loops == 2 and len(took.all_runs) == 3 and _.best > 0 else 0",
    ),
    "what %time gives": by_a_name("AXIS = %time -1\n%time AXIS -= 0"),
    "cells run through get_ipython()": by_a_name(
        "shell = get_ipython()\nshell.run_cell('AXIS = -1')\nshell.ex('AXIS *= 1')\nshell.push({'AXIS': shell.ev('AXIS')})",
        "get_ipython().kernel.shell\nget_ipython().system('true')\nAXIS = get_ipython().user_ns['AXIS']",
    ),
    "a display that is updated": by_a_name("shown = display(1, display_id=True)\nshown.update(2)\nAXIS = -1"),
    "get_ipython": extra(
        "shell = get_ipython()\nshell.run_line_magic('matplotlib', 'inline')\nassert shell is not None"
    ),
}


def notebook(change: Change) -> bytes:
    """The solved notebook with this change, as it is handed in."""
    cells = solved()
    change(cells)
    return json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": KERNEL, "cells": cells}).encode()


KERNEL = {"kernelspec": {"name": "python3", "display_name": "Python 3 (ipykernel)", "language": "python"}}


def stored() -> dict[str, float]:
    """The marks in `awkward.toml`."""
    return {name: float(mark) for name, mark in tomllib.loads(MARKS.read_text(encoding="utf-8")).items()}


def by_stock(names: Iterable[str]) -> dict[str, float]:
    """The marks that stock nbgrader gives these notebooks, in a course of its own."""
    from nbgrader.api import Gradebook, MissingEntry

    numbers = {name: f"s{number:02}" for number, name in enumerate(AWKWARD)}
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        course = Path(folder)
        (course / "nbgrader_config.py").write_text("c = get_config()\nc.CourseDirectory.course_id = 'stock'\n")
        (course / "source" / LESSON).mkdir(parents=True)
        shutil.copy(ROOT / "solutions" / f"{LESSON}.ipynb", course / "source" / LESSON)
        _nbgrader(course, "generate_assignment", LESSON)
        for name in names:
            lies = course / "submitted" / numbers[name] / LESSON
            lies.mkdir(parents=True)
            (lies / f"{LESSON}.ipynb").write_bytes(notebook(AWKWARD[name]))
            _nbgrader(course, "autograde", LESSON, "--student", numbers[name])
            with Gradebook(f"sqlite:///{course}/gradebook.db") as book:
                try:
                    found[name] = float(book.find_submission(LESSON, numbers[name]).score)
                except MissingEntry:
                    found[name] = 0.0
    return found


def _nbgrader(course: Path, *command: str) -> None:
    environment = {**os.environ, "GRADER_PROGRESS": "off", "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    environment["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{environment['PATH']}"
    for name in ("JUPYTER_DATA_DIR", "JUPYTER_CONFIG_DIR", "IPYTHONDIR"):
        environment[name] = str(course / name)
    done = subprocess.run(
        [str(Path(sys.executable).with_name("nbgrader")), *command],
        cwd=course,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0 or command[0] == "autograde", done.stderr


def main() -> None:
    """Measure what the file lacks, or all, and write the file."""
    marks = {} if "--all" in sys.argv else stored()
    for name in AWKWARD.keys() - marks.keys():
        marks |= by_stock([name])
        print(f"{marks[name]:5g}  {name}", flush=True)
    lines = (f'"{name}" = {marks[name]:g}\n' for name in AWKWARD)
    MARKS.write_text(HEAD + "".join(lines), encoding="utf-8")


if __name__ == "__main__":
    main()
