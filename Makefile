# Every target sets up what it needs in .venv; nothing has to be installed first but
# python3 (with headers and venv), make and g++.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
SOURCES := CMakeLists.txt pyproject.toml $(shell find cpp -type f)

.PHONY: demo test lint docs bench sanitize build stubs plan-tables clean
.DEFAULT_GOAL := build

$(VENV)/.base: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(PIP) install --upgrade "pip>=25.1"
	$(PIP) install --group build
	@touch $@

# One rule for the groups of pyproject.toml: $(VENV)/.test, $(VENV)/.lint, $(VENV)/.docs
$(VENV)/.%: $(VENV)/.base
	$(PIP) install --group $*
	@touch $@

# Editable; CMake rebuilds only what an edit touched.
$(VENV)/.built: $(VENV)/.base $(SOURCES)
	$(PIP) install --no-build-isolation --editable .
	@touch $@

$(VENV)/.bench: $(VENV)/.built
	$(PIP) install --editable '.[bench,plot]' --no-build-isolation
	@touch $@

$(VENV)/.demo: $(VENV)/.built
	$(PIP) install --editable '.[cli,report,stats]' --no-build-isolation
	@touch $@

build: $(VENV)/.built

# The types of the core, from the built module; tests/core/test_stub.py tells if they are stale.
stubs: $(VENV)/.built $(VENV)/.lint
	$(BIN)/python tools/make_stub.py

# The tables of the search plan in docs/internals; tests/core/test_plan_page.py tells the same.
plan-tables: $(VENV)/.built
	$(BIN)/python tools/plan_tables.py

demo: $(VENV)/.demo
	$(BIN)/python -m polyleaf.cli compare --out demo

test: $(VENV)/.built $(VENV)/.test
	$(BIN)/python -m pytest

lint: $(VENV)/.built $(VENV)/.test $(VENV)/.lint
	$(BIN)/pre-commit run --all-files --show-diff-on-failure

docs: $(VENV)/.built $(VENV)/.docs
	$(BIN)/python -m sphinx -W --keep-going -b html docs docs/_build/html

bench: $(VENV)/.bench $(VENV)/.test
	$(BIN)/python -m benchmarks.versus

sanitize: $(VENV)/.built $(VENV)/.test
	bash tools/sanitize.sh $(BIN)/python

clean:
	rm -rf build $(VENV) docs/_build
