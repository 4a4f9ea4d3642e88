"""The sandbox itself: started with what a machine has, refused with the real cause, ended with its judge."""

from __future__ import annotations

import errno
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest
from click.testing import CliRunner

from grader.cli.main import main
from grader.errors import SandboxUnavailable
from grader.interrupt import children_hear_no_interrupt
from grader.judge import sandbox as sandbox_module
from grader.judge.result import CONFINED, IN_BUBBLEWRAP, UNSAFE
from grader.judge.sandbox import Sandbox
from grader.learner import memory_limit
from grader.subject import Request, landlock, seccomp
from grader.subject.errors import ZygoteGone
from grader.subject.forked import ForkedSubject
from tests.judge import denied
from tests.judge.conftest import LIMITS, run, said, started

ROOT = Path(__file__).parents[2]


def test_without_bubblewrap_children_are_confined_all_the_same(monkeypatch):
    monkeypatch.setattr(sandbox_module.shutil, "which", lambda _name: None)
    with Sandbox(LIMITS) as place:
        assert (place.confinement, place.no_bubblewrap) == (CONFINED, "bubblewrap is not installed")
        assert run(place, "open('/etc/passwd')").raised.name == "PermissionError"


def test_says_what_bubblewrap_said_where_it_is_forbidden(monkeypatch, tmp_path):
    stand_in = tmp_path / "bwrap"
    stand_in.write_text("#!/bin/sh\necho 'bwrap: setting up uid map: Permission denied' >&2\nexit 1\n")
    stand_in.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    with Sandbox(LIMITS) as place:
        assert (place.confinement, place.no_bubblewrap) == (CONFINED, "bwrap: setting up uid map: Permission denied")


@pytest.mark.parametrize(
    ("number", "why"),
    [
        (errno.ENOSYS, "this kernel, .*, has no Landlock, which needs Linux 5.13 or newer"),
        (errno.EOPNOTSUPP, "this kernel has Landlock switched off; its boot parameter `lsm=`"),
        (errno.EPERM, r"Landlock can't be used here \(Operation not permitted\)"),
    ],
    ids=["too old", "switched off", "forbidden"],
)
def test_refuses_with_the_cause_where_there_is_no_landlock(monkeypatch, number, why):
    def missing():
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(landlock, "abi", missing)
    with pytest.raises(SandboxUnavailable, match=f"has to confine it, but {why}.*docs/operations.md"):
        Sandbox(LIMITS)


def test_refuses_on_another_machine(monkeypatch):
    monkeypatch.setattr(sandbox_module.platform, "machine", lambda: "riscv64")
    with pytest.raises(
        SandboxUnavailable, match="only do so on Linux with x86_64 or aarch64, and this is Linux on riscv64"
    ):
        Sandbox(LIMITS)


def test_refuses_where_there_is_no_folder_to_write_in(monkeypatch):
    def nowhere(**_options):
        raise FileNotFoundError("No usable temporary directory found")

    monkeypatch.setattr(sandbox_module.tempfile, "mkdtemp", nowhere)
    with pytest.raises(SandboxUnavailable, match=r"no folder for temporary files .*, so name one in TMPDIR"):
        Sandbox(LIMITS)


def test_says_why_a_zygote_does_not_start(monkeypatch, tmp_path):
    monkeypatch.setattr(sandbox_module, "MODULES", ("no_such_module",))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with pytest.raises(SandboxUnavailable, match=r"(?s)the sandbox's process doesn't start: .*no_such_module"):
        Sandbox(LIMITS)
    assert list(tmp_path.iterdir()) == []


def test_says_why_a_child_cannot_be_confined():
    with started(CONFINED) as place:
        while len(of_folder(place.folder)) > 1:
            time.sleep(0.05)
        time.sleep(0.2)  # the first child's folder is emptied
        os.rmdir(place.folder)
        with pytest.raises(ZygoteGone, match=r"could not be confined \(.*No such file"):
            ForkedSubject(place)


def test_unsafe_confines_nothing_and_says_so(tmp_path):
    (tmp_path / "file").write_text("read")
    with Sandbox(LIMITS, unsafe=True) as place:
        assert place.confinement == UNSAFE
        assert said(place, f"print(open({str(tmp_path / 'file')!r}).read())") == "read"


@pytest.mark.parametrize("confinement", [IN_BUBBLEWRAP, CONFINED])
def test_ends_with_the_judge_that_started_it(confinement):
    script = f"import sys; sys.path.insert(0, {str(ROOT)!r})\n"
    script += "from tests.judge.conftest import *\nimport time\n"
    script += f"with started({confinement!r}) as place:\n"
    script += "    subject = ForkedSubject(place)\n    print(place.folder, flush=True)\n    time.sleep(60)"
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as judge:
        assert judge.stdout is not None
        folder = judge.stdout.readline().strip()
        assert len(of_folder(folder)) >= 2
        judge.send_signal(signal.SIGKILL)
    assert gone(folder)


def of_folder(folder: str) -> list[int]:
    """The processes of a sandbox."""
    found = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        try:
            if f"HOME={folder}\0" in path.read_text():
                found.append(int(path.parent.name))
        except OSError:
            continue
    return found


def gone(folder: str) -> bool:
    for _ in range(200):
        if not of_folder(folder):
            return True
        time.sleep(0.05)
    return False


