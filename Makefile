# One command for everything; each target sets up what it needs in .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: help setup demo test check fix bench docs clean

help:
	@echo "make demo    find the strange digits and write a report"
	@echo "make test    all tests"
	@echo "make check   format, lint, types, import layers"
	@echo "make fix     format and mend what can be mended"
	@echo "make bench   benchmarks against peers (own environment, takes a while)"
	@echo "make docs    every picture and table in docs/ that a command makes"

setup: $(STAMP)

$(STAMP): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --constraint constraints.txt --editable ".[dev]"
	touch $(STAMP)

demo: $(STAMP)
	$(BIN)/rsrae detect --example digits --out demo --force

test: $(STAMP)
	$(BIN)/pytest --numprocesses 2 --cov --cov-report=term

check: $(STAMP)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

fix: $(STAMP)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(STAMP)
	$(BIN)/python -m benchmarks

docs: $(STAMP)
	$(BIN)/python docs/make.py

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis htmlcov .coverage* demo
