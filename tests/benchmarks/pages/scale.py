"""The largest hierarchies: how long an ingest takes, and how much memory."""

from __future__ import annotations

from typing import Any

from tests.benchmarks.pages.section import Goal, Run, Section, graph_line, number, table

SECONDS, MEMORY_MB = 60, 4096

ABOUT = """\
`python -m tests.benchmarks.bench_scale taxdump` and `thesaurus`: wall-clock seconds of one ingest into a
fresh home with the embedded graph, after the answer was checked: numbers of labels and edges, and the digest
that is read back. The sources are generated in the shape of NCBI's taxonomy dump and of MeSH."""


def section(runs: list[Run]) -> Section:
    """Write the part."""
    documents = [run["document"] for run in runs]
    goals = [goal for document in documents for goal in _goals(document)]
    body = [part for document in documents for part in _source(document)]
    return Section("Scale", runs, ABOUT, goals, body)


def _goals(document: dict[str, Any]) -> list[Goal]:
    name = document["graph"]["graph"]
    return [
        Goal(f"ingest of a {name}", SECONDS, round(document["seconds"]["together"], 1), "s"),
        Goal(f"memory for a {name}", MEMORY_MB, document["peak_memory_mb"]["after registering"], "MB"),
    ]


def _source(document: dict[str, Any]) -> list[str]:
    steps = [[step, f"{seconds:.2f}"] for step, seconds in document["seconds"].items()]
    memory = [[step, number(size)] for step, size in document["peak_memory_mb"].items()]
    return [
        f"{graph_line(document['graph'])}; {document['n_synonyms']:,} synonyms; "
        f"{document['source_mb']:,} MB of text.",
        table(["step", "seconds"], steps),
        table(["peak memory", "MB"], memory),
    ]
