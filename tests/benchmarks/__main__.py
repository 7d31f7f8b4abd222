"""Measure, and write docs/benchmarks.md.

    python -m tests.benchmarks [--without-neo4j]

Starts a Neo4j of its own; run it on a machine that does nothing else.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import platform
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tests.benchmarks.bench_tree_scoring import processor
from tests.services import Neo4jServer

PAGE = Path(__file__).parents[2] / "docs" / "benchmarks.md"

_HEADER = """\
# Benchmarks

Written by `python -m tests.benchmarks` on {date}: {processor}, Python {python}, numpy {numpy}. Every
benchmark checks its answer before it is timed; ratios are measured inside one run. Seeds are fixed
(`tests/benchmarks/graphs.py`), digests are printed.
"""


def measured(module: str, *arguments: str, environment: dict[str, str] | None = None) -> dict[str, Any]:
    """Run one benchmark in a process of its own and return its document."""
    print(f"running {module}", file=sys.stderr, flush=True)
    command = [sys.executable, "-m", f"tests.benchmarks.{module}", *arguments]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=environment)
    return json.loads(done.stdout)


def table(columns: list[str], rows: list[list[Any]]) -> str:
    """Return a Markdown table."""
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join(f"| {' | '.join(str(cell) for cell in line)} |" for line in lines)


def scoring_page(documents: list[dict[str, Any]]) -> str:
    """Tree scoring, with its goal; one table for each set of BLAS kernels."""
    graph = documents[0]["graph"]
    parts = [
        "## Tree scoring against the fused dense path\n\n"
        "`python -m tests.benchmarks.bench_tree_scoring`: numpy alone, one thread. The dense path is a\n"
        "float32 matrix product over blocks of rows of uint8 distances, squared as they are read, with a\n"
        "running argmin. Goal at K = 1000: ratio 180. All flat rows have one answer, peaked ones have some\n"
        "170. The dense path depends on the kernels that the BLAS picks: as the environment pins them, and\n"
        "as it chooses itself.\n\n"
        f"{graph['graph']}: {graph['n_labels']:,} labels, digest `{graph['digest'][:16]}`; "
        f"seed {documents[0]['seed']}.\n"
    ]
    columns = [
        "K",
        "rows",
        "probabilities",
        "columns",
        "prepare ms",
        "tree ms",
        "dense ms",
        "Gflop/s",
        "ratio",
    ]
    fields = ["n_observed", "n_samples", "probabilities", "columns", "prepare_ms", "tree_ms", "dense_ms"]
    fields += ["dense_gflops", "ratio"]
    for document in documents:
        rows = [[setting[field] for field in fields] for setting in document["settings"]]
        pinned = document["blas_kernels_pinned_to"] or "nothing"
        parts.append(f"BLAS kernels pinned to {pinned}: {document['blas'][0]}.\n\n{table(columns, rows)}\n")
    return "\n".join(parts)


def ingest_page(document: dict[str, Any]) -> str:
    """Reading, building, registering, opening."""
    parts = [
        "## Ingest\n\n`python -m tests.benchmarks.bench_ingest --neo4j URL`. Goals at 325,056 labels and "
        "863,261 edges: build < 3 s, snapshot open < 50 ms, embedded load < 20 s; Neo4j is reported.\n"
    ]
    for graph in document["graphs"]:
        stores = [s for s in ("embedded", "neo4j") if s in graph]
        steps = [[step, f"{seconds:.3f}"] for step, seconds in graph["seconds"].items()]
        loads = [[step, *(f"{graph[s][step]:.3f}" for s in stores)] for step in graph["embedded"]]
        parts.append(
            f"{graph['graph']}: {graph['n_labels']:,} labels, {graph['n_edges']:,} edges, "
            f"depth {graph['depth']}, "
            f"largest degree {graph['largest_degree']:,}, digest `{graph['digest'][:16]}`\n\n"
            f"{table(['step', 'seconds'], steps)}\n\n{table(['in the graph, seconds', *stores], loads)}\n"
        )
    parts.append(f"Peak memory of the whole run: {document['peak_memory_mb']:,} MB.\n")
    return "\n".join(parts)


def main() -> None:
    """Run every benchmark and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--without-neo4j", action="store_true")
    options = parser.parse_args()
    unpinned = {name: value for name, value in os.environ.items() if name != "OPENBLAS_CORETYPE"}
    scoring = [measured("bench_tree_scoring", environment=unpinned)]
    if len(unpinned) < len(os.environ):
        scoring.insert(0, measured("bench_tree_scoring"))
    with contextlib.ExitStack() as stack:
        arguments = []
        if not options.without_neo4j:
            server = stack.enter_context(Neo4jServer())
            arguments = ["--neo4j", server.url]
        ingest = measured("bench_ingest", *arguments)
    header = _HEADER.format(
        date=datetime.now(UTC).date(),
        processor=processor(),
        python=platform.python_version(),
        numpy=scoring[0]["numpy"],
    )
    PAGE.write_text("\n".join([header, scoring_page(scoring), ingest_page(ingest)]), encoding="utf-8")
    print(f"wrote {PAGE}")


if __name__ == "__main__":
    main()
