"""From an address to the first answer."""

from __future__ import annotations

from typing import Any

from tests.benchmarks.pages.section import Goal, Run, Section, graph_line, number, table

WANTED_MS = 50
WARM = "by name, warm"
STEPS = ("import", "load", "first answer")

ABOUT = """\
`python -m tests.benchmarks.bench_adapter_loading`: an adapter with 1,000 observed labels is loaded in a
fresh process, which then answers one row; times are medians over such processes. A *warm* bundle has a
stamp, a *first met* bundle is hashed and checked, and a *fetched* bundle came over HTTP from this machine
before that. Each time, a store behind HTTP resolves the name, and its driver is loaded. Files are in the
memory of the system throughout. Imports come first and are timed separately; goals are compared with
processor time, which depends least on how busy the machine is. The first answer of a block reads the whole
map once, which is part of scoring and not of loading."""

PROFILE = """\
levels and subtrees of all labels take 15 ms, the shortest edge at each label 4 ms, the skeleton of the
observed labels 4 ms."""


def section(runs: list[Run]) -> Section:
    """Write the part."""
    (run,) = runs
    bundles = run["document"]["bundles"]
    columns = ["ms, wall (processor)", *STEPS]
    body = []
    for name, found in bundles.items():
        size = f"{found['bytes'] / 1e6:.1f} MB"
        body.append(f"*{name}*, {size}: {graph_line(found['graph'])}.")
        body.append(table(columns, [[way, *_cells(steps)] for way, steps in found["steps"].items()]))
    return Section("Loading an adapter", runs, ABOUT, _goals(bundles), body, PROFILE)


def _goals(bundles: dict[str, Any]) -> list[Goal]:
    tree, block = (bundles[name]["steps"][WARM] for name in ("tree", "block"))
    ready = tree["load"]["processor_ms"] + tree["first answer"]["processor_ms"]
    return [
        Goal("tree of 325,056 labels, warm: load and first answer", WANTED_MS, round(ready, 1), "ms"),
        Goal("block of 82,115 x 1,000 uint8, warm: load", WANTED_MS, block["load"]["processor_ms"], "ms"),
    ]


def _cells(steps: dict[str, dict[str, float]]) -> list[str]:
    return [f"{number(steps[s]['wall_ms'])} ({number(steps[s]['processor_ms'])})" for s in STEPS]
