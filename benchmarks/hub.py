"""What a class on one hub takes: memory a student, seconds from submit to mark, and what happens when memory is out.

    python benchmarks/hub.py [--students 30] [--memory MB]

As root, after `make hub-wheel`. Each student is an account of the machine. Servers are started by JupyterHub's own
requests, without a browser, all at once; in each a kernel runs lesson 01's solutions. Then everybody fetches and
hands in lesson 00 by nbgrader's own commands, four at a time, and the hub's service grades. Memory is what
a student's processes share with nobody. With `--memory` the hub and all that it starts get no more than that, by a
control group (version 1), every kernel asks for more and more, and what is left is told; nobody hands in then.
"""

from __future__ import annotations

import argparse
import json
import os
import pwd
import secrets
import statistics
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from pathlib import Path

import nbformat
import websocket
from nbgrader.utils import notebook_hash

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.watch import _shown  # noqa: E402
from tools.hub import Hub, as_user, running_hub  # noqa: E402

PROGRAMS = ROOT / ".venv-hub" / "bin"
LESSON, WORK = "00_start_here", "01_self_attention"
PATIENCE = 900.0
# Who may start servers and use them: this benchmark.
SERVICE = """
c.JupyterHub.services.append({{"name": "bench", "api_token": {token!r}}})
c.JupyterHub.load_roles.append(
    {{"name": "bench", "scopes": ["admin:users", "admin:servers", "access:servers"], "services": ["bench"]}}
)
"""
GROUPS = Path("/sys/fs/cgroup/memory")
HOG = "import torch\nkept = []\nfor _ in range(40):\n    kept.append(torch.ones(25_000_000))"  # 100 MB at a time, 4 GB


class Asker:
    """Asks the hub and its servers over HTTP, by `token`, one of the hub's service, which opens all of them."""

    def __init__(self, hub: Hub, token: str) -> None:
        self.hub, self.token = hub, token

    def ask(self, method: str, path: str, body: object = None) -> tuple[int, object]:
        """The status and the answer of a request: JSON as plain data, None if it is empty, the first characters of an
        error's text."""
        data = None if body is None else json.dumps(body).encode()
        headers = {"Authorization": f"token {self.token}", "Content-Type": "application/json"}
        request = urllib.request.Request(f"{self.hub.url}{path}", data, headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=120) as answer:
                text = answer.read()
                return answer.status, json.loads(text) if text else None
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode(errors="replace")[:300]

    def start_server(self, name: str) -> float:
        """Start a student's server; the seconds until it answers."""
        start = time.monotonic()
        self.ask("POST", f"/hub/api/users/{name}")
        while time.monotonic() - start < PATIENCE:
            status, _ = self.ask("POST", f"/hub/api/users/{name}/server")
            if status not in (429, 503):  # the hub starts ten at a time
                break
            time.sleep(1)
        while time.monotonic() - start < PATIENCE:
            _, user = self.ask("GET", f"/hub/api/users/{name}")
            if isinstance(user, dict) and user["server"]:
                return time.monotonic() - start
            time.sleep(1)
        raise TimeoutError(f"{name}'s server did not start")

    def start_kernel(self, name: str) -> str:
        status, kernel = self.ask("POST", f"/user/{name}/api/kernels", {"name": "python3"})
        assert isinstance(kernel, dict), (status, kernel)
        return str(kernel["id"])

    def run(self, name: str, kernel: str, code: str, patience: float = PATIENCE) -> str:
        """Run code in a kernel; "ok", "error", or "dead" where no answer comes within `patience` seconds."""
        address = f"ws{self.hub.url.removeprefix('http')}/user/{name}/api/kernels/{kernel}/channels"
        header = {"msg_id": secrets.token_hex(8), "msg_type": "execute_request", "session": secrets.token_hex(8)}
        header |= {"username": name, "version": "5.3", "date": ""}
        content = {"code": code, "silent": False, "store_history": False, "allow_stdin": False}
        message = {"header": header, "parent_header": {}, "metadata": {}, "content": content, "channel": "shell"}
        try:
            socket = websocket.create_connection(
                address, header=[f"Authorization: token {self.token}"], timeout=patience
            )
            socket.send(json.dumps(message))
            while True:
                received = socket.recv()
                if isinstance(received, bytes):  # a view's numbers
                    continue
                answer = json.loads(received)
                if answer["parent_header"].get("msg_id") != header["msg_id"]:
                    if answer["content"].get("execution_state") in ("restarting", "dead"):
                        return "dead"
                elif answer["msg_type"] == "execute_reply":
                    return str(answer["content"]["status"])
        except (OSError, websocket.WebSocketException, ValueError):
            return "dead"


def own_memory(name: str) -> float:
    """The MB that an account's processes share with nobody."""
    uid, kilobytes = pwd.getpwnam(name).pw_uid, 0
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if process.stat().st_uid == uid:
                lines = (process / "smaps_rollup").read_text().splitlines()
                kilobytes += sum(int(line.split()[1]) for line in lines if line.startswith("Private"))
        except (FileNotFoundError, ProcessLookupError):
            continue
    return kilobytes / 1024


def solutions_of(lesson: str) -> str:
    """The code of a lesson, all of it, as one cell: what a kernel has in memory that has gone through it."""
    cells = nbformat.read(ROOT / "solutions" / f"{lesson}.ipynb", as_version=4).cells
    return "\n".join(cell.source for cell in cells if cell.cell_type == "code" and "%" not in cell.source)


