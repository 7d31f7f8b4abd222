"""The scoring benchmarks still run, at small sizes, and their pages take what they print."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.benchmarks import (
    bench_callers,
    bench_evaluation,
    bench_first_calls,
    bench_graph_scoring,
    bench_numpy_alone,
    bench_restricted_scoring,
    bench_scoring_curves,
    bench_tree_scoring,
)
from tests.benchmarks.graphs import category_graph, taxonomy_tree
from tests.benchmarks.pages import callers, curvepicture, curves, evaluation, firstcalls, numpyalone, scoring
from tests.benchmarks.pages.section import Run, Section

SMALL = ["--samples", "40", "--observed", "60"]
MEMORY = ["--memory-samples", "2000"]


@pytest.mark.parametrize(
    ("bench", "page", "arguments"),
    [
        (
            bench_callers,
            callers.section,
            [*SMALL, "--calls", "3", "--hidden", "20", "--other-data", "4096", "--shared-rows", "100"],
        ),
        (bench_numpy_alone, numpyalone.section, [*SMALL, "--calls", "3"]),
        (bench_tree_scoring, scoring.tree, SMALL),
        (bench_restricted_scoring, scoring.restricted, SMALL),
        (bench_graph_scoring, scoring.graph, SMALL),
        (
            bench_scoring_curves,
            curves.section,
            ["--labels", "900", "--sizes", "300", "--observed", "40", "7", "--samples", "20", "1", *MEMORY],
        ),
    ],
    ids=["callers", "numpy", "tree", "leaves", "graph", "curves"],
)
def test_a_small_run_fills_its_page(
    bench: ModuleType,
    page: Callable[[list[Run]], Section],
    arguments: list[str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(bench, "one_thread", lambda: None)  # of the whole process
    monkeypatch.setattr(sys, "argv", ["bench", *arguments])
    for name, graph in (("noun_tree", taxonomy_tree(900)), ("noun_graph", category_graph(900, 1100))):
        if hasattr(bench, name):
            monkeypatch.setattr(bench, name, lambda graph=graph: ("small", graph))
    bench.main()
    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    text = page([{"date": "today", "others_kept_busy": 0.0, "document": document}]).text()
    assert "small, " in text or "labels, " in text
    assert "| goal | wanted |" in text or bench in (bench_tree_scoring, bench_numpy_alone)
    for n_labels in {point["n_labels"] for point in document.get("points", [])}:
        assert f"| {n_labels} | " in text


@pytest.mark.slow
def test_small_first_calls_fill_their_page(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    figures = dict.fromkeys(firstcalls.RUNS, 1.5)
    commands = {"digest": "f" * 64, "commands": {"locus": dict.fromkeys(firstcalls.CLOCKS, figures)}}
    monkeypatch.setattr(bench_first_calls, "one_thread", lambda: None)  # of the whole process
    monkeypatch.setattr(bench_first_calls, "measure_commands", lambda *_: commands)
    bench_first_calls.main(["--labels", "400", "--observed", "20", "--calls", "5"])
    document = json.loads(capsys.readouterr().out)
    text = firstcalls.section([{"date": "today", "others_kept_busy": 0.0, "document": document}]).text()
    for bundle in document["adapters"]["bundles"].values():
        assert bundle["filled"]["longest_index"] in range(5)
        assert bundle["filled"]["private_mb"] > 0
    assert "| `grove locus` | 1.5 | 1.5 | 1.5 |" in text


def test_the_picture_has_a_line_for_each_way_that_was_measured(tmp_path: Path) -> None:
    def drawn(ways: tuple[str, ...]) -> str:
        points = [
            {"n_labels": 900, "n_observed": 40, "n_samples": b}
            | dict.fromkeys(curves.WAYS + curves.BESIDE)
            | {way: 0.1 * b for way in ways}
            for b in (20, 1)
        ]
        points += [points[0] | {"n_labels": 300}, points[0] | {"n_observed": 7}]
        run = {"document": {"points": points}}
        return curvepicture.draw([run], tmp_path / "curves.svg").read_text(encoding="utf-8")

    picture = drawn(("tree", "naive"))
    assert [picture.count(f">{way}</text>") for way in ("tree", "naive", "torch")] == [1, 1, 0]
    assert picture == drawn(("tree", "naive"))
    assert picture != drawn(("tree", "leaves"))


def test_a_small_evaluation_fills_its_page(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    graph = taxonomy_tree(900)
    cases = {
        "few": (lambda: ("small", graph), 40, 30, False),
        "every": (lambda: ("small", graph), 5, None, True),
    }
    monkeypatch.setattr(bench_evaluation, "CASES", cases)
    monkeypatch.setattr(bench_evaluation, "DRAWN_AT_ONCE", 100)  # a few rows
    figures = {}
    for case in cases:
        bench_evaluation.measure(case, None)
        figures[case] = json.loads(capsys.readouterr().out)
    document = {"benchmark": "evaluation", "threads": 1, "seed": 0, "blas_kernels_pinned_to": None}
    run = {"date": "today", "others_kept_busy": 0.0, "document": document | {"cases": figures}}
    assert "| every | 5 | 0 MB |" in evaluation.section([run]).text()


def test_what_an_adapter_holds_is_counted_once_and_without_keys() -> None:
    graph = taxonomy_tree(500)
    made = bench_scoring_curves.adapters(graph, list(graph.keys.take(range(0, 500, 50))))
    figures = bench_scoring_curves.memory(made, 300, 10)
    adapter, _ = made["graph"]
    arrays = list(bench_scoring_curves.held(adapter, set()))
    assert any(array.shape == (500, 10) for array in arrays)  # the block itself
    assert not any(array is adapter.keys.offsets for array in arrays)
    assert 10 < figures["graph_bytes_per_label"] < 500
    assert figures["tree_peak_mb"] > 0
