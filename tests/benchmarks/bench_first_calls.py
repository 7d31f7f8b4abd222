"""What the first calls in a process cost, where compiled code is loaded or made: adapters and commands.

    python -m tests.benchmarks.bench_first_calls [--labels 325056] [--observed 1000] [--calls 2000]
        [--commands-observed 100] [--rows 20000]

Adapters of a tree and of a graph are opened in processes of their own, and each call of `Adapter.predict` for
one row is timed; the first process begins with an empty folder of compiled code (NUMBA_CACHE_DIR), the second
with what the first left there, and the third calls `Adapter.warm` before. All run a copy of the package,
beside which no code is kept. Answers are compared with those of one batch here. Memory is private: the pages
that no other process maps, with those of the bundle's file that were read; dirty pages leave these out.

Commands of `grove` run on WordNet's nouns where it is installed, else on a seeded tree of their size. Each
runs three times in copies of one home, so that no run finds the result of another: once so that the system
holds all files, then with an empty folder of compiled code, and once more with what that run left there.
Results are compared; the difference in time is what compiling costs. Times of commands include the start of
Python; processor time is that of all threads. Prints one JSON document.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Literal

import numpy as np

from labelgrove.adapter import Adapter, build_bundle
from labelgrove.ontology.readers import find_wordnet
from tests.benchmarks.bench_large_tree import write_table
from tests.benchmarks.bench_tree_scoring import probabilities
from tests.benchmarks.graphs import LSHTC_EDGES, LSHTC_LABELS, WORDNET_SIZE, category_graph, describe
from tests.benchmarks.measuring import one_thread, print_document
from tests.packagecopy import copied_package

SEED = 0
METRICS: tuple[Literal["tree", "graph"], ...] = ("tree", "graph")
ONTOLOGY, SUPERNODES = "nouns", 10_000

CHILD = """
import json, sys, time
import numpy as np
from labelgrove.adapter import Adapter
rows = np.load(sys.argv[2])
begin = time.perf_counter()
adapter = Adapter.load(sys.argv[1])
if sys.argv[3] == "warmed":
    adapter.warm()
opened = time.perf_counter() - begin
taken, answers = [], []
worked = time.process_time()
for row in rows:
    begin = time.perf_counter()
    answers += adapter.predict(row)
    taken.append(time.perf_counter() - begin)
worked = time.process_time() - worked
with open("/proc/self/smaps_rollup", encoding="ascii") as file:
    private = {line.split(":")[0]: int(line.split()[1]) for line in file if line.startswith("Private_")}
print(json.dumps({"answers": answers, "opened": opened, "taken": taken, "worked": worked,
                  "private": private}))
"""


def environment(package: Path, compiled: Path, **more: str) -> dict[str, str]:
    """Return what a user's process sees: no settings but ours, a copy of the package and compiled code."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GROVE_")}
    kept.pop("PYTHONDONTWRITEBYTECODE", None)  # it would compile our modules in each process
    threads = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    return kept | threads | copied_package(package, compiled) | more


