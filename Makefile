# Every target sets up all it needs in .venv; the second time it starts in seconds.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: help install train test lint bench clean

help:
	@echo "make train    install, then train the default network on molecules, in about two minutes"
	@echo "make test     install, lint, type-check, check the import contracts, run the tests"
	@echo "make lint     install, then lint, types and import contracts only"
	@echo "make bench    install, then measure speed and memory beside PyTorch Geometric: an hour, on an idle machine"
	@echo "make install  install the package and its tools into $(VENV)"
	@echo "make clean    remove $(VENV) and every cache"

install: $(READY)

# torch comes first: what depends on it then finds the pinned version and brings no other.
$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' || \
		{ echo "deepergcn needs Python 3.11, 3.12 or 3.13; set PYTHON=/path/to/it" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt torch
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[dev]'
	@touch $(READY)

train: $(READY)
	$(BIN)/deepergcn train

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

test: lint
	$(BIN)/pytest --numprocesses 2

bench: $(READY)
	$(BIN)/python -m benchmarks.aggregation_arxiv
	$(BIN)/python -m benchmarks.aggregation_proteins
	$(BIN)/python -m benchmarks.step_molhiv
	$(BIN)/python -m benchmarks.loader_molhiv
	$(BIN)/python -m benchmarks.epoch_molhiv
	$(BIN)/python -m benchmarks.partitions_proteins
	$(BIN)/python -m benchmarks.growth
	$(BIN)/python -m benchmarks.whole_steps proteins
	$(BIN)/python -m benchmarks.whole_steps arxiv

clean:
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -prune -exec rm -rf {} +
