# `make start` opens the lessons, `make test` runs the checks. Both make .venv and install what they need: the first what a
# learner needs, the second everything.

# A name on the path may be a shim without a Python behind it, so each is tried.
PYTHON ?= $(shell for p in python3.11 python3.12 python3.13 python3; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
BIN := .venv/bin
STAMP := .venv/.installed
LEARNERS_STAMP := .venv/.installed-for-learners
# Everything is installed already, which a learner's needs are a part of.
HAS_ALL := $(shell test $(STAMP) -nt pyproject.toml && test $(STAMP) -nt requirements.lock && echo yes)
HUB := .venv-hub
# Root starts servers as other users, who have to be able to run their Python: the system's own comes first.
HUB_PYTHON ?= $(shell for p in /usr/bin/python3 $(PYTHON); do \
	$$p -c 'import sys, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
LOCK := requirements.lock
PIP_WITH_PROGRESS := -m pip install --no-input --disable-pip-version-check --no-compile
PIP_INSTALL := $(PIP_WITH_PROGRESS) --quiet
# An index that isn't there is asked once more, not five times, which took a minute.
TORCH_ALONE = --retries 1 --no-deps torch -c $(LOCK) --index-url $(TORCH_INDEX)

# For any command: make start ARGS=--no-browser, make build ARGS="--check 01"
ARGS ?=
# The folder that a learner works in, for `make start`; without it my-course.
FOLDER ?=
# How often `make fuzz` tries each thing.
FUZZ_ROUNDS ?= 20000
# Where torch comes from, if not from where pip looks: see README.md on the small CPU build.
TORCH_INDEX ?=
# nbgrader calls alembic by its name when it makes a gradebook.
export PATH := $(abspath $(BIN)):$(PATH)

.PHONY: start test test-more test-slow test-samples test-other-user test-container test-hub test-image hub hub-wheel compat mutants claims sweeps setup lock build lint format bench fuzz release demo site
.DEFAULT_GOAL := start

start: $(if $(HAS_ALL),,$(LEARNERS_STAMP))  ## JupyterLab on copies of the lessons in my-course, or in FOLDER; it refuses root unless told
	@COURSE_FOLDER="$(FOLDER)" $(BIN)/jupyter lab --config=release/student/jupyter/lab.py $(if $(filter 0,$(shell id -u)),--allow-root) $(ARGS)

test: $(STAMP)  ## the checks of the project, but for those that follow
	$(BIN)/python tests/stages.py $(ARGS)

test-more: $(STAMP)  ## whole commands and classes, the sandbox, all mistakes' samples, JupyterLab in a browser, the site
	$(BIN)/python tests/stages.py programs whole other-user browser site $(ARGS)

test-slow: $(STAMP)  ## whole terms, commands that are killed, several users; the release in a fresh environment
	$(BIN)/python tests/stages.py programs slow release $(ARGS)

test-samples: $(STAMP)  ## every sample submission, in the learner's process and behind the judge's pipe
	SAMPLES=all OMP_NUM_THREADS=1 $(BIN)/python -m pytest -q -p no:cacheprovider -n auto tests/exercises/test_submissions.py tests/exercises/test_forms.py tests/test_languages.py $(ARGS)

test-other-user: $(STAMP)  ## all of the judge's tests as nobody, or as root for anybody else
	OMP_NUM_THREADS=1 $(BIN)/python tools/another_user.py $(BIN)/python -m pytest -q -p no:cacheprovider tests/judge $(ARGS)

test-container: $(STAMP)  ## the judge's tests in containers, or else under a filter; needs root
	$(BIN)/python tests/container.py $(ARGS)

compat: $(STAMP)  ## the checks with the oldest and newest versions allowed, on each Python, and with Colab's; ARGS=oldest-3.12 for one
	TORCH_INDEX=$(TORCH_INDEX) $(BIN)/python tests/compat.py $(ARGS)

test-hub: hub-wheel  ## the whole loop on a JupyterHub, in a browser; as root for three users of the machine
	$(BIN)/python tests/programs.py
	HUB_PROGRAMS=$(abspath $(HUB)/bin) OMP_NUM_THREADS=1 $(BIN)/python -m pytest -q -p no:cacheprovider tests/hub $(ARGS)

test-image: $(STAMP)  ## the image of deploy/Dockerfile, built and looked into; needs root and podman or Docker
	$(BIN)/python tests/image.py $(ARGS)

hub: hub-wheel  ## a JupyterHub on this machine, to try the course: a teacher and two students; Ctrl+C ends it
	@test -x node_modules/.bin/configurable-http-proxy || npm install --silent --no-audit --no-fund
	@$(HUB)/bin/python -m tools.hub $(HUB)/bin $(ARGS)

mutants: $(STAMP)  ## small changes to every model solution, which the checks have to notice; ARGS=split_heads for one
	OMP_NUM_THREADS=1 $(BIN)/grader mutants $(ARGS)

claims: $(STAMP)  ## what the lessons conclude from their experiments, with other seeds and a student's edits; ARGS=NAME for one
	$(BIN)/python benchmarks/claims.py $(ARGS)

sweeps: $(STAMP)  ## what the lessons compare, each way at five learning rates; stored for the lessons; ARGS=NAME for one
	$(BIN)/python benchmarks/sweeps.py $(ARGS)

setup: $(STAMP)  ## .venv with everything

lock: $(BIN)/uv  ## requirements.lock made to fit pyproject.toml; ARGS=--upgrade takes the newest versions
	$(BIN)/uv pip compile --quiet --universal --extra dev --extra hub --extra ko --no-annotate --custom-compile-command "make lock" \
		--output-file $(LOCK) pyproject.toml $(ARGS)

build: $(STAMP)  ## lessons/ -> solutions/ and notebooks/
	$(BIN)/grader build $(ARGS)

fuzz: $(STAMP)  ## the fuzz tests for longer, with other seeds
	FUZZ_ROUNDS=$(FUZZ_ROUNDS) OMP_NUM_THREADS=1 $(BIN)/python -m pytest -q -p no:cacheprovider -n auto --timeout 0 tests -k fuzz $(ARGS)

release: $(STAMP)  ## the student's package, a zip in dist/; ARGS=--teacher makes the teacher's
	$(BIN)/grader release $(ARGS)

site: $(STAMP)  ## the course as web pages, in site/; ARGS=--no-zip without the students' package, --solutions for teachers
	$(BIN)/python -m website $(ARGS)

demo: $(STAMP)  ## the term of docs/teaching.md, in a temporary folder; ARGS="--keep FOLDER" keeps it
	$(BIN)/python -m demo $(ARGS)

lint: $(STAMP)
	$(BIN)/ruff check . && $(BIN)/ruff format --check . && $(BIN)/mypy

format: $(STAMP)
	$(BIN)/ruff check --fix . && $(BIN)/ruff format .

bench: $(STAMP)  ## tables of how long the build and the checks take
	$(BIN)/python benchmarks/build.py
	$(BIN)/python benchmarks/checks.py
	$(BIN)/python benchmarks/views.py

# What is said where there is no Python at all; to an old one make_environment.py says more.
NO_PYTHON := The course needs Python 3.11 or newer, and no python3 was found. Get one from https://www.python.org/downloads/, \
	or install uv (https://docs.astral.sh/uv/). If you have one elsewhere: make PYTHON=/path/to/python3.11 ...

# .venv, unless it is there. make_environment.py makes it with uv where this Python is too old.
define new_environment
	@test -x $(BIN)/python || command -v $(or $(PYTHON),python3) > /dev/null || { echo "$(NO_PYTHON)" >&2; exit 1; }
	@test -x $(BIN)/python || $(or $(PYTHON),python3) make_environment.py
endef

# $(call install_course,EXTRA): torch alone may come from another index than the rest, so it comes first and without what
# it needs. pip compiles on one core; compileall on all of them (some packages hold templates that are no Python, which is
# no fault of theirs), and the course's own too: where Python may write no bytecode, as in a forked process of the tests,
# each would compile them anew. What marks the end is touched last: an installation that broke off is taken up again.
define install_course
	$(if $(TORCH_INDEX),@$(BIN)/python $(PIP_WITH_PROGRESS) $(TORCH_ALONE))
	@$(BIN)/python $(PIP_WITH_PROGRESS) -e '.[$(1)]' -c $(LOCK)
	@$(BIN)/python -m compileall -q -j 0 .venv/lib grader > /dev/null || true
endef

$(STAMP): pyproject.toml $(LOCK)
	$(call new_environment)
	@echo "Installing everything into .venv; the first time takes a few minutes."
	$(call install_course,dev)
	@touch $@

$(LEARNERS_STAMP): pyproject.toml $(LOCK)
	$(call new_environment)
	@echo "Installing what the lessons need into .venv; the first time takes a minute or two."
	$(call install_course,lab)
	@touch $@

# The student's wheel, made of this working tree, and what it asks for: who is on a machine can read its environment.
hub-wheel: $(STAMP)
	@test -n "$(HUB_PYTHON)" || { echo "Python 3.11 or newer with venv is needed: make HUB_PYTHON=/path/to/python3 ..." >&2; exit 1; }
	@test -x $(HUB)/bin/python || { echo "Installing into $(HUB); the first time takes a few minutes."; $(HUB_PYTHON) -m venv $(HUB); }
	@rm -rf $(HUB)/dist && $(BIN)/grader release --out $(HUB)/dist > /dev/null
	@$(BIN)/python -m zipfile -e $(HUB)/dist/*.zip $(HUB)/dist
	$(if $(TORCH_INDEX),@$(HUB)/bin/python $(PIP_INSTALL) $(TORCH_ALONE))
	@$(HUB)/bin/python $(PIP_INSTALL) --no-deps --force-reinstall $(HUB)/dist/attention-course/*.whl
	@$(HUB)/bin/python $(PIP_INSTALL) "$$(echo $(HUB)/dist/attention-course/*.whl)[teacher,hub]" -c $(LOCK)

# Without the rest: `make lock` has to work when pyproject.toml and the lock don't fit each other.
$(BIN)/uv:
	$(call new_environment)
	@$(BIN)/python $(PIP_INSTALL) uv -c $(LOCK)
