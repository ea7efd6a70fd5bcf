.DEFAULT_GOAL := help
# Where a run began: hours later there may be other commits.
COMMIT := $(shell git describe --always --dirty --exclude '*')
.PHONY: help demo doctest fuzz house long test lint format types imports calibrate stored reference benchmark validate docs afresh check

help:  ## Show this list
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "%-12s %s\n", $$1, $$2}'

demo:  ## Run the main job on a simulated study
	uv run dissensus demo --force

test:  ## Run the unit tests
	uv run pytest

doctest:  ## Run the examples in docstrings (PyTensor's graphs are interpreted: each is evaluated once)
	PYTENSOR_FLAGS=mode=FAST_COMPILE,cxx= uv run pytest --doctest-modules src

long:  ## Run tests that take seconds: whole evaluations; calibration, fuzzing, reference posteriors, reduced
	uv run --group browser --group jax pytest -m "long and not slow" tests

fuzz:  ## Call every public function with hostile input, 50,000 times and more
	DISSENSUS_FUZZ=full uv run pytest -m "slow or not slow" --numprocesses=2 --dist=worksteal tests/fuzz
	PYTHONPATH=tests uv run python -m calibration.passes 'fuzzing' $(COMMIT)

lint:  ## Check style, formatting and spelling
	uv run --group lint ruff check .
	uv run --group lint codespell
	uv run --group lint ruff format --check .

format:  ## Mend what ruff can mend
	uv run --group lint ruff check --fix .
	uv run --group lint ruff format .

types:  ## Check types (strict on src)
	uv run --group lint mypy

imports:  ## Check that imports go one way
	uv run --group lint lint-imports

calibrate:  ## Run simulation-based calibration in full, and write its page
	PYTHONPATH=tests uv run python -m calibration.full
	uv run --group browser pytest -m slow
	PYTHONPATH=tests uv run python -m calibration.passes 'calibration' 'slow tests' $(COMMIT)

validate:  ## Hold what is printed against real sets whose answer is known (two hours)
	uv run python benchmarks/real_data.py
	uv run python benchmarks/insight.py
	uv run python benchmarks/real_rankings.py
	uv run python benchmarks/real_scores.py
	uv run --with ppi-python python benchmarks/real_truth.py
	uv run python benchmarks/seeds.py
	uv run python benchmarks/certainty.py
	uv run python benchmarks/lists.py
	uv run python benchmarks/real_components.py

stored:  ## Make the evaluations that tests of pictures read again
	PYTHONPATH=tests uv run python -m stored.make

reference:  ## Make the posteriors that fits are held against again
	PYTHONPATH=tests uv run python -m reference.make

benchmark:  ## Measure against the peers, side by side, and at size (over two hours)
	uv run python benchmarks/run.py
	uv run python benchmarks/peers
	uv run python benchmarks/many_labels.py
	uv run python benchmarks/many_rankings.py --items 1e6 --workers 2
	uv run python benchmarks/chunks.py --items 1e5 1e6 1e7
	uv run python benchmarks/growth.py --out build

house:  ## Count files, arrows, and the rooms that a call goes through
	uv run python benchmarks/house.py

docs:  ## Build the documentation, run its notebooks and guides, warnings as errors
	uv run --group docs sphinx-build -W --keep-going -q docs docs/_build/html

afresh:  ## Forget the documentation that was built, and what its notebooks gave
	rm -rf docs/_build docs/api docs/notebooks

check: test doctest long lint types imports docs  ## Run all that .ci/run runs
