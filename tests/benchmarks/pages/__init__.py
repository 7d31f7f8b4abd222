"""docs/benchmarks.md, written from the documents in tests/benchmarks/measured and from nothing else."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from tests.benchmarks.pages import (
    browse,
    callers,
    cover,
    curves,
    distances,
    evaluation,
    firstcalls,
    hardloci,
    ingest,
    intervals,
    ledger,
    loading,
    locus,
    lshtc,
    numpyalone,
    plainservice,
    scale,
    scoring,
    selection,
    service,
    soak,
    summary,
    watchers,
)
from tests.benchmarks.pages.section import Run, Section, paragraph, table

PAGE = Path(__file__).parents[3] / "docs" / "benchmarks.md"
MEASURED = Path(__file__).parents[1] / "measured"

PARTS: dict[str, Callable[[list[Run]], Section]] = {
    "distances": distances.section,
    "locus": locus.section,
    "hard_loci": hardloci.section,
    "cover": cover.section,
    "selection": selection.section,
    "summary": summary.section,
    "callers": callers.section,
    "numpy_alone": numpyalone.section,
    "first_calls": firstcalls.section,
    "restricted_scoring": scoring.restricted,
    "graph_scoring": scoring.graph,
    "tree_scoring": scoring.tree,
    "scoring_curves": curves.section,
    "adapter_loading": loading.section,
    "evaluation": evaluation.section,
    "intervals": intervals.section,
    "ingest": ingest.section,
    "browse": browse.section,
    "scale": scale.section,
    "service": service.section,
    "plain_service": plainservice.section,
    "watchers": watchers.section,
    "soak": soak.section,
    "ledger": ledger.slopes,
    "overhead": ledger.overhead,
    "lshtc": lshtc.section,
}

_ABOUT = """\
Written by `python -m tests.benchmarks` from the documents in `tests/benchmarks/measured`; `--only` measures
some parts again: {parts}. {machine}. Every benchmark checks its answers before it measures times, and
ratios are measured inside one run. Each part names its seeds, its threads, and how busy other processes
kept the machine, which has two cores. Times are processor time, except for ingest, scale, service, watchers,
ledger, overhead, lshtc and first calls. A factor is the measured figure divided by the wanted figure."""


def file_of(part: str) -> Path:
    """Return the file that holds the runs of one part."""
    return MEASURED / f"{part}.json"


def measured(part: str) -> list[Run]:
    """Return the kept runs of one part."""
    runs: list[Run] = json.loads(file_of(part).read_text(encoding="utf-8"))
    return runs


def render() -> str:
    """Return the page, without parts that have never been measured."""
    runs = {part: measured(part) for part in PARTS if file_of(part).exists()}
    sections = [PARTS[part](found) for part, found in runs.items()]
    goals = [(section, goal) for section in sections for goal in section.goals]
    missed = [[section.title, *goal.cells()] for section, goal in goals if not goal.met]
    documents = [run["document"] for part in runs.values() for run in part]
    machines = dict.fromkeys(
        "{processor}, Python {python}, numpy {numpy}".format_map(document) for document in documents
    )
    about = _ABOUT.format(parts=", ".join(f"`{part}`" for part in runs), machine="; ".join(machines))
    met = f"{len(goals) - len(missed)} of {len(goals)} goals are met."
    head = f"# Benchmarks\n\n{paragraph(about)}\n\n{met}\n"
    if missed:
        columns = ["missed in", "what", "wanted", "measured", "factor", "verdict"]
        head += f"\n{table(columns, missed)}\n\nEach part says where the time of its missed goals goes.\n"
    return "\n".join([head, *(section.text() for section in sections)])
