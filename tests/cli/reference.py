"""Render docs/cli.md from the commands themselves.

``python -m tests.cli.reference`` writes this page and the table of parameters in docs/jobs.md. Tests compare
both with the current commands and kinds.
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

Data goes to stdout, and everything else to stderr. `--json` prints one JSON document. Settings come from
`GROVE_*` variables or a `.env` file; `grove doctor` shows them. With `grove completion`, bash, zsh and fish
complete commands, options, and names of ontologies, bundles and jobs.

CSV is UTF-8 with a header, and is made for programs. A spreadsheet runs a cell that begins with `=`, `+`,
`-` or `@` as a formula, and the keys and names of a hierarchy can begin with any character. Before you open a
CSV file in a spreadsheet, write it with `--spreadsheet-safe`. This option puts an apostrophe before text that
begins with one of these characters or its wide form, with a tab or with a line end. It leaves numbers and all
other text unchanged.

`locus`, `plot locus`, `cover`, `select`, `summarize`, `distances` and `experiment` are jobs like those of
`jobs submit`. The command submits a job and waits for it. Ctrl-C leaves the job in the ledger, and a
repeated question is answered from there at once. The next sweep shows the result in the graph (experiments
are not shown there); `grove worker` sweeps, and so does a command that waits for a job of `jobs submit`.
These commands record a job, so they need write access to the database and the artifact store. The following
are not jobs, and the command computes them itself: `locus --method pair-grid` and `grid`,
`cover --method must`, `sample`, the other commands of `plot`, and distances that are at most 10,000 or for
which `--rows` is given.

| exit code | meaning |
|---|---|
| 0 | ok |
| 1 | failure |
| 2 | usage: an argument is invalid |
| 3 | defects found in an ontology file |
| 4 | not found: ontology, label, bundle, job |
| 5 | service unreachable |
| 130 | stopped by Ctrl-C; the last line says what is kept and how to go on |

| variable | default | meaning |
|---|---|---|
| `GROVE_HOME` | `$XDG_DATA_HOME/labelgrove` | folder of the embedded default |
| `GROVE_GRAPH_URL` | `embedded:$GROVE_HOME/graph` | `bolt://user:password@host:7687` for Neo4j |
| `GROVE_GRAPH_POOL_MB` | [twice its file](scaling.md#graph-stores) | MiB that the embedded graph may buffer |
| `GROVE_DATABASE_URL` | `sqlite:///$GROVE_HOME/catalog.db` | `postgresql+psycopg://user:password@host/name` |
| `GROVE_ARTIFACTS_URL` | `$GROVE_HOME/artifacts` | a folder or an fsspec URL such as `s3://bucket/prefix` |
| `GROVE_BROKER_URL` | none: work runs in this process | `redis://host:6379/0` for Celery workers |
| `GROVE_CACHE_URL` | none: only a folder | `redis://host:6380/0`, a second Redis with copies of artifacts |
| `GROVE_OFFLINE` | `0` | `1`: bundles come [only from this machine](adapter-loading.md) |
| `GROVE_LOG_FORMAT` | `text` | `json`: workers log one JSON object per line |
| `GROVE_METRICS_PORT` | none | port at which a worker serves Prometheus metrics |
| `GROVE_SERVE_METRICS_PORT` | none | the same for [the service](operations.md#metrics-of-the-service) |
| `GROVE_METRICS_ADDRESS` | `127.0.0.1` | address at which both serve them |
| `GROVE_SERVE_HOSTS` | none | more names that requests may call [the service](service.md#who-may-ask) |
| `GROVE_SERVE_ORIGINS` | none | origins of [Label Studio](service.md#label-studio), separated by commas |
| `GROVE_SERVE_PROXY_HEADER` | none | header in which a proxy tells the service who the user is |
| `GROVE_SERVE_PROXY_PEERS` | none | addresses or networks of the proxies that are believed |
| `GROVE_SERVE_PROXY_SCOPES` | `read,score` | what users of the proxy may do |
| `GROVE_SERVE_JWT_ISSUER` | none | issuer of the JSON web tokens that the service accepts |
| `GROVE_SERVE_JWT_AUDIENCE` | none | audience that they must name |
| `GROVE_SERVE_JWT_KEYS` | none | file or URL with the keys of the issuer (JWKS) |
| `GROVE_SERVE_JWT_CLAIM` | `scope` | claim that says what a user may do |
| `GROVE_SERVE_JWT_SCOPES` | `grove:read=read,...` | scopes of its values: `staff=read+score,ops=admin` |
| `GROVE_KEEP_JOBS_DAYS` | `30` | days that a finished job is kept, unless a bundle or schedule needs it |
| `GROVE_KEEP_RESULTS` | `20` | newest results of each kind and version that stay in the graph |
| `GROVE_UNIT_TIME_LIMIT_S` | `600` | seconds after which a worker with a broker returns a unit |

A variable that holds a secret may have a name that ends in `_FILE` instead; its value is then the path of a
file with the secret.

Any other variable `GROVE_...`, in the environment or in `.env`, counts as misspelled. Every command except
`grove doctor` and `grove completion` then ends with exit code 2 and names the nearest setting, and so does a
model server that opens a bundle by name. `grove doctor` lists such variables. Some names are allowed:
`GROVE_TEST_...` (for the tests), `GROVE_ARTIFACTS_DIR`, `GROVE_UID` and `GROVE_GID` (for
`docker-compose.yml`), and the variables that Kubernetes sets for Services called `grove` or `grove-...`.
"""


def walk(command: click.Command, path: tuple[str, ...] = ("grove",)):
    """Yield `path` and `command`, then the path and command of every command below it."""
    yield path, command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            yield from walk(command.get_command(context, name), (*path, name))


def render() -> str:
    """Return the text of docs/cli.md."""
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
    """Return `page`, docs/jobs.md, with a current table of parameters between its two marks."""
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
