# `make verify` and `make test` need Python 3.11 or later and make, nothing else.
# Each target installs what it needs into $(VENV) once; editing pyproject.toml makes it install again.

PYTHON ?= python3
VENV ?= .venv
# `make test PYTEST_ARGS="-n 2 -x"` passes its own options on
PYTEST_ARGS ?= -n auto --maxprocesses 8

ifeq ($(OS),Windows_NT)
BIN := $(VENV)/Scripts
else
BIN := $(VENV)/bin
endif

.PHONY: help verify test lint types latex docs generated clean
.DEFAULT_GOAL := help

help:
	@echo "make verify   prove every theorem, run every check, audit every installed implementation"
	@echo "make test     run the test suite"
	@echo "make lint     ruff: rules and format"
	@echo "make types    mypy --strict"
	@echo "make latex    build/derivations.pdf (needs latexmk)"
	@echo "make docs     the documentation site, docs/_build/index.html"
	@echo "make generated  write the catalogue's table and the book's records anew"
	@echo "make clean    remove $(VENV), build and caches"
	@echo "Other interpreter: make verify PYTHON=python3.12"

verify: $(VENV)/.installed
	$(BIN)/attnproofs verify

test: $(VENV)/.installed-test
	$(BIN)/python -m pytest $(PYTEST_ARGS)

lint: $(VENV)/.installed-dev
	$(BIN)/python -m ruff check .
	$(BIN)/python -m ruff format --check .

types: $(VENV)/.installed-dev
	$(BIN)/python -m mypy

latex: $(VENV)/.installed
	@command -v latexmk >/dev/null || { echo "make latex needs latexmk (Debian: apt-get install latexmk lmodern texlive-latex-recommended texlive-fonts-recommended)" >&2; exit 2; }
	$(BIN)/attnproofs latex -o build/derivations.tex
	latexmk -pdf -interaction=nonstopmode -halt-on-error -outdir=build build/derivations.tex

docs: $(VENV)/.installed-docs
	$(BIN)/python -m sphinx -b html -W --keep-going docs docs/_build

# after a change to the kernel, the calculus, the printer or a theorem
generated: $(VENV)/.installed
	$(BIN)/python -m attnproofs.theorems.catalogue
	$(BIN)/python -m attnproofs.typeset.records

clean:
	rm -rf $(VENV) build dist docs/_build .pytest_cache .mypy_cache .ruff_cache .hypothesis

# an editable install: source edits need no second one
$(VENV)/.installed: pyproject.toml | $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	@touch $@

$(VENV)/.installed-%: pyproject.toml | $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[$*]"
	@touch $@

$(VENV):
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "attnproofs needs Python 3.11 or later, this is %d.%d: try make PYTHON=python3.12 ..." % sys.version_info[:2])'
	$(PYTHON) -m venv $@ || { rm -rf $@; exit 1; }
