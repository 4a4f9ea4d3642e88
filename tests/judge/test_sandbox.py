"""The sandbox itself: started by somebody who isn't root, refused where there is none, ended with its judge."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from grader.judge import sandbox as sandbox_module
from grader.judge.sandbox import Sandbox, SandboxUnavailable, find_bubblewrap
from grader.subject import Request
from grader.subject.forked import ForkedSubject
from grader.subject.zygote import ZygoteGone
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
with Sandbox() as place:
    twice(place)
'''
EXPECTED = "[]\nno socket\nTrue [0, 0, 0, 0, 0, 0] -1 True\n" * 2


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
    become = "exec setpriv --reuid=65534 --regid=65534 --clear-groups " + shlex.join(command)
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
    script += "s = Sandbox()\nprint(s.pid, flush=True)\ntime.sleep(60)"
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
    with Sandbox(LIMITS) as place, ForkedSubject(place) as subject:
        said = subject.ask(Request("run", source="import os\nprint(sorted(os.environ))")).output
    assert "SECRET_TOKEN" not in said
    assert "HOME" in said


def test_bubblewrap_is_there():
    """A judge without a sandbox is no judge: this fails rather than skips."""
    assert shutil.which("bwrap"), "apt-get install bubblewrap libseccomp2"


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
    """The limit on processes counts what isn't gone."""
    with Sandbox(LIMITS) as place:
        for _ in range(3):
            with ForkedSubject(place) as subject:
                assert subject.ask(Request("run", source=LEAVES_OTHERS)).ok
            with ForkedSubject(place) as subject:
                assert subject.ask(Request("run", source=STARTS_THREADS)).output == "all started\n"


LEAVES_ITS_GROUP = """
import os, signal, time
if os.fork() == 0:
    signal.pause()
other = os.fork()
if other == 0:
    os.setpgid(0, 0)
    signal.pause()
time.sleep(0.2)
os.setpgid(0, other)
"""


@pytest.mark.timeout(60)
def test_a_child_that_leaves_its_group_is_ended_too():
    with Sandbox(LIMITS) as place:
        for _ in range(2):
            with ForkedSubject(place) as subject:
                assert subject.ask(Request("run", source=LEAVES_ITS_GROUP)).raised is None
            with ForkedSubject(place) as subject:
                assert subject.ask(Request("run", source="print(1)")).output == "1\n"


def test_a_child_that_cannot_be_confined_is_no_fault_of_the_student(monkeypatch):
    monkeypatch.setattr(sandbox_module.seccomp, "program", lambda: b"no filter")
    with Sandbox(LIMITS) as place, pytest.raises(ZygoteGone, match="could not be confined"):
        ForkedSubject(place)


def test_a_child_that_ends_by_itself_is_followed_by_another():
    with Sandbox(LIMITS) as place:
        for _ in range(3):
            with ForkedSubject(place) as subject:
                assert subject.ask(Request("run", source="import os; os._exit(0)")).status == "died"
            with ForkedSubject(place) as subject:
                assert subject.ask(Request("run", source="print(1)")).output == "1\n"
