"""`grader course create --group`: two teachers, as two users of the machine, and one student, and what each of them can
read and write. The exchange of another system stays whole. It needs root, to become each of them."""

from __future__ import annotations

import os
import shlex
import shutil
import stat
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from grader.errors import CourseError
from grader.nbgrader_plugins.settings import configure
from grader.source.create import create
from tests.classroom import BIN, LESSON, SOLVED
from tools.another_user import ENVIRONMENT, as_nobody

TEACHERS, ANN, BO = "4242", "4001", "4002"
STUDENT = "4003"


def run(user: str, place: Path, line: str, group: str = TEACHERS, check: bool = True) -> str:
    """A shell's line as one of them, whose home is in `place`; what it said."""
    command = as_nobody(["sh", "-c", f"umask 022; cd {shlex.quote(str(place))}; {line}"], user, group)
    environment = {**ENVIRONMENT, "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}", "HOME": str(place / user)}
    prefix = [] if os.geteuid() == 0 else ["sudo", "-n"]
    words = [*prefix, "env", *(f"{name}={value}" for name, value in environment.items()), *command]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=400)
    said = done.stdout + done.stderr
    assert not check or done.returncode == 0, said
    return said


@pytest.fixture
def place() -> Iterator[Path]:
    """Homes, the instructor's notebook, an exchange. pytest's own folders are closed to others."""
    made = Path(tempfile.mkdtemp(prefix="sharing-"))
    made.chmod(0o777)
    (made / "solutions").mkdir()
    shutil.copy(SOLVED, made / "solutions")
    (made / "exchange").mkdir()
    (made / "exchange").chmod(0o1777)
    for user in (ANN, BO, STUDENT):
        (made / user).mkdir()
        os.chown(made / user, int(user), int(user))
    yield made
    shutil.rmtree(made)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes folders for two other users")
def test_two_teachers_of_a_group_share_course_and_exchange(place):
    line = f"--solutions solutions --exchange {place}/exchange --id attention"
    # The group has a number and no name here, so the command's own look-up is left out.
    create_it = (
        "import sys; from pathlib import Path; from grader.source import create; "
        f"create.group_number = lambda name: {TEACHERS}; "
        f"create.create(Path('course'), Path('solutions'), 'attention', '{place}/exchange', 'teachers')"
    )
    assert "no such group" in run(ANN, place, f"grader course create other {line} --group nobodys-group", check=False)
    run(ANN, place, f"python -c {shlex.quote(create_it)}")
    course = place / "course"
    run(ANN, place, f"cd course && nbgrader generate_assignment {LESSON} && nbgrader release_assignment {LESSON}")
    for path in (course, *course.rglob("*")):
        about = path.stat()
        assert about.st_gid == int(TEACHERS), path
        assert path.is_dir() or about.st_mode & 0o040, path
    assert stat.S_IMODE(course.stat().st_mode) == 0o2770
    assert stat.S_IMODE((course / "judge_secret").stat().st_mode) == 0o640
    assert stat.S_IMODE((course / "gradebook.db").stat().st_mode) == 0o660
    inbound = place / "exchange" / "attention" / "inbound"
    assert (stat.S_IMODE(inbound.stat().st_mode), inbound.stat().st_gid) == (0o2773, int(TEACHERS))
    # The second teacher collects what a student has handed in, and grades it.
    handed_in = f"{inbound}/user {STUDENT}+{LESSON}+2026-11-22 18:00:00 UTC+abc"
    quoted = shlex.quote(handed_in)
    run(STUDENT, place, f"mkdir {quoted} && cp solutions/{SOLVED.name} {quoted}", group="")
    assert "Permission denied" in run(STUDENT, place, "cat course/judge_secret", group="", check=False)
    assert "Permission denied" in run(STUDENT, place, f"ls {inbound}", group="", check=False)
    run(BO, place, f"cd course && nbgrader collect {LESSON}")
    run(BO, place, f"grader autograde course {LESSON} --add-students")
    run(BO, place, f"cd course && nbgrader generate_feedback {LESSON}")
    # And the first goes on where the second was.
    for path in (course, *course.rglob("*")):
        assert not path.is_dir() or path.stat().st_mode & 0o2070 == 0o2070, path
    run(ANN, place, f"cd course && nbgrader release_feedback {LESSON}")
    feedback = place / "exchange" / "attention" / "feedback"
    assert stat.S_IMODE(feedback.stat().st_mode) & 0o007 == 0o001


def test_a_course_of_ones_own_is_closed_to_others_and_so_is_its_gradebook(tmp_path):
    (tmp_path / "solutions").mkdir()
    shutil.copy(SOLVED, tmp_path / "solutions")
    create(tmp_path / "course", tmp_path / "solutions")
    assert stat.S_IMODE((tmp_path / "course").stat().st_mode) == 0o700
    book = tmp_path / "course" / "gradebook.db"
    configured(tmp_path / "course")
    assert stat.S_IMODE(book.stat().st_mode) == 0o600
    book.chmod(0o644)  # as nbgrader has made it before
    configured(tmp_path / "course")
    assert stat.S_IMODE(book.stat().st_mode) == 0o640


def test_a_group_that_is_not_there_is_told(tmp_path):
    with pytest.raises(CourseError, match=r"no such group.*groupadd nobodys-group"):
        create(tmp_path / "course", SOLVED.parent, group="nobodys-group")
    assert not (tmp_path / "course").exists()


def configured(root: Path):
    from traitlets.config import Config

    config = Config()
    configure(config, str(root), "attention")
    return config


NGSHARE = "c.ExchangeFactory.{0} = 'ngshare_exchange.{0}.Exchange'\n"


@pytest.mark.parametrize(
    ("line", "ours"),
    [
        ("", True),
        ("c.Exchange.root = '/srv/exchange'\n", True),
        (NGSHARE.format("collect") + NGSHARE.format("submit"), False),
        ("from grader.nbgrader_plugins.settings import configure\nconfigure(c, '/nowhere', 'attention')\n", True),
        ("raise ValueError\n", True),
    ],
)
def test_an_exchange_of_another_system_is_left_whole(tmp_path, monkeypatch, line, ours):
    (tmp_path / "nbgrader_config.py").write_text("c = get_config()\n" + line)
    monkeypatch.setenv("JUPYTER_CONFIG_PATH", str(tmp_path))
    (tmp_path / "course").mkdir()
    plugged = configured(tmp_path / "course").ExchangeFactory
    assert sorted(plugged) == (["collect", "release_assignment", "release_feedback"] if ours else [])
