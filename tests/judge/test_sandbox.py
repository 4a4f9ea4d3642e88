"""The sandbox itself: started by somebody who isn't root, refused where there is none, ended with its judge."""

from __future__ import annotations

import os
import pickle
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from grader.judge import sandbox as sandbox_module
from grader.judge.sandbox import MAGICS, PACKAGES, Sandbox, SandboxUnavailable, find_bubblewrap
from grader.subject import Request
from grader.subject.forked import ForkedSubject
from tests.judge.conftest import LIMITS

ROOT = Path(__file__).parents[2]
PROBE = '''
import sys
sys.path.insert(0, {root!r})
sys.dont_write_bytecode = True
from grader.judge.sandbox import Sandbox
from grader.subject import Request
from grader.subject.forked import ForkedSubject
inside = """
import ctypes, os, signal, socket
open("note", "w").write("x")
libc = ctypes.CDLL(None, use_errno=True)
held = (ctypes.c_uint32 * 6)()
libc.capget((ctypes.c_uint32 * 2)(0x20080522, 0), held)
for number in range(1, 32):
    if number != signal.SIGCONT:
        try: os.kill(1, number)
        except OSError: pass
try: socket.socket()
except OSError: print("no socket")
count = 0
try:
    while count < 100:
        if os.fork() == 0: signal.pause()
        count += 1
except OSError: pass
print(os.getuid() != 0, list(held), libc.syscall(272, 0x10000000), count < 12)
"""
def twice(place):
    for _ in range(2):
        with ForkedSubject(place) as subject:
            print(subject.ask(Request("run", source='import os\\nprint(os.listdir("."))')).output, end="")
            print(subject.ask(Request("run", source=inside)).output, end="")
with Sandbox(packages=()) as place:
    twice(place)
with Sandbox(packages=(), wait=False) as place, place.hand_over().take_over() as taken:
    twice(taken)
'''
EXPECTED = "[]\nno socket\nTrue [0, 0, 0, 0, 0, 0] -1 True\n" * 4


def test_works_for_somebody_who_is_not_root(tmp_path):
    script = tmp_path / "probe.py"
    script.write_text(PROBE.format(root=str(ROOT)))
    command = [sys.executable, str(script)]
    if os.geteuid() == 0:
        tmp_path.chmod(0o755)
        for parent in tmp_path.parents:  # one more of them in a pytest of several workers
            if parent.name.startswith(("pytest-", "popen-")):
                parent.chmod(0o755)
        command = as_nobody(command, tmp_path)
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "TMPDIR": "/tmp"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, cwd="/", timeout=120, check=False)
    assert done.stdout == EXPECTED, done.stdout + done.stderr


def as_nobody(command, folder):
    """The command as another user. An interpreter in a home that is closed to others is made visible, in a mount
    namespace of this command's own."""
    become = "exec setpriv --reuid=65534 --regid=65534 --clear-groups " + " ".join(command)
    home = Path(sys.base_prefix).parts[1]
    if os.stat(f"/{home}").st_mode & 0o005 == 0o005:
        return ["sh", "-c", become]
    seen = folder / "interpreter"
    seen.mkdir()
    steps = [f"mount --bind {sys.base_prefix} {seen}", f"mount -t tmpfs -o mode=755 tmpfs /{home}"]
    steps += [f"mkdir -p {sys.base_prefix}", f"mount --bind {seen} {sys.base_prefix}", become]
    return ["unshare", "--mount", "sh", "-c", " && ".join(steps)]


def test_refuses_with_the_install_command_where_there_is_no_bubblewrap(monkeypatch):
    monkeypatch.setattr(sandbox_module.shutil, "which", lambda _name: None)
    with pytest.raises(SandboxUnavailable, match="apt-get install bubblewrap libseccomp2"):
        find_bubblewrap()


def test_says_what_bubblewrap_said_where_it_is_forbidden(monkeypatch, tmp_path):
    stand_in = tmp_path / "bwrap"
    stand_in.write_text("#!/bin/sh\necho 'bwrap: setting up uid map: Permission denied' >&2\nexit 1\n")
    stand_in.chmod(0o755)
    monkeypatch.setattr(sandbox_module, "find_bubblewrap", lambda: str(stand_in))
    with pytest.raises(SandboxUnavailable, match="uid map: Permission denied"):
        Sandbox(LIMITS)


def test_ends_with_the_judge_that_started_it():
    script = f"import sys; sys.path.insert(0, {str(ROOT)!r})\n"
    script += "from grader.judge.sandbox import Sandbox\nimport time\n"
    script += "s = Sandbox(packages=())\nprint(s.pid, flush=True)\ntime.sleep(60)"
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as judge:
        assert judge.stdout is not None
        zygote = int(judge.stdout.readline())
        assert Path(f"/proc/{zygote}").exists()
        judge.send_signal(signal.SIGKILL)
    for _ in range(100):
        if not Path(f"/proc/{zygote}").exists():
            break
        time.sleep(0.05)
    assert not Path(f"/proc/{zygote}").exists()


def test_environment_of_the_judge_stays_outside(sandbox, monkeypatch):
    monkeypatch.setenv("SECRET_TOKEN", "x")
    with Sandbox(LIMITS, packages=()) as place, ForkedSubject(place) as subject:
        said = subject.ask(Request("run", source="import os\nprint(sorted(os.environ))")).output
    assert "SECRET_TOKEN" not in said
    assert "HOME" in said


def test_bubblewrap_is_there():
    """A judge without a sandbox is no judge: this fails rather than skips."""
    assert shutil.which("bwrap"), "apt-get install bubblewrap libseccomp2"


