"""Distance blocks, diameters, memory."""

from __future__ import annotations

from typing import Any

from tests.benchmarks.pages.section import Goal, Run, Section, graph_line, number, paragraph, table

WANTED = {"wordnet nouns": 400, "category_graph": 150}
MEMORY_MB = 200
OTHERS = {
    "igraph": "igraph",
    "igraph_without_lists": "igraph, no lists",
    "scipy": "scipy",
    "networkx": "networkx",
}
"""Fields and names of what is compared with; documents measured before one of them do not have it."""

ABOUT = """\
`python -m tests.benchmarks.bench_distances --whole`: hops from K seeded sources to all labels, with edges
taken both ways. Every answer equals that of igraph, scipy and networkx on the sources that these measured;
the seconds of scipy and networkx are scaled from fewer sources. *New array* allocates the output, as the
other libraries do; *refilled* writes into an existing array (`out=`), as blocks of a long run do. Memory is
the peak of a separate process, without what it held before and without the output."""

NO_LISTS = """\
igraph gives distances to Python as lists alone. *igraph, no lists* is its breadth-first search in C without
them: the faster of `Graph.eccentricity` and `Graph.closeness`, which search the whole graph from each source
and return one number. The goals compare with the lists, which are all that a user of igraph gets."""

PROFILE = """\
a new array includes the time to clear its memory, which alone is the column *new memory*. Refilled, of some
14 ms on WordNet, stripping the pendant trees takes 1.6 ms, the sweeps 5.6 and writing the rows 6.5."""


def section(runs: list[Run]) -> Section:
    """Write the part."""
    (run,) = runs
    document = run["document"]
    graphs = document["graphs"]
    others = [name for name in OTHERS if name in graphs[0]["beside"]]
    names = [OTHERS[name] for name in others]
    columns = ["graph", "K", "new array ms", "refilled ms", "new memory ms", *(f"{name} s" for name in names)]
    body = ["; ".join(graph_line(g["graph"]) for g in graphs) + "."]
    body.append(table(columns, [_times(g, others) for g in graphs]))
    body.append(paragraph(_clearing(graphs)))
    columns = ["ratio to", *names, "sources they measured"]
    body.append(table(columns, [row for g in graphs for row in _ratios(g, others)]))
    if "igraph_without_lists" in others:
        body.append(paragraph(NO_LISTS))
    columns = ["", "hops", "processor time"]
    body.append(table(columns, [row for g in graphs for row in _diameters(g)]))
    memory = document["peak_memory"]
    columns = ["peak memory, MB", "before", "output", "peak", "without the output"]
    fields = ["before_mb", "output_mb", "peak_mb", "beside_output_mb"]
    body.append(table(columns, [[name, *(figures[f] for f in fields)] for name, figures in memory.items()]))
    return Section("Distances", runs, ABOUT, _goals(document), body, PROFILE)


def _goals(document: dict[str, Any]) -> list[Goal]:
    goals = []
    for graph in document["graphs"]:
        name = graph["graph"]["graph"]
        for way, ratio in (("new array", graph["ratio_fresh"]), ("refilled", graph["ratio_out"])):
            what = f"{name}, K = {graph['n_sources']}: igraph's time over ours, {way}"
            goals.append(Goal(what, WANTED[name], ratio["igraph"], "x"))
    for name, figures in document["peak_memory"].items():
        goals.append(Goal(f"{name}: memory without the output", MEMORY_MB, figures["beside_output_mb"], "MB"))
    return goals


def _times(graph: dict[str, Any], names: list[str]) -> list[object]:
    beside = graph["beside"]
    ours = [graph["fresh_ms"], graph["out_ms"], graph["new_memory_alone_ms"]]
    others = [beside[name]["seconds"] for name in names]
    return [graph["graph"]["graph"], graph["n_sources"], *map(number, ours + others)]


def _clearing(graphs: list[dict[str, Any]]) -> str:
    shares = [
        f"{graph['new_memory_alone_ms'] / graph['fresh_ms']:.0%} on {graph['graph']['graph']}"
        for graph in graphs
    ]
    return (
        f"Of *new array*, *new memory* is {' and '.join(shares)}: the time that the system takes to clear "
        "the pages of the array, and one write to each."
    )


def _ratios(graph: dict[str, Any], names: list[str]) -> list[list[object]]:
    sources = ", ".join(f"{OTHERS[name]} {graph['beside'][name]['sources_measured']}" for name in names)
    ways = (("new array", "ratio_fresh"), ("refilled", "ratio_out"))
    return [
        [f"{graph['graph']['graph']}, {way}", *(number(graph[field][name]) for name in names), sources]
        for way, field in ways
    ]


def _diameters(graph: dict[str, Any]) -> list[list[object]]:
    name = graph["graph"]["graph"]
    rows: list[list[object]] = [
        [f"diameter of {name}", number(graph["diameter"]), f"{graph['diameter_seconds']} s"]
    ]
    if "tree" in graph:
        tree = graph["tree"]
        rows += [
            [f"diameter of {name}, primary parents", number(tree["diameter"]), f"{tree['diameter_ms']} ms"],
            [
                f"rows of {name}, primary parents, K = {graph['n_sources']}",
                "",
                f"{tree['fresh_ms']} ms new, {tree['out_ms']} ms refilled",
            ],
        ]
    return rows
