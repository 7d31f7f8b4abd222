"""How Celery carries the key of a unit, and nothing else."""
