"""What code in the sandbox may try against the files, the processes and the memory of the machine, and what it may leave
behind. Some of it with the oldest Landlock, which sees less, and on a file that may be read."""

from __future__ import annotations

import contextlib
import os
import platform
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from grader.judge import sandbox as sandbox_module
from grader.judge.result import CONFINED
from grader.judge.sandbox import PACKAGE, Sandbox
from grader.subject import seccomp
from tests.judge.conftest import LIMITS, run, said, started
from tests.judge.denied import NUMBERS

CALLS = NUMBERS | seccomp.numbers(seccomp.ABSENT) | seccomp.numbers(seccomp.CONDITIONAL)
# `attempt` prints what an attack gets through with.
TOOLS = """
import ctypes, errno, os, socket, struct, sys, threading, time
libc = ctypes.CDLL(None, use_errno=True)
def call(number, *args):
    result = libc.syscall(number, *args)
    if result < 0: raise OSError(ctypes.get_errno(), "")
    return result
def attempt(what, attack):
    try: got = attack()
    except Exception as error: print("refused", what, type(error).__name__, file=sys.stderr)
    else: print("THROUGH", what, repr(got)[:60])
"""


def attempts(place: Sandbox, names: dict[str, object], attacks: list[str]) -> str:
    """What is printed after each attack was tried: the lines of those that got through."""
    lines = [f"{name} = {value!r}" for name, value in names.items()]
    lines += [f"attempt({attack!r}, lambda: {attack})" for attack in attacks]
    outcome = run(place, "\n".join([TOOLS, *lines]))
    assert outcome.ok, outcome
    assert outcome.output.count("refused") + outcome.output.count("THROUGH") == len(attacks), outcome.output
    return "\n".join(line for line in outcome.output.splitlines() if line.startswith("THROUGH"))


@pytest.fixture
def gradebook(tmp_path) -> Path:
    """Somebody's file."""
    for folder in (tmp_path, *tmp_path.parents):
        if folder.stat().st_uid == os.geteuid():
            folder.chmod(folder.stat().st_mode | 0o055)
    path = tmp_path / "gradebook.db"
    path.write_text("marks")
    path.chmod(0o644)
    with contextlib.suppress(OSError):  # not every file system has attributes
        os.setxattr(path, "user.x", b"1")
    return path


READS = [
    "open(path).read()",
    "os.open(path, os.O_RDONLY)",
    "open('/proc/self/fd/%d' % os.open(path, os.O_PATH)).read()",
    "open('/proc/self/root' + path).read()",
    "open('/proc/%d/root%s' % (judge, path)).read()",
    "os.listdir(os.path.dirname(path))",
    "os.link(path, 'mine')",
    "os.symlink(path, 'my link')",
    "os.rename(path, 'mine')",
    "os.getxattr(path, 'user.x')",
    "os.listxattr(path)",
    "call(CALLS['inotify_add_watch'], call(CALLS['inotify_init1'], 0), path.encode(), 0xfff)",
    "call(CALLS['name_to_handle_at'], -100, path.encode(), struct.pack('Ii128x', 128, 0), bytes(8), 0)",
    "call(CALLS['openat2'], -100, path.encode(), bytes(24), 24)",
    "call(CALLS['io_uring_setup'], 1, bytes(200))",
    *(f"open('/proc/%d/{name}' % pid).read()" for name in ("environ", "cmdline", "maps", "status", "stat", "mem")),
    "os.listdir('/proc/%d/fd' % pid)",
    "os.readlink('/proc/%d/exe' % pid)",
    "os.readlink('/proc/%d/cwd' % pid)",
    "open('/proc/self/environ').read()",
    "open('/proc/self/mem', 'rb')",
    "open('/etc/passwd').read()",
    "os.listdir('/')",
    "os.listdir('/etc')",
    "open('/dev/kmsg')",
    "os.listdir('/dev/shm')",
]


def test_nothing_else_can_be_read(sandbox, gradebook):
    for pid in (os.getpid(), sandbox.pid):
        names = {"path": str(gradebook), "judge": os.getpid(), "pid": pid, "CALLS": CALLS}
        assert attempts(sandbox, names, READS) == ""
    assert attempts(sandbox, {}, ["open('/proc/%d/mem' % os.getppid())", "open('/proc/%d/maps' % os.getppid())"]) == ""


