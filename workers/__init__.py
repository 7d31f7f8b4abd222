"""Background jobs: plan, ledger of units with leases and fences, execution embedded or through Celery."""
