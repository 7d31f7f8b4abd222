"""``grove serve``: the HTTP service and the explorer in a browser."""

from __future__ import annotations

import click

from labelgrove.cli.printing.text import note, say
from labelgrove.cli.waiting.stopping import resumable

__all__ = ["serve"]


@click.command()
@click.option("--host", default="127.0.0.1", show_default=True, help="Address of this machine to listen on.")
@click.option(
    "--port",
    default=8321,
    show_default=True,
    type=click.IntRange(0, 65535),
    help="Port to listen on; 0 for any free port.",
)
@click.option(
    "--workers",
    "processes",
    default=1,
    show_default=True,
    type=click.IntRange(1, 256),
    help="Number of processes that answer requests.",
)
@click.option(
    "--worker/--no-worker",
    default=True,
    show_default=True,
    help="Run background jobs in a process beside the service, or leave them to `grove worker`.",
)
@click.option("--open", "open_", is_flag=True, help="Open the explorer in a browser, signed in.")
@click.option("--link", is_flag=True, help="Print a new link for a service that is running, and exit.")
def serve(host: str, port: int, processes: int, worker: bool, open_: bool, link: bool) -> None:
    """Serve the explorer and the REST interface, until stopped.

    \b
    grove serve --open
    grove serve --host 0.0.0.0

    By default, only this machine reaches the service: everybody on it may read. The service prints a link
    that works once, and whoever opens it may also ingest. Any other address needs a token (grove token
    create), a proxy or an issuer of tokens that says who asks (docs/service.md). After SIGTERM or Ctrl-C,
    requests that are being answered may end; jobs that were not finished go on at the next start.
    """
    from labelgrove.ontology.settings import Settings
    from labelgrove.service import running

    settings, host = Settings.from_env(), running.bare_address(host)
    if link:
        say(running.new_link(settings, host, port))
        return
    running.check(settings, processes=processes)
    running.check_who_may(settings, host)
    bound = running.listening(host, port)
    port = int(bound.getsockname()[1])

    def started() -> None:
        where = running.address(host, port)
        if not (open_ or running.is_local(settings, host)):
            note(f"serving {where}; sign in with a token, or with the link of: grove serve --link")
            return
        entry = running.new_link(settings, host, port)
        note(f"serving {where}; to sign in, open this link, which works once:")
        say(entry)
        if open_:
            click.launch(entry)

    with resumable("nothing is lost; go on with: grove serve"):
        running.serve(bound, host, processes=processes, worker=worker, started=started)