def test_these_attacks_work_where_nothing_is_confined(gradebook):
    with Sandbox(LIMITS, unsafe=True) as place:
        names = {"path": str(gradebook), "judge": os.getpid(), "pid": os.getpid(), "CALLS": CALLS}
        through = attempts(place, names, [attack for attack in READS if "rename" not in attack]).splitlines()
        assert len(through) > 15
        through = attempts(place, names, CHANGES[:8]).splitlines()
        assert len(through) > 5


def test_the_courses_own_package_cannot_be_read(sandbox):
    ours = [str(path) for path in PACKAGE.rglob("*.py")]
    assert len(ours) > 100
    read = said(
        sandbox, f"for path in {ours!r}:\n    try: print(path, len(open(path).read()))\n    except OSError: pass"
    )
    in_bubblewrap = ("/grader/subject/", "/grader/judge/inside/")
    assert [line for line in read.splitlines() if not any(place in line for place in in_bubblewrap)] == []


def test_where_the_course_is_installed_all_packages_but_it_can_be_read(sandbox, tmp_path, monkeypatch):
    """Rules of Landlock only add: the folder as a whole must not be named."""
    other, course = tmp_path / "other", tmp_path / "grader"
    for package in (other, course):
        package.mkdir()
        (package / "answers.py").write_text("answer = 42")
    folders = [*sandbox_module.packages_folders(), str(tmp_path)]
    monkeypatch.setattr(sandbox_module, "packages_folders", lambda: folders)
    with started(sandbox.confinement) as place:
        assert said(place, f"print(open({str(other / 'answers.py')!r}).read())") == "answer = 42"
        raised = run(place, f"open({str(course / 'answers.py')!r})").raised
        assert raised.name in ("PermissionError", "FileNotFoundError")


CHANGES = [
    "open(path, 'w')",
    "open(path, 'a')",
    "open(path, 'r+')",
    "os.open(path, os.O_RDONLY | os.O_TRUNC)",
    "os.open(path, 3 | os.O_TRUNC)",
    "os.truncate(path, 0)",
    "os.chmod(path, 0)",
    "call(452, -100, path.encode(), 0, 0)",
    "os.chown(path, os.getuid(), os.getgid())",
    "os.utime(path, (0, 0))",
    "os.setxattr(path, 'user.x', b'1')",
    "os.removexattr(path, 'user.x')",
    "os.unlink(path)",
    "os.rename(path, path + '2')",
    "open('mine', 'w').close() or os.rename('mine', path)",
    "os.link(path, path + '2')",
    "os.symlink(path, path + '2')",
    "os.mkdir(path + '2')",
    "os.mkfifo(path + '2')",
    "open(path + '2', 'x')",
    "os.chmod(os.path.dirname(path), 0)",
    "os.open(os.path.dirname(path), os.O_TMPFILE | os.O_RDWR)",
    "socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)",
]
# With a descriptor that was opened to be read.
BY_DESCRIPTOR = [
    "os.fchmod(fd, 0)",
    "os.fchown(fd, os.getuid(), os.getgid())",
    "os.utime(fd, (0, 0))",
    "os.ftruncate(fd, 0)",
    "os.write(fd, b'x')",
    "os.setxattr(fd, 'user.x', b'1')",
    "__import__('fcntl').flock(fd, 2)",
    "__import__('fcntl').ioctl(fd, 0x40086602, struct.pack('l', 0x40))",
    "__import__('fcntl').fcntl(fd, 1024, 0)",
    "os.posix_fallocate(fd, 0, 100)",
]


def facts(path: Path) -> tuple[object, ...]:
    found = path.stat()
    times = (found.st_mtime_ns, found.st_ctime_ns)
    return (
        path.read_text(),
        found.st_mode,
        found.st_uid,
        times,
        sorted(os.listdir(path.parent)),
        path.parent.stat().st_mode,
    )


def test_nothing_else_can_be_changed(sandbox, gradebook):
    before = facts(gradebook)
    assert attempts(sandbox, {"path": str(gradebook)}, CHANGES) == ""
    assert facts(gradebook) == before


