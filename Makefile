# The checks of this project, each by itself in the active environment: `make types`, `make slow PART=2`. CI runs all of
# them (.ci/run); CONTRIBUTING.md says what each guards, how long it takes and what it needs.
SHELL := /bin/bash
# One of the ten parts of the slow tests; the Python of `make python`, and the part of the tests that it runs.
PART ?= 1
VERSION ?= 3.12
OF ?= 1/1

.PHONY: install lint types test slow site proofs python transformers main wheel
# A check that fails is shown whole, and so are the seconds of each.
export TIMEFORMAT = == $@: %0R s

install: # into .venv, by the README's command for tests
	time .ci/install

lint:
	time { ruff check . && ruff format --check .; }

types:
	time mypy

test:
	time pytest

slow: # without the two files that `make site` runs
	@echo "== slow tests: part $(PART) of 10"
	time pytest -m slow --part $(PART)/10 --durations 10 \
	  --ignore tests/house/test_site.py --ignore tests/report/test_page.py

site:
	time .ci/site

proofs:
	time .ci/proofs

python:
	time .ci/python $(VERSION) $(OF)

transformers:
	time .ci/transformers

main:
	time .ci/main

wheel:
	time .ci/wheel
