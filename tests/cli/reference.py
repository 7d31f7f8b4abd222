"""Render docs/cli.md from the commands themselves.

``python -m tests.cli.reference`` writes the page, and the table of parameters in docs/jobs.md; tests compare
both with what commands and kinds say now.
"""

from __future__ import annotations

from pathlib import Path

import click

from labelgrove.cli import grove
from labelgrove.cli.kinds import COLUMNS, parameter_rows
from labelgrove.workers.kinds import known_kinds

PAGE = Path(__file__).parents[2] / "docs" / "cli.md"
JOBS_PAGE = PAGE.with_name("jobs.md")

_BEGIN = "<!-- parameters: written by python -m tests.cli.reference -->"
_END = "<!-- end of parameters -->"

_HEADER = """\
# The command line

Written by `python -m tests.cli.reference` from the commands themselves.

Data goes to stdout, everything else to stderr; `--json` prints one JSON document. Settings come from
`GROVE_*` variables or a `.env` file (`grove doctor` shows them). `grove completion` lets bash, zsh and fish
complete commands, options, and names of ontologies, bundles and jobs.

CSV is UTF-8 with a header and is meant for programs. A spreadsheet runs a cell that begins with `=`, `+`, `-`
or `@` as a formula, and keys and names are whatever a hierarchy says: open there what was written with
`--spreadsheet-safe`. It puts an apostrophe before text that begins so (their wide forms too), or with a tab
or line end; numbers and all else stay as they are.

`locus`, `cover`, `select`, `summarize` and `distances` are jobs, as `jobs submit` makes them: the command
submits one and waits, Ctrl-C leaves it in the ledger, and the same question again is answered from there at
once. The next sweep (`grove worker`, or whoever waits for a job of `jobs submit`) shows the result in the
graph. Since a job is recorded, they need a database and an artifact store that can be written. Not jobs, and
computed by the command itself: `locus --method pair-grid` and `grid`, `cover --method must`, `sample`,
`plot`, and distances that are at most 10,000 or go to labels that `--rows` names.

| exit code | meaning |
|---|---|
| 0 | ok |
| 1 | failure |
| 2 | usage: an argument breaks a rule |
| 3 | defects found in an ontology file |
| 4 | not found: ontology, label, bundle, job |
| 5 | service unreachable |
| 130 | stopped by Ctrl-C; the last line says what is kept and how to go on |

| variable | default | what |
|---|---|---|
| `GROVE_HOME` | `$XDG_DATA_HOME/labelgrove` | folder of the embedded default |
| `GROVE_GRAPH_URL` | `embedded:$GROVE_HOME/graph` | `bolt://user:password@host:7687` for Neo4j |
| `GROVE_GRAPH_POOL_MB` | [twice its file](scaling.md#graph-stores) | MiB that the embedded graph may buffer |
| `GROVE_DATABASE_URL` | `sqlite:///$GROVE_HOME/catalog.db` | `postgresql+psycopg://user:password@host/name` |
| `GROVE_ARTIFACTS_URL` | `$GROVE_HOME/artifacts` | a folder or an fsspec URL such as `s3://bucket/prefix` |
| `GROVE_BROKER_URL` | none: work runs in this process | `redis://host:6379/0` for Celery workers |
| `GROVE_CACHE_URL` | none: a folder alone | `redis://host:6380/0`, a second Redis with copies of artifacts |
| `GROVE_OFFLINE` | `0` | `1`: bundles come [from this machine alone](adapter-loading.md) |
| `GROVE_LOG_FORMAT` | `text` | `json` for logs of workers as one object per line |
| `GROVE_METRICS_PORT` | none | where a worker answers Prometheus |
| `GROVE_METRICS_ADDRESS` | `127.0.0.1` | the address it answers at |
| `GROVE_KEEP_JOBS_DAYS` | `30` | days that a finished job is kept, unless a bundle or schedule needs it |
| `GROVE_KEEP_RESULTS` | `20` | results of each kind and version that stay in the graph, the newest |
| `GROVE_UNIT_TIME_LIMIT_S` | `600` | seconds after which a worker of a broker gives a unit back |

Each variable with a secret may instead be named `..._FILE` and hold the path of a file.

Any other variable `GROVE_...`, in the environment or in `.env`, is taken for a misspelled one: every command
but `grove doctor`, which lists them, ends with exit code 2 and names the nearest setting, and so does a model
server that asks for a bundle by name. Left alone are `GROVE_TEST_...` (for the tests), `GROVE_ARTIFACTS_DIR`,
`GROVE_UID` and `GROVE_GID` (for `docker-compose.yml`), and what Kubernetes sets for Services called `grove`
or `grove-...`.
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


def with_parameters(page: str) -> str:
    """Return the page on jobs with the table of parameters between its two marks."""
    before, begin, rest = page.partition(_BEGIN)
    _, end, after = rest.partition(_END)
    if not (begin and end):
        raise ValueError(f"{JOBS_PAGE}: the marks {_BEGIN!r} and {_END!r} are missing")
    rows = [(kind, f"`{name}`", *more) for kind, name, *more in parameter_rows(known_kinds())]
    lines = [f"| {' | '.join(cells)} |" for cells in (COLUMNS, ["---"] * len(COLUMNS), *rows)]
    return before + begin + "\n\n" + "\n".join(lines) + "\n\n" + end + after


if __name__ == "__main__":
    PAGE.write_text(render(), encoding="utf-8")
    JOBS_PAGE.write_text(with_parameters(JOBS_PAGE.read_text(encoding="utf-8")), encoding="utf-8")
