"""JupyterHub for this course on one machine, The Littlest JupyterHub included: docs/jupyterhub.md says how to use it.

Everything is below one folder, COURSE_ROOT: `course/` (the teachers'), `exchange/` (open to all), `settings/` (written
here, at every start of the hub). Who is in the group COURSE_TEACHERS, of the machine or of JupyterHub, gets Formgrader
and Create Assignment. Everybody else is a student. Each JupyterLab opens with a page, TEACHERS_STEPS or FIRST_STEPS.
"""

import grp
import json
import os
import pwd
import sys
from pathlib import Path

c = get_config()  # noqa: F821

ROOT = Path(os.environ.get("COURSE_ROOT", "/srv/attention"))
TEACHERS = os.environ.get("COURSE_TEACHERS", "teachers")
COURSE_ID = os.environ.get("COURSE_ID", "attention")
HOUR = 3600

# For teachers only: the server's part of nbgrader's extension, and the browser's.
SERVER_PARTS = ("nbgrader.server_extensions.formgrader", "nbgrader.server_extensions.course_list")
BROWSER_PARTS = tuple(f"@jupyter/nbgrader:{part}" for part in ("formgrader", "create-assignment", "course-list"))
# JupyterHub forbids that a server's pages are framed, and nbgrader shows Formgrader in a frame. A menu of the same name
# opens it in a tab of its own: nbgrader's documentation has it in "Formgrader with JupyterHub >= 4.1".
FRAMED = tuple(f"@jupyter/nbgrader:{part}" for part in ("menu", "formgrader", "course-list"))
TAB = {"text": "Formgrader", "url": "/hub/user-redirect/formgrader", "newBrowserTab": True}
MENU = {
    "id": "jp-mainmenu-nbgrader",
    "label": "Nbgrader",
    "items": [
        {"command": "nbgrader:open-assignment-list"},
        {"command": "help:open", "args": TAB},
        {"command": "nbgrader:open-create-assignment"},
    ],
}
FOR_ALL = {
    "@jupyterlab/apputils-extension:notification": {"fetchNews": "false"},  # nobody is asked about it
    "@jupyter-widgets/jupyterlab-manager:plugin": {"saveState": True},  # views are alive on the next day
}
FIRST_STEPS = """# First steps

1. **Get a lesson.** In the menu at the top, choose *Nbgrader*, then *Assignment List*. Press *Fetch* beside the lesson.
2. **Work on it.** The lesson's folder is now in the list of files on the left. Open the notebook in it, and begin at
   the top. `check(...)` tells you how each exercise is going; it can be run as often as you like.
3. **Hand it in.** Save the notebook, go back to the *Assignment List*, and press *Submit*. You can submit again later.
4. **Read your mark.** In the *Assignment List*, press *Fetch Feedback*, then *(view feedback)*. A folder opens in the
   list of files. Double-click the page in it: your mark stands at its top.

If something doesn't work, run `!grader doctor` in a cell of a notebook. It says what is wrong, and what to do about it.
"""
TEACHERS_STEPS = """# First steps for teachers

The course is the folder `course` in the list of files on the left. Commands are typed in a terminal (*File*, *New*,
*Terminal*), after `cd course`.

1. **Say who is in the class.** `grader roster . LIST.csv` reads the list that your platform exports. Formgrader shows
   the names in it; whoever hands in without being on a list has none there ("None, None").
2. **Give out a lesson.** In the menu at the top, choose *Nbgrader*, then *Formgrader*; it opens in a tab of its own.
   Press *Generate*, then *Release*, beside the lesson. `grader course due . 01 "2026-11-22 23:00"` sets its due date.
3. **Take in and mark.** Press *Collect* in Formgrader, and type `grader autograde . 01_self_attention`. Or let
   `grader watch .` collect, mark and give feedback by itself, while students hand in.
4. **Give feedback.** Press *Generate Feedback*, then *Release Feedback*. Students fetch it in their Assignment List.
5. **See what was hard.** `grader insights . 01_self_attention` lists the mistakes of the class.

The page *A term, from the first day to the last* of the course's documents (`docs/teaching.md`) has all of this, with
what each command prints.
"""
TEACHERS_MENU = {"@jupyterlab/mainmenu-extension:plugin": {"menus": [MENU]}}
AS_A_PAGE = {"@jupyterlab/docmanager-extension:plugin": {"defaultViewers": {"markdown": "Markdown Preview"}}}
# Part of a student's server's settings, which is run as the student: the file is there again at every start.
WRITE_FIRST_STEPS = """from contextlib import suppress
from pathlib import Path

with suppress(OSError):  # a home without room left
    Path.home().joinpath("First steps.md").write_text({text!r}, "utf-8")
"""


