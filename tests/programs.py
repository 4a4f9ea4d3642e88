"""Makes ready what the tests need: Chromium, node and npm, what package.json names, bubblewrap and libseccomp,
PostgreSQL, iproute2 and openssl.

Where apt-get is there and the user is root, or on a CI machine may become root by sudo, missing programs are installed;
else this says what to install, and fails.
"""

from __future__ import annotations

import ctypes.util
import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from tools.lab import chromium

ROOT = Path(__file__).parents[1]
FONTS = "fonts-dejavu-core"  # a machine without a screen may have none at all
NODE = 18  # Debian 12's
POSTGRESQL = Path("/usr/lib/postgresql")


def missing() -> list[str]:
    """Debian's names of the packages that are needed and not there."""
    packages = [] if chromium() else ["chromium", FONTS]
    if not shutil.which("node"):
        packages.append("nodejs")
    if not shutil.which("npm"):
        packages.append("npm")
    if not shutil.which("bwrap"):
        packages.append("bubblewrap")
    if not ctypes.util.find_library("seccomp"):
        packages.append("libseccomp2")
    if not postgresql():
        packages.append("postgresql")
    if not shutil.which("ip"):
        packages.append("iproute2")
    if not shutil.which("openssl"):
        packages.append("openssl")
    return packages


def postgresql() -> Path | None:
    """Where PostgreSQL's own programs lie; Debian puts them on nobody's path."""
    initdb = shutil.which("initdb")
    found = [Path(initdb)] if initdb else sorted(POSTGRESQL.glob("*/bin/initdb"))
    return found[-1].parent if found else None


def install(packages: list[str]) -> str:
    """Install them, or say what the user has to do; empty if all went well."""
    wanted = " ".join(packages)
    root = [] if os.geteuid() == 0 else ["sudo", "-n"]
    # On a machine of somebody's own sudo is theirs to use.
    if not shutil.which("apt-get") or (root and not (os.environ.get("CI") and shutil.which("sudo"))):
        return f"The tests need {wanted}. As root on Debian: apt-get install {wanted}"
    apt = [*root, "env", "DEBIAN_FRONTEND=noninteractive", "apt-get"]
    for command in ([*apt, "update"], [*apt, "install", "--yes", "--no-install-recommends", *packages]):
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
        if done.returncode:
            return f"`{' '.join(command)}` failed:\n{done.stdout[-1000:]}{done.stderr[-1000:]}"
    return ""


def fetch() -> str:
    """What package.json names, once for each state of it; empty if all went well."""
    modules = ROOT / "node_modules"
    stamp, state = modules / ".installed", hashlib.sha256((ROOT / "package.json").read_bytes()).hexdigest()
    if stamp.exists() and stamp.read_text() == state:
        return ""
    done = subprocess.run(["npm", "install", "--no-audit", "--no-fund"], cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        return f"`npm install` failed:\n{done.stdout[-1000:]}{done.stderr[-1000:]}"
    stamp.write_text(state)
    return ""


def main() -> int:
    """0 if all is there."""
    packages = missing()
    problem = (install(packages) if packages else "") or fetch()
    if problem:
        print(problem, file=sys.stderr)
        return 1
    version = subprocess.run(["node", "--version"], capture_output=True, text=True, check=True).stdout.strip()
    if int(version.lstrip("v").split(".")[0]) < NODE:
        print(f"node {version} is too old: install {NODE} or newer", file=sys.stderr)
        return 1
    print(f"{chromium()}, node {version}, npm packages: ready")
    return 0


if __name__ == "__main__":
    sys.exit(main())
