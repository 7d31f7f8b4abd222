"""``grove worker``: serve background jobs from the broker."""

from __future__ import annotations

import click

__all__ = ["worker"]


@click.command(context_settings={"ignore_unknown_options": True, "allow_extra_args": False})
@click.option(
    "--concurrency", "-c", type=click.IntRange(1, 1024), help="Worker processes; one per core if not given."
)
@click.option("--queues", "-Q", help="Queues to serve, comma separated; all if not given.")
@click.option("--hostname", "-n", help="Name of this node, if several run on one host.")
@click.option("--loglevel", default="INFO", show_default=True)
def worker(concurrency: int | None, queues: str | None, hostname: str | None, loglevel: str) -> None:
    """Serve background jobs from the broker at GROVE_BROKER_URL until told to stop.

    SIGTERM lets running units finish or hands them back; SIGKILL loses nothing either.
    """
    from workers.app import run_worker

    run_worker(concurrency=concurrency, queues=queues, hostname=hostname, loglevel=loglevel)
