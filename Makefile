# Development tasks of imp2tf. `make` lists them.
#
# VENV=DIRECTORY   another virtual environment        PYTHON=COMMAND   the interpreter to make it with
# N=COUNT          how many random programs `make fuzz` runs
# ARGS="..."       passed on, for example: make test ARGS="-n 2 -k while"

VENV ?= .venv
ARGS ?=
N ?= 200
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed

.DEFAULT_GOAL := help
.PHONY: help setup test lint demo bench bench-quick fuzz clean

help:                      ## this list
	@sed -n 's/^\([a-z-]*\):[^#]*## /  make \1|/p' $(MAKEFILE_LIST) | awk -F'|' '{printf "%-20s%s\n", $$1, $$2}'

setup: $(INSTALLED)        ## the virtual environment, with all dependencies

$(INSTALLED): setup.cfg pyproject.toml scripts/setup_venv.sh
	@PYTHON="$(PYTHON)" scripts/setup_venv.sh "$(VENV)"

test: lint                 ## lint, types and the whole test suite
	@$(BIN)/pytest -n auto --maxprocesses 8 $(ARGS)

lint: $(INSTALLED)         ## style and types
	@$(BIN)/ruff check .
	@scripts/typecheck.sh $(BIN)/python

demo: $(INSTALLED)         ## trains a small model on handwritten digits
	@$(BIN)/python examples/digits/demo.py $(ARGS)

bench: $(INSTALLED)        ## all benchmarks, with a table, build/bench.json and build/bench.png
	@mkdir -p build
	@$(BIN)/python -m benchmarks --json build/bench.json --plot build/bench.png $(ARGS)

bench-quick: $(INSTALLED)  ## the same in some minutes, without XLA and with rougher numbers
	@mkdir -p build
	@$(BIN)/python -m benchmarks --quick --json build/bench-quick.json --plot build/bench-quick.png $(ARGS)

fuzz: $(INSTALLED)         ## N random programs, graph against eager
	@$(BIN)/python -m tests.fuzz --count $(N) --shrink $(ARGS)

clean:                     ## removes what was built and cached; the virtual environment stays
	@rm -rf build dist *.egg-info .pytest_cache .hypothesis .mypy_cache .ruff_cache .coverage .coverage.* htmlcov
	@find . -path ./.git -prune -o -path "./$(VENV)" -prune -o -name __pycache__ -type d -exec rm -rf {} +
