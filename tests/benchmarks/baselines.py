"""What users can write in numpy or PyTorch in place of an adapter, as benchmarks time it beside ours."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Answers = Callable[[np.ndarray], np.ndarray]
"""Returns the label of each row."""


def distinct_squares(distances: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the squares of the distinct rows in float32, and the first label that has each row."""
    rows, first = np.unique(distances, axis=0, return_index=True)
    return rows.astype(np.float32) ** 2, first


def dense_over_distinct_rows(squares: np.ndarray, first: np.ndarray) -> Answers:
    """Return what a user can write in one line, once the distinct rows of distances are known."""
    return lambda P: first[(P @ squares.T).argmin(axis=1)]


def softmax(logits: np.ndarray) -> np.ndarray:
    """Return the softmax of each row in the type of the logits, as numpy code computes it."""
    powers = np.exp(logits - logits.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


def torch_on_one_thread() -> Any | None:
    """Return PyTorch, or None where it is not installed."""
    try:
        import torch
    except ImportError:
        return None
    torch.set_num_threads(1)
    return torch


def dense_in_torch(squares: np.ndarray, first: np.ndarray, outputs: str = "probabilities") -> Answers | None:
    """Return the same line in PyTorch, for logits after the softmax; None where PyTorch is not installed."""
    torch = torch_on_one_thread()
    if torch is None:
        return None
    columns = torch.from_numpy(np.ascontiguousarray(squares.T))

    def answers(rows: np.ndarray) -> np.ndarray:
        with torch.inference_mode():
            weights = torch.from_numpy(rows)
            if outputs == "logits":
                weights = torch.softmax(weights, dim=1)
            return np.asarray(first[(weights @ columns).argmin(dim=1).numpy()])

    return answers


def softmax_in_torch() -> Answers | None:
    """Return PyTorch's softmax of each row; None where PyTorch is not installed."""
    torch = torch_on_one_thread()
    if torch is None:
        return None

    def weights(logits: np.ndarray) -> np.ndarray:
        with torch.inference_mode():
            return np.asarray(torch.softmax(torch.from_numpy(logits), dim=1).numpy())

    return weights


def check_means(distances: np.ndarray, found: np.ndarray, weights: np.ndarray, least: np.ndarray) -> None:
    """Compare the Fréchet variance at each answer with the least one; float32 may take one close by."""
    squares = distances[found].astype(np.float64) ** 2
    np.testing.assert_allclose((squares * weights).sum(axis=1), least, rtol=1e-3)
