PYTHON ?= python
FAULTS = tests/faults tests/stateful tests/integration/test_workers_contention.py

.PHONY: test faults faults-small bench

test: ## everything that needs minutes; servers that are missing are skipped
	$(PYTHON) -m tests.services run -- $(PYTHON) -m pytest

faults-small: ## the fault tests as every run of the tests has them, alone: four minutes
	$(PYTHON) -m tests.services run -- $(PYTHON) -m pytest -n 3 --dist loadgroup $(FAULTS)

faults: ## the fault tests with their large figures, then docs/reliability.md
	GROVE_TEST_FAULTS_MEASURED=1 $(PYTHON) -m pytest -m slow $(FAULTS)
	$(PYTHON) -m tests.faults

bench: ## every benchmark, then docs/benchmarks.md
	$(PYTHON) -m tests.benchmarks
