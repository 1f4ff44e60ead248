# Each target works alone in a fresh clone: it makes .venv, installs what it needs and does its job.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check

# Numba's cache knows neither the files a kernel calls nor whether bounds were checked, so the folder is
# named after all of that: a stale kernel is never run.
# The recipe's shell asks for the name, not $(shell ...): that would not see NUMBA_BOUNDSCHECK.
ENV = NUMBA_CACHE_DIR="$(CURDIR)/.cache/numba-$$($(BIN)/python tools/cache_key.py)"

.PHONY: demo test test-checked lint bench bench-streams bench-memory docs clean

demo: $(VENV)/.package
	$(ENV) $(BIN)/aggro demo

test: $(VENV)/.test
	$(ENV) $(BIN)/python -m pytest -n auto --dist loadgroup $(PYTEST)

test-checked: export NUMBA_BOUNDSCHECK = 1
test-checked: $(VENV)/.test
	$(ENV) $(BIN)/python -m pytest -n auto --dist loadgroup $(PYTEST)

lint: $(VENV)/.lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(VENV)/.bench
	$(ENV) $(BIN)/python benchmarks/peers.py

bench-streams: $(VENV)/.bench
	$(ENV) $(BIN)/python benchmarks/streams.py

bench-memory: $(VENV)/.bench
	$(ENV) $(BIN)/python benchmarks/memory.py

docs: $(VENV)/.docs
	$(BIN)/mkdocs build --strict --site-dir site

clean:
	rm -rf .cache .pytest_cache .mypy_cache .ruff_cache site dist aggro-demo.html

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

# One stamp for each set of extras; a change of pyproject.toml installs again.
$(VENV)/.package: pyproject.toml | $(BIN)/python
	$(PIP) --editable .
	touch $@

$(VENV)/.%: pyproject.toml | $(BIN)/python
	$(PIP) --editable '.[$*]'
	touch $@
