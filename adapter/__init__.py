"""Scoring: bundles, the adapter between a classifier and a label space, and evaluation.

Importing, loading and scoring need only numpy. Each public name is imported on first use.
"""

from __future__ import annotations

from labelgrove.ontology.lazynames import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__, __file__)
