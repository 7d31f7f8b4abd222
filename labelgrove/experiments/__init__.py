"""The source paper's experiments: one module for each claim, loaded on request.

>>> from labelgrove.experiments import NAMES, load
>>> "digits-grid" in NAMES, load("digits-grid").claim.name
(True, 'digits-grid')
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from labelgrove.ontology.errors import NotFoundError

if TYPE_CHECKING:
    from labelgrove.experiments.experiment import Experiment

__all__ = ["NAMES", "load", "select"]

_HOMES = {
    "digits-grid": "digits_grid",
    "diabetes-path": "diabetes_path",
    "partially-observed": "partially_observed",
    "zero-shot": "zero_shot",
    "metric-comparison": "metric_comparison",
    "calibration": "calibration",
    "beta-ablation": "beta_ablation",
    "active-locus": "active_locus",
    "active-error": "active_error",
    "class-embeddings": "class_embeddings",
    "supernodes": "supernodes",
    "sample-complexity": "sample_complexity",
    "under-confident": "under_confident",
    "complete-graph": "complete_graph",
}

NAMES = tuple(_HOMES)
"""The names of all experiments, in the order in which the page of results shows them."""


def load(name: str) -> Experiment[Any, Any]:
    """Return the experiment with this name; for an unknown one `NotFoundError` lists the names."""
    if name not in _HOMES:
        raise NotFoundError(f"experiment {name!r} does not exist; choose among {', '.join(NAMES)}")
    module = importlib.import_module(f"labelgrove.experiments.claims.{_HOMES[name]}")
    found: Experiment[Any, Any] = module.EXPERIMENT
    return found


def select(name: str) -> tuple[str, ...]:
    """Return the names of the experiments to run: every name for ``all``, else only the given one."""
    return NAMES if name == "all" else (load(name).claim.name,)
