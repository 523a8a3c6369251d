# `make demo` and `make test` set up a virtual environment of their own in .venv from this project's files.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: setup demo test check bench bench-engine bench-start bench-store bench-local bench-cost bench-grounding clean

$(VENV)/ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[dev]'
	touch $@

setup: $(VENV)/ready

demo: setup
	$(BIN)/claimbase run seeds/neurips_2026_papers.txt --db claims.duckdb
	$(BIN)/claimbase sql --db claims.duckdb "SELECT contribution, task, method FROM papers"
	$(BIN)/claimbase sql --db claims.duckdb "SELECT quote, value, unit, role, qualifier, metric, dataset, baseline FROM headline_numbers"
	$(BIN)/claimbase export claims --db claims.duckdb --to claims.csv --force

test: setup
	$(BIN)/python -m pytest --cov

check: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# Speed, beside the peers, which are installed into .bench/ first; docs/performance.md says what each one measures.
bench: bench-cost bench-start bench-store bench-local bench-engine

bench-engine bench-start bench-store bench-local bench-cost: bench-%: setup
	$(BIN)/python -m bench.$*

bench-grounding: setup  # quotes, then numbers; reads the gold beside the checkout, if it is there
	$(BIN)/python -m bench.grounding
	$(BIN)/python -m bench.numbers

clean:
	rm -rf $(VENV) build dist claims.duckdb claims.csv
