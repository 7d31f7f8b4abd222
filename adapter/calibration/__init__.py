"""How reliable a model's probabilities are, and the temperature that makes them more so."""

from __future__ import annotations

from labelgrove.adapter.calibration.fitting import (
    TemperatureFit,
    VectorScaling,
    fit_temperature,
    fit_vector_scaling,
)
from labelgrove.adapter.calibration.temperatures import CAVEAT
from labelgrove.adapter.evaluation.measures.calibrationerror import Reliability, expected_calibration_error

__all__ = [
    "CAVEAT",
    "Reliability",
    "TemperatureFit",
    "VectorScaling",
    "expected_calibration_error",
    "fit_temperature",
    "fit_vector_scaling",
]
