"""Is this machine ready for the course? Each finding says what is so, and what to do if it should not be."""

from __future__ import annotations

import os
import platform
import re
import shutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from html import escape
from pathlib import Path

from grader.languages import as_attribute, shown
from grader.printable import columns_of, padded
from grader.sentences import Several, say
from grader.server import VALIDATE, WIDGETS, missing_widgets, this_server

OLDEST = (3, 11)
EXTENSIONS = {VALIDATE: "the Validate button", WIDGETS: "interactive pictures"}
WITHOUT_LAB = "You need JupyterLab only if you open notebooks here. To install it: pip install 'attention-course[lab]'."
INSTALL = "Install the course again as its README describes; if you used `make`, delete `.venv` first."
# Where the kernel's environment isn't the server's, and nobody sees from here which one that is.
INSTALL_THERE = (
    "Ask whoever looks after the server to install anywidget and nbgrader in the server's environment, in the "
    "versions that the kernel has (`pip install anywidget==VERSION nbgrader`), and to restart the server. Until then, "
    "views are pictures without buttons."
)

STOP_KERNELS = (
    "Shut down kernels that you aren't using, in JupyterLab under Running Terminals and Kernels. Your saved work is "
    "still there, so run the notebook again."
)
# Bytes that should be free: notebooks, a gradebook and a class's feedback are written whole beside what they replace.
ROOM = 200e6
# Bytes: what the kernel of lesson 07 takes at most (docs/jupyterhub.md), and that with a server.
LARGEST, ENOUGH = 1.3e9, 1.5e9


class Standing(StrEnum):
    """How something stands that was looked at."""

    OK = "ok"
    NOTE = "note"  # good to know
    FIX = "fix"  # the course doesn't work without it


WORDS = {Standing.OK: "ok", Standing.NOTE: "note", Standing.FIX: "fix"}


@dataclass(frozen=True)
class Observation:
    """One thing looked at. `detail` says how it is, `advice` what to do ("" where all is well); `needed` is False for
    what is only good to know."""

    title: str
    detail: str
    advice: str = ""
    needed: bool = True

    @property
    def standing(self) -> Standing:
        """How it stands."""
        return Standing.OK if not self.advice else Standing.FIX if self.needed else Standing.NOTE


class Diagnosis:
    """All observations; it draws itself in a notebook."""

    def __init__(self, findings: list[Observation]) -> None:
        self.findings = findings

    @property
    def ready(self) -> bool:
        """Whether nothing is to be fixed."""
        return not any(finding.standing is Standing.FIX for finding in self.findings)

    @property
    def verdict(self) -> str:
        """The result of all observations, in a sentence."""
        if self.ready:
            return say("Everything is ready.")
        count = sum(finding.standing is Standing.FIX for finding in self.findings)
        return say("Things to fix: {count}. They are described below.", count=count)

    def __repr__(self) -> str:
        lines, words = [shown(self.verdict)], {standing: shown(word) for standing, word in WORDS.items()}
        width = max(map(columns_of, words.values()))
        for finding in self.findings:
            lines.append(f"  {padded(words[finding.standing], width)}  {shown(finding.title)}: {shown(finding.detail)}")
            if finding.advice:
                lines.append(" " * (width + 4) + shown(finding.advice))
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        from grader.report.html import style

        items = "".join(_item(finding) for finding in self.findings)
        state = "passed" if self.ready else "failed"
        head = f'<div class="grader-head grader-{state}" role="status"><span>{escape(shown(self.verdict))}</span></div>'
        body = f'{head}<ul class="grader-results">{items}</ul>'
        label = escape(shown("Set-up"))
        return f'{style()}<section class="grader-report"{as_attribute()} aria-label="{label}">{body}</section>'


def _item(finding: Observation) -> str:
    from grader.report.html import inline

    kind = "failed" if finding.standing is Standing.FIX else "passed"
    advice = f"<p>{inline(shown(finding.advice))}</p>" if finding.advice else ""
    text = f"{inline(shown(finding.title))}: {inline(shown(finding.detail))}"
    word = f'<span class="grader-word">{shown(WORDS[finding.standing])}</span>'
    return f'<li class="grader-{kind}">{word} {text}{advice}</li>'


