# make run | demo | test | setup | lint | bench | quality
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: run demo test setup browser lint bench quality lock clean

run: setup
	@PATH="$(BIN):$$PATH" sh scripts/demo.sh

demo: setup
	@PATH="$(BIN):$$PATH" sh scripts/demo.sh --brief

test: setup browser
	$(BIN)/python -m pytest -q -n 2 --dist loadfile

setup: $(STAMP)

$(STAMP): requirements.lock pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	$(BIN)/python -m compileall -q src
	touch $(STAMP)

browser:
	@sh scripts/browser.sh

lint: setup
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

bench: setup
	$(BIN)/python -m benchmarks

quality: setup
	$(BIN)/python -m benchmarks.quality

lock:
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header --no-annotate --all-extras --group dev --output-file requirements.lock pyproject.toml

clean:
	rm -rf $(VENV) .recollect build dist
