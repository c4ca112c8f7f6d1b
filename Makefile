# make demo   train a classifier of handwritten digits; then one training as a loop and as a graph, side by side
# make test   run the tests
# Both make their own environment in .venv; all they need is Python 3.11 or later, make and pip.

PYTHON ?= python3
VENV   := .venv
PY     := $(VENV)/bin/python
NATIVE := $(shell find src/thixo/_core -name '*.cpp' -o -name '*.h' 2>/dev/null)
CODE   := $(NATIVE) $(shell find src/thixo -name '*.py' -o -name '*.npz' 2>/dev/null) CMakeLists.txt pyproject.toml

.PHONY: demo test dev lint docs sanitize native-test wheel clean help

help:
	@sed -n 's/^# //p' Makefile

$(VENV)/.installed: tools/setup_env.py $(CODE)
	@$(PYTHON) tools/setup_env.py $(VENV)
	@touch $@

$(VENV)/.test-installed: $(VENV)/.installed
	@$(PYTHON) tools/setup_env.py $(VENV) test
	@touch $@

$(VENV)/.dev-installed: tools/setup_env.py pyproject.toml
	@$(PYTHON) tools/setup_env.py $(VENV) dev
	@touch $@

demo: $(VENV)/.installed
	@$(PY) examples/digits.py
	@$(PY) examples/two_ways.py

test: $(VENV)/.test-installed
	$(PY) -m pytest -q -n auto tests

# ---- for developers. DEV_PYTHON may be any environment with the `dev` extra.

ifdef DEV_PYTHON
dev lint docs sanitize native-test wheel: DEVPY := $(DEV_PYTHON)
else
dev lint docs sanitize native-test wheel: $(VENV)/.dev-installed
dev lint docs sanitize native-test wheel: DEVPY := $(PY)
endif

# The native core, built in place: then PYTHONPATH=src is all there is to set.
dev:
	@$(DEVPY) tools/native.py

native-test:
	@$(DEVPY) tools/native.py --no-python --tests

lint:
	$(DEVPY) -m ruff format --check .
	$(DEVPY) -m ruff check .
	$(DEVPY) -m mypy

# The core and the suite under the address and undefined-behaviour sanitizers (g++ or clang++).
sanitize:
	$(DEVPY) tools/sanitize.py

# All that is written from the operator table: its index, type stubs, the reference, the list of what is missing.
docs:
	PYTHONPATH=src $(DEVPY) -W ignore -m thixo.ops.build_index
	PYTHONPATH=src $(DEVPY) tools/build_stubs.py
	PYTHONPATH=src $(DEVPY) docs/build.py
	PYTHONPATH=src $(DEVPY) docs/missing.py

wheel:
	$(DEVPY) -m pip wheel --no-deps --wheel-dir dist .

clean:
	rm -rf $(VENV) build dist
