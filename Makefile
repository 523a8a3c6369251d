# `make demo` and `make test` set up a virtual environment of their own in .venv from this project's files.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: setup demo test check bench bench-engine bench-start bench-store bench-local bench-cost bench-scale \
	bench-grounding bench-web screenshots axe clean

PIP_INSTALL := $(BIN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt

$(VENV)/used: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(PIP_INSTALL) --editable '.[local]'
	touch $@

$(VENV)/developed: $(VENV)/used
	$(PIP_INSTALL) --editable '.[dev]'
	touch $@

setup: $(VENV)/developed

demo: $(VENV)/used
	$(BIN)/claimbase run seeds/neurips_2026_papers.txt --db claims.duckdb
	$(BIN)/claimbase sql --db claims.duckdb "SELECT contribution, task, method FROM papers"
	$(BIN)/claimbase sql --db claims.duckdb "SELECT quote, value, unit, role, qualifier, metric, dataset, baseline FROM headline_numbers"
	$(BIN)/claimbase export claims --db claims.duckdb --to claims.csv --force

test: setup axe
	$(BIN)/python -m pytest --cov

check: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# Speed, beside the peers, which are installed into .bench/ first; docs/performance.md says what each one measures.
bench: bench-cost bench-start bench-store bench-local bench-engine

bench-engine bench-start bench-store bench-local bench-cost: bench-%: setup
	$(BIN)/python -m bench.$*

bench-scale: setup  # on a Ray cluster of this machine; docs/scale.md
	$(BIN)/python -m bench.scale same
	$(BIN)/python -m bench.scale kills
	$(BIN)/python -m bench.scale limits
	$(BIN)/python -m bench.scale throughput --records 1000
	$(BIN)/python -m bench.scale cpu --records 4000
	$(BIN)/python -m bench.scale merge --records 1000000
	$(BIN)/python -m bench.scale read --records 100000

bench-grounding: setup  # quotes, then numbers; reads the gold beside the checkout, if it is there
	$(BIN)/python -m bench.grounding
	$(BIN)/python -m bench.numbers

bench-web: setup  # pages of a database of a million headline numbers; docs/web.md
	$(BIN)/python -m bench.web

screenshots: setup  # docs/images, of the seeds extracted by the embedded model; needs chromium
	$(BIN)/python -m bench.screenshots

# axe-core looks over the pages in the browser tests, which are skipped where npm can't fetch it.
axe:
	@test -f node_modules/axe-core/axe.min.js \
	|| npm install --silent --no-save --no-package-lock --no-audit --no-fund axe-core@4.14.1 \
	|| echo "no axe-core: the tests that need it are skipped"

clean:
	rm -rf $(VENV) build dist claims.duckdb claims.csv
