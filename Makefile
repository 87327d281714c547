# `make` alone lists the targets.
SHELL := bash
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory
# Where the environment forbids it, each process that a test starts would compile all of the source again.
export PYTHONDONTWRITEBYTECODE :=

VENV ?= .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
WARM := $(VENV)/.warm
TIMED := tools/timed
# A file at a time. Most tests wait for processes and sockets: three at once keep two cores busy.
SIDE_BY_SIDE := -n 3 --dist loadfile

FOR ?=
ENGINE ?=
PORT ?=
NAME ?= mediation broker implicit
UPGRADE ?=

.PHONY: help
help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: setup
setup: $(WARM) ## the virtual environment in .venv (2 min)

$(READY): requirements/development.txt requirements/setup.txt requirements/runtime.in requirements/spark.in requirements/kafka.in pyproject.toml
	@$(TIMED) set-up 120 tools/setup $(VENV)

# numba sees when a kernel's own file changes, but not when one that it takes something from does.
KERNELS := $(wildcard src/tocsin/matching/*jit.py src/tocsin/matching/index/*kernel.py src/tocsin/matching/graphs/*kernel.py) \
	src/tocsin/matching/graphs/layout.py
$(WARM): $(READY) $(KERNELS)
	@find src -name '*.nb[ci]' -delete
	@$(BIN)/python -m tocsin.matching.warming
	@touch $@

.PHONY: java
java:
	@python=$$(tools/find-python) && "$$python" src/tocsin/platform/java.py

.PHONY: run
run: java $(WARM) ## the platform with its demo, until ^C or FOR=60s; ENGINE=spark|embedded, PORT=8080
	@$(TIMED) run - $(BIN)/tocsin up --demo $(if $(FOR),--for $(FOR)) $(if $(ENGINE),--engine $(ENGINE)) $(if $(PORT),--port $(PORT))

.PHONY: test
test: java $(WARM) ## what a change can break: real brokers, clients and Spark in brief (8 min)
	@EFFORT=0.25 $(TIMED) test 600 $(BIN)/pytest $(SIDE_BY_SIDE) -m "not long and not kafka and not scale" $(TESTS)

.PHONY: test-all
test-all: java $(WARM) ## every test: kills, all clients, large Spark, many examples (13 min)
	@$(TIMED) test-all 2400 $(BIN)/pytest $(SIDE_BY_SIDE) -m "not kafka and not scale and not cluster" $(TESTS)

KAFKA := build/kafka
$(KAFKA)/.ready: tools/kafka
	@$(TIMED) kafka 120 tools/kafka $(KAFKA)

.PHONY: test-kafka
test-kafka: java $(WARM) $(KAFKA)/.ready ## nodes that share a log in Kafka, which Maven fetches
	@$(TIMED) test-kafka 900 $(BIN)/pytest -m kafka tests/shared

.PHONY: test-cluster
test-cluster: java $(WARM) ## executors and machines of a Spark cluster killed in the middle of a batch (2 min)
	@$(TIMED) test-cluster 600 $(BIN)/pytest -m cluster $(TESTS)

.PHONY: same-answer
same-answer: java $(WARM) $(KAFKA)/.ready ## a recording by every way to match it: MESSAGES=50000 SUBSCRIPTIONS=10000 (9 min)
	@$(TIMED) same-answer - $(BIN)/pytest -s -m scale tests/scale

.PHONY: test-fast
test-fast: $(WARM) ## a quick look: no Spark, no broker processes, few examples (1 min)
	@EFFORT=0.1 $(TIMED) test-fast 60 $(BIN)/pytest $(SIDE_BY_SIDE) -m "not long and not kafka and not scale and not spark and not kills and not broker and not clients" $(TESTS)

.PHONY: check
check: $(READY) ## lint, format, types, layers (2 min)
	@$(TIMED) check 120 $(MAKE) lint

.PHONY: lint
lint:
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo

.PHONY: docs
docs: $(READY) ## the pages that are made: docs/mediation.md, and parts of docs/clients.md, architecture.md and notebook.md
	@text=$$($(BIN)/python tools/mediation-page && echo .) && printf %s "$${text%.}" > docs/mediation.md
	@$(BIN)/python -m tests.clients.peers.table > /dev/null
	@$(BIN)/python tools/walk --page docs/architecture.md
	@$(BIN)/python -m tests.pipeline.notebook

.PHONY: bench
bench: $(WARM) ## the benchmarks with their rivals; NAME=mediation for one
	@$(foreach name,$(NAME),$(TIMED) bench-$(name) - $(BIN)/tocsin bench run $(name) &&) true

.PHONY: wheel
wheel: $(READY) ## a wheel in build/; without the extra `spark` it runs a node
	@$(TIMED) wheel - tools/wheel $(BIN)/python build

.PHONY: requirements
requirements: ## pin requirements/*.in again, with hashes; UPGRADE=1 takes newer versions
	@$(TIMED) requirements - tools/pin $(if $(UPGRADE),--upgrade)

.PHONY: clean
clean: ## remove what was made here; data/ stays
	rm -rf $(VENV) build .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache spark-warehouse metastore_db derby.log
	find src tests -name __pycache__ -prune -exec rm -rf {} +
	rm -rf src/tocsin.egg-info
