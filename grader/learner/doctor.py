"""Is this machine ready for the course? Each finding says what is so, and what to do if it should not be."""

from __future__ import annotations

import os
import platform
import re
import shutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from html import escape
from pathlib import Path

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


@dataclass(frozen=True)
class Observation:
    """One thing looked at. `detail` says how it is, `advice` what to do ("" where all is well); `needed` is False for
    what is only good to know."""

    title: str
    detail: str
    advice: str = ""
    needed: bool = True

    @property
    def word(self) -> str:
        """How it stands: "ok", "note" (good to know) or "fix" (the course doesn't work without it)."""
        return "ok" if not self.advice else "fix" if self.needed else "note"


class Diagnosis:
    """All observations; it draws itself in a notebook."""

    def __init__(self, findings: list[Observation]) -> None:
        self.findings = findings

    @property
    def ready(self) -> bool:
        """Whether no observation's word is "fix"."""
        return not any(finding.word == "fix" for finding in self.findings)

    @property
    def verdict(self) -> str:
        """The result of all observations, in a sentence."""
        if self.ready:
            return "Everything is ready."
        count = sum(finding.word == "fix" for finding in self.findings)
        return f"{count} thing{'s' if count > 1 else ''} to fix, as described below."

    def __repr__(self) -> str:
        lines = [self.verdict]
        for finding in self.findings:
            lines.append(f"  {finding.word:4}  {finding.title}: {finding.detail}")
            if finding.advice:
                lines.append(f"        {finding.advice}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        from grader.report.html import style

        items = "".join(_item(finding) for finding in self.findings)
        state = "passed" if self.ready else "failed"
        head = f'<div class="grader-head grader-{state}" role="status"><span>{escape(self.verdict)}</span></div>'
        body = f'{head}<ul class="grader-results">{items}</ul>'
        return f'{style()}<section class="grader-report" aria-label="Set-up">{body}</section>'


def _item(finding: Observation) -> str:
    from grader.report.html import inline

    kind = "failed" if finding.word == "fix" else "passed"
    advice = f"<p>{inline(finding.advice)}</p>" if finding.advice else ""
    text = f"{inline(finding.title)}: {inline(finding.detail)}"
    return f'<li class="grader-{kind}"><span class="grader-word">{finding.word}</span> {text}{advice}</li>'


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
    advice = "" if sys.version_info >= OLDEST else f"Install Python {wanted} or newer and make the environment with it."
    yield Observation("Python", f"{platform.python_version()}, {platform.system()} {platform.machine()}", advice)


def _packages() -> Iterator[Observation]:
    from grader.learner.packages import problem, requirements

    needed = requirements()
    problems = [sentence for sentence in map(problem, needed) if sentence]
    if problems:
        yield Observation("Packages", "; ".join(problems), INSTALL)
    else:
        yield Observation("Packages", f"all {len(needed)} are there, in versions that the course works with")


def _torch() -> Iterator[Observation]:
    import torch

    product = torch.tensor([[2.0, 2.0, 2.0]]) @ torch.tensor([[4.0], [4.0], [0.0]])
    advice = "" if product.item() == 16 else "torch gives wrong results, so install it again."
    threads = torch.get_num_threads()
    count = f"{threads} thread{'' if threads == 1 else 's'}"
    yield Observation("PyTorch", f"{torch.__version__.split('+')[0]}, computes on {count}", advice)


def _check() -> Iterator[Observation]:
    from grader.exercises.registry import exercises
    from grader.spec.evaluate import evaluate
    from grader.subject.local import LocalSubject

    report = evaluate(exercises()["first_steps"], LocalSubject({"first_steps": lambda x: 2 * x + 1}))
    detail = "a right answer passes" if report.passed else "a right answer fails"
    yield Observation("Checks", detail, "" if report.passed else f"The right answer in lesson 00 fails: {report}")


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
    title = f"The server's JupyterLab {server.lab}" if server else "JupyterLab"
    for name, purpose in EXTENSIONS.items():
        there = server.extensions.get(name, "") if server else ""
        if there or (not server and any((Path(folder) / name).is_dir() for folder in jupyter_path("labextensions"))):
            yield Observation(title, f"has {' '.join([name, there]).strip()}, for {purpose}")
        else:
            yield Observation(title, f"{name} is missing (needed for {purpose})", INSTALL_THERE if server else INSTALL)
    if server and WIDGETS in server.extensions and (reason := missing_widgets(anywidget.__version__)):
        yield Observation("Interactive pictures", reason, INSTALL_THERE)


def _kernel() -> Iterator[Observation]:
    """An observation on the kernel called python3, in which a notebook runs: it may belong to another environment."""
    from jupyter_client.kernelspec import KernelSpecManager

    command = KernelSpecManager().get_kernel_spec("python3").argv[0]
    # A bare "python" is replaced by Jupyter's own interpreter when the kernel starts.
    found = Path(sys.executable if re.fullmatch(r"python[\d.]*", command) else command)
    same = found.parent.resolve() == Path(sys.executable).parent.resolve()
    advice = "" if same else f"Register this Python: `{_home(sys.executable)} -m ipykernel install --sys-prefix`."
    yield Observation(
        "Kernel", "python3 is this Python" if same else f"python3 is another Python, {_home(found)}", advice
    )


def _progress() -> Iterator[Observation]:
    from grader.learner import progress

    path = progress.location()
    if path is None:
        yield Observation(
            "Progress", "is not kept (GRADER_PROGRESS=off)", "Unset GRADER_PROGRESS to keep it.", needed=False
        )
        return
    if reason := progress.unmounted(path):
        advice = "Mount the drive, or set GRADER_PROGRESS to another file."
        yield Observation("Progress", f"is not kept in {_home(path)}: {reason}", advice)
        return
    folder = next(p for p in [path.parent, *path.parents] if p.exists())
    advice = (
        "" if os.access(folder, os.W_OK) else f"Make {_home(folder)} writable, or set GRADER_PROGRESS to another file."
    )
    try:
        odd = progress.read(path)[1]
    except OSError as error:
        yield Observation("Progress", f"{_home(path)} can't be read: {error.strerror}", advice or "Make it readable.")
        return
    if odd:
        yield Observation(
            "Progress",
            f"{_home(path)} is damaged",
            "The next check puts this file aside and starts a new one with whatever can still be read.",
            needed=False,
        )
    else:
        yield Observation("Progress", f"{'is' if path.is_file() else 'will be'} kept in {_home(path)}", advice)


def _memory() -> Iterator[Observation]:
    """An observation on the limit of memory, if there is one: a kernel that wants more is ended, and its notebook says
    no more than that it died."""
    from grader.learner.memory_limit import memory_limit

    limit = memory_limit()
    if limit is None:
        return
    said = f"at most {limit.size / 1e9:.1f} GB for this server and all its kernels"
    if limit.ended:
        times = "once" if limit.ended == 1 else f"{limit.ended} times"
        yield Observation("Memory", f"{said}; a process that wanted more was ended {times}", STOP_KERNELS, needed=False)
    elif limit.size < ENOUGH:
        wanted = f"Lesson 07 takes up to {LARGEST / 1e9:.1f} GB, so ask whoever looks after the server to allow more."
        yield Observation("Memory", said, wanted, needed=False)
    else:
        yield Observation("Memory", said)


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
            detail = f"{free / 1e6:.0f} MB is left on the disk that holds {_home(folder)}"
            advice = (
                "Remove what isn't needed, or ask whoever looks after the machine. No work can be saved on a full disk."
            )
            yield Observation("Disk", detail, advice)


def _exchange() -> Iterator[Observation]:
    from grader.learner.exchange_modes import exchange, faults

    found = exchange()
    if isinstance(found, str):
        yield Observation("Exchange", found)
    elif found is not None:
        wrong = list(faults(found))
        for detail, command in wrong:
            yield Observation("Exchange", detail, f"Ask whoever looks after the exchange to run `{command}`.")
        if not wrong:
            yield Observation("Exchange", f"{found} has the right permissions")


def _formgrader() -> Iterator[Observation]:
    """An observation for a teacher on a hub, which forbids the frame in which nbgrader's own menu shows Formgrader;
    none elsewhere."""
    from grader.nbgrader_settings import settings

    server = os.environ.get("JUPYTERHUB_SERVICE_PREFIX")
    course = Path(settings([os.getcwd()]).CourseDirectory.get("root", "") or os.getcwd())
    if server and (course / "source").is_dir():
        said = f"opens in its own browser tab on a hub, at {server}formgrader"
        yield Observation("Formgrader", f"{said}; inside JupyterLab it would be a grey page")


def _home(path: str | Path) -> str:
    """A path as people write it, the home folder as ~."""
    text, home = str(path), str(Path.home())
    return f"~{text[len(home) :]}" if text.startswith(home + os.sep) else text