KILLS = """
import os, signal
seen = []
for pid in range(2, 400):
    try:
        os.kill(pid, 0)
        seen.append(pid)
    except ProcessLookupError:
        pass
    except PermissionError:
        seen.append(pid)
print("alone" if seen == [os.getpid()] else seen)
"""
LEAVES_OTHERS = """
import os, signal
for _ in range(6):
    if os.fork() == 0:
        os.setsid()
        signal.pause()
"""
STARTS_THREADS = """
import threading
threads = [threading.Thread(target=threading.Event().wait, args=(0.2,)) for _ in range(6)]
for thread in threads:
    thread.start()
print("all started")
"""


def test_the_next_child_has_the_sandbox_to_itself():
    """It is forked while the last one is still being cleared away; the limit on processes counts what isn't gone."""
    with Sandbox(LIMITS, packages=()) as place:
        for _ in range(3):
            with ForkedSubject(place) as subject:
                assert subject.ask(Request("run", source=LEAVES_OTHERS)).ok
            with ForkedSubject(place) as subject:
                assert subject.ask(Request("run", source=STARTS_THREADS)).output == "all started\n"


def test_a_child_that_ends_by_itself_is_followed_by_another():
    with Sandbox(LIMITS, packages=()) as place:
        for _ in range(3):
            with ForkedSubject(place) as subject:
                assert subject.ask(Request("run", source="import os; os._exit(0)")).status == "died"
            with ForkedSubject(place) as subject:
                assert subject.ask(Request("run", source="print(1)")).output == "1\n"


def test_memory_is_in_large_pages_where_the_kernel_has_them(sandbox):
    setting = Path("/sys/kernel/mm/transparent_hugepage/enabled")
    sizes = dict.fromkeys(("Anonymous", "AnonHugePages"), 0)
    for line in Path(f"/proc/{sandbox.pid}/smaps").read_text().splitlines():
        name, _colon, rest = line.partition(":")
        if name in sizes:
            sizes[name] += int(rest.split()[0])
    there = setting.exists() and "[never]" not in setting.read_text()
    assert sizes["AnonHugePages"] > sizes["Anonymous"] / 2 or not there, sizes


def test_zygotes_are_handed_over_each_once():
    """Their first owner need not wait; each ends when the second one lets go of it, and nobody is given it again."""
    with Sandbox(LIMITS, packages=(), wait=False) as place:
        first, second = (pickle.loads(pickle.dumps(place.hand_over())) for _ in range(2))
        one, two = first.take_over(), second.take_over()
        assert one is not None
        assert two is not None
        assert one.pid != two.pid
        assert first.take_over() is None
        with two, ForkedSubject(two) as subject:
            with one, ForkedSubject(one) as other:
                users = {
                    each.ask(Request("run", source="import os; print(os.getuid())")).output for each in (subject, other)
                }
                assert len(users) == (2 if os.geteuid() == 0 else 1)
                # Neither sees the other: all there is to kill is one's own.
                assert subject.ask(Request("run", source=KILLS)).output == "alone\n"
                assert other.ask(Request("run", source="print(1)")).output == "1\n"
            assert ended(one.pid)
            assert subject.ask(Request("run", source="print(2)")).output == "2\n"
        assert ended(two.pid)


def test_a_zygote_that_nobody_takes_ends_with_its_sandbox():
    with Sandbox(LIMITS, packages=(), wait=False) as place:
        given = place.hand_over()
        taken = place.hand_over().take_over()
        assert taken is not None
    assert ended(taken.pid)
    assert given.take_over() is None


def test_a_zygote_is_handed_over_with_limits_and_packages_of_its_own():
    with Sandbox(packages=(MAGICS,), wait=False) as place:
        given = place.hand_over(LIMITS, PACKAGES)
        assert given.limits == LIMITS
        taken = given.take_over()
        assert taken is not None
        with taken, ForkedSubject(taken) as subject:
            assert (
                subject.ask(Request("run", source=DRAWN + "print('matplotlib.figure' in sys.modules)")).output
                == "True\n"
            )
            room = f"import mmap; mmap.mmap(-1, {LIMITS.memory + 2**24})"
            assert subject.ask(Request("run", source=room)).raised is not None


DRAWN = "import sys\nimport matplotlib.pyplot as plt\n"
DRAWS = {
    "used": "plt.plot([1, 2]); print(len(plt.gca().lines))",
    "twice": "import matplotlib.pyplot as again; plt.plot([1, 2]); print(len(again.gca().lines))",
    "by its package": "import matplotlib; plt.figure(); matplotlib.pyplot.plot([1]); print(len(plt.gca().lines))",
    "from its package": "from matplotlib import pyplot; pyplot.plot([1]); print(len(plt.gca().lines))",
    "a name of it": "from matplotlib.pyplot import plot; plot([1]); print(len(plt.gca().lines))",
    "all its names": "from matplotlib.pyplot import *; plot([1]); print(len(gca().lines))",
    "set": "plt.mine = 1; import matplotlib.pyplot; print(matplotlib.pyplot.mine)",
    "looked at": "print(int('plot' in dir(plt)))",
}


@pytest.mark.parametrize("source", DRAWS.values(), ids=DRAWS)
def test_what_draws_is_imported_when_it_is_used(sandbox, source):
    """A zygote of `grader autograde` has it only if somebody seems to draw; nobody can tell but by the time it takes."""
    with ForkedSubject(sandbox) as subject:
        imported = subject.ask(Request("run", source=DRAWN + "print('matplotlib.figure' in sys.modules)"))
        assert (imported.output, imported.raised) == ("False\n", None)
        drawn = subject.ask(Request("run", source=source))
        assert (drawn.output, drawn.raised) == ("1\n", None)


def ended(pid: int) -> bool:
    for _ in range(100):
        if not Path(f"/proc/{pid}").exists():
            return True
        time.sleep(0.05)
    return False
