"""Sample reports: an evaluation with every picture and hostile names, an experiment, and an overview."""

from __future__ import annotations

import numpy as np

from labelgrove.adapter import Adapter, evaluate
from labelgrove.adapter.calibration.report import calibrate
from labelgrove.ontology.labelgraph import LabelGraph
from labelgrove.report.calibration import calibration_report
from labelgrove.report.content import Origin, Report
from labelgrove.report.evaluation import evaluation_report
from labelgrove.report.experiment import experiment_report, overview_report
from labelgrove.report.simplex import regions_of

HOSTILE = "<script>alert('x')</script> & \"a\" | `b` ](javascript:c) \x07"
"""A label with markup of HTML, SVG and Markdown, and a character that no page may contain."""

ORIGIN = Origin(
    "grove evaluate garden/mine '<b>`outputs`.npy' truth.txt --report page.html",
    {"sha256 of the outputs": "0" * 64, "numpy": "2.0.0"},
)


def garden(n_kinds: int = 4) -> LabelGraph:
    """Return a tree of kinds with three plants each; the first kind and its plants have hostile names."""
    kinds = [HOSTILE, *(f"a kind of plants with a long name, number {i}" for i in range(1, n_kinds))]
    pairs = [(kind, "plant") for kind in kinds]
    return LabelGraph.from_edges(pairs + [(f"{kind} {i}", kind) for kind in kinds for i in range(3)])


def evaluation(
    *,
    n_observed: int = 3,
    n_kinds: int = 4,
    n: int = 400,
    temperature: float = 1.0,
    calibrated: bool = False,
    unobserved: bool = False,
) -> Report:
    """Return the report of a model whose logits decrease with the distance to the truth.

    If `unobserved` is set, no truth is an observed label.
    """
    graph = garden(n_kinds)
    observed = sorted(graph.leaves)[:: max(1, len(graph.leaves) // n_observed)][:n_observed]
    adapter = Adapter.from_graph(graph, observed, outputs="logits", temperature=temperature)
    rng = np.random.default_rng(5)
    at = rng.integers(0, len(adapter.keys), n)
    if unobserved:
        at = at[~np.isin(at, [adapter.keys.index(key) for key in observed])]
    logits = rng.normal(0, 1, (len(at), n_observed)) - adapter.distances(at)
    truth = [adapter.keys[i] for i in at.tolist()]
    found = evaluate(adapter, logits, truth)
    fitted = calibrate(adapter, logits, truth, by="squared_distance") if calibrated else None
    return evaluation_report(found, ORIGIN, calibration=fitted, regions=regions_of(adapter))


def calibration() -> Report:
    """Return the report of a calibration."""
    adapter = Adapter.from_graph(garden(), sorted(garden().leaves), outputs="logits", temperature=3.0)
    rng = np.random.default_rng(6)
    at = rng.integers(0, len(adapter.observed), 200)
    logits = rng.normal(0, 2, (200, len(adapter.observed))) + 3 * np.eye(len(adapter.observed))[at]
    truth = [adapter.observed[i] for i in at.tolist()]
    return calibration_report(calibrate(adapter, logits, truth), ORIGIN)


def experiment(verdict: str = "holds in part") -> Report:
    """Return the report of a made-up experiment with every kind of part."""
    return experiment_report(experiment_document(verdict))


def experiment_document(verdict: str = "holds in part") -> dict[str, object]:
    """Return the content of a ``result.json``."""
    contrasts = [
        {
            "setting": f"{HOSTILE}, K = {k}",
            "before": 10.25 + k,
            "after": 8.5 + k,
            "difference": 1.75,
            "half_width": None if k == 4 else 0.3 + k / 7,
            "relative": 1.75 / (10.25 + k),
            "wins": k,
            "trials": 16,
            "testable": k != 8,
            "p_value": k / 400,
            "corrected_p": None if k == 8 else k / 200,
        }
        for k in (4, 8, 16)
    ]
    line = {"name": "Fréchet mean", "x": [0.01, 0.1, 1.0], "y": [2.5, 1.5, 1.75], "low": [2.0, 1.25, 1.7]}
    panel = {
        "title": f"Errors {HOSTILE}",
        "x_label": "temperature",
        "y_label": "E[d²]",
        "lines": [line | {"high": [3.0, 2.0, 1.8]}, line | {"name": HOSTILE, "high": [2.5, 1.5, 1.75]}],
        "log_x": True,
        "log_y": True,
        "marks": [{"name": "default", "x": 0.05}, {"name": "distance-best", "x": 0.1}],
    }
    return {
        "experiment": "made-up",
        "claim": f"Nothing is executed, not even {HOSTILE}",
        "source": "a table",
        "inputs": "nothing",
        "verdict": verdict,
        "command": "grove experiment made-up",
        "own_files_command": "grove experiment made-up --probs p.npy",
        "identity": "f" * 64,
        "version": 3,
        "settings": {"seeds": [0, 1, 2], "theta": 0.5},
        "files": {"probs": "e" * 64, "metric": "tree"},
        "data": {"a corpus": "d" * 64},
        "libraries": {"labelgrove": "0.1.0", "python": "3.11.0"},
        "rows_where_argmax_was_verified": 12345,
        "findings": [
            {
                "claim": "it holds",
                "verdict": verdict,
                "because": "K = 4: 14.25 to 12.5",
                "contrasts": contrasts,
            },
            {"claim": "another", "verdict": "reverses", "because": "it does not", "contrasts": []},
        ],
        "tables": [{"title": "A table.", "columns": ["K", HOSTILE], "rows": [[4, "14.25 ± 0.5"], [8, None]]}],
        "panels": [panel],
        "notes": [f"A note about {HOSTILE}"],
        "units": [
            {
                "parameters": {"K": k, "seed": 0},
                "result": {
                    "rules": {"frechet_mean": {"squared": k + 1 / 3}, "argmax": {"squared": k + 1 / 9}},
                    "curve": [k / 7, 2.0],
                    "checked_rows": 9,
                },
            }
            for k in (4, 8)
        ],
    }


def overview() -> Report:
    """Return the overview page with links to several experiments."""
    verdicts = ("holds", "holds in part", "does not hold", "reverses", "not testable", "holds")
    documents = [experiment_document(v) | {"experiment": f"made-up-{i}"} for i, v in enumerate(verdicts)]
    return overview_report(documents, [1.5] * 6, lambda d: f"{d['experiment']}/result.html")


SAMPLES = {
    "evaluation": lambda: evaluation(calibrated=True),
    "many branches": lambda: evaluation(n_kinds=30, n_observed=12, n=900),
    "calibrate first": lambda: evaluation(temperature=8.0, n_observed=12, calibrated=True),
    "nothing observed": lambda: evaluation(calibrated=True, unobserved=True),
    "too few": lambda: evaluation(n=10),
    "calibration": calibration,
    "experiment": experiment,
}
"""Reports with figures, by name."""
