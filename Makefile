# Every target sets up what it needs in .venv; nothing has to be installed first but
# python3 (with headers and venv), make and g++.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
SOURCES := CMakeLists.txt pyproject.toml src/polyleaf/_version.py $(shell find cpp -type f)

.PHONY: demo test lint docs bench papers sanitize sanitize-core sanitize-team sanitize-threads fuzz fuzz-guided soak
.PHONY: build stubs plan-tables wheel test-wheels cross clean
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

# Rivals release for newer Pythons first: benchmarks have an environment of 3.12, or of PYTHON if
# there is none. BENCH_PYTHON=... chooses another.
BENCH_PYTHON ?= $(firstword $(wildcard $(HOME)/.pyenv/versions/3.12*/bin/python3.12) \
	$(wildcard /usr/local/bin/python3.12 /usr/bin/python3.12) $(PYTHON))
BENCH := .venv312
$(BENCH)/.bench: $(SOURCES)
	$(BENCH_PYTHON) -m venv $(BENCH)
	$(BENCH)/bin/python -m pip --disable-pip-version-check --quiet install --upgrade "pip>=25.1"
	$(BENCH)/bin/python -m pip --disable-pip-version-check --quiet install --group build --group test
	$(BENCH)/bin/python -m pip --disable-pip-version-check --quiet install --no-build-isolation \
		--editable '.[bench,plot]'
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

# Two processes, a file of tests in one of them; WORKERS=8 uses more cores.
WORKERS ?= 2
test: $(VENV)/.built $(VENV)/.test
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadfile

lint: $(VENV)/.built $(VENV)/.test $(VENV)/.lint
	$(BIN)/pre-commit run --all-files --show-diff-on-failure

docs: $(VENV)/.built $(VENV)/.docs
	$(BIN)/python -m sphinx -W --keep-going -b html docs docs/_build/html

bench: $(BENCH)/.bench
	$(BENCH)/bin/python -m benchmarks.versus

# The tables and figures of the five papers: quick rows first, then what is missing, for BUDGET of
# the clock; a second call goes on. Results go to benchmarks/papers/records and docs/benchmarks.
BUDGET ?= 1h
papers: $(BENCH)/.bench
	$(BENCH)/bin/python -m benchmarks.papers all --budget $(BUDGET)

# The core under the address and undefined-behaviour sanitizers: its own tests first, then the whole
# suite, which takes hours on two cores. `make sanitize-core` is the first part alone; TESTS chooses.
SANITIZE := bash tools/sanitize.sh $(BIN)/python
TESTS ?= tests
sanitize: sanitize-core
	$(SANITIZE) address -m pytest -s -p no:cacheprovider $(TESTS) --ignore tests/hostile

sanitize-core: $(VENV)/.built $(VENV)/.test
	$(SANITIZE) address -m pytest -s -m kernel tests/core

# The thread team under the thread sanitizer: alone, in seconds, then within the core. Its runtime
# cannot start threads in a fork of a process that has some: one test is left out.
TSAN := TSAN_OPTIONS="halt_on_error=1 exitcode=66" setarch $(shell uname -m) -R
sanitize-team:
	mkdir -p build
	$(CXX) -std=c++17 -O1 -g -fsanitize=thread -pthread -Icpp tests/core/thread_team.cpp -o build/thread_team
	$(TSAN) build/thread_team

sanitize-threads: sanitize-team $(VENV)/.built $(VENV)/.test
	$(SANITIZE) thread -m pytest -s tests/core/test_worker_threads.py tests/core/test_stop_flag.py \
		-k "not forked"

# Hostile cases under the sanitizers, with a seed from the date; failures are kept in
# tests/hostile/corpus, which `make test` replays.
SECONDS ?= 600
fuzz: $(VENV)/.built $(VENV)/.test
	$(SANITIZE) address tests/hostile/run_hostile.py --seconds $(SECONDS) --cases 200

# The same for the readers and the model loader, guided by coverage (atheris).
fuzz-guided: $(VENV)/.built $(VENV)/.test $(VENV)/.fuzz
	$(BIN)/python tools/guided_fuzz.py --seconds $(SECONDS)

# Clusters of 1, 2, 3 and 5 workers, five partitionings, all families; kill -9 at random rounds.
test-cluster: $(VENV)/.built $(VENV)/.test
	$(BIN)/python -m pytest -n 0 tests/distributed tests/distributed/heavy_cluster.py \
		tests/distributed/heavy_namespaces.py

# What takes an hour: many cases of everything, memory over 1,000 fits, predictions under load. The
# cases are recorded target by target: a run of the same day that was broken off goes on.
soak: $(VENV)/.built $(VENV)/.test
	$(BIN)/python tests/hostile/long_runs.py
	$(BIN)/python tests/hostile/run_hostile.py --cases 8000 --seconds-each 8 --record build/soak
	$(BIN)/python tools/reliability_page.py build/soak

# The sdist and the wheels, for the interpreters that tools/wheels.py finds (PYTHONS names more).
wheel: $(VENV)/.wheels
	$(BIN)/python tools/wheels.py build

test-wheels:
	$(PYTHON) tools/wheels.py test

# The core for another processor, with Debian's g++-aarch64-linux-gnu.
cross: $(VENV)/.base
	bash tools/cross_build.sh $(BIN)

clean:
	rm -rf build dist $(VENV) $(BENCH) docs/_build
