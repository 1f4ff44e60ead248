# Each target works alone in a fresh clone: it makes .venv, installs what it needs and does its job.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check

# The lowest versions of all that pyproject.toml asks for have an environment of their own.
FLOOR := .venv-floor
FLOOR_TESTS ?= tests/engine tests/learners tests/models tests/streams tests/interop tests/evaluate tests/cli tests/own

.PHONY: attack demo papers test test-fast test-checked test-floor test-pythons wheel lint bench bench-short bench-check bench-memory docs clean

demo: $(VENV)/.cli
	$(BIN)/aggro demo

# The tables and figures of the five papers, beside what was published, from the data sets in AGGRO_DATA.
papers: export AGGRO_DATA ?= ../shared/data
papers: $(VENV)/.cli $(VENV)/.plot
	$(BIN)/python -m papers all --out aggro-papers

# The tests compile for the level that the wheel's kernels are for: so they test these, and leave them for `make wheel`.
ifneq (,$(filter x86_64 AMD64,$(shell uname -m)))
test wheel bench bench-short bench-check: export NUMBA_CPU_NAME ?= x86-64-v3
else
test wheel bench bench-short bench-check: export NUMBA_CPU_NAME ?= generic
endif
test wheel bench bench-short bench-check: export NUMBA_CPU_FEATURES ?=

test: $(VENV)/.test
	$(BIN)/python -m pytest -n auto --dist loadgroup $(PYTEST)

# About two minutes on two cores: the house, plain twins, and the contract on three learners.
test-fast: $(VENV)/.test
	$(BIN)/python tools/fast.py

test-checked: export NUMBA_BOUNDSCHECK = 1
test-checked: $(VENV)/.test
	$(BIN)/python -m pytest -n auto --dist loadgroup $(PYTEST)

# What the suite does shortly, at length. ATTACK is the number of sequences of calls and of forged files for each learner; a tenth of
# it sequences on raw records and damaged files of each format, a fiftieth ONNX models, and a five hundredth interruptions of
# each kind.
ATTACK ?= 100000
attack: $(VENV)/.test
	NUMBA_BOUNDSCHECK=1 $(BIN)/python tests/attack/calls.py --count $(ATTACK)
	$(BIN)/python tests/attack/records.py --count $$(($(ATTACK) / 10))
	$(BIN)/python tests/attack/exported_models.py --count $$(($(ATTACK) / 50))
	$(BIN)/python tests/attack/forged_models.py --count $(ATTACK)
	$(BIN)/python tests/attack/damaged_files.py --count $$(($(ATTACK) / 10))
	$(BIN)/python tests/attack/interruptions.py --count $$(($(ATTACK) / 500))

# The core of the suite with each other Python that is installed, in environments of their own.
test-pythons:
	$(PYTHON) tools/pythons.py test

test-floor: $(FLOOR)/.test
	$(FLOOR)/bin/python -m pytest -n auto --dist loadgroup $(FLOOR_TESTS) $(PYTEST)

# Wheels into dist: one without compiled kernels, for all, and for each Python that is installed one with them, for its
# Numba and kind of machine. PYTHONS names some alone, as PYTHONS=python3.12.
wheel: $(VENV)/.test
	$(BIN)/python tools/pythons.py wheel $(PYTHONS)

lint: $(VENV)/.lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# The comparison with other libraries: all of it into benchmarks/RESULTS.md; shortly, into build/bench; and shortly beside
# what is stored, which fails if something fell by more than a fifth. Data sets are looked for in AGGRO_DATA.
bench bench-short bench-check: export AGGRO_DATA ?= ../shared/data
bench bench-short bench-check: export AGGRO_QUIET ?= 1

bench: $(VENV)/.bench
	$(BIN)/python benchmarks/bench.py

bench-short: $(VENV)/.bench
	$(BIN)/python benchmarks/bench.py --short --out build/bench

bench-check: $(VENV)/.bench
	$(BIN)/python benchmarks/bench.py --check

bench-memory: $(VENV)/.bench
	$(BIN)/python benchmarks/memory.py

docs: $(VENV)/.docs
	$(BIN)/mkdocs build --strict --site-dir site

clean:
	rm -rf .cache .pytest_cache .mypy_cache .ruff_cache site build dist aggro-demo.html

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

# One stamp for each set of extras; a change of pyproject.toml installs again.

$(FLOOR)/.test: pyproject.toml tools/floor.py
	$(PYTHON) -m venv $(FLOOR)
	$(PYTHON) tools/floor.py > $(FLOOR)/lowest.txt
	$(FLOOR)/bin/python -m pip install --quiet --disable-pip-version-check --only-binary :all: -r $(FLOOR)/lowest.txt
	$(FLOOR)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --editable .
	touch $@

$(VENV)/.%: pyproject.toml | $(BIN)/python
	$(PIP) --editable '.[$*]'
	touch $@
