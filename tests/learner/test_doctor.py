"""`grader doctor`: what is so, and what to do if it should not be."""

from __future__ import annotations

import re
import shutil
import sys
from importlib import metadata

import pytest
from click.testing import CliRunner

from grader.cli.main import main
from grader.learner import doctor as module
from grader.learner import memory_limit, packages
from grader.learner.doctor import Diagnosis, Observation, doctor


@pytest.fixture(autouse=True)
def kept(tmp_path, monkeypatch):
    path = tmp_path / "progress.json"
    monkeypatch.setenv("GRADER_PROGRESS", str(path))
    return path


def titled(title: str) -> list[Observation]:
    return [finding for finding in doctor().findings if finding.title == title]


def test_this_environment_is_ready():
    done = CliRunner().invoke(main, ["doctor"])
    assert (done.exit_code, done.output.splitlines()[0]) == (0, "Everything is ready.")


def pretend(monkeypatch, package: str, installed: str | None) -> None:
    """Another version of a package, or none."""
    right = metadata.version

    def version(name: str) -> str:
        if name != package:
            return right(name)
        if installed is None:
            raise metadata.PackageNotFoundError(name)
        return installed

    monkeypatch.setattr(packages.metadata, "version", version)


def test_a_missing_package_fails_and_says_what_to_do(monkeypatch):
    pretend(monkeypatch, "safetensors", None)
    done = CliRunner().invoke(main, ["doctor"])
    assert done.exit_code == 1
    assert "Things to fix: 1" in done.output
    assert "fix   Packages: safetensors is missing" in done.output
    assert "Install the course again" in done.output


def test_a_version_outside_the_declared_range_fails(monkeypatch):
    pretend(monkeypatch, "matplotlib", "1.0")
    (finding,) = titled("Packages")
    assert finding.standing == "fix"
    assert re.fullmatch(r"matplotlib is 1\.0, expected >=[\d.]+", finding.detail)


@pytest.mark.parametrize("version", ["2030.1", "2030.1rc1", "2030.1+cpu"])
def test_any_version_inside_the_range_is_fine(monkeypatch, version):
    pretend(monkeypatch, "torch", version)
    assert [finding.standing for finding in titled("Packages")] == ["ok"]


def test_extras_are_not_asked_for():
    assert not {"dask", "nh3", "pytest"} & {one.name for one in packages.requirements()}


def test_an_old_python_is_told(monkeypatch):
    monkeypatch.setattr(module, "OLDEST", (sys.version_info[0] + 1, 0))
    assert "or newer" in titled("Python")[0].advice


def test_without_jupyterlab_nothing_has_to_be_fixed(monkeypatch):
    monkeypatch.setitem(sys.modules, "jupyterlab", None)
    (finding,) = titled("JupyterLab")
    assert (finding.standing, finding.detail) == ("note", "is not installed")


def test_a_missing_extension_is_told(monkeypatch):
    monkeypatch.setitem(sys.modules, "jupyterlab", sys)  # also where it isn't installed
    monkeypatch.setattr(module, "EXTENSIONS", {"no-such-extension": "nothing"})
    assert [(f.standing, f.detail) for f in titled("JupyterLab")] == [
        ("fix", "no-such-extension is missing (needed for nothing)")
    ]


def test_a_check_that_does_not_work_is_told(monkeypatch):
    monkeypatch.setattr("grader.exercises.registry.exercises", dict)
    (finding,) = titled("check")
    assert (finding.standing, finding.detail) == ("fix", "KeyError: 'first_steps'")


@pytest.mark.parametrize(
    ("content", "word", "detail"),
    [(None, "ok", "will be kept in"), ('{"exercises": {}}', "ok", "is kept in"), ("{", "note", "is damaged")],
)
def test_it_tells_where_progress_is_kept(kept, content, word, detail):
    if content is not None:
        kept.write_text(content)
    (finding,) = titled("Progress")
    assert finding.standing == word
    assert detail in finding.detail


def test_a_drive_that_is_not_mounted_is_found(tmp_path, monkeypatch):
    monkeypatch.setenv("GRADER_PROGRESS", str(tmp_path / "drive" / "course" / "progress.json"))
    (finding,) = titled("Progress")
    assert finding.standing == "fix"
    assert finding.detail.endswith(f"{tmp_path / 'drive'} is not there")


def test_progress_that_is_turned_off_is_noted(monkeypatch):
    monkeypatch.setenv("GRADER_PROGRESS", "off")
    assert titled("Progress")[0].standing == "note"


def test_it_draws_itself():
    html = Diagnosis(
        [Observation("Python", "3.11 <tag>"), Observation("Kernel", "another", "Do `this`.")]
    )._repr_html_()
    assert "Things to fix: 1" in html
    assert "3.11 &lt;tag&gt;" in html
    assert "<code>this</code>" in html


def limited(tmp_path, monkeypatch, own: str, files: dict[str, str]) -> list[tuple[str, str]]:
    """What is said of memory where the control groups are these."""
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / "own").write_text(own)
    monkeypatch.setattr(memory_limit, "GROUPS", tmp_path)
    monkeypatch.setattr(memory_limit, "OWN_GROUPS", tmp_path / "own")
    return [(f.standing, f.detail) for f in titled("Memory")]


@pytest.mark.parametrize(("free", "said"), [(150_000_000, ["150 MB is left on the disk that holds "]), (10**10, [])])
def test_a_disk_that_is_nearly_full_is_told(monkeypatch, free, said):
    usage = type(shutil.disk_usage("/"))(10**11, 10**11 - free, free)
    monkeypatch.setattr("shutil.disk_usage", lambda _place: usage)
    found = [finding for finding in module._disk() if finding.standing == "fix"]
    assert [finding.detail[: len(said[0])] for finding in found[:1]] == said


