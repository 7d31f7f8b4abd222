"""Evaluation of a model's answers in a label space: measures, baselines, intervals and a verdict."""

from __future__ import annotations

from labelgrove.adapter.evaluation.evaluating import evaluate
from labelgrove.adapter.evaluation.result import RULES, Evaluation

__all__ = ["RULES", "Evaluation", "evaluate"]
