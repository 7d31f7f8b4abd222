"""Scoring: bundles, the adapter between a classifier and a label space, and evaluation.

Importing, loading and scoring need numpy alone. Names are handed out on first use.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from adapter.binding import bind, find_labels, make_binding
    from adapter.bindingfile import Binding
    from adapter.bundle import Bundle, build_bundle
    from adapter.candidates import Subtree
    from adapter.evaluation import Evaluation, evaluate
    from adapter.outputs import SparseOutputs
    from adapter.scorer import Adapter, Ranking
    from adapter.source import open_bundle

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
    "Adapter": "adapter.scorer",
    "Binding": "adapter.bindingfile",
    "Bundle": "adapter.bundle",
    "Evaluation": "adapter.evaluation",
    "Ranking": "adapter.scorer",
    "SparseOutputs": "adapter.outputs",
    "Subtree": "adapter.candidates",
    "bind": "adapter.binding",
    "build_bundle": "adapter.bundle",
    "evaluate": "adapter.evaluation",
    "find_labels": "adapter.binding",
    "make_binding": "adapter.binding",
    "open_bundle": "adapter.source",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'adapter' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