def doctor() -> Diagnosis:
    """Look at Python, the packages, torch, a check, JupyterLab's extensions, the kernel, the progress file and, where
    they exist, a limit of memory, a full disk, nbgrader's exchange and, for a teacher on a hub, Formgrader."""
    looks: list[Callable[[], Iterator[Observation]]] = [
        _python,
        _packages,
        _torch,
        _check,
        _extensions,
        _kernel,
        _progress,
        _memory,
        _disk,
        _exchange,
        _formgrader,
    ]
    findings: list[Observation] = []
    for look in looks:
        try:
            findings += look()
        except Exception as error:  # whatever is wrong with a machine, the rest is still worth telling
            findings.append(Observation(look.__name__.strip("_"), f"{type(error).__name__}: {error}", INSTALL))
    return Diagnosis(findings)


def _python() -> Iterator[Observation]:
    wanted = ".".join(map(str, OLDEST))
    advice = say("Install Python {version} or newer and make the environment with it.", version=wanted)
    advice = "" if sys.version_info >= OLDEST else advice
    yield Observation("Python", f"{platform.python_version()}, {platform.system()} {platform.machine()}", advice)


def _packages() -> Iterator[Observation]:
    from grader.learner.packages import problem, requirements

    needed = requirements()
    problems = [sentence for sentence in map(problem, needed) if sentence]
    if problems:
        yield Observation(say("Packages"), Several(problems), INSTALL)
    else:
        there = say("all {count} are there, in versions that the course works with", count=len(needed))
        yield Observation(say("Packages"), there)


def _torch() -> Iterator[Observation]:
    import torch

    product = torch.tensor([[2.0, 2.0, 2.0]]) @ torch.tensor([[4.0], [4.0], [0.0]])
    advice = "" if product.item() == 16 else "torch gives wrong results, so install it again."
    version, threads = torch.__version__.split("+")[0], torch.get_num_threads()
    yield Observation("PyTorch", say("{version}, threads: {count}", version=version, count=threads), advice)


def _check() -> Iterator[Observation]:
    from grader.exercises.registry import exercises
    from grader.spec.evaluate import evaluate
    from grader.subject.local import LocalSubject

    report = evaluate(exercises()["first_steps"], LocalSubject({"first_steps": lambda x: 2 * x + 1}))
    if report.passed:
        yield Observation(say("Checks"), say("a right answer passes"))
    else:
        advice = say("The right answer in lesson 00 fails: {report}", report=report)
        yield Observation(say("Checks"), say("a right answer fails"), advice)


def _extensions() -> Iterator[Observation]:
    """Observations on JupyterLab's extensions. In a notebook its own server is asked, which may be in another
    environment than the kernel."""
    import anywidget
    from jupyter_core.paths import jupyter_path

    server = this_server()
    if server is None:
        try:
            import jupyterlab  # type: ignore[import-untyped]  # noqa: F401
        except ModuleNotFoundError:
            yield Observation("JupyterLab", "is not installed", WITHOUT_LAB, needed=False)
            return
    title = say("The server's JupyterLab {version}", version=server.lab) if server else "JupyterLab"
    for name, purpose in EXTENSIONS.items():
        there = server.extensions.get(name, "") if server else ""
        if there or (not server and any((Path(folder) / name).is_dir() for folder in jupyter_path("labextensions"))):
            version = f"{name} {there}".strip()
            yield Observation(title, say("has {extension}, for {purpose}", extension=version, purpose=say(purpose)))
        else:
            missing = say("{extension} is missing (needed for {purpose})", extension=name, purpose=say(purpose))
            yield Observation(title, missing, INSTALL_THERE if server else INSTALL)
    if server and WIDGETS in server.extensions and (reason := missing_widgets(anywidget.__version__)):
        yield Observation(say("Interactive pictures"), reason, INSTALL_THERE)


def _kernel() -> Iterator[Observation]:
    """An observation on the kernel called python3, in which a notebook runs: it may belong to another environment."""
    from jupyter_client.kernelspec import KernelSpecManager

    command = KernelSpecManager().get_kernel_spec("python3").argv[0]
    # A bare "python" is replaced by Jupyter's own interpreter when the kernel starts.
    found = Path(sys.executable if re.fullmatch(r"python[\d.]*", command) else command)
    same = found.parent.resolve() == Path(sys.executable).parent.resolve()
    if same:
        yield Observation(say("Kernel"), say("python3 is this Python"))
        return
    advice = say("Register this Python: `{python} -m ipykernel install --sys-prefix`.", python=_home(sys.executable))
    yield Observation(say("Kernel"), say("python3 is another Python, {python}", python=_home(found)), advice)


