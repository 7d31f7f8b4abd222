"""Run test servers from the shell; see `python -m tests.services --help`."""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import subprocess
import sys
import threading

from tests.services import (
    Neo4jServer,
    PostgresServer,
    RedisServer,
    ServerProcess,
    ServiceError,
    ServiceMissingError,
)
from tests.services.patience import measured_scale
from tests.services.process import announce

_SERVERS: dict[str, type[ServerProcess]] = {
    "neo4j": Neo4jServer,
    "redis": RedisServer,
    "postgres": PostgresServer,
}


def main(argv: list[str] | None = None) -> int:
    """Parse the command line, run the requested servers, and return the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.services", description="Real servers for the tests."
    )
    commands = parser.add_subparsers(dest="what", required=True)
    for name in _SERVERS:
        one = commands.add_parser(name, help=f"run {name} in the foreground until Ctrl-C or SIGTERM")
        one.add_argument("--print-url", action="store_true", help="print the URL alone on standard output")
    everything = commands.add_parser(
        "run", help="start all, run a command with their URLs in its environment"
    )
    everything.add_argument("command", nargs="+", metavar="CMD", help="the command, after --")
    commands.add_parser("time-scale", help="measure how many times slower than usual this machine is")
    arguments = parser.parse_args(argv)
    if arguments.what == "time-scale":
        print(measured_scale())
        return 0
    # Let SIGTERM unwind the stack as Ctrl-C does, so that every server is closed.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        if arguments.what == "run":
            return _run(arguments.command)
        return _serve(arguments.what, url_only=arguments.print_url)
    except ServiceError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


def _serve(name: str, *, url_only: bool) -> int:
    announce(f"{name}: starting")
    with _SERVERS[name]() as server, contextlib.suppress(KeyboardInterrupt):
        print(server.url if url_only else f"{name} {server.version} at {server.url}", flush=True)
        threading.Event().wait()
    return 0


def _run(command: list[str]) -> int:
    environment = dict(os.environ)
    # Tests start hundreds of processes, each of which would compile all its imports without stored bytecode.
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    with contextlib.ExitStack() as stack:
        for name, kind in _SERVERS.items():
            announce(f"{name}: starting")
            try:
                server = stack.enter_context(kind())
            except ServiceMissingError as error:
                if os.environ.get("GROVE_TEST_REQUIRE_SERVICES") == "1":
                    raise
                print(f"{name}: {error}; tests that need it will skip", flush=True)
                continue
            environment[f"GROVE_TEST_{name.upper()}_URL"] = server.url
            print(f"{name} {server.version}", flush=True)
        return subprocess.run(command, env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
