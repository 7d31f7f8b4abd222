"""Ingest the largest hierarchies: a taxonomy dump of NCBI's size, and a thesaurus of MeSH's.

    python -m tests.benchmarks.bench_scale {taxdump,thesaurus} [--labels N]

The source is generated. It is read and then registered in a fresh home with the embedded graph, each once, in
this process; the numbers of labels and edges, the names and the digest read back are checked. Prints one JSON
document.
"""

from __future__ import annotations

import argparse
import resource
import tempfile
from collections.abc import Callable
from pathlib import Path

from labelgrove.ontology.readers import read
from labelgrove.ontology.settings import Settings
from labelgrove.ontology.versions.ingest import register
from labelgrove.ontology.versions.workspace import Workspace
from tests.benchmarks.bench_ingest import timed
from tests.benchmarks.graphs import describe
from tests.benchmarks.measuring import print_document
from tests.benchmarks.taxonomies import MESH_LABELS, NCBI_LABELS, write_taxdump, write_thesaurus

SEED = 0
SOURCES: dict[str, tuple[str, int, Callable[[Path, int, int], None], str]] = {
    "taxdump": ("taxonomy dump, NCBI's size", NCBI_LABELS, write_taxdump, "."),
    "thesaurus": ("thesaurus, MeSH's size", MESH_LABELS, write_thesaurus, "thesaurus.csv"),
}
"""Title, number of labels, generator, and what it writes in a folder."""


def peak() -> int:
    """Return the most memory that this process has had so far, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def main() -> None:
    """Measure one source and print the document."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("source", choices=SOURCES)
    parser.add_argument("--labels", type=int, help="number of labels, if not that of the real one")
    options = parser.parse_args()
    title, n_labels, write, name = SOURCES[options.source]
    n_labels = options.labels or n_labels
    with tempfile.TemporaryDirectory() as folder:
        source, home = Path(folder) / "source", Path(folder) / "home"
        source.mkdir()
        write(source / name, n_labels, SEED)
        n_bytes = sum(path.stat().st_size for path in source.iterdir())
        reading, result = timed(lambda: read(source / name))
        graph, annotations = result.graph, result.annotations
        assert graph is not None
        assert annotations is not None
        assert graph.n_labels == n_labels
        after_reading = peak()
        n_names = len(annotations.name_texts)
        with Workspace.open(Settings.from_env({"GROVE_HOME": str(home)})) as workspace:
            _ = workspace.graph
            registering, registered = timed(lambda: register(workspace, "bench", result))
            whole = peak()
            assert workspace.graph.read_back(graph.digest).digest == graph.digest
    print_document(
        f"scale, {options.source}",
        SEED,
        graph=describe(title, graph),
        source_mb=n_bytes // 2**20,
        n_synonyms=n_names,
        seconds={
            "read and check the source": reading,
            "register": registering,
            **{f"of it {step}": seconds for step, seconds in registered.seconds.items()},
            "together": reading + registering,
        },
        peak_memory_mb={"after reading": after_reading, "after registering": whole},
    )


if __name__ == "__main__":
    main()
