# The entry point. `make` lists the targets; CI runs `make test`, `make chaos`, and `make check`.

SHELL := /bin/sh
PYTHON ?= $(shell for python in python3.14 python3.13 python3.12 python3.11 python3; do \
	"$$python" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1 \
	&& { echo "$$python"; break; }; done)
BIN := .venv/bin
STAMP := .venv/.setup-done
LOCK := $(BIN)/uv pip compile --quiet --upgrade --universal --python-version 3.11 --generate-hashes \
	--no-header --no-emit-index-url --no-emit-find-links --no-config --annotation-style line \
	pyproject.toml
LINTED := $(wildcard src tests examples bench docs)

# Let pytest cache rewritten test modules even if the environment forbids bytecode.
export PYTHONDONTWRITEBYTECODE :=

PYTEST := $(BIN)/pytest -q --numprocesses auto --dist worksteal
# Rewrite the test modules once, in two processes, instead of in every worker.
REWRITE := $(BIN)/pytest --collect-only -qq

.DEFAULT_GOAL := help
.PHONY: help setup test chaos coverage check lint types contracts project dependencies dead words docs reference \
	fix demo bench e2e fuzz lock clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "make %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(STAMP) ## create .venv from hash-pinned requirements

$(STAMP): requirements/dev.txt pyproject.toml
	@test -n "$(PYTHON)" || { echo >&2 "No Python 3.11 or newer with venv and ensurepip was found;" \
		"install one, or name it: make setup PYTHON=/path/to/python3"; exit 1; }
	@test -x $(BIN)/python || "$(PYTHON)" -m venv .venv
	$(BIN)/python -m pip install --quiet --require-hashes --requirement requirements/dev.txt
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --no-index --editable .
	@$(BIN)/python -m compileall -q src
	@touch $@

test: setup ## run the product tests (TESTS=tests/unit/… to select some)
	@$(BIN)/python -m compileall -q src
	@test -d tests/unit/__pycache__ || { $(REWRITE) tests/unit --ignore=tests/unit/tasks & \
		$(REWRITE) tests/unit/tasks tests/process tests/interaction tests/test_*.py & wait; } >/dev/null
	$(PYTEST) -m "not chaos and not project" $(TESTS)

chaos: setup ## test crashes and damage at every stage, and new random inputs (SEED=N to repeat)
	@$(BIN)/python -m compileall -q src
	SEED=$${SEED:-fresh} $(PYTEST) -m "chaos or fuzz or hypothesis" $(TESTS)

coverage: setup ## list branches without tests
	$(BIN)/coverage run -m pytest -q $(TESTS)
	$(BIN)/coverage report

check: lint types contracts project dependencies dead words docs ## run every CI check except the tests

lint: setup ## check rules and format with ruff
	$(BIN)/ruff check $(LINTED)
	$(BIN)/ruff format --check $(LINTED)

types: setup ## check types in strict mode
	$(BIN)/basedpyright

contracts: setup ## check import rules between packages
	$(BIN)/lint-imports --no-cache

project: setup ## test the sources, pages, benchmarks, and test tools
	$(PYTEST) -m project

dependencies: setup ## check that imports and declared dependencies match
	$(BIN)/deptry src

dead: setup ## find unused code
	$(BIN)/vulture

words: setup ## check spelling and words to avoid
	$(BIN)/typos
	$(BIN)/python -m tests.support.voice

docs: setup ## build the pages in strict mode into site/
	$(BIN)/python docs/generate.py --check
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

reference: setup ## regenerate the generated pages
	$(BIN)/python docs/generate.py

fix: setup ## apply automatic fixes and regenerate the generated pages
	$(BIN)/ruff check --fix $(LINTED)
	$(BIN)/ruff format $(LINTED)
	$(BIN)/python docs/generate.py

demo: setup ## show two tasks with an inbox and undo, then mods (AGENT='…' for another agent)
	@test -f examples/demo.py || { echo >&2 "examples/demo.py is not written yet"; exit 1; }
	@$(BIN)/python -m compileall -q src
	@$(BIN)/python examples/tasks.py
	@$(BIN)/python examples/demo.py # AGENT is passed through the environment

bench: setup ## compare chains with pipes and proxies, the bus with NATS and Redis (BENCH=--quick)
	@$(BIN)/python -m compileall -q src
	@$(BIN)/python -m bench.run $(BENCH)
	@$(BIN)/python -m bench.bus.run $(BENCH)
	@$(BIN)/python -m bench.stop_on_write $(BENCH)
	@$(BIN)/python -m bench.tasks $(BENCH)
	@$(BIN)/python -m bench.progress $(BENCH)
	@$(BIN)/python -m bench.recovery $(BENCH)
	@$(BIN)/python -m bench.twelve $(BENCH)
	@$(BIN)/python -m bench.snapshots $(BENCH)

e2e: setup ## test real agents and clients from their registries
	@test -d tests/e2e || { echo >&2 "tests/e2e is not written yet"; exit 1; }
	$(BIN)/pytest -q --timeout 600 tests/e2e

fuzz: setup ## run property tests with new inputs, and broken bytes for a minute (SEED=N to repeat)
	SEED=$${SEED:-fresh} $(PYTEST) -m hypothesis
	SEED=$${SEED:-fresh} FUZZ_SECONDS=60 $(BIN)/pytest -q tests/interaction/test_invariants.py -k broken_bytes
	SEED=$${SEED:-fresh} FUZZ_ROUNDS=20000 $(BIN)/pytest -q --timeout 300 tests/unit/jsonrpc/test_fuzz.py
	SEED=$${SEED:-fresh} FUZZ_ROUNDS=20000 $(BIN)/pytest -q --timeout 300 tests/unit/bus/test_fuzz.py
	SEED=$${SEED:-fresh} FUZZ_ROUNDS=200000 $(BIN)/pytest -q --timeout 300 tests/unit/code/query/test_parser.py

lock: setup ## update the pinned requirements
	$(LOCK) --output-file requirements/runtime.txt
	$(LOCK) --all-extras --group dev --output-file requirements/dev.txt

clean: ## remove files that make can create
	rm -rf .venv site .pytest_cache .ruff_cache .hypothesis .coverage
