# `make start` opens the notebooks, `make test` runs every check. Both make .venv and install what they need.

# A name on the path may be a shim without a Python behind it, so each is tried.
PYTHON ?= $(shell for p in python3.11 python3.12 python3.13 python3; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
BIN := .venv/bin
STAMP := .venv/.installed
PIP = $(BIN)/python -m pip install --quiet --no-input --disable-pip-version-check --no-compile

# For any command: make start ARGS=--no-browser, make build ARGS="--check 01"
ARGS ?=
# Where torch comes from, if not from where pip looks: see README.md on the small CPU build.
TORCH_INDEX ?=
# nbgrader calls alembic by its name when it makes a gradebook.
export PATH := $(abspath $(BIN)):$(PATH)

.PHONY: start test setup build lint format bench release demo
.DEFAULT_GOAL := start

start: $(STAMP)  ## JupyterLab on the students' notebooks; it refuses root unless told
	cd notebooks && ../$(BIN)/jupyter lab $(if $(filter 0,$(shell id -u)),--allow-root) $(ARGS)

test: $(STAMP)  ## every check of the project
	$(BIN)/python tests/stages.py $(ARGS)

setup: $(STAMP)  ## .venv with everything

build: $(STAMP)  ## lessons/ -> solutions/ and notebooks/
	$(BIN)/grader build $(ARGS)

release: $(STAMP)  ## the student's package: a zip in dist/
	$(BIN)/grader release $(ARGS)

demo: $(STAMP)  ## a sample class of 24, graded in a temporary folder
	$(BIN)/python -m demo $(ARGS)

lint: $(STAMP)
	$(BIN)/ruff check . && $(BIN)/ruff format --check . && $(BIN)/mypy

format: $(STAMP)
	$(BIN)/ruff check --fix . && $(BIN)/ruff format .

bench: $(STAMP)  ## tables of how long the build and the checks take
	$(BIN)/python benchmarks/build.py
	$(BIN)/python benchmarks/checks.py
	$(BIN)/python benchmarks/views.py

# Touched last: an installation that broke off is taken up again. torch first and alone, because it may come from
# another index than the rest. pip compiles on one core; compileall on all of them (some packages hold templates that
# are no Python, which is no fault of theirs), and the course's own too: where Python may write no bytecode, every command
# would compile them anew.
$(STAMP): pyproject.toml
	@test -n "$(PYTHON)" || { echo "Python 3.11 or newer is needed; none was found. If you have one elsewhere: make PYTHON=/path/to/python3.11 ..." >&2; exit 1; }
	@echo "Installing into .venv; the first time takes a few minutes."
	@$(PYTHON) -m venv .venv
	@$(PIP) "$$($(BIN)/python -c 'import tomllib; print(*(d for d in tomllib.load(open("pyproject.toml", "rb"))["project"]["dependencies"] if d.startswith("torch==")))')" $(if $(TORCH_INDEX),--index-url $(TORCH_INDEX))
	@$(PIP) -e '.[dev]'
	@$(BIN)/python -m compileall -q -j 0 .venv/lib grader > /dev/null || true
	@touch $@
