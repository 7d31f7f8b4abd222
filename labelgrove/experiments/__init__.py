"""The source paper's experiments, and those on pretrained models: one module for each, loaded on request.

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

__all__ = ["NAMES", "PRETRAINED", "load", "select"]

_CLAIMS = {
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

_ON_MODELS = {"languages": "languages", "file-types": "file_types"}

_HOMES = {
    **{name: f"claims.{module}" for name, module in _CLAIMS.items()},
    **{name: f"pretrained.{module}" for name, module in _ON_MODELS.items()},
}

NAMES = tuple(_CLAIMS)
"""The names of the source paper's experiments, in the order in which the page of results shows them."""

PRETRAINED = tuple(_ON_MODELS)
"""The names of the experiments on pretrained models, which need packages with these models."""


def load(name: str) -> Experiment[Any, Any]:
    """Return the experiment with this name; for an unknown one `NotFoundError` lists the names."""
    if name not in _HOMES:
        raise NotFoundError(f"experiment {name!r} does not exist; choose among {', '.join(_HOMES)}")
    module = importlib.import_module(f"labelgrove.experiments.{_HOMES[name]}")
    found: Experiment[Any, Any] = module.EXPERIMENT
    return found


def select(name: str) -> tuple[str, ...]:
    """Return the names of the experiments to run: those of the paper for ``all``, else only the given one."""
    return NAMES if name == "all" else (load(name).claim.name,)
