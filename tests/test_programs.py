"""The set-up of the tests' programs says what is missing where it can't install it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import programs


@pytest.fixture
def nothing_there(monkeypatch):
    monkeypatch.delenv("CHROMIUM", raising=False)
    monkeypatch.setattr(programs.shutil, "which", lambda _name: None)
    monkeypatch.setattr(programs.ctypes.util, "find_library", lambda _name: None)
    monkeypatch.setattr(programs, "POSTGRESQL", Path("/nowhere"))


def test_what_is_missing_is_told_with_the_command_that_installs_it(nothing_there, monkeypatch, capsys):
    monkeypatch.setattr(programs, "fetch", lambda: pytest.fail("fetches without npm"))
    assert programs.main() == 1
    packages = "chromium fonts-dejavu-core nodejs npm bubblewrap libseccomp2 postgresql iproute2 openssl"
    assert f"As root on Debian: apt-get install {packages}" in capsys.readouterr().err


@pytest.mark.parametrize(("user", "ci", "first"), [(0, "", "env"), (1000, "true", "sudo")])
def test_root_installs_it_and_so_does_a_ci_machine_by_sudo(monkeypatch, user, ci, first):
    ran = []

    def run(command, **_options):
        ran.append(command)
        return programs.subprocess.CompletedProcess(command, 0, "", "")

    monkeypatch.setattr(programs.shutil, "which", lambda name: f"/usr/bin/{name}")
    monkeypatch.setattr(programs.os, "geteuid", lambda: user)
    monkeypatch.setenv("CI", ci)
    monkeypatch.setattr(programs.subprocess, "run", run)
    assert programs.install(["chromium"]) == ""
    assert [command[0] for command in ran] == [first, first]
    assert [command[command.index("apt-get") + 1] for command in ran] == ["update", "install"]
    assert ran[1][-1] == "chromium"


def test_another_user_is_told(monkeypatch):
    monkeypatch.setattr(programs.shutil, "which", lambda _name: "/usr/bin/apt-get")
    monkeypatch.setattr(programs.os, "geteuid", lambda: 1000)
    monkeypatch.delenv("CI", raising=False)
    assert "As root on Debian: apt-get install chromium" in programs.install(["chromium"])
