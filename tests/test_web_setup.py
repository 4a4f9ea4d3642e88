"""The set-up of the browser's tests says what is missing where it can't install it."""

from __future__ import annotations

import pytest

from tests import web_setup


@pytest.fixture
def nothing_there(monkeypatch):
    monkeypatch.delenv("CHROMIUM", raising=False)
    monkeypatch.setattr(web_setup.shutil, "which", lambda _name: None)


def test_what_is_missing_is_told_with_the_command_that_installs_it(nothing_there, monkeypatch, capsys):
    monkeypatch.setattr(web_setup, "fetch", lambda: pytest.fail("fetches without npm"))
    assert web_setup.main() == 1
    assert "As root on Debian: apt-get install chromium fonts-dejavu-core nodejs npm" in capsys.readouterr().err


def test_root_with_apt_get_installs_it(monkeypatch):
    ran = []

    def run(command, **_options):
        ran.append(command)
        return web_setup.subprocess.CompletedProcess(command, 0, "", "")

    monkeypatch.setattr(web_setup.shutil, "which", lambda name: "/usr/bin/apt-get" if name == "apt-get" else None)
    monkeypatch.setattr(web_setup.os, "geteuid", lambda: 0)
    monkeypatch.setattr(web_setup.subprocess, "run", run)
    assert web_setup.install(["chromium"]) == ""
    assert [command[:2] for command in ran] == [["apt-get", "update"], ["apt-get", "install"]]
    assert ran[1][-1] == "chromium"


def test_another_user_is_told(monkeypatch):
    monkeypatch.setattr(web_setup.shutil, "which", lambda _name: "/usr/bin/apt-get")
    monkeypatch.setattr(web_setup.os, "geteuid", lambda: 1000)
    assert "As root on Debian: apt-get install chromium" in web_setup.install(["chromium"])
