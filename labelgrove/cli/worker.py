"""``grove worker``: serve background jobs."""

from __future__ import annotations

from typing import Any

import click

from labelgrove.cli.waiting.stopping import resumable

__all__ = ["worker"]


@click.command()
@click.option(
    "--concurrency", "-c", type=click.IntRange(1, 1024), help="Units at a time; one per core if not given."
)
@click.option(
    "--log-level",
    type=click.Choice(["DEBUG", "INFO", "WARNING", "ERROR"], case_sensitive=False),
    default="INFO",
    show_default=True,
    help="What to leave out of the log.",
)
@click.option(
    "--log-format",
    type=click.Choice(["text", "json"]),
    help="Lines for people, or one JSON object each; GROVE_LOG_FORMAT if not given.",
)
@click.option(
    "--metrics-port",
    type=click.IntRange(0, 65535),
    help="Answer Prometheus at this port, 0 for any free one; GROVE_METRICS_PORT if not given.",
)
@click.option(
    "--metrics-address",
    help="Answer at this address of the host; GROVE_METRICS_ADDRESS if not given, else loopback alone.",
)
def worker(
    concurrency: int | None,
    log_level: str,
    log_format: str | None,
    metrics_port: int | None,
    metrics_address: str | None,
) -> None:
    """Serve background jobs until told to stop: from GROVE_BROKER_URL, or in this process without a broker.

    With a broker, SIGTERM or a second Ctrl-C gives the running units 20 s to finish, and a first Ctrl-C all
    the time they need. Without a broker SIGTERM and Ctrl-C give them back at once, for other workers to take.
    Units that are cut off, as by SIGKILL, are taken up again when their leases have ended. A database that is
    away is waited for: a minute when a worker starts, and as long as it takes later on.
    """
    import dataclasses
    import os

    os.environ.setdefault("REMAP_SIGTERM", "SIGQUIT")  # Celery reads it when imported: soft, bounded shutdown
    from labelgrove.ontology.settings import Settings
    from labelgrove.workers.app import run_worker

    given: dict[str, Any] = {
        "log_format": log_format,
        "metrics_port": metrics_port,
        "metrics_address": metrics_address,
    }
    settings = dataclasses.replace(
        Settings.from_env(), **{name: value for name, value in given.items() if value is not None}
    )
    with resumable("what was not finished is taken up by other workers; go on with: grove worker"):
        run_worker(settings, concurrency=concurrency, log_level=log_level)
