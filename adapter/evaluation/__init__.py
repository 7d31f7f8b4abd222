"""Evaluation of answers on a label space: measures, baselines, intervals and a verdict."""

from __future__ import annotations

from labelgrove.adapter.evaluation.evaluating import evaluate
from labelgrove.adapter.evaluation.result import RULES, Branch, Evaluation, RuleResult

__all__ = ["RULES", "Branch", "Evaluation", "RuleResult", "evaluate"]
