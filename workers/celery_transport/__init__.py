"""How Celery carries a key, and nothing else."""
