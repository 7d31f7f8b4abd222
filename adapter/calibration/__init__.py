"""Measure how reliable a model's probabilities are, and fit a temperature that makes them more reliable."""

from __future__ import annotations

from labelgrove.adapter.calibration.fitting import fit_temperature, fit_vector_scaling
from labelgrove.adapter.evaluation.measures.calibrationerror import expected_calibration_error

__all__ = ["expected_calibration_error", "fit_temperature", "fit_vector_scaling"]