@pytest.mark.parametrize(
    ("own", "files", "word", "said"),
    [
        ("0::/\n", {"memory.max": "2000000000\n", "memory.events": "oom 0\noom_kill 0\n"}, "ok", "at most 2.0 GB"),
        ("0::/\n", {"memory.max": "2000000000\n", "memory.events": "oom 3\noom_kill 1\n"}, "note", "more: 1"),
        ("0::/a/b\n", {"a/memory.max": "500000000\n", "a/memory.events": "", "a/b/memory.max": "max\n"}, "note", "0.5"),
        (
            "4:memory:/hub\n0::/\n",
            {"memory/hub/memory.limit_in_bytes": "3000000000\n", "memory/hub/memory.oom_control": "oom_kill 2\n"},
            "note",
            "3.0 GB for this server and all its kernels; processes ended that wanted more: 2",
        ),
    ],
    ids=["a container", "a kernel was ended", "the group around it", "version 1"],
)
def test_a_limit_of_memory_is_told(tmp_path, monkeypatch, own, files, word, said):
    ((found, detail),) = limited(tmp_path, monkeypatch, own, files)
    assert found == word
    assert said in detail


@pytest.mark.parametrize("size", ["max", "9223372036854771712"])
def test_where_memory_is_not_limited_nothing_is_said(tmp_path, monkeypatch, size):
    assert limited(tmp_path, monkeypatch, "0::/\n", {"memory.max": size, "memory.events": "oom_kill 0\n"}) == []


@pytest.fixture
def shared_folder(tmp_path, monkeypatch):
    """An exchange as `nbgrader release_assignment` and `release_feedback` make it, set for the whole machine."""
    root = tmp_path / "exchange"
    for name, mode in {"": 0o1777, "math": 0o755, "math/inbound": 0o2733, "math/outbound": 0o755}.items():
        (root / name).mkdir()
        (root / name).chmod(mode)
    (root / "math" / "feedback").mkdir()
    (root / "math" / "feedback").chmod(0o711)
    (tmp_path / "nbgrader_config.py").write_text(f"c = get_config()\nc.Exchange.root = {str(root)!r}\n")
    monkeypatch.setenv("JUPYTER_CONFIG_PATH", str(tmp_path))
    return root


def test_an_exchange_that_is_open_as_it_should_be_is_fine(shared_folder):
    (found,) = titled("Exchange")
    assert (found.standing, found.detail) == ("ok", f"{shared_folder} has the right permissions")


@pytest.mark.parametrize(
    ("name", "mode", "said", "command"),
    [
        ("", 0o755, "isn't open to all", "chmod 1777"),
        ("", 0o777, "every user can rename or remove a course", "chmod 1777"),
        ("math/inbound", 0o2755, "students can't hand anything in", "chmod o=wx"),
        ("math/inbound", 0o2777, "students see each other's submissions", "chmod o=wx"),
        ("math/outbound", 0o700, "students can't fetch assignments", "chmod o=rx"),
        ("math/feedback", 0o755, "students can see each other's feedback", "chmod o=x"),
    ],
)
def test_an_exchange_with_wrong_modes_is_told_with_the_command(shared_folder, name, mode, said, command):
    (shared_folder / name).chmod(mode)
    (finding,) = titled("Exchange")
    assert finding.standing == "fix"
    assert said in finding.detail
    assert f"sudo {command} {shared_folder / name}".rstrip("/") in finding.advice


def test_an_exchange_that_is_not_there_is_told(shared_folder):
    shared_folder.rename(shared_folder.with_name("elsewhere"))
    assert "isn't there" in titled("Exchange")[0].detail


def test_a_teacher_on_a_hub_is_told_where_formgrader_opens(shared_folder, tmp_path, monkeypatch):
    with (tmp_path / "nbgrader_config.py").open("a") as file:
        file.write(f"c.CourseDirectory.root = {str(tmp_path)!r}\n")
    monkeypatch.setenv("JUPYTERHUB_SERVICE_PREFIX", "/user/ann/")
    assert titled("Formgrader") == []
    (tmp_path / "source").mkdir()
    assert "its own browser tab on a hub, at /user/ann/formgrader" in titled("Formgrader")[0].detail
    monkeypatch.delenv("JUPYTERHUB_SERVICE_PREFIX")
    assert titled("Formgrader") == []


def test_another_systems_exchange_is_not_looked_at(shared_folder, tmp_path):
    shared_folder.chmod(0o700)
    with (tmp_path / "nbgrader_config.py").open("a") as file:
        file.write("c.ExchangeFactory.submit = 'ngshare_exchange.submit.ExchangeSubmit'\n")
    assert [finding.standing for finding in titled("Exchange")] == ["ok"]


@pytest.mark.parametrize(
    ("own", "files", "most"),
    [
        ("0::/a/b\n", {"a/pids.max": "300\n", "a/b/pids.max": "max\n"}, 300),
        ("8:pids:/hub\n0::/\n", {"pids/hub/pids.max": "70\n", "pids.max": "max\n"}, 70),
        ("0::/\n", {"pids.max": "max\n"}, None),
    ],
    ids=["the group around it", "version 1", "none"],
)
def test_a_limit_of_processes_is_found(tmp_path, monkeypatch, own, files, most):
    limited(tmp_path, monkeypatch, own, files)
    assert memory_limit.process_limit() == most