def _progress() -> Iterator[Observation]:
    from grader.kernel import progress_file
    from grader.learner import progress

    path = progress_file()
    if path is None:
        yield Observation(
            say("Progress"), "is not kept (GRADER_PROGRESS=off)", "Unset GRADER_PROGRESS to keep it.", needed=False
        )
        return
    if reason := progress.unmounted(path):
        advice = "Mount the drive, or set GRADER_PROGRESS to another file."
        lost = say("is not kept in {path}: {reason}", path=_home(path), reason=say(reason))
        yield Observation(say("Progress"), lost, advice)
        return
    folder = next(p for p in [path.parent, *path.parents] if p.exists())
    advice = say("Make {folder} writable, or set GRADER_PROGRESS to another file.", folder=_home(folder))
    advice = "" if os.access(folder, os.W_OK) else advice
    try:
        odd = progress.read(path)[1]
    except OSError as error:
        unread = say("{path} can't be read: {error}", path=_home(path), error=error.strerror)
        yield Observation(say("Progress"), unread, advice or say("Make it readable."))
        return
    if odd:
        yield Observation(
            say("Progress"),
            say("{path} is damaged", path=_home(path)),
            "The next check puts this file aside and starts a new one with whatever can still be read.",
            needed=False,
        )
    else:
        template = "is kept in {path}" if path.is_file() else "will be kept in {path}"
        yield Observation(say("Progress"), say(template, path=_home(path)), advice)


def _memory() -> Iterator[Observation]:
    """An observation on the limit of memory, if there is one: a kernel that wants more is ended, and its notebook says
    no more than that it died."""
    from grader.learner.memory_limit import memory_limit

    limit = memory_limit()
    if limit is None:
        return
    size = f"{limit.size / 1e9:.1f}"
    said = say("at most {size} GB for this server and all its kernels", size=size)
    if limit.ended:
        ended = say(
            "at most {size} GB for this server and all its kernels; processes ended that wanted more: {count}",
            size=size,
            count=limit.ended,
        )
        yield Observation(say("Memory"), ended, STOP_KERNELS, needed=False)
    elif limit.size < ENOUGH:
        wanted = say(
            "Lesson 07 takes up to {size} GB, so ask whoever looks after the server to allow more.",
            size=f"{LARGEST / 1e9:.1f}",
        )
        yield Observation(say("Memory"), said, wanted, needed=False)
    else:
        yield Observation(say("Memory"), said)


def _disk() -> Iterator[Observation]:
    """An observation on each full file system among those that are written to: this folder's, the home folder's and the
    exchange's."""
    from grader.learner.exchange_modes import exchange

    shared = exchange()
    places = [Path.cwd(), Path.home(), *([shared] if isinstance(shared, Path) else [])]
    by_device = {folder.stat().st_dev: folder for folder in reversed(places) if folder.exists()}
    for folder in by_device.values():
        free = shutil.disk_usage(folder).free
        if free < ROOM:
            left = f"{free / 1e6:.0f}"
            detail = say("{size} MB is left on the disk that holds {folder}", size=left, folder=_home(folder))
            advice = (
                "Remove what isn't needed, or ask whoever looks after the machine. No work can be saved on a full disk."
            )
            yield Observation(say("Disk"), detail, advice)


def _exchange() -> Iterator[Observation]:
    from grader.learner.exchange_modes import exchange, faults

    found = exchange()
    if isinstance(found, str):
        yield Observation(say("Exchange"), found)
    elif found is not None:
        wrong = list(faults(found))
        for detail, command in wrong:
            advice = say("Ask whoever looks after the exchange to run `{command}`.", command=command)
            yield Observation(say("Exchange"), detail, advice)
        if not wrong:
            yield Observation(say("Exchange"), say("{folder} has the right permissions", folder=found))


def _formgrader() -> Iterator[Observation]:
    """An observation for a teacher on a hub, which forbids the frame in which nbgrader's own menu shows Formgrader;
    none elsewhere."""
    from grader.nbgrader_settings import settings

    server = os.environ.get("JUPYTERHUB_SERVICE_PREFIX")
    course = Path(settings([os.getcwd()]).CourseDirectory.get("root", "") or os.getcwd())
    if server and (course / "source").is_dir():
        opens = "opens in its own browser tab on a hub, at {address}; inside JupyterLab it would be a grey page"
        yield Observation(say("Formgrader"), say(opens, address=f"{server}formgrader"))


def _home(path: str | Path) -> str:
    """A path as people write it, the home folder as ~."""
    text, home = str(path), str(Path.home())
    return f"~{text[len(home) :]}" if text.startswith(home + os.sep) else text
