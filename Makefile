# Everything a newcomer needs: `make train` and `make test` set up all they use, once.
ENV ?= pong
ARGS ?=
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# One thread per process: the trainer starts a process for every core.
export OMP_NUM_THREADS ?= 1

.PHONY: train test browser dashboard frontend check format bench bench-peers clean help
help:            ## show the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/'

train: $(VENV)/.package        ## train an agent: make train ENV=pong ARGS="--minutes 5"
	$(BIN)/hogwild train $(ENV) $(ARGS)

test: check browser            ## formatter, linter, strict types, all tests
	$(BIN)/python -m pytest -n 2 -m "not cluster"
	$(BIN)/python -m pytest -m cluster

dashboard: $(VENV)/.package    ## all runs in the browser
	$(BIN)/hogwild dashboard $(ARGS)

# Where it can be installed, it is: on Debian, as root. Elsewhere the browser tests are left out, but never in CI.
browser:
	@command -v chromium >/dev/null || command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null \
	|| { command -v apt-get >/dev/null && [ "$$(id -u)" = 0 ] && echo "Installing Chromium for the browser tests." \
	     && apt-get update -qq >/dev/null && apt-get install -y -qq chromium >/dev/null 2>&1; } \
	|| echo "No Chromium here: the browser tests are left out."

frontend:                      ## build the dashboard's page anew (needs Node.js)
	cd frontend && npm install --no-audit --no-fund && npm run build

check: $(VENV)/.dev            ## formatter, linter, strict types
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

format: $(VENV)/.dev           ## format the code
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(VENV)/.package        ## training speed beside the bare emulator's
	$(BIN)/hogwild bench $(ENV) $(ARGS)

bench-peers: $(VENV)/.dev      ## training speed beside other libraries: installs them, then measures
	$(BIN)/python benchmarks/peers.py $(ARGS)

$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Hogwild needs Python 3.11 or newer: make PYTHON=python3.12 …"; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.package: pyproject.toml constraints.txt | $(BIN)/python
	@echo "Installing into $(VENV): a minute or two, once."
	@$(BIN)/pip install --quiet -c constraints.txt -e '.[atari,render]'
	@touch $@

$(VENV)/.dev: pyproject.toml constraints.txt | $(BIN)/python
	@echo "Installing into $(VENV): a minute or two, once."
	@$(BIN)/pip install --quiet -c constraints.txt -e '.[atari,render,dev]'
	@touch $(VENV)/.package $@

clean:                         ## remove the virtual environment and caches (never runs/)
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache dist
