PYTHON ?= python

.PHONY: test faults bench

test: ## everything that needs minutes; servers that are missing are skipped
	$(PYTHON) -m tests.services run -- $(PYTHON) -m pytest

faults: ## the fault tests with their large figures, then docs/reliability.md
	GROVE_TEST_FAULTS_MEASURED=1 $(PYTHON) -m pytest -m slow tests/faults tests/stateful tests/integration/test_workers_contention.py
	$(PYTHON) -m tests.faults

bench: ## every benchmark, then docs/benchmarks.md
	$(PYTHON) -m tests.benchmarks
