"""Holder: a bundle bound to one model's columns and outputs, replaced as a whole or never."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from threading import Lock
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from adapter.binding import By
from adapter.bundle import Bundle
from adapter.outputs import OutputKind, OutputReader, OutputRows, Outputs
from adapter.source import open_bundle
from adapter.state import State
from ontology.errors import InputError
from ontology.geometry import FrechetResult, MetricSpace
from ontology.keys import Keys, Texts

__all__ = ["Holder"]


class Holder:
    """What an adapter holds and how it is renewed; `adapter.scorer.Adapter` adds the answers.

    Everything that answers depend on stands in one immutable `State`. A call takes it once and answers from
    it; `refresh` puts another one in its place by a single assignment.

    Parameters
    ----------
    bundle, columns, by, outputs, temperature, beta
        As for `adapter.scorer.Adapter`.
    """

    def __init__(
        self,
        bundle: Bundle,
        columns: Iterable[str] | None = None,
        *,
        by: By = "auto",
        outputs: OutputKind = "probabilities",
        temperature: float = 1.0,
        beta: float = 2,
    ) -> None:
        self._reader = OutputReader(outputs, temperature, bundle.n_observed)
        self._source: tuple[str | os.PathLike[str], str | None] | None = None
        self._refreshing = Lock()
        self._state = State(bundle, columns, by, beta)

    # ---- what it holds -----------------------------------------------------------------------------

    @property
    def bundle(self) -> Bundle:
        """What it was made from."""
        return self._state.bundle

    @property
    def observed(self) -> tuple[str, ...]:
        """Keys of the observed labels, in the order of the model's columns."""
        return self._state.observed

    @property
    def keys(self) -> Keys:
        """Keys of the allowed labels, in canonical order; every index refers to it."""
        return self._state.keys

    @property
    def names(self) -> Texts:
        """Names of the allowed labels, in the same order."""
        return self._state.names

    @property
    def space(self) -> MetricSpace | None:
        """The metric space of a tree or complete bundle; None for a block, which holds no other distances."""
        return self._state.space

    @property
    def n_labels(self) -> int:
        """Number of labels that may be answered."""
        return self._state.bundle.n_labels

    @property
    def n_observed(self) -> int:
        """Number of observed labels: the columns of P."""
        return self._state.bundle.n_observed

    @property
    def digest(self) -> str:
        """Digest of the bundle."""
        return self._state.bundle.digest

    @property
    def outputs(self) -> OutputKind:
        """What the model emits."""
        return self._reader.kind

    @property
    def temperature(self) -> float:
        """What logits and log-probabilities are divided by."""
        return self._reader.temperature

    @property
    def beta(self) -> float:
        """Exponent of the distances."""
        return self._state.beta

    # ---- what evaluation builds on -----------------------------------------------------------------

    def distances(self, indices: NDArray[np.int64]) -> NDArray[Any]:
        """Return the distances of allowed labels to the observed ones, columns in the order of the bundle."""
        return self._state.distances[indices]

    def rows(self, P: Outputs | OutputRows) -> OutputRows:
        """Return P as rows of n_observed columns whose values are not yet checked; they have a length."""
        return self._reader.rows(P, self.observed)

    def chunks(self, P: Outputs | OutputRows) -> Iterator[tuple[int, NDArray[np.float64]]]:
        """Yield the first row and the checked weights of each chunk of P, columns in the order of the bundle.

        Raises
        ------
        WeightError
            As for `predict`; rows are counted over the whole of P.
        """
        return self._reader.chunks(self.rows(P), self._state.order)

    def score(self, weights: NDArray[np.float64], k: int = 1) -> FrechetResult:
        """Score weights that `chunks` gave; index and value have shape (n_samples, k) for every k."""
        return self._state.every.score(weights, k)

    # ---- renewal -----------------------------------------------------------------------------------

    def refresh(self) -> bool:
        """Open the bundle again, where it was loaded from, and answer from it if it is another one.

        The columns of the model stay what they are: each is bound by the key of its observed label. Calls in
        other threads go on undisturbed, each with the old bundle or with the new one; `pinned` holds one over
        several calls.

        Returns
        -------
        changed : bool
            Whether the digest differs.

        Raises
        ------
        InputError
            For an adapter that was not made by `load`.
        GroveError
            As for `load`; the adapter then answers as before.
        """
        if self._source is None:
            raise InputError(
                f"refresh: {self!r} was made from memory; make it with Adapter.load(uri), or make a new one"
            )
        uri, artifacts_url = self._source
        with self._refreshing:
            old = self._state
            bundle = open_bundle(uri, artifacts_url=artifacts_url)
            if bundle.digest == old.bundle.digest:
                return False
            self._state = State(bundle, old.observed, "key", old.beta)
            return True

    def pinned(self) -> Self:
        """Return an adapter that keeps what this one answers from now, whatever `refresh` brings here."""
        twin = object.__new__(type(self))
        twin.__dict__.update(self.__dict__)
        twin._source = None
        return twin

    def __getstate__(self) -> dict[str, Any]:
        named = {"by": "key", "outputs": self.outputs, "temperature": self.temperature, "beta": self.beta}
        return {"bundle": self.bundle, "columns": self.observed, "source": self._source, "named": named}

    def __setstate__(self, held: dict[str, Any]) -> None:
        Holder.__init__(self, held["bundle"], held["columns"], **held["named"])
        self._source = held["source"]

    def __repr__(self) -> str:
        return f"Adapter(n_labels={self.n_labels}, n_observed={self.n_observed}, digest={self.digest[:12]})"
