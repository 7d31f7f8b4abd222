"""``grove worker``: serve background jobs."""

from __future__ import annotations

import click

__all__ = ["worker"]


@click.command()
@click.option(
    "--concurrency", "-c", type=click.IntRange(1, 1024), help="Units at a time; one per core if not given."
)
@click.option("--log-level", default="INFO", show_default=True, help="DEBUG, INFO, WARNING or ERROR.")
def worker(concurrency: int | None, log_level: str) -> None:
    """Serve background jobs until told to stop: from GROVE_BROKER_URL, or in this process without a broker.

    With a broker, SIGTERM gives the running units 20 s to finish; without one it ends them at once. What is
    cut off, by SIGKILL too, is taken up again when its lease has ended.
    """
    import os

    os.environ.setdefault("REMAP_SIGTERM", "SIGQUIT")  # Celery reads it when imported: soft, bounded shutdown
    from ontology.settings import Settings
    from workers.app import run_worker

    run_worker(Settings.from_env(), concurrency=concurrency, log_level=log_level)
