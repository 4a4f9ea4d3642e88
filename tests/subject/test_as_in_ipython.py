"""Awkward honest cells, made by a generator: whatever IPython's own shell makes of them, a graded notebook has too.

`SAMPLES=all` tries all 2,522 sequences of cells, which takes a minute or two of the processor; otherwise one in eleven.
"""

from __future__ import annotations

import contextlib
import io
import itertools
import multiprocessing
import os
from collections.abc import Callable, Iterator
from typing import Any

import IPython

from grader.subject.cells import notebook_namespace
from grader.subject.notebook import Notebook

SETUP = """
import os
from IPython.core.magic import Magics, cell_magic, line_magic, magics_class, needs_local_scope
from IPython.core.magic import register_cell_magic, register_line_cell_magic, register_line_magic
os.environ["SEVEN"] = "7"
a = 7

@register_line_magic
def mine(line):
    return int(line or 0)

@register_line_magic("theirs")
@needs_local_scope
def _theirs(line, local_ns):
    return eval(line, local_ns)

@register_cell_magic
def keep(line, cell):
    exec(cell, get_ipython().user_ns)

@register_cell_magic
def through_the_shell(line, cell):
    get_ipython().run_cell(cell)

@register_line_cell_magic
def either(line, cell=None):
    return line if cell is None else (line, cell)

@magics_class
class Several(Magics):
    @line_magic
    def seven(self, line):
        return self.shell.user_ns["a"]

    @cell_magic
    def lines(self, line, cell):
        return len(cell.splitlines())

get_ipython().register_magics(Several)
get_ipython().register_magic_function(lambda line: line + "!", "line", "loud")
"""
# What gives a value. Each is written as an expression, or as a magic's line.
VALUES = (
    *(
        "a",
        "%time a",
        "%time a + 1",
        "%mine 7",
        "%theirs a + 1",
        "%seven",
        "%loud a",
        "%either a",
        "%env SEVEN",
        "%pwd",
    ),
    *("get_ipython().run_line_magic('mine', '7')", "get_ipython().run_cell_magic('either', 'x', 'y')"),
    *("get_ipython().ev('a + 1')", "get_ipython().user_ns['a']", "get_ipython().run_line_magic('time', 'a')"),
    *("get_ipython().find_magic('time') is None", "get_ipython().magic('mine 7')"),
    *("%unheard_of 7", "display(a)", "%precision 3"),
)
TIMED = (
    "%timeit -o -q -n 2 -r 3 a",
    "%timeit -n1 -r 4 -o a + 1",
    "get_ipython().run_line_magic('timeit', '-o -q -n2 -r1 a')",
)
ABOVE = (
    "",
    "%%time\n",
    "%%capture kept\n",
    "%%capture\n",
    "%%capture kept\n%%time\n",
    "%%keep\n",
    "%%through_the_shell\n",
)
# Of a value in cell 2: the cells that show or keep it, and how it is taken up again.
WAYS: tuple[tuple[tuple[str, ...], str], ...] = (
    (("x = {}",), "x"),
    (("{}",), "_"),
    (("{}",), "Out[2]"),
    (("{}",), "_2"),
    (("{}",), "Out[max(Out)]"),
    (("b = 1\n{}",), "(_, b)"),
    (("{}", "None"), "_"),
    (("{}", "8"), "(_, __)"),
    (("{}", "8", "b = 9"), "(_, _3, _2)"),
    (("{}", "8", "9"), "(_, __, ___)"),
    (("{};",), "sorted(Out)"),
    (("{}  # ; no",), "_"),
    (("{}", "1 / 0\n8"), "(_, sorted(Out))"),
    (("{}", "_ = 5", "8"), "(_, Out[5])"),
    (("{}", "Out"), "len(Out)"),
    (("{}", "_ + _2 if isinstance(_, int) else _"), "_"),
    (("for _ in range(2): pass\n{}",), "Out[2]"),
)
CAPTURED = (
    "print('p')",
    "import sys\nprint('e', file=sys.stderr)",
    "display('d')",
    "a",
    "a;",
    "!true",
)
FROM_CAPTURES = (
    *("kept.stdout", "str(kept)", "kept.stderr", "len(kept.outputs)", "kept()", "kept.show()"),
    "[output.data for output in kept.outputs]",
)
INPUTS = ("In[2]", "_i", "_ii", "_i2", "len(In)", "In[-1]", "_ih[1][:9]")
CALLS = (
    "get_ipython().run_cell('x = a + 1')",
    "get_ipython().run_cell('x = 1\\ny = %mine 3\\n1 / 0')",
    "get_ipython().ex('x = a')",
    "get_ipython().push({{'x': 3}})",
    "get_ipython().run_cell_magic('keep', '', 'x = a')",
    "get_ipython().run_line_magic('time', 'x = a')",
    "%time x = a + 1",
    "%time x = 1 / 0\ny = 4",
    "%timeit -n 1 -r 1 x.append(a) if (x := []) is None else None",
    "%%timeit -n 1 -r 1 z = a\nglobals()['x'] = z",
    "import IPython\nx = IPython.get_ipython() is get_ipython()",
    "get_ipython().events.register('post_execute', lambda: None)\nx = 1",
    "get_ipython().set_next_input('x')\nx = 1",
    "%alias_magic seven_again mine\nx = %seven_again 7",
    "with __import__('IPython').utils.capture.capture_output() as x:\n    print('p')\nx = x.stdout",
    "handle = display(a, display_id='h')\nx = handle is not None\nhandle.update(8)",
    "%cd /\nx = %pwd",
    "%%writefile /tmp/as_in_ipython.py\nx = 3",
    "%who\nx = 1",
    "mine 7",
    "x = 1\n%xmode Plain\n%load_ext autoreload\n%autoreload 2\ny = 2",
    "def f():\n    b = 3\n    x = %theirs b\n    return x\nx = f()",
    "if a:\n    x = %mine 3\n    %time y = x",
    "x = %mine {{a}}",
    "x = %either $a",
)