@pytest.mark.parametrize("abi", [1, 2, 3])
def test_nor_can_what_may_be_read(gradebook, monkeypatch, abi):
    """With older versions of Landlock too. The first two don't see that a file is emptied."""
    abi = min(abi, sandbox_module.landlock_abi())
    monkeypatch.setattr(sandbox_module, "landlock_abi", lambda: abi)
    monkeypatch.setattr(sandbox_module, "LIBRARIES", (*sandbox_module.LIBRARIES, str(gradebook.parent)))
    with started(CONFINED) as place:
        before = facts(gradebook)
        names = {"path": str(gradebook)}
        assert attempts(place, names, CHANGES) == ""
        opened = [f"(fd := os.open(path, os.O_RDONLY)) and {change}" for change in BY_DESCRIPTOR]
        assert attempts(place, names, opened) == ""
        assert facts(gradebook) == before
        assert said(place, f"print(open({str(gradebook)!r}).read())") == "marks"


def test_room_on_the_disk_is_taken_by_writing_only(sandbox):
    """fallocate would take it without making a file longer; the C library's posix_fallocate writes in its place."""
    code = (
        "import ctypes, os\nlibc, f = ctypes.CDLL(None, use_errno=True), open('x', 'wb+')\n"
        "for mode in (0, 1, 3):\n    print(libc.fallocate(f.fileno(), mode, ctypes.c_long(0), ctypes.c_long(1 << 20)), "
        "os.strerror(ctypes.get_errno()))\n"
        "os.posix_fallocate(f.fileno(), 0, 10000)\nprint(os.stat('x').st_size, os.stat('x').st_blocks)"
    )
    *refused, taken = said(sandbox, code).splitlines()
    assert refused == ["-1 Operation not supported"] * 3
    size, blocks = map(int, taken.split())
    assert (size, blocks <= 40) == (10000, True)


@pytest.fixture
def victim() -> Iterator[subprocess.Popen[str]]:
    """A process of the same user."""
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, text=True) as process:
        yield process
        process.kill()


PROCESSES = [
    *("os.kill(pid, 0)", "os.kill(pid, 9)", "os.kill(-pid, 9)", "os.kill(0, 0)", "os.kill(-1, 0)"),
    *("os.killpg(os.getpgid(0), 0)", "call(CALLS['tgkill'], pid, pid, 9)", "call(CALLS['tkill'], pid, 9)"),
    *("call(CALLS['rt_sigqueueinfo'], pid, 9, bytes(128))", "os.pidfd_open(pid)", "call(CALLS['ptrace'], 16, pid, 0, 0)"),
    "call(CALLS['process_vm_readv'], pid, bytes(16), 1, bytes(16), 1, 0)",
    "__import__('resource').prlimit(pid, 7)",
    *("os.sched_setaffinity(pid, {0})", "os.setpriority(os.PRIO_PROCESS, pid, 19)"),
    *("socket.socketpair()[0].sendmsg([b'x'])", "socket.send_fds(socket.socketpair()[0], [b'x'], [0])"),
    "call(CALLS['sendmsg'], socket.socketpair()[0].fileno(), bytes(56), 0)",
    "__import__('fcntl').fcntl(socket.socketpair()[0], 8, pid)",
    "__import__('fcntl').fcntl(socket.socketpair()[0], 10, 9)",
    "__import__('fcntl').ioctl(socket.socketpair()[0], 0x8901, struct.pack('i', pid))",
    *("os.fork()", "os.forkpty()", "os.posix_spawn('/bin/true', ['true'], {})", "os.execv('/bin/true', ['true'])"),
    "__import__('subprocess').run(['true'])",
    "__import__('multiprocessing').Process(target=print).start()",
    "call(CALLS['clone'], 0x10900, 0, 0, 0, 0)",  # a thread with a table of files of its own
    *("call(CALLS['clone'], 17, 0, 0, 0, 0)", "call(CALLS['clone'], 0x10000000 | 17, 0, 0, 0, 0)"),
    "call(CALLS['clone3'], struct.pack('8Q', 0, 0, 0, 0, 17, 0, 0, 0), 64)",
    *("os.setsid()", "os.setpgid(0, 0)", "socket.socket()", "socket.socket(socket.AF_UNIX)"),
    *("call(457, 0, 0, 0, 0)", "call(458, 0, 0, 0, 0)", "call(467, 0, 0, 0, 0)", "call(0x40000000 | 39)", "call(9999)"),
]  # fmt: skip


