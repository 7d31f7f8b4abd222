"""``grove worker``: run background jobs until stopped."""

from __future__ import annotations

from typing import Any

import click

from labelgrove.cli.waiting.stopping import resumable

__all__ = ["worker"]


@click.command()
@click.option(
    "--concurrency",
    "-c",
    type=click.IntRange(1, 1024),
    help="Number of units to run at a time; by default one per core.",
)
@click.option(
    "--sweep-only",
    is_flag=True,
    help="Run no units, only sweep: schedules fire and lost units are found while no worker runs.",
)
@click.option(
    "--log-level",
    type=click.Choice(["DEBUG", "INFO", "WARNING", "ERROR"], case_sensitive=False),
    default="INFO",
    show_default=True,
    help="Log messages of this severity and of higher ones.",
)
@click.option(
    "--log-format",
    type=click.Choice(["text", "json"]),
    help="Log lines of text, or one JSON object per line; by default GROVE_LOG_FORMAT.",
)
@click.option(
    "--metrics-port",
    type=click.IntRange(0, 65535),
    help="Port for Prometheus metrics, 0 for any free port; by default GROVE_METRICS_PORT.",
)
@click.option(
    "--metrics-address",
    help="Address of this host for Prometheus metrics; by default GROVE_METRICS_ADDRESS, or the loopback "
    "address if that is not set.",
)
def worker(
    concurrency: int | None,
    sweep_only: bool,
    log_level: str,
    log_format: str | None,
    metrics_port: int | None,
    metrics_address: str | None,
) -> None:
    """Run background jobs until stopped.

    Jobs come from the broker at GROVE_BROKER_URL; if no broker is set, they come from the ledger.

    With a broker, a first Ctrl-C gives the running units all the time they need; SIGTERM or a second Ctrl-C
    gives them 20 s to finish. Without a broker, SIGTERM and Ctrl-C give the units back at once, and other
    workers may take them. Units that are cut off, such as by SIGKILL, run again when their leases have ended.
    If the database cannot be reached, a starting worker waits a minute for it, and a running worker waits
    until it is back.

    With --sweep-only, SIGTERM and Ctrl-C end the process at once. Every worker sweeps, so such a process is
    needed only where all workers may be away, for example where their number follows the load.
    """
    import dataclasses
    import os

    os.environ.setdefault("REMAP_SIGTERM", "SIGQUIT")  # Celery reads it when imported: soft, bounded shutdown
    from labelgrove.ontology.settings import Settings

    if sweep_only and concurrency is not None:
        raise click.UsageError(
            "--concurrency cannot be given with --sweep-only, which runs no units; leave out one of them"
        )

    given: dict[str, Any] = {
        "log_format": log_format,
        "metrics_port": metrics_port,
        "metrics_address": metrics_address,
    }
    settings = dataclasses.replace(
        Settings.from_env(), **{name: value for name, value in given.items() if value is not None}
    )
    if sweep_only:
        from labelgrove.workers.app import run_sweeper

        with resumable("workers sweep as well; go on with: grove worker --sweep-only"):
            run_sweeper(settings, log_level=log_level)
        return
    from labelgrove.workers.worker import run_worker

    with resumable("other workers take over the units that were not finished; go on with: grove worker"):
        run_worker(settings, concurrency=concurrency, log_level=log_level)
