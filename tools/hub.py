"""A JupyterHub on this machine, to try the course on: `make hub`. One teacher, two students, a course and its exchange,
all in a temporary folder, which goes away at the end.

Root gives each of them an account of the machine; for anybody else they are folders, and all processes are theirs.
"""

from __future__ import annotations

import argparse
import grp
import os
import pwd
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
RECIPE = ROOT / "deploy" / "jupyterhub_config.py"
TEACHER, STUDENTS, GROUP = "course-teacher", ("course-ann", "course-bo"), "course-teachers"
PEOPLE = (TEACHER, *STUDENTS)
LESSONS = ("00_start_here", "01_self_attention")
TRY = """c = get_config()
load_subconfig({recipe!r})
c.JupyterHub.bind_url = "http://127.0.0.1:{port}"
c.JupyterHub.hub_port = {hub_port}
c.ConfigurableHTTPProxy.api_url = "http://127.0.0.1:{api_port}"
c.ConfigurableHTTPProxy.command = [{proxy!r}]
c.JupyterHub.authenticator_class = "dummy"
c.DummyAuthenticator.password = {password!r}
c.Authenticator.allowed_users = set({people!r})
c.Spawner.args = ["--LabApp.expose_app_in_browser=True"]  # for a browser that is driven by a test
c.JupyterHub.load_groups = {{{group!r}: {{"users": [{teacher!r}]}}}}
"""
# The hub's own service, as docs/jupyterhub.md has it: marks as students hand in.
WATCH = """c.JupyterHub.services.append(
    {{
        "name": "marks",
        "command": [{grader!r}, "watch", {course!r}, "--add-students"],
        "cwd": {course!r},
        "environment": {{"OMP_NUM_THREADS": "1"}},
        {user}
    }}
)
"""
# All of them are one account of the machine, and each has a folder for a home.
FOLDERS = """c.JupyterHub.spawner_class = "simple"
c.SimpleLocalProcessSpawner.home_dir_template = {homes!r} + "/{{username}}"
"""
# nbgrader goes by the account's name, which is the same for all of them.
NAMED = """c = get_config()
c.CourseDirectory.student_id = {name!r}
"""


class HubError(Exception):
    """The hub can't be tried here; the message says why, and what to do."""


@dataclass(frozen=True)
class Hub:
    """A running hub: its address, everybody's password, the folder of the course, and the one around all of it."""

    url: str
    password: str
    root: Path
    folder: Path


def as_user(name: str, words: Sequence[str], folder: Path, programs: Path, cwd: Path) -> str:
    """Run a command as one of the people, `name`; what it printed, or `HubError` if it failed. `folder` holds their
    homes, `programs` what is first on their PATH, `cwd` is where it runs."""
    home = folder / "home" / name
    environment = {
        "HOME": str(home),
        "USER": name,
        "PATH": f"{programs}{os.pathsep}{os.defpath}",
        "OMP_NUM_THREADS": "1",
    }
    become = ["setpriv", f"--reuid={name}", f"--regid={name}", "--init-groups"] if os.geteuid() == 0 else []
    done = subprocess.run(
        [*become, *words], env=environment, cwd=cwd, stdin=subprocess.DEVNULL, capture_output=True, text=True
    )
    if done.returncode:
        raise HubError(f"{' '.join(words)}, as {name}:\n{done.stdout}{done.stderr}")
    return done.stdout