def test_no_process_can_be_reached_and_none_be_made(sandbox, victim):
    before = os.sched_getaffinity(victim.pid), os.getpriority(os.PRIO_PROCESS, victim.pid)
    for pid in (victim.pid, os.getpid(), 1):
        assert attempts(sandbox, {"pid": pid, "CALLS": CALLS}, PROCESSES) == ""
    assert victim.poll() is None
    assert (os.sched_getaffinity(victim.pid), os.getpriority(os.PRIO_PROCESS, victim.pid)) == before


def test_what_is_not_allowed_is_refused(sandbox):
    """Every call that there is, but for those of the list, as the kernel answers it."""
    code = f"for name, number in {NUMBERS!r}.items():\n    libc.syscall(number, 0, 0, 0, 0, 0, 0)\n"
    code += "    if ctypes.get_errno() != errno.EPERM: print(name, ctypes.get_errno())\n    ctypes.set_errno(0)"
    assert said(sandbox, TOOLS + code) == ""
    assert len(NUMBERS) > 150


def test_signals_to_oneself_and_threads_are_allowed(sandbox):
    lines = [
        "import os, signal, threading, concurrent.futures",
        "signal.signal(signal.SIGUSR1, lambda *a: print('got it'))",
        "os.kill(os.getpid(), signal.SIGUSR1)",
        "signal.pthread_kill(threading.get_ident(), signal.SIGUSR1)",
        "with concurrent.futures.ThreadPoolExecutor(8) as pool: print(sum(pool.map(int, '1234')))",
    ]
    assert said(sandbox, "\n".join(lines)) == "got it\ngot it\n10"


def test_copies_work_without_modes_and_times(sandbox):
    lines = ["import os, shutil, tempfile, pathlib", "os.mkdir('a'); pathlib.Path('a/x').touch()"]
    lines += ["shutil.copy('a/x', 'y'); shutil.copy2('y', 'z'); shutil.copytree('a', 'b'); shutil.move('z', 'b')"]
    lines += [
        "with tempfile.TemporaryDirectory() as t: open(t + '/f', 'w').write('x')",
        "print(sorted(os.listdir('b')))",
    ]
    assert said(sandbox, "\n".join(lines)) == "['x', 'z']"


def test_a_refusal_says_what_is_allowed(sandbox):
    raised = run(sandbox, "import subprocess\nsubprocess.run(['ls'])").raised
    assert raised.name == "PermissionError"
    assert "can't start other processes" in raised.message


# Python's own `mmap` keeps a descriptor open, which is counted anyway; the C library's doesn't.
FILLS = {
    "many files": "for i in range(10**6): open(f'{i}', 'w')",
    "many folders, deep": "while True:\n    os.mkdir('d'); os.chdir('d')",
    "large files": "for i in range(10**6): open(f'{i}', 'wb').write(bytes(8 << 20))",
    "removed files": "kept = []\nwhile True:\n    kept.append(open('x', 'wb')); kept[-1].write(bytes(8 << 20)); kept[-1].flush(); os.unlink('x')",
    "files in a closed folder": "os.umask(0o477); os.mkdir('d'); os.chdir('d')\nfor i in range(10**6): open(f'{i}', 'wb').write(bytes(8 << 20))",
    "mapped, closed and removed": "import ctypes, time\nfor i in range(20):\n    f = open('x', 'wb+'); os.posix_fallocate(f.fileno(), 0, 30 << 20)\n"
    "    ctypes.CDLL(None).mmap(None, 4096, 1, 1, f.fileno(), None); f.close(); os.unlink('x'); time.sleep(0.05)\ntime.sleep(600)",
    "in a folder that is gone": "import ctypes, time\nfor i in range(20):\n    os.mkdir('d'); f = open('d/x', 'wb+'); os.posix_fallocate(f.fileno(), 0, 30 << 20)\n"
    "    os.rename('d/x', 'd/y z (deleted)'); ctypes.CDLL(None).mmap(None, 4096, 1, 1, f.fileno(), None); f.close(); os.unlink('d/y z (deleted)'); os.rmdir('d'); time.sleep(0.05)\ntime.sleep(600)",
    "without a name": "kept = []\nwhile True:\n    kept.append(os.open('.', os.O_TMPFILE | os.O_RDWR)); os.posix_fallocate(kept[-1], 0, 30 << 20)",
    "after the first thread has ended": "import ctypes, threading, time\ndef fill():\n    time.sleep(0.5); kept = []\n"
    "    for i in range(20): kept.append(open('x', 'wb+')); os.posix_fallocate(kept[-1].fileno(), 0, 30 << 20); os.unlink('x')\n"
    "    time.sleep(600)\nthreading.Thread(target=fill).start(); ctypes.CDLL(None).syscall(EXIT, 0)",
    "mapped files": "import mmap\nkept = []\nfor i in range(10**6):\n    f = open(f'{i}', 'wb+'); f.truncate(30 << 20)\n"
    "    m = mmap.mmap(f.fileno(), 30 << 20); kept.append(m)\n    for at in range(0, 30 << 20, 4096): m[at] = 1",
}  # fmt: skip


