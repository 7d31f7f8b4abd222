"""Trees of millions of labels on the embedded graph, by the commands that users type.

    python -m tests.benchmarks.bench_large_tree [--labels 1300000 2600000]

Writes a random tree as a table, ingests it into a home of its own and asks about it. The time of a step is
that of its command, start of Python included, on the clock and of the processor; its memory is the most that
the command and its children held. Prints one JSON document.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from tests.benchmarks.bench_lshtc import Deployment
from tests.benchmarks.measuring import print_document

SEED = 0
SIZES = (1_300_000, 2_600_000)
COUNT = "MATCH (l:Label {version: $version}) RETURN count(l) AS labels"
LEAF_NAMES = "MATCH (l:Label {version: $version}) WHERE l.leaf RETURN l.name AS name ORDER BY l.idx LIMIT 5"


def main() -> None:
    """Measure the sizes asked for."""
    parser = argparse.ArgumentParser(description="Trees of millions of labels on the embedded graph.")
    parser.add_argument("--labels", nargs="+", type=int, default=SIZES, metavar="N")
    sizes = parser.parse_args().labels
    print_document("large_tree", SEED, measurements=[measured(n) for n in sizes])


def measured(n_labels: int) -> dict[str, Any]:
    """Ingest one tree and ask about it."""
    with tempfile.TemporaryDirectory(prefix="labelgrove-") as folder:
        home, table = Path(folder, "home"), Path(folder, "tree.tsv")
        parent = write_table(table, n_labels)
        depth = depths(parent)
        one, other = (str(label) for label in np.argsort(-depth, kind="stable")[[0, 1]])
        keep = {name: value for name, value in os.environ.items() if not name.startswith("GROVE_")}
        deployment = Deployment("embedded", keep | {"GROVE_HOME": str(home)})

        def run(step: str, *arguments: str) -> Any:
            before = sum(os.times()[2:4])
            document = deployment.run(step, *arguments)
            deployment.steps[step]["processor_seconds"] = round(sum(os.times()[2:4]) - before, 2)
            return document

        run("ingest", "ingest", "tree", str(table))
        run("ingest, unchanged", "ingest", "tree", str(table))
        checks = run("graph verify", "graph", "verify")
        assert all(check["same"] for check in checks)
        above = run("labels ancestors", "labels", "ancestors", "tree", one)
        assert len(above) == depth.max()
        run("labels lca", "labels", "lca", "tree", one, other)
        run("labels path", "labels", "path", "tree", one, other)
        run("labels search", "labels", "search", "tree", "species 77")
        run("cypher, a count", "cypher", "--ontology", "tree", COUNT)
        run("cypher, an order", "cypher", "--ontology", "tree", LEAF_NAMES)
        run("graph rebuild", "graph", "rebuild")
        return {
            "n_labels": n_labels,
            "depth": int(depth.max()),
            "table_mb": table.stat().st_size >> 20,
            "graph_mb": sum(f.stat().st_size for f in (home / "graph").glob("*.lbug")) >> 20,
            "steps": deployment.steps,
        }


def write_table(path: Path, n_labels: int) -> np.ndarray:
    """Write a random recursive tree with keys and names; return the parent of each label."""
    child = np.arange(1, n_labels)
    parent = np.concatenate([[-1], (child * np.random.default_rng(SEED).random(len(child))).astype(int)])
    with open(path, "w", encoding="ascii") as file:
        file.write("key\tparent\tname\n0\t\troot\n")
        file.writelines(
            f"{c}\t{p}\tGenus{p % 9973} species {c}\n" for c, p in enumerate(parent[1:].tolist(), 1)
        )
    return parent


def depths(parent: np.ndarray) -> np.ndarray:
    """Return the edges up from each label; a parent stands before its children."""
    found = [0] * len(parent)
    for child, above in enumerate(parent[1:].tolist(), 1):
        found[child] = found[above] + 1
    return np.array(found)


if __name__ == "__main__":
    if shutil.disk_usage(tempfile.gettempdir()).free < 8 << 30:
        sys.exit("needs 8 GB of free disk; set TMPDIR")
    main()