@contextmanager
def accounts(folder: Path, people: Sequence[str] = PEOPLE) -> Iterator[None]:
    """Inside the block there are the people and the teachers' group, with homes in `folder`. As root they are made as
    accounts, and removed at the end."""
    homes = folder / "home"
    homes.mkdir()
    with ExitStack() as stack:
        if os.geteuid() == 0:
            _refuse_known(people)
            _run("groupadd", GROUP)
            stack.callback(_run, "groupdel", GROUP)
        for name in people:
            (homes / name).mkdir(mode=0o700)
            if os.geteuid() != 0 and name != TEACHER:
                (homes / name / ".jupyter").mkdir()
                (homes / name / ".jupyter" / "nbgrader_config.py").write_text(NAMED.format(name=name))
            elif os.geteuid() == 0:
                more = ["--groups", GROUP] if name == TEACHER else []
                words = ["--home-dir", str(homes / name), "--no-create-home", "--shell", "/bin/sh", "--user-group"]
                _run("useradd", *words, *more, name)
                stack.callback(_run, "userdel", name)
                shutil.chown(homes / name, name, name)
        yield


def _refuse_known(people: Sequence[str]) -> None:
    known = [user.pw_name for user in pwd.getpwall() if user.pw_name in people]
    if known or GROUP in [group.gr_name for group in grp.getgrall()]:
        raise HubError(
            f"This machine has {', '.join([*known, GROUP])} already, perhaps from a run that was killed. If nobody "
            f"needs them: {'; '.join([*(f'userdel {name}' for name in known), f'groupdel {GROUP}'])}"
        )


def _run(*words: str) -> None:
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode:
        raise HubError(f"{' '.join(words)}: {done.stdout}{done.stderr}")


def make_course(folder: Path, programs: Path, lessons: Sequence[str], students: Sequence[str] = STUDENTS) -> Path:
    """Have the teacher make the course and its exchange, enter the students with names, and release these lessons.
    Returns the folder around both."""
    root, as_root = folder / "attention", os.geteuid() == 0
    for place, owner, mode in (
        (root, "root", 0o755),
        (root / "exchange", "root", 0o1777),
        (root / "course", TEACHER, 0o700),
    ):
        place.mkdir()
        if as_root:
            shutil.chown(place, owner)
        place.chmod(mode)
    solutions = folder / "home" / TEACHER / "solutions"
    shutil.copytree(ROOT / "solutions", solutions)
    if as_root:
        _run("chown", "-R", TEACHER, str(solutions))
    create = ["grader", "course", "create", str(root / "course"), "--id", "attention", "--solutions", str(solutions)]
    create += ["--exchange", str(root / "exchange"), *(["--group", GROUP] if as_root else [])]
    as_user(TEACHER, create, folder, programs, root)
    people = root / "students.csv"
    named = (f"{name},{name.removeprefix('course-').title()},Student\n" for name in students)
    people.write_text(f"id,first_name,last_name\n{''.join(named)}", "utf-8")
    as_user(TEACHER, ["grader", "roster", str(root / "course"), str(people)], folder, programs, root)
    for lesson in lessons:
        for step in ("generate_assignment", "release_assignment"):
            as_user(TEACHER, ["nbgrader", step, lesson], folder, programs, root / "course")
    return root