def test_a_child_ends_with_its_zygote(sandbox):
    """Also one that tries to stay: the kernel may end the zygote where memory runs out."""
    with started(sandbox.confinement) as place, ForkedSubject(place) as subject:
        stays = "import ctypes\nprint(ctypes.CDLL(None).prctl(1, 0, 0, 0, 0))"
        assert subject.ask(Request("run", source=stays)).output == "-1\n"
        os.kill(place.pid, signal.SIGKILL)
        assert gone(place.folder)


def test_environment_of_the_judge_stays_outside(sandbox, monkeypatch):
    monkeypatch.setenv("SECRET_TOKEN", "x")
    with started(sandbox.confinement) as place:
        names = said(place, "import os\nprint(sorted(os.environ))")
    assert "SECRET_TOKEN" not in names
    assert "HOME" in names


def test_the_command_tells_no_folder(sandbox):
    """What the confinement hides stood in it, and with it the name of whoever grades."""
    assert said(sandbox, "import sys\nprint(sys.argv, sys.orig_argv)") == "[''] ['']"
    command = Path(f"/proc/{sandbox.pid}/cmdline").read_bytes().split(b"\0")
    own = command[command.index(b"--") + 1 :] if b"--" in command else command
    assert [word for word in own if b"/" in word] == [
        os.path.realpath(sys.executable).encode(),
        str(sandbox_module.START).encode(),
    ]


def test_what_was_in_the_folder_is_removed_with_the_sandbox(sandbox):
    with started(sandbox.confinement) as place:
        run(place, "import os\nos.makedirs('a/b/c')\nos.mkdir('closed', 0)")
        folder = Path(place.folder)
    assert not folder.exists()


def test_a_child_that_ends_by_itself_is_followed_by_another(sandbox):
    for _ in range(3):
        assert run(sandbox, "import os; os._exit(0)").status == "died"
        assert said(sandbox, "print(1)") == "1"


def test_torch_computes_with_what_the_processor_has(sandbox):
    import torch

    assert said(sandbox, "import torch\nprint(torch.backends.cpu.get_cpu_capability())") == (
        torch.backends.cpu.get_cpu_capability()
    )


def test_limits_of_whoever_grades_are_kept_where_they_are_lower():
    with started(CONFINED) as place:
        resource.prlimit(place.pid, resource.RLIMIT_NOFILE, (60, 60))
        assert said(place, "import resource\nprint(resource.getrlimit(resource.RLIMIT_NOFILE))") == "(60, 60)"


def test_code_gets_signals_that_a_worker_of_a_class_blocks():
    with children_hear_no_interrupt(), started(CONFINED) as place:
        assert said(place, "import signal\nprint(signal.pthread_sigmask(signal.SIG_BLOCK, ()))") == "set()"


def test_numbers_of_system_calls_are_those_of_libseccomp():
    """On both machines; the library knows nothing of calls newer than itself, whose numbers are the same everywhere."""
    for column, (token, _) in enumerate(seccomp.ARCHITECTURES.values()):
        for line in ", ".join([seccomp.ABSENT, seccomp.CONDITIONAL, *seccomp.ALLOWED.values()]).split(","):
            name, *numbers = line.split()
            known = denied.number(name, token)
            if known == -1 and numbers[0] == numbers[1] and int(numbers[0]) > 434:
                continue
            assert numbers[column] == (str(known) if known >= 0 else "-"), (name, column, known)


def test_every_system_call_is_allowed_or_denied_by_name():
    """So an entry that is left out, or is in two lists, is a decision that somebody has to write down."""
    lists = [seccomp.ABSENT, seccomp.UNSUPPORTED, seccomp.CONDITIONAL, *seccomp.ALLOWED.values()]
    named = [line.split()[0] for line in ", ".join(lists).split(",")]
    named += [name for names in denied.DENIED.values() for name in names.split()]
    assert sorted(set(named)) == sorted(named)
    for token, _ in seccomp.ARCHITECTURES.values():
        assert denied.every_name(seccomp.LAST_KNOWN, token) - set(named) == set()


def test_doctor_says_what_stands_in_bubblewraps_way(monkeypatch, tmp_path):
    def told():
        return CliRunner().invoke(main, ["doctor", "--judge"])

    assert "ok    A student's process: is confined in bubblewrap" in told().output
    stand_in = tmp_path / "bwrap"
    stand_in.write_text("#!/bin/sh\necho 'bwrap: setting up uid map: Permission denied' >&2\nexit 1\n")
    stand_in.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    done = told()
    assert done.exit_code == 0
    assert "ok    A student's process: is confined\n" in done.output
    assert "note  Bubblewrap: doesn't start here: bwrap: setting up uid map: Permission denied" in done.output
    monkeypatch.setattr(sandbox_module.platform, "machine", lambda: "riscv64")
    done = told()
    assert done.exit_code == 1
    assert "fix   A student's process: Grading runs students' code and has to confine it" in done.output


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({}, "note  Limits around the judge: none but the judge's own"),
        (
            {"memory.max": "8000000000", "memory.events": "oom_kill 0", "pids.max": "2000"},
            "ok    Limits around the judge: 8.0 GB of memory and 2,000 processes and threads, for the judge and all that it starts",
        ),
    ],
)
def test_doctor_says_which_limits_of_a_control_group_hold(monkeypatch, tmp_path, files, said):
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "own").write_text("0::/\n")
    monkeypatch.setattr(memory_limit, "GROUPS", tmp_path)
    monkeypatch.setattr(memory_limit, "OWN_GROUPS", tmp_path / "own")
    assert said in CliRunner().invoke(main, ["doctor", "--judge"]).output