@pytest.mark.parametrize("fill", FILLS.values(), ids=list(FILLS))
def test_a_disk_cannot_be_filled_and_nothing_stays(sandbox, fill):
    fill = fill.replace("EXIT", "60" if platform.machine() == "x86_64" else "93")
    guarded = "\n    ".join(["import os\ntry:", *fill.splitlines()]) + "\nexcept OSError as error: print(error)"
    outcome = run(sandbox, guarded, 60)
    assert outcome.status == "died" or outcome.output or outcome.raised, outcome  # and not by the time limit
    assert said(sandbox, "import os; print(os.listdir('.'))") == "[]"
    assert os.listdir(sandbox.folder) == []


def test_threads_without_end_end_the_process(sandbox):
    python = "import threading, time\nthreading.stack_size(32768)\nwhile True: threading.Thread(target=time.sleep, args=(60,)).start()"
    assert run(sandbox, python, 10).status == "died"


def test_too_much_memory_is_an_error(sandbox):
    assert run(sandbox, "x = bytearray(4 << 30)").raised.name == "MemoryError"


LEAVES = """
import os, sys, torch, random, builtins, shutil
os.makedirs("a/b/c"); open("a/b/c/note", "w").write("for bo"); os.mkdir("closed", 0); open(".hidden", "w").write("x")
for _ in range(900):
    os.mkdir("deeper"); os.chdir("deeper")
torch.set_default_dtype(torch.float64); torch.set_num_threads(3); torch.manual_seed(5); torch.Tensor.__add__ = None
torch.use_deterministic_algorithms(True); builtins.len = None; sys.path.append("mine"); os.environ["MINE"] = "1"
torch.set_grad_enabled(False); os.umask(0o777); torch.nn.functional.softmax = print
"""
LOOKS = """
import os, sys, torch
print(os.listdir("."), os.path.exists("/dev/shm/mine"), torch.get_default_dtype(), torch.get_num_threads(), len("abc"),
      (torch.ones(1) + 1).item(), "mine" in sys.path, "MINE" in os.environ, torch.is_grad_enabled(), os.umask(0o22),
      torch.are_deterministic_algorithms_enabled(), torch.nn.functional.softmax is print)
"""


def test_nothing_is_left_for_the_next_student_of_the_same_worker(sandbox):
    before = said(sandbox, LOOKS)
    assert before.startswith("[] False torch.float32 1 3 2.0 False False True")
    assert run(sandbox, LEAVES).status in ("ok", "died")  # closed folders end it, sooner or later
    began = time.monotonic()
    assert said(sandbox, LOOKS) == before
    assert time.monotonic() - began < 60


OUTLASTING = [
    "call(CALLS['shmget'], 1234, 4096, 0o1600)",
    "call(CALLS['semget'], 1234, 1, 0o1600)",
    "call(CALLS['msgget'], 1234, 0o1600)",
    "call(CALLS['mq_open'], b'mine', os.O_CREAT, 0o600, 0)",
    "call(CALLS['memfd_create'], b'mine', 0)",
    "call(CALLS['add_key'], b'user', b'mine', b'x', 1, -3)",
    "open('/dev/shm/mine', 'w')",
    "open('/tmp/mine', 'w')",
]


def test_nothing_can_be_made_that_outlasts_the_process(sandbox):
    assert attempts(sandbox, {"CALLS": CALLS}, OUTLASTING) == ""
    assert not Path("/tmp/mine").exists()
    assert not Path("/dev/shm/mine").exists()
