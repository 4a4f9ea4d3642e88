"""Builds deploy/Dockerfile and looks into the image: `python tests/image.py [podman|docker]`, as root.

The base is Debian's image, or one made of Debian's packages by debootstrap where no registry of images can be reached.
In the image everything belongs to root and nothing runs as root; the set-up is ready, and a server starts.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
DOCKERFILE = ROOT / "deploy" / "Dockerfile"
IMAGE, BASE, DEBIAN = "attention-course-server", "attention-course-debian", "docker.io/library/debian:bookworm-slim"
LOOK = """set -eu
test "$(id -un)" = jovyan
test ! -w /opt/course
grader doctor
jupyterhub-singleuser --version
! ls /opt/course/lib/python3*/site-packages/grader/solutions 2> /dev/null
jupyter lab --no-browser --port=8888 > ~/log 2>&1 &
for second in $(seq 60); do sleep 1; grep -q 'is running at' ~/log && echo 'the server runs' && exit 0; done
cat ~/log; exit 1
"""


def run(*words: str, **options: object) -> subprocess.CompletedProcess[str]:
    print(f"$ {' '.join(words)[:200]}", flush=True)
    return subprocess.run(words, text=True, check=True, **options)  # type: ignore[call-overload, no-any-return]


def base(engine: str, scratch: Path) -> str:
    """The name of a base image."""
    if subprocess.run([engine, "pull", "--quiet", DEBIAN], capture_output=True).returncode == 0:
        return DEBIAN
    if not shutil.which("debootstrap"):
        sys.exit(f"{engine} can't pull {DEBIAN} here, and debootstrap, which makes it, is missing: apt-get install it")
    root, packed = scratch / "debian", scratch / "debian.tar"
    run("debootstrap", "--variant=minbase", "--include=ca-certificates", "bookworm", str(root))
    shutil.copy("/etc/ssl/certs/ca-certificates.crt", root / "etc" / "ssl" / "certs")  # those that this machine trusts
    run("tar", "-C", str(root), "-cf", str(packed), ".")
    run(engine, "import", str(packed), BASE)
    return f"localhost/{BASE}" if engine == "podman" else BASE


def main(words: list[str]) -> int:
    """0 if the image is as it should be."""
    engine = (words or [name for name in ("podman", "docker") if shutil.which(name)] or [""])[0]
    if not engine:
        print("podman or Docker is needed: apt-get install podman crun debootstrap", file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        run(str(Path(sys.executable).with_name("grader")), "release", "--out", str(scratch / "dist"), cwd=ROOT)
        (package,) = (scratch / "dist").glob("*.zip")
        shutil.unpack_archive(package, scratch)
        options = ["--network", "host", *(["--isolation", "chroot"] if engine == "podman" else [])]
        arguments = {"BASE": base(engine, scratch)}
        links = os.environ.get("PIP_FIND_LINKS", "")
        if links:  # a folder of wheels of this machine's, where torch's own index can't be reached
            arguments |= {"TORCH_INDEX": "", "PIP_OPTIONS": f"--find-links {links}"}
            options += ["--volume", f"{links}:{links}:ro"]
        options += [word for name, value in arguments.items() for word in ("--build-arg", f"{name}={value}")]
        run(engine, "build", *options, "-f", str(DOCKERFILE), "-t", IMAGE, str(scratch / "attention-course"))
    look = [engine, "run", "--rm", "--network", "none", "--ulimit", "nofile=1024:1024", "--ulimit", "nproc=4096:4096"]
    unified = Path("/sys/fs/cgroup/unified")
    if unified.is_dir() and engine == "podman":  # crun refuses to start where there are both versions of control groups
        look = ["unshare", "--mount", "sh", "-c", f'umount {unified}; exec "$@"', "sh", *look, "--cgroups=disabled"]
    run(*look, IMAGE, "sh", "-c", LOOK)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
