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

    With a broker, SIGTERM lets the running units finish first; without one it ends them at once. Whatever is
    cut off, by SIGKILL too, is taken up again when its lease has ended.
    """
    from ontology.settings import Settings
    from workers.app import run_worker

    run_worker(Settings.from_env(), concurrency=concurrency, log_level=log_level)
