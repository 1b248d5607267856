# `make help` lists the targets. Everything that is installed goes into .venv and build/.

PYTHON ?= python3
CARGO ?= cargo

BIN := .venv/bin
RUN := $(BIN)/python
STAMPS := .venv/.stamps
BUILD := build
LETTA := $(BUILD)/letta
LETTA_VERSION := 0.34.12

RECORDING := fixtures/letta-0.34.12/transcripts
RUST_SOURCES := $(shell find rust include -type f 2>/dev/null) Cargo.toml $(wildcard Cargo.lock)
PYTHON_SOURCES := $(shell find python -name '*.py' -not -path '*/_native_lib/*')
SLOW_TESTS := tests/e2e tests/packaging tests/web/browser

CARGO_FUZZ := $(BUILD)/cargo-fuzz/bin/cargo-fuzz
FUZZ_TARGETS := strict_line lenient_line page native_vs_exact
# Seconds for each fuzz target of `make fuzz`.
FUZZ_SECONDS ?= 30

export PIP_DISABLE_PIP_VERSION_CHECK := 1
# A virtual environment that happens to be active is not the project's.
unexport VIRTUAL_ENV PYTHONPATH PYTHONHOME

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

.PHONY: help
help: ## Show this list
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "%-16s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# --- set up ---------------------------------------------------------------

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' || \
		{ echo "lettafast needs Python 3.10 or newer; name it: make PYTHON=..." >&2; exit 1; }
	$(PYTHON) -m venv .venv

# pip learned `--group` (the dependency groups of pyproject.toml) in 25.1.
$(STAMPS)/tools: pyproject.toml | $(BIN)/python
	$(RUN) -m pip install --quiet --upgrade 'pip>=25.1'
	$(RUN) -m pip install --quiet --group dev
	@mkdir -p $(@D) && touch $@

$(STAMPS)/native: $(STAMPS)/tools $(RUST_SOURCES)
	@command -v $(CARGO) >/dev/null || { echo "the native core needs cargo (Rust 1.89 or newer)" >&2; exit 1; }
	VIRTUAL_ENV=$(CURDIR)/.venv PIP_QUIET=1 $(BIN)/maturin develop --release --quiet
	LETTAFAST_BACKEND=native $(RUN) -c 'import lettafast; lettafast.backend'
	@touch $@

$(STAMPS)/bench: pyproject.toml | $(STAMPS)/tools
	$(RUN) -m pip install --quiet --group bench
	@touch $@

$(STAMPS)/browser: pyproject.toml | $(STAMPS)/tools
	$(RUN) -m pip install --quiet --group browser
	npm install --silent --no-audit --no-fund --prefix $(BUILD)/axe axe-core@4
	@touch $@

$(LETTA)/bin/letta:
	$(PYTHON) -m venv $(LETTA)
	$(LETTA)/bin/python -m pip install --quiet letta==$(LETTA_VERSION)

$(CARGO_FUZZ):
	$(CARGO) install cargo-fuzz --locked --quiet --root $(BUILD)/cargo-fuzz

.PHONY: venv
venv: $(STAMPS)/tools ## Make .venv with the development tools, without the native core

.PHONY: browser-tools
browser-tools: $(STAMPS)/browser ## Install what the tests in a browser need, but for the browser

.PHONY: develop
develop: $(STAMPS)/native ## Make .venv with the native core built in

# --- use ------------------------------------------------------------------

# Nothing to show is no reason to show nothing.
.PHONY: run
run: develop ## Open the front-end on this machine's Letta Code, or on a recording
	@if [ -n "$$($(BIN)/lettafast list --json 2>/dev/null | head -n 1)" ]; then \
		exec $(BIN)/lettafast serve --open; \
	else \
		exec $(BIN)/lettafast serve --open --root $(RECORDING) \
			--note 'No transcript of Letta Code is on this machine: this is a recording.'; \
	fi

# --- test -----------------------------------------------------------------

.PHONY: test
test: test-rust test-python ## Run the tests of both backends

.PHONY: test-rust
test-rust:
	$(CARGO) test --workspace --locked --quiet
	$(CARGO) test --manifest-path fuzz/Cargo.toml --locked --quiet