@contextmanager
def running_hub(
    programs: Path,
    lessons: Sequence[str] = LESSONS,
    port: int = 0,
    watched: bool = True,
    students: Sequence[str] = STUDENTS,
    more: str = "",
    inside: Sequence[str] = (),
) -> Iterator[Hub]:
    """A hub with the programs of an environment that has the student's wheel, what teachers need, and JupyterHub. If
    `watched`, the hub grades what is handed in. `port` 0 is any that is free. `more` is added to its settings; `inside`
    are the words of a command that starts it, such as one that limits its memory."""
    proxy = _proxy()
    _reachable(programs)
    password = secrets.token_hex(4)
    with ExitStack() as stack:
        folder = Path(tempfile.mkdtemp(prefix="course-hub-"))
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        folder.chmod(0o755)
        people = (TEACHER, *students)
        stack.enter_context(accounts(folder, people))
        root = make_course(folder, programs, lessons, students)
        port, hub_port, api_port = (given or _free_port() for given in (port, 0, 0))
        (folder / "hub").mkdir(mode=0o700)
        names = {"people": people, "group": GROUP, "teacher": TEACHER, "homes": str(folder / "home")}
        names |= {"grader": str(programs / "grader"), "course": str(root / "course")}
        names["user"] = f'"user": {TEACHER!r},' if os.geteuid() == 0 else ""  # only root's hub can
        text = TRY + (WATCH if watched else "") + ("" if os.geteuid() == 0 else FOLDERS)
        ports = {"port": port, "hub_port": hub_port, "api_port": api_port}
        config = folder / "hub" / "jupyterhub_config.py"
        config.write_text(text.format(recipe=str(RECIPE), proxy=proxy, password=password, **names, **ports) + more)
        environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
        environment |= {"COURSE_ROOT": str(root), "COURSE_TEACHERS": GROUP}
        environment["PATH"] = f"{programs}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
        with (folder / "hub" / "hub.log").open("wb") as log:
            server = subprocess.Popen(
                [*inside, str(programs / "jupyterhub"), "-f", str(config)],
                cwd=folder / "hub", env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                start_new_session=True,  # Ctrl+C is for this process, which ends the hub
            )  # fmt: skip
        stack.callback(_stop, server)
        hub = Hub(f"http://127.0.0.1:{port}", password, root, folder)
        _wait_for(hub, server)
        yield hub


def _proxy() -> str:
    local = ROOT / "node_modules" / ".bin" / "configurable-http-proxy"
    found = str(local) if local.exists() else shutil.which("configurable-http-proxy")
    if found is None:
        raise HubError("JupyterHub's proxy isn't installed: npm install")
    return found


def _reachable(programs: Path) -> None:
    """Raise `HubError` without JupyterHub, or if other users, as whom root's servers run, can't start its Python."""
    python = programs / "python"
    if not (programs / "jupyterhub").exists():
        raise HubError(f"{programs} has no jupyterhub: `make hub` installs it into .venv-hub")
    if os.geteuid() == 0:
        nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", str(python), "-c", "import grader"]
        done = subprocess.run(nobody, cwd="/", env={"PATH": os.defpath}, capture_output=True, text=True)
        if done.returncode:
            raise HubError(
                f"Other users can't run {python}, which is {python.resolve()}: {done.stderr.strip()}\nMake the hub's "
                "environment with a Python that everybody can run: rm -rf .venv-hub; make hub HUB_PYTHON=..."
            )


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _wait_for(hub: Hub, server: subprocess.Popen[bytes], seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end and server.poll() is None:
        try:
            urllib.request.urlopen(f"{hub.url}/hub/health", timeout=2)
            return
        except OSError:
            time.sleep(0.2)
    raise HubError(f"JupyterHub did not start:\n{(hub.folder / 'hub' / 'hub.log').read_text()[-3000:]}")


def _stop(server: subprocess.Popen[bytes]) -> None:
    """End the hub, which ends its proxy and everybody's server."""
    server.terminate()
    try:
        server.wait(60)
    except subprocess.TimeoutExpired:
        server.kill()
        server.wait()


def main(words: Sequence[str] | None = None) -> int:
    """Run a hub until Ctrl+C. Returns the exit code."""
    arguments = argparse.ArgumentParser(prog="make hub", description=__doc__)
    arguments.add_argument("programs", type=Path, help="the folder of programs of the hub's environment")
    arguments.add_argument("--port", type=int, default=8000)
    chosen = arguments.parse_args(words)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    print("The course is made from the installed wheel, and two lessons are released ...", flush=True)
    try:
        with running_hub(chosen.programs.absolute(), port=chosen.port) as hub:
            print(f"{hub.url}   password: {hub.password}   teacher: {TEACHER}   students: {', '.join(STUDENTS)}")
            print(f"The course is in {hub.root}. Ctrl+C ends the hub and removes all of it.", flush=True)
            signal.pause()
    except HubError as error:
        print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        pass
    return 0


if __name__ == "__main__":
    sys.exit(main())
