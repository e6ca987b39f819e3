# Every target sets up all it needs in .venv; the second time it starts in seconds.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
LOCK := requirements.lock
LOCK_VENV := build/lock-venv
# Processes of the tests: make test WORKERS=1 leaves a core to others.
WORKERS := 2

.PHONY: help install train test test-gpu test-processors lint coverage hooks lock bench bench-gpu docs figures clean

help: ## list these targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-16s%s\n", $$1, $$2 }' Makefile

install: $(READY) ## install the package and its tools into .venv, every version as tested

# torch comes first: what depends on it then finds the pinned version and brings no other.
$(READY): pyproject.toml $(LOCK)
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' || \
		{ echo "deepergcn needs Python 3.11, 3.12 or 3.13; set PYTHON=/path/to/it" >&2; exit 1; }
	@echo "installing into $(VENV), which takes a few minutes the first time"
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --constraint $(LOCK) torch
	$(BIN)/python -m pip install --quiet --constraint $(LOCK) --editable '.[dev]'
	@touch $(READY)

train: $(READY) ## install, then train the default network on molecules, in about two minutes
	$(BIN)/deepergcn train

test: lint ## install, lint, type-check, check the import contracts, run the tests
	$(BIN)/pytest --numprocesses $(WORKERS) --dist worksteal

test-gpu: $(READY) ## run all tests of the GPU kernels, interpreted on the CPU and compiled for sm_80 and sm_90
	DEEPERGCN_GPU_TESTS=all $(BIN)/pytest --numprocesses $(WORKERS) --dist worksteal tests/ops/gpu

# Each setting takes a processor's features away and compiles every kernel anew. NUMBA_CACHE_DIR is for other packages.
# Other interpreters: make test-processors PYTHONS='/path/to/python3.12 /path/to/python3.13'.
PROCESSORS := NUMBA_CPU_NAME=generic ATEN_CPU_CAPABILITY=default OMP_NUM_THREADS=1
PYTHONS := python3.11 python3.12 python3.13
test-processors: $(READY) ## run the tests of operators, networks and one training with a processor's features off
	@for setting in $(PROCESSORS); do \
		echo "$$setting, kernels compiled anew: tests of ops, nn and one training"; \
		cache=$$(mktemp -d); \
		env $$setting XDG_CACHE_HOME=$$cache NUMBA_CACHE_DIR=$$cache $(BIN)/pytest -q --numprocesses $(WORKERS) --dist worksteal \
			tests/ops tests/nn tests/training/test_loop.py || { rm -rf $$cache; exit 1; }; \
		rm -rf $$cache; \
	done
	@for python in $(PYTHONS); do \
		version=$$($$python --version 2>/dev/null) || { echo "$$python skipped: it is not here"; continue; }; \
		[ "$$version" = "$$($(BIN)/python --version)" ] && continue; \
		echo "$$version: tests of ops, nn and one training"; \
		folder=$$(mktemp -d); $$python -m venv $$folder; \
		if $$folder/bin/python -m pip install --quiet --constraint $(LOCK) torch >/dev/null 2>&1; then \
			$$folder/bin/python -m pip install --quiet --constraint $(LOCK) --editable '.[dev]' && \
			$$folder/bin/pytest -q --numprocesses $(WORKERS) --dist worksteal tests/ops tests/nn tests/training/test_loop.py || \
			{ rm -rf $$folder; exit 1; }; \
		else echo "$$version skipped: $$(grep '^torch==' $(LOCK)) cannot be installed for it"; fi; \
		rm -rf $$folder; \
	done

lint: $(READY) ## install, then lint, types and import contracts only
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

coverage: $(READY) ## run the tests and show which lines and branches of each file they never reach
	$(BIN)/pytest --numprocesses $(WORKERS) --dist worksteal --cov

hooks: $(READY) ## let git run the linters on every commit
	$(BIN)/pre-commit install

lock: ## write requirements.lock: every package that constraints.txt installs into a fresh environment
	rm -rf $(LOCK_VENV)
	$(PYTHON) -m venv $(LOCK_VENV)
	$(LOCK_VENV)/bin/python -m pip install --quiet --constraint constraints.txt torch
	$(LOCK_VENV)/bin/python -m pip install --quiet --constraint constraints.txt '.[dev,docs]'
	$(LOCK_VENV)/bin/python -m pip list --format freeze | sed -E '/^(deepergcn|pip|nvidia-.*|cuda-.*)==/d; s/[+].*//' > $(LOCK_VENV)/all
	{ echo '# Every package of .venv, as tested. Written by "make lock" from constraints.txt; do not edit.'; \
		grep '^torch==' $(LOCK_VENV)/all; grep -v '^torch==' $(LOCK_VENV)/all; } > $(LOCK_VENV)/lock
	mv $(LOCK_VENV)/lock $(LOCK)
	rm -rf $(LOCK_VENV)

bench: $(READY) ## install, then measure speed and memory compared with PyTorch Geometric: an hour, on an idle machine
	$(BIN)/python -m benchmarks.aggregation_arxiv
	$(BIN)/python -m benchmarks.aggregation_proteins
	$(BIN)/python -m benchmarks.step_molhiv
	$(BIN)/python -m benchmarks.loader_molhiv
	$(BIN)/python -m benchmarks.epoch_molhiv
	$(BIN)/python -m benchmarks.partitions_proteins
	$(BIN)/python -m benchmarks.growth
	$(BIN)/python -m benchmarks.whole_steps proteins
	$(BIN)/python -m benchmarks.whole_steps arxiv
	$(BIN)/python -m benchmarks.reversible
	$(BIN)/python -m benchmarks.reversible --memory
	$(BIN)/python -m benchmarks.processes
	$(BIN)/python -m benchmarks.plan

bench-gpu: $(READY) ## install, then measure speed and memory on a GPU compared with PyTorch Geometric
	$(BIN)/python -m benchmarks.gpu

docs: $(READY) ## install, then build the site into build/site, and the table of PyTorch Geometric's features from its tests
	$(BIN)/python -m pip install --quiet --constraint $(LOCK) --editable '.[docs]'
	$(BIN)/python -W ignore -m tests.nn.pyg.features > docs/pyg-features.md
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --strict
	@echo "the site is in build/site; open build/site/index.html, or serve it to search it:"
	@echo "$(BIN)/python -m http.server --directory build/site"

figures: $(READY) ## install, then make the tables and pictures of the README files from results/
	$(BIN)/python -m results.figures

clean: ## remove .venv and every cache
	rm -rf $(VENV) build dist .coverage .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -prune -exec rm -rf {} +