def cases() -> Iterator[tuple[str, ...]]:
    """Cells that run one after the other; the last one sets `seen`."""
    for above, value, (cells, back) in itertools.product(ABOVE, VALUES, WAYS):
        first, *others = cells
        yield SETUP, above + first.format(value), *others, f"seen = {back}"
    for value, keeps in itertools.product(
        TIMED, ((("x = {}",), "x"), (("{}",), "_"), (("{}",), "Out[2]"), (("{}", "8"), "__"))
    ):
        yield (
            SETUP,
            keeps[0][0].format(value),
            *keeps[0][1:],
            f"seen = {keeps[1]}\nseen = seen.loops, seen.repeat, len(seen.all_runs)",
        )
    for body, back in itertools.product(CAPTURED, FROM_CAPTURES):
        yield (
            SETUP,
            f"%%capture kept\n{body}",
            f"%%capture again\nv = {back}",
            "seen = str(v), again.stdout, len(again.outputs), sorted(Out)",
        )
    for value, back in itertools.product(VALUES[:8], INPUTS):
        yield SETUP, value, f"seen = {back}"
    for call in CALLS:
        yield SETUP, call.format(), "seen = globals().get('x'), globals().get('y'), _"


def plain(value: object) -> object:
    """What can be compared and sent."""
    if isinstance(value, tuple):
        return tuple(map(plain, value))
    return value if isinstance(value, int | float | str | list) else repr(type(value))


def by_ipython(cells: tuple[str, ...]) -> object:
    from IPython.core.interactiveshell import InteractiveShell
    from traitlets.config import Config

    InteractiveShell.clear_instance()
    config = Config({"HistoryManager": {"enabled": False, "hist_file": ":memory:"}})
    shell = InteractiveShell.instance(config=config)
    for cell in cells:
        shell.run_cell(cell, store_history=True)
    return plain(shell.user_ns.get("seen", "nothing"))


def by_the_notebook(cells: tuple[str, ...]) -> object:
    from IPython.core.interactiveshell import InteractiveShell

    InteractiveShell.clear_instance()
    namespace = notebook_namespace({"__name__": "__main__", "__builtins__": __builtins__})
    notebook = Notebook(namespace)
    for cell in cells:
        notebook.run(cell)
    return plain(namespace.get("seen", "nothing"))


def _all(run: Callable[[tuple[str, ...]], object], every: list[tuple[str, ...]], told: Any) -> None:
    os.environ["IPYTHONDIR"] = "/tmp/as-in-ipython"
    here, found = os.getcwd(), []
    for cells in every:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            found.append(run(cells))
        os.chdir(here)
    told.send(found)


def in_a_process(run: Callable[[tuple[str, ...]], object], every: list[tuple[str, ...]]) -> list[object]:
    """What all cases leave as `seen`; a process of its own has no other shell."""
    mine, theirs = multiprocessing.Pipe(duplex=False)
    process = multiprocessing.get_context("fork").Process(target=_all, args=(run, every, theirs))
    process.start()
    theirs.close()
    found: list[object] = mine.recv()
    process.join()
    return found


def test_a_notebook_has_whatever_ipython_s_own_shell_makes_of_awkward_honest_cells():
    every = list(cases())[:: 1 if os.environ.get("SAMPLES") == "all" else 11]
    if IPython.version_info < (8,):  # to IPython 7 a semicolon behind a magic says nothing
        every = [cells for cells in every if not any(cell.startswith("%") and cell.endswith(";") for cell in cells)]
    expected, got = (in_a_process(run, every) for run in (by_ipython, by_the_notebook))
    assert sum(value != "nothing" for value in expected) > len(every) / 2
    lost = [
        (cells[1:], theirs, ours)
        for cells, theirs, ours in zip(every, expected, got, strict=True)
        if theirs not in ("nothing", ours)
    ]
    assert lost == []
