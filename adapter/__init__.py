"""Scoring: bundles, the adapter between a classifier and a label space, and evaluation.

Importing, loading and scoring need numpy alone. Names are handed out on first use.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from labelgrove.adapter.answers.candidates import Subtree
    from labelgrove.adapter.bundles.bundle import Bundle, build_bundle
    from labelgrove.adapter.columns.binding import bind, find_labels, make_binding
    from labelgrove.adapter.columns.bindingfile import Binding
    from labelgrove.adapter.evaluation import Evaluation, evaluate
    from labelgrove.adapter.loading.source import open_bundle
    from labelgrove.adapter.outputs.rows import SparseOutputs
    from labelgrove.adapter.scorer import Adapter, Ranking

__all__ = [
    "Adapter",
    "Binding",
    "Bundle",
    "Evaluation",
    "Ranking",
    "SparseOutputs",
    "Subtree",
    "bind",
    "build_bundle",
    "evaluate",
    "find_labels",
    "make_binding",
    "open_bundle",
]

_HOMES = {
    "Adapter": "labelgrove.adapter.scorer",
    "Binding": "labelgrove.adapter.columns.bindingfile",
    "Bundle": "labelgrove.adapter.bundles.bundle",
    "Evaluation": "labelgrove.adapter.evaluation",
    "Ranking": "labelgrove.adapter.scorer",
    "SparseOutputs": "labelgrove.adapter.outputs.rows",
    "Subtree": "labelgrove.adapter.answers.candidates",
    "bind": "labelgrove.adapter.columns.binding",
    "build_bundle": "labelgrove.adapter.bundles.bundle",
    "evaluate": "labelgrove.adapter.evaluation",
    "find_labels": "labelgrove.adapter.columns.binding",
    "make_binding": "labelgrove.adapter.columns.binding",
    "open_bundle": "labelgrove.adapter.loading.source",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'labelgrove.adapter' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
