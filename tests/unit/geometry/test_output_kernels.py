"""Weights of logits in float32 and their bound, half precision, and rows whose entries lie apart."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from labelgrove.ontology.geometry.kernels.outputs.contiguous import copy_rows
from labelgrove.ontology.geometry.kernels.outputs.exponentials import bound_of_error, write_exponentials
from labelgrove.ontology.geometry.kernels.outputs.halves import widen

DBL_MAX = np.finfo(np.float64).max


def softmax(logits: NDArray[Any], temperature: float) -> NDArray[np.float64]:
    moved = logits.astype(np.longdouble)
    found = np.exp((moved - moved.max(axis=1, keepdims=True)) / temperature)
    return (found / found.sum(axis=1, keepdims=True)).astype(np.float64)


def weights(logits: NDArray[Any], temperature: float = 1.0, most: float = DBL_MAX) -> NDArray[np.float32]:
    found = np.empty(logits.shape, dtype=np.float32)
    assert write_exponentials(logits, np.float32(1 / temperature), most, found)
    return found


def hard_rows(n_columns: int, dtype: Any) -> NDArray[Any]:
    """Rows whose rounding errors do not cancel: equal logits far below the largest, and random ones."""
    rng = np.random.default_rng(n_columns)
    rows = [rng.normal(size=n_columns) * scale for scale in (0.1, 1, 4, 30, 300)]
    for far in (1 / 3, 2.9, np.log(n_columns), 20.1, 80.3, 90.0, 1e4):
        rows.append(np.full(n_columns, -far))
        rows[-1][n_columns // 2] = 0.0
    rows += [row + 1000 / 3 for row in rows]
    rows.append(np.where(np.arange(n_columns) % 3, -np.inf, 1.25))
    return np.array(rows, dtype=dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_columns", [1, 2, 7, 8, 9, 100, 1000, 5003])
@pytest.mark.parametrize("temperature", [0.05, 1.0, 1.7, 40.0])
def test_weights_are_within_the_bound_of_exact_ones(dtype: Any, n_columns: int, temperature: float) -> None:
    rows = hard_rows(n_columns, dtype)
    found = weights(rows, temperature).astype(np.float64)
    found /= found.sum(axis=1, keepdims=True)
    error = np.abs(found - softmax(rows, temperature)).sum(axis=1).max()
    assert error <= bound_of_error(n_columns) / 2  # the other half is for what the bound covers besides


def test_the_exponential_is_right_to_a_few_units_for_every_exponent() -> None:
    x = np.linspace(-87, 0, 3_000_001).astype(np.float32)[None]
    assert np.abs(weights(x) / np.exp(x.astype(np.float64)) - 1).max() < 2.0**-22
    assert (weights(np.array([[0, -88, -1e30, -np.inf]], np.float32))[0, 1:] < 2.0**-125).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_columns", [3, 8, 11, 40])
@pytest.mark.parametrize("at", [0, 1, -1])
def test_rows_that_are_no_logits_are_noticed(dtype: Any, n_columns: int, at: int) -> None:
    for bad in (np.nan, -np.nan, np.inf):
        rows = np.ones((3, n_columns), dtype=dtype)
        rows[1, at] = bad
        found = np.empty(rows.shape, dtype=np.float32)
        valid = write_exponentials(rows, np.float32(1), DBL_MAX, found)
        assert not valid or np.isnan(found[1]).any()
    for row, most in ((np.full(n_columns, -np.inf), DBL_MAX), (np.ones(n_columns), 0.5)):
        rows = np.zeros((2, n_columns), dtype=dtype)
        rows[1] = row
        assert not write_exponentials(rows, np.float32(1), most, np.empty(rows.shape, dtype=np.float32))


def test_every_half_is_widened_exactly() -> None:
    halves = np.arange(1 << 16, dtype=np.uint16)
    found = np.empty(1 << 16, dtype=np.float32)
    widen(halves, found)
    expected = halves.view(np.float16).astype(np.float32)
    assert np.array_equal(found, expected, equal_nan=True)
    assert (np.signbit(found) == np.signbit(expected)).all()


@pytest.mark.parametrize("shape", [(0, 5), (1, 1), (3, 8), (17, 9), (40, 100)])
def test_rows_in_any_layout_are_copied(shape: tuple[int, int]) -> None:
    given = np.random.default_rng(1).normal(size=shape)
    wide = np.zeros((shape[0], 2 * shape[1]))
    wide[:, ::2] = given
    for rows in (np.asfortranarray(given), wide[:, ::2], given[::-1][::-1]):
        found = np.empty(shape)
        copy_rows(rows, found)
        assert np.array_equal(found, given)
