"""IPython's own shell behind `get_ipython()`, where a notebook is graded.

It has the magics of the environment and those that a notebook registers, and keeps to what a process here may do: it
starts no other process, writes no profile and opens no window. What it can't do here, it passes over in silence.
"""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable
from functools import partial
from typing import Any

from IPython.core.error import UsageError
from IPython.core.interactiveshell import InteractiveShell
from IPython.core.profiledir import ProfileDir
from IPython.utils.capture import CapturedIO, capture_output
from IPython.utils.text import LSString, SList
from traitlets.config import Config

from grader.subject.cells import CAPTURES, MACHINE, Silence
from grader.subject.time_limit import TimeLimit

NO_PROFILE = Config({"HistoryManager": {"enabled": False, "hist_file": ":memory:"}})
# Magics that start processes, or need somebody who answers or a window.
LEFT_OUT = {
    *("pip", "conda", "mamba", "micromamba", "uv", "bash", "sh", "script", "cmd", "killbgscripts"),
    *("python", "python2", "python3", "pypy", "perl", "ruby", "connect_info", "qtconsole", "pastebin", "store"),
    *("matplotlib", "gui", "config", "debug", "pdb", "edit", "ed", "reset", "reload_ext", "autoawait"),
}
# IPython's own magics that run a student's code, whose errors are the student's.
RUNNING = {"run", "time", "prun", "load_ext", "macro", "rerun", "aimport"}
# What the notebook has to know: that the time is up, that the machine lacks something.
TOLD = (TimeLimit, *MACHINE)
REPEAT = 7  # times that `%timeit` measures
ENOUGH = 0.2  # seconds that `%timeit` wants its loops to take


class Shell(InteractiveShell):
    """The shell of the notebook that runs in `namespace`, whose `In` and `Out` it shares."""

    # What only a kernel's shell has.
    kernel = comm_manager = parent_header = payload_manager = data_pub = Silence()

    def __init__(self, namespace: dict[str, Any]) -> None:
        kept: dict[str, Any] = {name: namespace[name] for name in ("In", "Out", "_ih", "_oh")}
        super().__init__(user_ns=namespace, config=NO_PROFILE)
        namespace.update(kept)
        self.displayhook.update_user_ns = namespace["_oh"].show

    def init_profile_dir(self, _profile_dir: object) -> None:
        """No profile, and no folder for one."""
        self.profile_dir = ProfileDir()

    def _nothing(self, *_args: object, **_options: object) -> None:
        """In place of what would write files, change the process's modules and path, or read a screen."""

    init_ipython_dir = init_sys_modules = init_virtualenv = init_logstart = atexit_operations = enable_gui = _nothing

    def run_line_magic(self, magic_name: str, line: str, _stack_depth: int = 1) -> Any:
        """The value of a line magic; `Silence` of one that there isn't."""
        if magic_name == "timeit":
            return self._timed("line", line, _stack_depth + 2)
        run = partial(super().run_line_magic, magic_name, line, _stack_depth + 2)
        return _value(magic_name, self.find_line_magic(magic_name), run)

    def run_cell_magic(self, magic_name: str, line: str, cell: str) -> Any:
        """The value of a cell magic; `Silence` of one that there isn't."""
        if magic_name == "timeit":
            return self._timed("cell", line, cell)
        run = partial(super().run_cell_magic, magic_name, line, cell)
        return _value(magic_name, self.find_cell_magic(magic_name), run)

    def _timed(self, kind: str, line: str, *rest: Any) -> Any:
        """What is timed, once: `%timeit` would run it for two seconds or more. With `-o` the result that IPython would
        give if every run took as long."""
        magic = self.find_magic("timeit", kind)
        options, code = magic.__self__.parse_options(
            line, "n:r:tcp:qov:", posix=False, strict=False, preserve_non_opts=True
        )
        once = getattr(super(), f"run_{kind}_magic")("timeit", f"-n1 -r1 -q -o {code}", *rest)
        loops, repeat = int(options.get("n", 0)), int(options.get("r", REPEAT))
        loops = loops or next((10**i for i in range(9) if once.best * 10**i >= ENOUGH), 10**9)
        runs = [once.best * loops] * repeat
        result = type(once)(loops, repeat, once.best, once.best, runs, once.compile_time, int(options.get("p", 3)))
        if "q" not in options:
            print(result)
        if "v" in options:
            self.user_ns[options["v"]] = result
        return result if "o" in options else None

    def captured(self, options: str) -> CapturedIO:
        """Keep what the cell prints and displays from here on: `%%capture`, whose `options` these are."""
        kinds = ("stdout", "stderr", "display")
        capture = capture_output(*(f"--no-{kind}" not in options.split() for kind in kinds))
        kept = capture.__enter__()
        CAPTURES.append(capture)
        return kept

    def system(self, cmd: str) -> None:
        """No process can be started."""
        self.user_ns["_exit_code"] = 127

    system_piped = system_raw = system

    def getoutput(self, cmd: str, split: bool = True, depth: int = 0) -> SList | LSString:
        """What a system without this command says."""
        said = f"sh: 1: {cmd.split()[0] if cmd.split() else cmd}: not found"
        return SList([said]) if split else LSString(said)

    def enable_matplotlib(self, gui: str | None = None) -> tuple[str | None, str]:
        """Figures are drawn as they are."""
        return gui, "agg"

    def run_cell(self, *args: Any, **options: Any) -> Any:
        """Run Python as a cell that is no cell of the notebook."""
        result = super().run_cell(*args, **options)
        if isinstance(result.error_in_exec, TOLD):
            raise result.error_in_exec
        return result

    def showtraceback(self, *_args: object, **_options: object) -> None:
        """What a magic or `run_cell` says of an error, behind which its cell goes on."""
        error = sys.exc_info()[1]
        if isinstance(error, TOLD):
            raise error
        traceback.print_exc(limit=0)


def _value(name: str, magic: Any, run: Callable[[], Any]) -> Any:
    """What a magic gives; nothing where IPython's own can't do here what it does elsewhere."""
    if magic is None or name in LEFT_OUT:
        return Silence()
    try:
        return run()
    except UsageError:
        return Silence()
    except Exception:
        if name in RUNNING or not getattr(magic, "__module__", "").startswith("IPython."):
            raise
        return Silence()


Shell.__name__ = "ZMQInteractiveShell"  # what a notebook looks for to see whether it runs in Jupyter


def shell_of(namespace: dict[str, Any]) -> Shell:
    """A new shell for a notebook. It is the process's, unless that is a kernel, which has its own."""
    Shell.clear_instance()
    made: Shell = Shell(namespace) if InteractiveShell.initialized() else Shell.instance(namespace)
    return made
