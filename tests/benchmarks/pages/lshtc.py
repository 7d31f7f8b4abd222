"""From an LSHTC file to a Cypher answer, in both deployments."""

from __future__ import annotations

from tests.benchmarks.pages.section import Run, Section, table

ABOUT = """\
`python -m tests.benchmarks.bench_lshtc`: a hierarchy of LSHTC's size in its file format, then the commands
`grove ingest`, `jobs submit summary` (to 10,000 supernodes, shown in the graph), `jobs submit distances`
(256 observed classes), `bundle build` twice and `cypher`. Times are wall-clock seconds of each command,
including the start of Python; memory is the most that the command and the worker held together, without
servers. Services are Neo4j, PostgreSQL, Redis and one worker of two processes on the same two cores. The
digests of all results are the same in both deployments, and so is the Cypher answer."""


def section(runs: list[Run]) -> Section:
    """Write the part."""
    (run,) = runs
    document = run["document"]
    embedded, services = document["deployments"]["embedded"], document["deployments"]["services"]
    rows = [
        [step, *(each[step][what] for each in (embedded, services) for what in ("seconds", "memory_mb"))]
        for step in embedded
    ]
    columns = ["step", "embedded, s", "embedded, MB", "services, s", "services, MB"]
    size = f"{document['nodes']:,} categories, {document['edges']:,} edges, {document['classes']:,} classes."
    return Section("From an LSHTC file to a Cypher answer", runs, ABOUT, [], [size, table(columns, rows)])
