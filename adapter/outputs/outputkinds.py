"""Probabilities, log-probabilities and logits: the kinds of outputs.

`KindSeen` notices numbers that do not look like the kind that the caller stated.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "IF_LOGITS",
    "IF_LOGITS_OR_LOGS",
    "KINDS",
    "LARGEST_LOG",
    "KindSeen",
    "OutputKind",
    "absent_value",
    "is_about_kind",
]

OutputKind = Literal["probabilities", "log_probabilities", "logits"]
"""Kind of the outputs of a model."""

KINDS = ("probabilities", "log_probabilities", "logits")

LARGEST_LOG = 0.01
"""Largest accepted log-probability: rounding in float16 may leave a log-probability this far above zero."""

IF_LOGITS = "if these are logits, say outputs='logits' (grove: --outputs logits)"
IF_LOGITS_OR_LOGS = (
    f"{IF_LOGITS}, which applies the softmax; if log-probabilities, outputs='log_probabilities' "
    "(grove: --outputs log_probabilities)"
)
"""Advice for numbers that cannot be weights."""

_LIKE_PROBABILITIES = "every row lies in 0..1 and sums to 1: these look like probabilities"

_UNLIKE_PROBABILITIES = "rows do not sum to 1"

_ODD = 1e-2  # how far from 1 the sum of a row of probabilities may be without a note


def absent_value(kind: str) -> float:
    """Return the number that stands for probability 0 in outputs of the kind `kind`.

    A sparse row has this output in every column that it does not list.
    """
    return 0.0 if kind == "probabilities" else -np.inf


class KindSeen:
    """Collects rows, and judges from them whether the outputs look like the `kind` that the caller stated.

    >>> seen = KindSeen("probabilities")
    >>> seen.add(np.array([[0.5, 0.5], [0.5, 0.0], [1.0, 1.0]]))
    >>> (seen.note() or "").partition(";")[0]
    '2 of 3 rows do not sum to 1 (0.5 to 2)'
    """

    def __init__(self, kind: OutputKind) -> None:
        self._kind = kind
        self._n = self._n_odd = 0
        self._low, self._high = np.inf, -np.inf
        self._within = True  # all numbers are in 0..1

    def add(self, block: NDArray[Any]) -> None:
        """Add the rows of a block, which must already have passed the checks of `adapter.outputs.gate`."""
        if not len(block) or self._kind == "log_probabilities" or not self._within:
            return
        self._n += len(block)
        if self._kind == "logits" and not (block.min() >= 0 and block.max() <= 1 + _ODD):
            self._within = False  # logits are not in 0..1, and their sums may overflow
            return
        sums: NDArray[np.float64] = block.sum(axis=1, dtype=np.float64)
        odd = sums[np.abs(sums - 1) > _ODD]
        if len(odd):
            self._n_odd += len(odd)
            self._low, self._high = min(self._low, float(odd.min())), max(self._high, float(odd.max()))

    def note(self) -> str | None:
        """Return a note for the user if the outputs do not look like the stated kind, otherwise None."""
        if self._kind == "logits" and self._n and self._within and not self._n_odd:
            return f"{_LIKE_PROBABILITIES}; leave out outputs='logits' (grove: --outputs logits)"
        if self._kind == "probabilities" and self._n_odd:
            return (
                f"{self._n_odd} of {self._n} {_UNLIKE_PROBABILITIES} ({self._low:.4g} to {self._high:.4g}); "
                "they are used as weights: no answer changes, but variances are multiplied by the row's sum. "
                "For logits say outputs='logits' (grove: --outputs logits)"
            )
        return None


def is_about_kind(note: str) -> bool:
    """Return whether a note for the user is one that `KindSeen` wrote.

    >>> is_about_kind("2 of 3 rows do not sum to 1 (0.5 to 2); ..."), is_about_kind("some samples are copies")
    (True, False)
    """
    return _LIKE_PROBABILITIES in note or _UNLIKE_PROBABILITIES in note