def hand_in(hub: Hub, name: str) -> tuple[float, Path]:
    """Fetch, solve and submit for a student; when it was submitted, in seconds since the epoch, and where its feedback
    comes to lie."""
    home = hub.folder / "home" / name
    command = ["env", f"JUPYTER_CONFIG_PATH={hub.root / 'settings' / 'students'}", "nbgrader"]
    as_user(name, [*command, "fetch_assignment", LESSON], hub.folder, PROGRAMS, home)
    path = home / LESSON / f"{LESSON}.ipynb"
    path.write_text(path.read_text().replace("raise NotImplementedError()", "return 2 * x + 1"))
    as_user(name, [*command, "submit", LESSON], hub.folder, PROGRAMS, home)
    (secret,) = (home / ".local/share/jupyter/nbgrader_cache").rglob("submission_secret.txt")
    # The hand-in's own time: nbgrader's command ends seconds later, and may find it marked.
    when = datetime.strptime(secret.with_name("timestamp.txt").read_text().strip(), "%Y-%m-%d %H:%M:%S.%f %Z")
    submitted = when.replace(tzinfo=UTC).timestamp()
    page = f"{notebook_hash(secret=secret.read_text(), notebook_id=LESSON)}.html"
    return submitted, hub.root / "exchange" / "attention" / "feedback" / page


def wait_for(pages: list[tuple[float, Path]]) -> list[float]:
    """The seconds from each submission to its feedback, of those whose feedback came."""
    until = time.time() + PATIENCE
    while time.time() < until and not all(page.exists() for _, page in pages):
        time.sleep(0.5)
    return [page.stat().st_mtime - when for when, page in pages if page.exists()]


@contextmanager
def limited(megabytes: int) -> Iterator[tuple[Path | None, list[str]]]:
    """A control group with so much memory, and the words that start a command in it; None and no words for 0 MB,
    without a limit."""
    if not megabytes:
        yield None, []
        return
    group = GROUPS / f"hub-{os.getpid()}"
    group.mkdir()
    (group / "memory.limit_in_bytes").write_text(f"{megabytes}M")
    try:
        yield group, ["sh", "-c", f'echo $$ > {group}/cgroup.procs; exec "$@"', "sh"]
    finally:
        time.sleep(2)
        group.rmdir()


def until_memory_is_out(asker: Asker, kernels: dict[str, str], group: Path) -> None:
    """Have every kernel take more and more memory, and print what is left afterwards."""
    with ThreadPoolExecutor(len(kernels)) as pool:
        ends = list(pool.map(lambda name: asker.run(name, kernels[name], HOG, 120), kernels))
    killed = dict(line.split() for line in (group / "memory.oom_control").read_text().splitlines())["oom_kill"]
    time.sleep(10)
    answers = {name: asker.ask("GET", f"/user/{name}/api/status")[0] for name in kernels}
    print(f"memory out: {killed} processes killed; kernels: {ends.count('dead')} died, {ends.count('ok')} went on")
    print(
        f"  the hub answers {asker.ask('GET', '/hub/api/')[0]}; {list(answers.values()).count(200)} of {len(kernels)}",
        end="",
    )
    again = [
        asker.run(name, asker.start_kernel(name), "1 + 1", 120) for name, status in answers.items() if status == 200
    ]
    print(f" servers answer, and {again.count('ok')} of them run code in a new kernel")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--students", type=int, default=30)
    parser.add_argument("--memory", type=int, default=0, metavar="MB")
    options = parser.parse_args()
    students, token = [f"course-{number:03}" for number in range(options.students)], secrets.token_hex(16)
    with ExitStack() as stack:
        group, inside = stack.enter_context(limited(options.memory))
        hub = stack.enter_context(
            running_hub(PROGRAMS, (LESSON,), students=students, more=SERVICE.format(token=token), inside=inside)
        )
        asker = Asker(hub, token)
        with ThreadPoolExecutor(options.students) as pool:
            print(
                f"{len(students)} servers, all at once: {_shown(list(pool.map(asker.start_server, students)))}",
                flush=True,
            )
        _tell("a server", students)
        kernels = {name: asker.start_kernel(name) for name in students}
        if group:
            until_memory_is_out(asker, kernels, group)
            return
        code, start = solutions_of(WORK), time.monotonic()
        with ThreadPoolExecutor(options.students) as pool:
            ends = list(pool.map(lambda name: asker.run(name, kernels[name], code), students))
        print(
            f"all of lesson 01 in {len(ends)} kernels at once: {time.monotonic() - start:.0f} s, {set(ends)}",
            flush=True,
        )
        _tell("with a kernel that has run lesson 01", students)
        with ThreadPoolExecutor(4) as pool:
            pages = list(pool.map(lambda name: hand_in(hub, name), students))
        spread = max(when for when, _ in pages) - min(when for when, _ in pages)
        times = wait_for(pages)
        print(f"{len(pages)} hand-ins within {spread:.0f} s, {len(times)} marked, from submit: {_shown(times)}")


def _tell(what: str, students: list[str]) -> None:
    taken = [own_memory(name) for name in students]
    print(
        f"a student's own memory, {what}: median {statistics.median(taken):.0f} MB, at most {max(taken):.0f} MB",
        flush=True,
    )


if __name__ == "__main__":
    main()
