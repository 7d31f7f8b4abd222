"""Scoring: bundles, the adapter between a classifier and a label space, and evaluation.

Importing, loading and scoring need numpy alone. Names are handed out on first use.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from labelgrove.adapter.binding import bind, find_labels, make_binding
    from labelgrove.adapter.bindingfile import Binding
    from labelgrove.adapter.bundle import Bundle, build_bundle
    from labelgrove.adapter.candidates import Subtree
    from labelgrove.adapter.evaluation import Evaluation, evaluate
    from labelgrove.adapter.outputs import SparseOutputs
    from labelgrove.adapter.scorer import Adapter, Ranking
    from labelgrove.adapter.source import open_bundle

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
    "Binding": "labelgrove.adapter.bindingfile",
    "Bundle": "labelgrove.adapter.bundle",
    "Evaluation": "labelgrove.adapter.evaluation",
    "Ranking": "labelgrove.adapter.scorer",
    "SparseOutputs": "labelgrove.adapter.outputs",
    "Subtree": "labelgrove.adapter.candidates",
    "bind": "labelgrove.adapter.binding",
    "build_bundle": "labelgrove.adapter.bundle",
    "evaluate": "labelgrove.adapter.evaluation",
    "find_labels": "labelgrove.adapter.binding",
    "make_binding": "labelgrove.adapter.binding",
    "open_bundle": "labelgrove.adapter.source",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'labelgrove.adapter' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
