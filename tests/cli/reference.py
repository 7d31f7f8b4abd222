"""Render docs/cli.md from the commands themselves.

``python -m tests.cli.reference`` writes the page; a test compares it with what the commands say now.
"""

from __future__ import annotations

from pathlib import Path

import click

from labelgrove.cli import grove

PAGE = Path(__file__).parents[2] / "docs" / "cli.md"

_HEADER = """\
# The command line

Written by `python -m tests.cli.reference` from the commands themselves.

Data goes to stdout, everything else to stderr; `--json` prints one JSON document. Settings come from
`GROVE_*` variables or a `.env` file (`grove doctor` shows them).

| exit code | meaning |
|---|---|
| 0 | ok |
| 1 | failure |
| 2 | usage: an argument breaks a rule |
| 3 | defects found in an ontology file |
| 4 | not found: ontology, label, bundle, job |
| 5 | service unreachable |

| variable | default | what |
|---|---|---|
| `GROVE_HOME` | `$XDG_DATA_HOME/labelgrove` | folder of the embedded default |
| `GROVE_GRAPH_URL` | `embedded:$GROVE_HOME/graph` | `bolt://user:password@host:7687` for Neo4j |
| `GROVE_DATABASE_URL` | `sqlite:///$GROVE_HOME/catalog.db` | `postgresql+psycopg://user:password@host/name` |
| `GROVE_ARTIFACTS_URL` | `$GROVE_HOME/artifacts` | a folder or an fsspec URL such as `s3://bucket/prefix` |
| `GROVE_BROKER_URL` | none: work runs in this process | `redis://host:6379/0` for Celery workers |
| `GROVE_CACHE_URL` | none: a folder alone | `redis://host:6380/0`, a second Redis with copies of artifacts |
| `GROVE_LOG_FORMAT` | `text` | `json` for logs of workers as one object per line |
| `GROVE_METRICS_PORT` | none | where a worker answers Prometheus |
| `GROVE_METRICS_ADDRESS` | `127.0.0.1` | the address it answers at |
| `GROVE_KEEP_JOBS_DAYS` | `30` | days that a finished job is kept, unless a bundle or schedule needs it |
| `GROVE_KEEP_RESULTS` | `20` | results of each kind and version that stay in the graph, the newest |

Each variable with a secret may instead be named `..._FILE` and hold the path of a file.
"""


def walk(command: click.Command, path: tuple[str, ...] = ("grove",)):
    """Yield (path, command) of every command below `command`."""
    yield path, command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            yield from walk(command.get_command(context, name), (*path, name))


def render() -> str:
    """Return the page."""
    parts = [_HEADER]
    for path, command in walk(grove):
        context = click.Context(
            command,
            info_name=" ".join(path),
            terminal_width=110,
            max_content_width=110,
            **grove.context_settings,
        )
        parts.append(f"## {' '.join(path)}\n\n```text\n{command.get_help(context).strip()}\n```\n")
    return "\n".join(parts)


if __name__ == "__main__":
    PAGE.write_text(render(), encoding="utf-8")