.PHONY: test-python
test-python: develop
	$(RUN) -m pytest $(addprefix --ignore=,$(SLOW_TESTS)) $(PYTEST_ARGS)

.PHONY: test-packaging
test-packaging: develop dist ## Install both wheels in new environments and run them there
	$(RUN) -m pytest tests/packaging

.PHONY: test-e2e
test-e2e: develop $(STAMPS)/browser $(LETTA)/bin/letta ## Drive the real Letta Code (needs tmux) and read what it writes
	LETTAFAST_LETTA=$(CURDIR)/$(LETTA)/bin/letta $(RUN) -m pytest tests/e2e

.PHONY: test-browser
test-browser: develop $(STAMPS)/browser ## Use the front-end in a real browser (needs chromium and npm)
	$(RUN) -m pytest tests/web/browser tests/web/test_web_openapi.py

.PHONY: lint
lint: $(STAMPS)/tools ## Check format, lints and types of Rust and Python
	$(CARGO) fmt --all --check
	$(CARGO) fmt --manifest-path fuzz/Cargo.toml --check
	$(CARGO) clippy --workspace --all-targets --locked -- -D warnings
	$(CARGO) clippy --manifest-path fuzz/Cargo.toml --all-targets --locked -- -D warnings
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

.PHONY: format
format: $(STAMPS)/tools ## Format Rust and Python
	$(CARGO) fmt --all
	$(CARGO) fmt --manifest-path fuzz/Cargo.toml
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

.PHONY: docs
docs: develop ## Write docs/CLI.md from the commands' own help, and the reasons of docs/BINDING.md
	mkdir -p $(BUILD)
	$(RUN) tests/docs/cli_help.py >$(BUILD)/CLI.md && mv $(BUILD)/CLI.md docs/CLI.md
	$(RUN) tests/docs/reasons.py

.PHONY: screenshots
screenshots: develop $(STAMPS)/browser ## Take the pictures of docs/screenshots (needs chromium)
	$(RUN) tests/web/screenshots.py

# libFuzzer's instrumentation is not stable yet: RUSTC_BOOTSTRAP lets a stable compiler do it.
.PHONY: fuzz
fuzz: $(CARGO_FUZZ) ## Fuzz each target for FUZZ_SECONDS (30), from the seeds
	set -e; for target in $(FUZZ_TARGETS); do \
		case $$target in page) seeds=fuzz/seeds/pages ;; *) seeds='fuzz/seeds/lines fixtures/cases' ;; esac; \
		mkdir -p fuzz/corpus/$$target; \
		RUSTC_BOOTSTRAP=1 $(CARGO_FUZZ) run --features libfuzzer $$target fuzz/corpus/$$target $$seeds -- \
			-max_total_time=$(FUZZ_SECONDS) -timeout=10; \
	done

# --- measure --------------------------------------------------------------

.PHONY: bench
bench: develop $(STAMPS)/bench ## Measure in full beside the peers (long) and write a record
	$(RUN) -m benches full

.PHONY: bench-quick
bench-quick: develop $(STAMPS)/bench ## Measure shortly; fails where a ratio is under half of what it must be
	$(RUN) -m benches quick

.PHONY: compare
compare: develop $(STAMPS)/bench ## Compare with agent-trajectory, message by message (needs Node 20)
	$(RUN) -m benches.compare_trajectory

# --- package --------------------------------------------------------------

.PHONY: wheels
wheels: dist ## Build the native wheel, the pure wheel and the source archive into dist/

dist: $(STAMPS)/tools $(RUST_SOURCES) $(PYTHON_SOURCES) $(wildcard packaging/pure/*.toml) README.md
	rm -rf dist
	$(BIN)/maturin build --release --quiet --interpreter $(CURDIR)/$(RUN) --out dist
	$(BIN)/maturin sdist --out dist
	$(RUN) -m pip wheel --quiet --no-deps --no-build-isolation --wheel-dir dist ./packaging/pure
	@touch $@

# --- clean ----------------------------------------------------------------

.PHONY: clean
clean: ## Remove everything that was made
	rm -rf .venv build dist target fuzz/target fuzz/corpus fuzz/artifacts python/lettafast/_native_lib
	rm -rf .benchmarks .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
