"""Several machines on this one: each has a network, an address, a user, a home and a /tmp of its own.

A machine is a network namespace. A cable leads from it to a switch, a bridge in one more namespace, so that the network
of this machine is left alone. It needs root, or sudo without a password, and iproute2 and openssl.

    with Cluster(workers=2) as cluster:
        grading = cluster.autograde(course)
        cluster.workers[0].cut()

The certificates, Dask's settings and its commands are those of docs/operations.md, word for word but for the folder and
the number of workers on a machine.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tools.another_user import ENVIRONMENT, as_nobody

ROOT = Path(__file__).parents[1]
BIN = Path(sys.executable).parent
SUDO = [] if os.geteuid() == 0 else ["sudo", "-n"]
FIRST, FIRST_USER = 5, 5001  # the scheduler of the page is 10.0.0.5
ADDRESS, HOME = "10.0.0.{}", "/home/grading"
JOINED = "Starting worker compute stream"
START_SECONDS = 300  # a busy machine takes its time to import Dask


def as_root(*words: str | Path) -> str:
    """What a command prints, run as root."""
    return subprocess.run([*SUDO, *words], check=True, capture_output=True, text=True).stdout


def documented() -> tuple[list[str], str, list[str]]:
    """What docs/operations.md has for a cluster: the lines that make certificates, Dask's settings, Dask's commands."""
    page = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")
    settings = re.search(r"```yaml\n(distributed:.*?)```", page, re.DOTALL)
    assert settings is not None
    openssl, dask = (re.findall(rf"^{name} .*$", page, re.MULTILINE) for name in ("openssl", "dask"))
    return openssl, settings[1], dask


@dataclass
class Machine:
    """One machine of a network."""

    name: str  # of its namespace
    switch: str  # the namespace of the switch
    port: str  # the end of its cable at the switch
    address: str
    user: str  # the number of its user
    folder: Path  # what is its own: `home` and `tmp`

    @property
    def home(self) -> Path:
        return self.folder / "home"

    def start(self, command: str, **options: Any) -> subprocess.Popen[str]:
        """A command on this machine, as its user and in their home; `options` are those of Popen."""
        become = shlex.join(as_nobody(["sh", "-c", f"exec {command}"], self.user))
        own = f"set -e; mount --bind {self.folder}/tmp /tmp; cd {self.home}; exec {become}"
        variables = {**ENVIRONMENT, "HOME": str(self.home), "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}"}
        variables |= {"OMP_NUM_THREADS": "1", "DASK_TEMPORARY_DIRECTORY": str(self.home / "dask")}
        line = ["ip", "netns", "exec", self.name, "env", *(f"{name}={value}" for name, value in variables.items())]
        return subprocess.Popen(
            [*SUDO, *line, "unshare", "--mount", "sh", "-c", own], text=True, stdin=subprocess.DEVNULL, **options
        )

    def cut(self) -> None:
        """Pull the cable: no process ends, and nobody is told."""
        as_root("ip", "-n", self.switch, "link", "set", self.port, "down")

    def join(self) -> None:
        """Put the cable back."""
        as_root("ip", "-n", self.switch, "link", "set", self.port, "up")

    def traffic(self) -> tuple[int, int]:
        """The bytes that this machine has sent and received, all headers included."""
        folder = f"/sys/class/net/{self.port}/statistics"
        counted = as_root("ip", "netns", "exec", self.switch, "cat", f"{folder}/rx_bytes", f"{folder}/tx_bytes")
        sent, received = counted.split()
        return int(sent), int(received)

    def processor_seconds(self) -> float:
        """The seconds that processors have worked for what runs here now, and for what it has waited for."""
        times = [Path("/proc", pid, "stat").read_text().rpartition(")")[2].split()[11:15] for pid in self.processes()]
        return sum(int(ticks) for row in times for ticks in row) / os.sysconf("SC_CLK_TCK")

    def processes(self) -> list[str]:
        """The numbers of all processes on this machine."""
        return as_root("ip", "netns", "pids", self.name).split()


class Cluster:
    """A scheduler, so many machines with a worker each, and the teacher's machine; a context manager, at whose end all
    of it is gone. The teacher's user is whoever runs this, so that the course can be looked at."""

    def __init__(self, workers: int) -> None:
        self._prefix = f"m{os.getpid()}"
        self._switch = f"{self._prefix}-switch"
        self._number = workers
        self.machines: list[Machine] = []
        self.workers: list[Machine] = []

    def __enter__(self) -> Self:
        # Not in /tmp, which every machine has for itself.
        self.folder = Path(tempfile.mkdtemp(prefix="machines-", dir="/var/tmp"))
        self.folder.chmod(0o755)
        try:
            self._start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_error: type[BaseException] | BaseException | TracebackType | None) -> None:
        for machine in self.machines:
            if left := machine.processes():
                as_root("kill", "-KILL", *left)
            as_root("ip", "netns", "del", machine.name)
        as_root("ip", "netns", "del", self._switch)
        as_root("rm", "-r", self.folder)

    def _start(self) -> None:
        as_root("ip", "netns", "add", self._switch)
        as_root("ip", "-n", self._switch, "link", "add", "bridge", "type", "bridge")
        as_root("ip", "-n", self._switch, "link", "set", "bridge", "up")
        openssl, self._settings, (scheduler, self._worker) = documented()
        (self.folder / "tls").mkdir()
        for line in openssl:
            subprocess.run(shlex.split(line), cwd=self.folder / "tls", check=True, capture_output=True)
        self.scheduler = self._machine("scheduler")
        self.teacher = self._machine("teacher", user=str(os.getuid()))
        self.workers = [self._machine(f"worker{i}") for i in range(self._number)]
        self.log = self.folder / "log.txt"
        with self.log.open("w") as log:
            self.scheduler.start(scheduler, stdout=log, stderr=log)
        self.start_workers()

    def start_workers(self) -> None:
        """Start a worker on every machine that is to have one, and wait until all of them are there."""
        line, before = re.sub(r"--nworkers \d+", "--nworkers 1", self._worker), self.said(JOINED)
        with self.log.open("a") as log:
            for machine in self.workers:
                machine.start(line, stdout=log, stderr=log)
        wait_until(lambda: self.said(JOINED) - before >= self._number, START_SECONDS, self.log)

    def said(self, words: str) -> int:
        """How often the scheduler or a worker has said something."""
        return self.log.read_text().count(words)

    def _machine(self, name: str, user: str = "") -> Machine:
        """One more machine, with its cable in."""
        number = len(self.machines)
        namespace, port = f"{self._prefix}-{name}", f"port{number}"
        address = ADDRESS.format(FIRST + number)
        made = Machine(namespace, self._switch, port, address, user or str(FIRST_USER + number), self.folder / name)
        as_root("ip", "netns", "add", namespace)
        self.machines.append(made)
        as_root(
            "ip", "-n", self._switch, "link", "add", port, "type", "veth", "peer", "name", "eth0", "netns", namespace
        )
        as_root("ip", "-n", self._switch, "link", "set", port, "master", "bridge", "up")
        as_root("ip", "-n", namespace, "addr", "add", f"{address}/24", "dev", "eth0")
        for device in ("lo", "eth0"):
            as_root("ip", "-n", namespace, "link", "set", device, "up")
        self._furnish(made)
        return made

    def _furnish(self, machine: Machine) -> None:
        """Its folders, which nobody else can look into, with the certificate and Dask's settings."""
        settings, tls = machine.home / ".config" / "dask", machine.home / "tls"
        for folder in (settings, tls, machine.home / "dask", machine.folder / "tmp"):
            folder.mkdir(parents=True)
        (settings / "distributed.yaml").write_text(self._settings.replace(HOME, str(machine.home)))
        for name in ("ca.pem", "machine.pem", "machine.key"):
            (tls / name).write_bytes((self.folder / "tls" / name).read_bytes())
        as_root("chmod", "-R", "go=", machine.folder)
        as_root("chown", "-R", f"{machine.user}:{machine.user}", machine.folder)

    def autograde(self, course: Path, lesson: str, *words: str, **options: Any) -> subprocess.Popen[str]:
        """Start `grader autograde` on the teacher's machine. `course` is a folder there, in the teacher's home."""
        command = ("grader", "autograde", str(course), lesson, "--scheduler", f"tls://{self.scheduler.address}:8786")
        return self.teacher.start(shlex.join((*command, *words)), **options)


def wait_until(happened: Callable[[], bool], seconds: float, what: object) -> float:
    """How long it took; `TimeoutError` with `what` if it took longer than these seconds."""
    start = time.monotonic()
    while not happened():
        if time.monotonic() - start > seconds:
            raise TimeoutError(f"not within {seconds:g} s: {what}")
        time.sleep(0.02)
    return time.monotonic() - start