def calls_in_a_process(
    bundle: Path, rows: Path, compiled: Path, expected: list[str], state: str
) -> dict[str, Any]:
    """Open a bundle in a process of its own and answer row by row; return the times and the memory."""
    command = [sys.executable, "-c", CHILD, str(bundle), str(rows), state]
    done = subprocess.run(
        command,
        cwd=bundle.parent,
        env=environment(bundle.parent / "package", compiled, GROVE_HOME=str(bundle.parent / "home")),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    said = json.loads(done.stdout)
    assert said["answers"] == expected
    longest = int(np.argmax(said["taken"]))
    return {
        "open_ms": round(1e3 * said["opened"], 1),
        "longest_ms": round(1e3 * said["taken"][longest], 2),
        "longest_index": longest,
        "median_us": round(1e6 * float(np.median(said["taken"])), 1),
        "total_ms": round(1e3 * sum(said["taken"]), 1),
        "processor_ms": round(1e3 * said["worked"], 1),
        "private_mb": round(sum(said["private"].values()) / 1024, 1),
        "private_dirty_mb": round(said["private"]["Private_Dirty"] / 1024, 1),
        "kernels_kept": sum(path.is_file() for path in compiled.rglob("*.nb*")),
    }


def measure_adapters(folder: Path, n_labels: int, n_observed: int, n_calls: int) -> dict[str, Any]:
    """Measure both bundles, each with an empty and with a filled folder of compiled code."""
    graph = category_graph(n_labels, n_labels * LSHTC_EDGES // LSHTC_LABELS)
    rng = np.random.default_rng(SEED)
    observed = graph.keys.take(rng.choice(n_labels, n_observed, replace=False))
    weights = probabilities("peaked", n_calls, n_observed)
    rows = folder / "rows.npy"
    np.save(rows, weights)
    found: dict[str, Any] = {}
    for metric in METRICS:
        bundle = build_bundle(graph, observed, metric=metric)
        path, compiled = folder / f"{metric}.safetensors", folder / f"compiled-{metric}"
        bundle.save(path)
        compiled.mkdir()
        expected = Adapter(bundle).predict(weights)
        found[metric] = {
            state: calls_in_a_process(path, rows, compiled, expected, state)
            for state in ("empty", "filled", "warmed")
        }
        path.unlink()
    return {"graph": describe("category_graph", graph), "bundles": found}


class Home:
    """A home with one ontology and one bundle, of which each run of a command gets a copy."""

    def __init__(self, folder: Path, n_observed: int, n_rows: int) -> None:
        self._folder, self._first = folder, folder / "first"
        wordnet, table = find_wordnet(), folder / "tree.tsv"
        if wordnet is None:
            write_table(table, WORDNET_SIZE)
        source = str(table if wordnet is None else wordnet)
        self.digest = self._grove(self._first, "", "ingest", ONTOLOGY, source)["digest"]
        outputs = folder / "outputs.npy"
        np.save(outputs, probabilities("peaked", n_rows, n_observed))
        known, others = (("--observed", self._sample(n_observed, seed)) for seed in (SEED, SEED + 1))
        self._grove(self._first, "", "bundle", "build", ONTOLOGY, "scored", *known)
        self.commands = {
            "bundle build": ("bundle", "build", ONTOLOGY, "built", *others),
            "score": ("score", f"{ONTOLOGY}/scored", str(outputs), "--columns", "bundle"),
            "locus": ("locus", ONTOLOGY, *known),
            "select": ("select", ONTOLOGY, "--metric", "tree", "-n", "10", *known),
            "summarize": ("summarize", ONTOLOGY, "--target", str(SUPERNODES)),
        }

    def _sample(self, n_observed: int, seed: int) -> str:
        sampled = ("sample", ONTOLOGY, "-n", str(n_observed), "--seed", str(seed))
        drawn = self._grove(self._first, "", *sampled)
        observed = self._folder / f"observed-{seed}.txt"
        observed.write_text("".join(f"{label['key']}\n" for label in drawn["labels"]), encoding="utf-8")
        return str(observed)

    def measure(self, name: str) -> dict[str, Any]:
        """Run a command three times, each in a new copy; return the times of the last two runs."""
        compiled = f"compiled-{name}"
        self._run(name, f"{compiled}-before")
        first, answer = self._run(name, compiled)
        second, again = self._run(name, compiled)
        assert answer == again, name
        return {
            clock: {
                "first": round(one, 2),
                "second": round(other, 2),
                "first_minus_second": round(one - other, 2),
            }
            for clock, one, other in zip(("wall_seconds", "processor_seconds"), first, second, strict=True)
        }

    def _run(self, name: str, compiled: str) -> tuple[tuple[float, float], Any]:
        home = self._folder / "copy"
        shutil.copytree(self._first, home)
        begin = time.perf_counter(), sum(os.times()[2:4])
        answer = self._grove(home, compiled, *self.commands[name])
        taken = time.perf_counter() - begin[0], sum(os.times()[2:4]) - begin[1]
        shutil.rmtree(home)
        return taken, answer

    def _grove(self, home: Path, compiled: str, *arguments: str) -> Any:
        done = subprocess.run(
            [sys.executable, "-m", "labelgrove", *arguments, "--json"],
            cwd=self._folder,
            env=environment(
                self._folder / "package", self._folder / (compiled or "compiled"), GROVE_HOME=str(home)
            ),
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
        return json.loads(done.stdout)


def measure_commands(folder: Path, n_observed: int, n_rows: int) -> dict[str, Any]:
    """Measure every command."""
    home = Home(folder, n_observed, n_rows)
    return {"digest": home.digest, "commands": {name: home.measure(name) for name in home.commands}}


def main(arguments: list[str] | None = None) -> None:
    """Measure adapters and commands, and print the document."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--labels", type=int, default=LSHTC_LABELS, help="of the adapters' label graph")
    parser.add_argument("--observed", type=int, default=1000, help="labels that adapters know")
    parser.add_argument("--commands-observed", type=int, default=100, help="labels that commands are given")
    parser.add_argument("--calls", type=int, default=2000, help="of one row, in each process")
    parser.add_argument("--rows", type=int, default=20_000, help="that `grove score` answers")
    options = parser.parse_args(arguments)
    one_thread()
    with tempfile.TemporaryDirectory(prefix="labelgrove-") as folder:
        adapters = measure_adapters(Path(folder), options.labels, options.observed, options.calls)
        commands = measure_commands(Path(folder), options.commands_observed, options.rows)
    print_document(
        "first calls",
        SEED,
        n_observed=options.observed,
        n_calls=options.calls,
        n_commands_observed=options.commands_observed,
        n_rows=options.rows,
        adapters=adapters,
        commands=commands,
    )


if __name__ == "__main__":
    main()