def write_settings() -> None:
    """A folder of settings for students and one for teachers, which JUPYTER_CONFIG_PATH names."""
    for role in ("students", "teachers"):
        is_teacher, folder = role == "teachers", ROOT / "settings" / role
        (folder / "labconfig").mkdir(parents=True, exist_ok=True)
        off = {} if is_teacher else dict.fromkeys(SERVER_PARTS, False)
        server = {
            "ServerApp": {"jpserver_extensions": off},
            # A kernel that has torch loaded takes as much memory as two servers.
            "MappingKernelManager": {"cull_idle_timeout": HOUR, "cull_interval": 300, "cull_connected": True},
        }
        hidden = {"disabledExtensions": dict.fromkeys(FRAMED if is_teacher else BROWSER_PARTS, True)}
        lab = {**FOR_ALL, **AS_A_PAGE, **(TEACHERS_MENU if is_teacher else {})}
        nbgrader = f"c.Exchange.root = {str(ROOT / 'exchange')!r}\nc.CourseDirectory.course_id = {COURSE_ID!r}\n"
        if is_teacher:
            nbgrader += f"c.CourseDirectory.root = {str(ROOT / 'course')!r}\n"
        (folder / "jupyter_server_config.json").write_text(json.dumps(server, indent=1))
        (folder / "labconfig" / "page_config.json").write_text(json.dumps(hidden, indent=1))
        (folder / "labconfig" / "default_setting_overrides.json").write_text(json.dumps(lab, indent=1))
        (folder / "nbgrader_config.py").write_text(f"c = get_config()\n{nbgrader}")
        if is_teacher:
            (folder / "First steps.md").write_text(TEACHERS_STEPS, "utf-8")
        else:
            (folder / "jupyter_server_config.py").write_text(WRITE_FIRST_STEPS.format(text=FIRST_STEPS))


def is_teacher(spawner: object) -> bool:
    """Whether somebody is in the group of the teachers: JupyterHub's own, or the machine's."""
    if any(group.name == TEACHERS for group in spawner.user.groups):
        return True
    for name in (spawner.user.name, f"jupyter-{spawner.user.name}"):  # as The Littlest JupyterHub names accounts
        try:
            if grp.getgrnam(TEACHERS).gr_gid in os.getgrouplist(name, pwd.getpwnam(name).pw_gid):
                return True
        except KeyError:
            continue
    return False


class NotReady(Exception):
    """Why a server isn't started. JupyterHub shows who wanted it this sentence, and the button to try again."""

    def __init__(self, sentence: str) -> None:
        super().__init__(sentence)
        self.jupyterhub_message = sentence


def give_role(spawner: object) -> None:
    """Before a server starts: the settings of a teacher or of a student."""
    role = "teachers" if is_teacher(spawner) else "students"
    settings = ROOT / "settings" / role
    for folder in (settings, ROOT / "exchange"):
        if not folder.is_dir():
            raise NotReady(f"The course isn't ready: {folder} isn't there. Tell whoever looks after this hub.")
    spawner.environment = {**spawner.environment, "JUPYTER_CONFIG_PATH": str(settings)}
    if role == "teachers":  # Formgrader wants the course below the folder that the server shows
        spawner.notebook_dir = str(ROOT)
        spawner.default_url = "/lab/tree/settings/teachers/First%20steps.md"
    else:
        spawner.default_url = "/lab/tree/First%20steps.md"


write_settings()
c.Spawner.pre_spawn_hook = give_role
c.Spawner.default_url = "/lab"
# More threads make a small model slower, and a class on one machine far slower.
c.Spawner.environment = {"OMP_NUM_THREADS": "1"}
# Kept by spawners that can: systemd's, Docker's, Kubernetes'. A process of its own (the default) has no limit.
c.Spawner.mem_limit = "2G"
c.Spawner.cpu_limit = 1.0
# A class arrives at once, and servers that start together start slowly.
c.JupyterHub.concurrent_spawn_limit = 10
c.Spawner.start_timeout = c.Spawner.http_timeout = 180

if Path("/opt/tljh") not in Path(sys.prefix).parents:  # which has a culler of its own
    c.JupyterHub.load_roles = [
        {
            "name": "culler",
            "scopes": ["list:users", "read:users:activity", "read:servers", "delete:servers"],
            "services": ["culler"],
        }
    ]
    c.JupyterHub.services = [
        {"name": "culler", "command": [sys.executable, "-m", "jupyterhub_idle_culler", f"--timeout={2 * HOUR}"]}
    ]
