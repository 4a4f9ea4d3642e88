#!/bin/bash
# Gradescope runs this once, as root, when it makes the image: the course with what grading needs, and bubblewrap.
set -eu
cd /autograder/source
apt-get update
apt-get install -y bubblewrap python3-venv
python=python3
if ! python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
    apt-get install -y python3.11 python3.11-venv
    python=python3.11
fi
$python -m venv .venv
.venv/bin/pip install --no-deps torch -c requirements.lock --index-url {index}
.venv/bin/pip install './{wheel}[teacher]' -c requirements.lock
# In the image's log: how students' code is confined here.
.venv/bin/grader doctor --judge || true
