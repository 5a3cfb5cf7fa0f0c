# Each target does the whole set-up by itself and is cheap to repeat.
#   make demo    the whole chain on real text, from a corpus to a page of scores, in minutes
#   make test    format, lint, types, tests
#   make test-fast   the tests that start no process and take less than half a second, in two minutes
#   make test-lowest   the same with the lowest versions that pyproject.toml allows, in an environment of their own
#   make test-install   install Firth into an empty environment and use it there
#   make bench   the benchmarks (minutes; they want a quiet machine); make bench-test: their tests
#   make docs    the pages of docs/ that follow from the program
#   make site    docs/ as a site with search, in build/site
#   make examples  run the commands of the tutorial and the course, and write what they print
#   make format  format the code, fix what ruff can

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.firth-installed
PIP_INSTALL := $(BIN)/python -m pip install --no-compile -qq --disable-pip-version-check -c constraints.txt

.DEFAULT_GOAL := help
.PHONY: help setup demo test pytest test-fast test-lowest test-install lint style types javascript bench bench-test docs site examples format clean
.DELETE_ON_ERROR:

help:
	@sed -n 's/^#   //p' Makefile

setup: $(READY)

# setuptools comes first, pinned, so that the build of our own package needs no second download.
# Bytecode is made afterwards, on all cores, but for tests and for the hundreds of models that
# transformers has; files for other versions of Python fail, which does not matter.
$(READY): pyproject.toml constraints.txt
	@command -v $(PYTHON) >/dev/null || { echo "$(PYTHON) is not installed; name a Python: make PYTHON=python3.12"; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	    { echo "$(PYTHON) is $$($(PYTHON) --version 2>&1); Firth needs 3.11 or later: make PYTHON=python3.12"; exit 1; }
	@echo "Setting up $(VENV) (once, some minutes) ..."
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(PIP_INSTALL) setuptools
	@$(PIP_INSTALL) --no-build-isolation --editable '.[dev]'
	@$(BIN)/python -m compileall -q -j 0 -x '/(tests?|transformers/models)/' $(VENV)/lib >/dev/null || true
	@touch $@

# ---- demo: the whole chain on real text; resumes if interrupted

DEMO := demo

demo: $(READY)
	$(BIN)/firth study --settings docs/demo.toml --out $(DEMO)

# ---- tests

# Two processes; a file stays with one of them, so that its fixtures are made once, and both seldom
# compile the same kernel. Each process keeps its linear algebra to one thread, or they would
# fight for the cores.
#
# Files are taken in the order of tests/conftest.py.
# Types are checked meanwhile: alone they would leave a core idle. Bytecode is kept, whatever the
# environment says, since the tests start many processes.
test: style
	@$(MAKE) --no-print-directory --jobs=2 types pytest

PYTEST := PYTHONDONTWRITEBYTECODE= OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 \
    $(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder

pytest: $(READY)
	$(PYTEST)

test-fast: $(READY)
	$(PYTEST) -m 'not process and not slow'

# Old packages warn of what later ones, which they need, deprecated; these are no errors here. Torch
# is the build for CPUs, from its own index; where that cannot be reached: make test-lowest TORCH=
LOWEST := build/lowest
TORCH := --torch-backend cpu

test-lowest: export PYTEST_ADDOPTS = -W ignore::DeprecationWarning -W ignore::PendingDeprecationWarning
test-lowest:
	@test -x $(LOWEST)/bin/python || $(PYTHON) -m venv $(LOWEST)
	@$(LOWEST)/bin/python -m pip install -qq --disable-pip-version-check uv
	@$(LOWEST)/bin/uv pip install -q --python $(LOWEST)/bin/python --resolution lowest-direct $(TORCH) --editable '.[dev]'
	@touch $(LOWEST)/.firth-installed
	@$(MAKE) --no-print-directory VENV=$(LOWEST) test-fast

# In an environment of its own, with all packages that Firth needs; downloads them.
test-install: $(READY)
	FIRTH_INSTALL=all $(BIN)/python -m pytest tests/test_installation.py

lint: style types

style: $(READY) javascript
	@$(BIN)/ruff format --check --quiet . || { echo "some files are not formatted: make format"; exit 1; }
	$(BIN)/ruff check --quiet .
	$(BIN)/codespell

# A pinned npm package checks the scripts of the pages, unless npm or its registry is missing.
SCRIPTS := tests/javascript
BIOME := $(SCRIPTS)/node_modules/.bin/biome
BIOME_CHECK := $(BIOME) check --error-on-warnings --config-path=$(SCRIPTS)/style.jsonc embed $(SCRIPTS)

$(BIOME): $(SCRIPTS)/package-lock.json
	@command -v npm >/dev/null || { echo "npm is not installed: no JavaScript is checked"; exit 0; }; \
	    npm ci --prefix $(SCRIPTS) --silent --fetch-retries=0 --fetch-timeout=60000 && touch $@ || \
	    echo "npm cannot install Biome: no JavaScript is checked"

javascript: $(BIOME)
	@test ! -x $(BIOME) || $(BIOME_CHECK) || { echo "make format mends much of this"; exit 1; }

types: $(READY)
	$(BIN)/mypy

format: $(READY) $(BIOME)
	$(BIN)/ruff check --quiet --fix . ; $(BIN)/ruff format .
	@test ! -x $(BIOME) || $(BIOME_CHECK) --write

docs: $(READY)
	$(BIN)/python docs/make_pages.py

# What makes the site is installed by its first use: 100 MB that nothing else needs.
SITE_READY := $(VENV)/.site-installed

$(SITE_READY): $(READY)
	@$(PIP_INSTALL) --no-build-isolation --editable '.[docs]'
	@touch $@

site: $(SITE_READY)
	$(BIN)/python docs/make_site.py
	@echo "Look at it: $(BIN)/python -m http.server --directory build/site"

examples: demo
	$(BIN)/python docs/run_examples.py docs/course.md docs/tutorial.md

bench: $(READY)
	@for bench in benchmarks/bench_*.py; do echo "== $$bench"; $(BIN)/python $$bench || exit 1; done

# Whether the programs of benchmarks/ run, and their rules; not part of make test.
bench-test: $(READY)
	$(BIN)/python -m pytest benchmarks/tests

clean:
	rm -rf $(DEMO) build/pages build/site .mypy_cache .pytest_cache .ruff_cache .hypothesis
