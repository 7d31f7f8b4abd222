"""Browsing: the label index, search and walks."""

from __future__ import annotations

from typing import Any

from tests.benchmarks.pages.section import Goal, Run, Section, graph_line, number, table

BUILD_S, MEMORY_MB = 8, 60
GOALS_MS = {
    "suggest": (1, 5),
    "search, page of 50 with facets": (5, 20),
    "children": (1, 5),
    "siblings": (1, 5),
    "show": (1, 5),
}
TREE_MS = {"path": (1, 5), "lowest common ancestors": (1, 5)}
SEARCHED_MS = {"path by search": (20, 80)}
TWICE = 2  # the factor within which the largest tree shall stay

ABOUT = """\
`python -m tests.benchmarks.bench_browse`: the label index is built, opened from its file, and asked. Times
are processor time of one thread; each is the best of three calls, over 200 different labels, pairs or
beginnings of names. Memory is that of a process that opens a version and searches it, without mapped files.
Goals at NCBI's size are twice the others. Beside it, on the category graph, networkx walks (each answer is
compared), which returns numbers where our ancestors are whole documents; and SQLite's FTS5 with trigrams
searches the same keys and names for beginnings of three to six letters, without ranking by importance or
counting facets, where our beginnings have one letter or more. pronto walks the nouns of WordNet, which it has
read from an OBO file; each answer is compared. These tools are called 20 times only."""

PROFILE = """\
queries of one letter match hundreds of thousands of names: at MeSH's size, three fifths of such a search
compute the number of each row, take the least for each label, and pick the first 50. Of building, nearly half
sorts names and words, and a fifth cuts names into words."""


def section(runs: list[Run]) -> Section:
    """Write the part."""
    (run,) = runs
    document = run["document"]
    graphs = document["graphs"]
    body = [
        table(
            ["graph", "names", "build s", "file MB", "open ms", "private memory MB"],
            [
                [
                    graph["graph"],
                    number(graph["n_names"]),
                    *(
                        number(graph[field])
                        for field in ("build_s", "file_mb", "open_ms", "private_memory_mb")
                    ),
                ]
                for graph in graphs
            ],
        ),
        table(
            ["p50 / p99, ms", *(graph["graph"] for graph in graphs)],
            [[what, *(_quantiles(graph["ms"][what]) for graph in graphs)] for what in graphs[0]["ms"]],
        ),
        *map(graph_line, graphs),
        _beside(document["beside"], graphs[1]["ms"]),
        _pronto(document["beside"]["pronto"], graphs[0]["ms"]),
    ]
    return Section(
        "Browsing", runs, ABOUT, [goal for graph in graphs for goal in _goals(graph)], body, PROFILE
    )


def _goals(graph: dict[str, Any]) -> list[Goal]:
    name, is_tree = graph["graph"], graph["n_edges"] < graph["n_labels"]
    factor = TWICE if "NCBI" in name else 1
    found = [Goal(f"{name}: build the index", factor * BUILD_S, graph["build_s"], "s")]
    found.append(Goal(f"{name}: memory", factor * MEMORY_MB, graph["private_memory_mb"], "MB"))
    for what, wanted in (GOALS_MS | SEARCHED_MS | (TREE_MS if is_tree else {})).items():
        for quantile, most in zip(("p50", "p99"), wanted, strict=True):
            found.append(
                Goal(f"{name}: {what}, {quantile}", factor * most, graph["ms"][what][quantile], "ms")
            )
    return found


def _beside(beside: dict[str, Any], ours: dict[str, Any]) -> str:
    rows = [
        [f"networkx: {what}", _quantiles(found), _quantiles(ours[what])]
        for what, found in beside["networkx"].items()
    ]
    sqlite = beside["sqlite"]
    searched = "search, page of 50"
    rows.append(
        [
            f"SQLite FTS5: {searched}",
            _quantiles(sqlite[searched]),
            _quantiles(ours[f"{searched} with facets"]),
        ]
    )
    return table(["category graph, p50 / p99, ms", "other tool", "labelgrove"], rows)


def _pronto(pronto: dict[str, Any], ours: dict[str, Any]) -> str:
    rows = [
        [f"{what}, p50 / p99, ms", _quantiles(pronto[what]), _quantiles(ours[what])]
        for what in ("ancestors", "children")
    ]
    rows.append(["read the OBO file, s", number(pronto["read_s"]), number(pronto["our_read_s"])])
    return table(["nouns of WordNet", "pronto", "labelgrove"], rows)


def _quantiles(found: dict[str, float]) -> str:
    return f"{number(found['p50'])} / {number(found['p99'])}"
