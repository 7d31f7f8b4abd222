"""Holder: a bundle bound to one model's columns and outputs, replaced as a whole or never."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from threading import Lock
from typing import Any, Self, cast

import numpy as np
from numpy.typing import NDArray

from labelgrove.adapter.answers.batches import one_set
from labelgrove.adapter.answers.candidates import OneSet
from labelgrove.adapter.bundles.bundle import Bundle
from labelgrove.adapter.bundles.pretrained import read_folder, write_folder
from labelgrove.adapter.columns.binding import By, Columns
from labelgrove.adapter.loading.source import BundleSource, Located
from labelgrove.adapter.outputs.kinds import OutputKind
from labelgrove.adapter.outputs.rowblocks import OutputStream, RowBlocks
from labelgrove.adapter.outputs.rows import OutputRows, Outputs
from labelgrove.adapter.outputs.weights import OutputReader
from labelgrove.adapter.state import State
from labelgrove.ontology.errors import BundleError, InputError
from labelgrove.ontology.geometry import FrechetResult, MetricSpace, metric_space
from labelgrove.ontology.keys import Keys, Texts
from labelgrove.ontology.labelgraph import LabelGraph

__all__ = ["Holder", "refuse_other_version"]


def refuse_other_version(bundle: Bundle, pin: bool | str) -> None:
    """Raise `BundleError` for a bundle that was not made from the ontology version an adapter is pinned to.

    Parameters
    ----------
    bundle : Bundle
        The bundle at hand.
    pin : bool or str
        Digest of the version, or 8 or more of its first digits; True: any, if the bundle names one; False or
        empty: no version at all will do.
    """
    if not pin:
        return
    if pin is not True and not (isinstance(pin, str) and re.fullmatch("[0-9a-f]{8,64}", pin)):
        raise InputError(
            f"pin: {pin!r} given; True for the version that the bundle was made from, or 8 to 64 hexadecimal "
            "digits that its digest begins with"
        )
    made_from = bundle.ontology_digest
    if not made_from:
        raise BundleError(
            f"bundle {bundle.digest[:12]}: names no ontology version to pin; build it from a version with: "
            "grove bundle build, or leave pin out"
        )
    if pin is not True and not made_from.startswith(pin):
        raise BundleError(
            f"bundle {bundle.digest[:12]}: made from ontology version {made_from[:12]}, and the adapter is "
            f"pinned to {pin[:12]}; load it again with Adapter.load to take the new version, or name the old "
            "bundle by its digest"
        )


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
        columns: Columns | None = None,
        *,
        by: By = "auto",
        outputs: OutputKind = "probabilities",
        temperature: float = 1.0,
        beta: float = 2,
    ) -> None:
        if not isinstance(bundle, Bundle):
            graph = isinstance(bundle, LabelGraph)
            way = "Adapter.from_graph(graph, observed)" if graph else "Adapter.load(address, columns)"
            raise InputError(f"bundle: of type {type(bundle).__name__}; give a Bundle, or take {way}")
        self._reader = OutputReader(outputs, temperature, bundle.n_observed)
        self._source: BundleSource | None = None
        self._mark: tuple[Any, ...] = ()
        self._pin = ""
        self._graph: LabelGraph | None = None
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

    def whole_space(self) -> MetricSpace | None:
        """Return the space between all allowed labels; None for a block whose graph is not at hand."""
        if self.space is not None or self._graph is None:
            return self.space
        bundle = self.bundle
        labels = self.keys if bundle.labels == "listed" else bundle.labels
        return metric_space(self._graph, cast("Any", bundle.metric), labels)

    def distances(self, indices: NDArray[np.int64]) -> NDArray[Any]:
        """Return the distances of allowed labels to the observed ones, columns in the order of the bundle."""
        return self._state.distances[indices]

    @property
    def order(self) -> NDArray[np.int64] | None:
        """Column of P for each observed label in the order of the bundle; None where both are one order."""
        return self._state.order

    def rows(self, P: Outputs) -> OutputRows:
        """Return P as rows of n_observed columns whose values are not yet checked; they have a length."""
        return self._reader.rows(P, self.observed)

    def chunks(self, P: Outputs) -> Iterator[tuple[int, NDArray[np.float64]]]:
        """Yield the first row and the checked weights of each chunk of P, columns in the order of the bundle.

        Raises
        ------
        WeightError
            As for `predict`; rows are counted over the whole of P.
        """
        return self._reader.chunks(self.rows(P), self._state.order)

    def logits(self, P: Outputs) -> Iterator[tuple[int, NDArray[np.float64]]]:
        """Yield logits in place of weights, without the temperature of the adapter; else as `chunks`."""
        return self._reader.logits(self.rows(P), self._state.order)

    def blocks(self, P: OutputStream) -> RowBlocks:
        """Return P as blocks of rows for `chunks` and `logits`; files and iterators may exceed memory."""
        return RowBlocks(self._reader, self.observed, P)

    def rank(
        self, weights: NDArray[np.float64], k: int = 1, candidates: OneSet | None = None
    ) -> FrechetResult:
        """Rank labels by the weights of `chunks`; index and value have shape (n_samples, k) for every k."""
        return one_set(self._state, candidates).score(weights, k)

    # ---- renewal -----------------------------------------------------------------------------------

    def refresh(self) -> bool:
        """Open the bundle again, where it was loaded from, and answer from it if it is another one.

        What a name means is looked up first: where that is the bundle at hand, nothing is opened. The
        columns of the model stay what they are: each is bound by the key of its observed label. Calls in
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
        BundleError
            For a bundle of another ontology version than the adapter is pinned to (``load(uri, pin=...)``).
        GroveError
            As for `load`; the adapter then answers as before.
        """
        if self._source is None:
            raise InputError(
                f"refresh: {self!r} has no address to look at (it was made from memory, read from a folder, "
                "or is pinned); make it with Adapter.load(uri), or make a new one"
            )
        with self._refreshing:
            old = self._state
            located = self._source.locate()
            if located.mark and located.mark == self._mark:
                return False
            bundle = located.open()
            changed = bundle.digest != old.bundle.digest
            if changed:
                refuse_other_version(bundle, self._pin)
                self._state = State(bundle, old.observed, "key", old.beta)
            self._mark = located.mark
            return changed

    def _renew_from(self, source: BundleSource, located: Located, pin: bool | str) -> None:
        """Let `refresh` read `source`, which was `located` for what is held; see `refuse_other_version`."""
        self._source, self._mark = source, located.mark
        self._pin = self.bundle.ontology_digest if pin is True else pin or ""

    def save_pretrained(self, folder: str | os.PathLike[str]) -> None:
        """Write bundle, columns and settings as a folder, for `from_pretrained`.

        Parameters
        ----------
        folder : str or path
            Created where it is not there; earlier files of an adapter in it are replaced.

        Raises
        ------
        ServiceError
            Where it cannot be written.
        """
        settings = {"outputs": self.outputs, "temperature": self.temperature, "beta": self.beta}
        write_folder(folder, self.bundle, {"columns": list(self.observed), **settings})

    @classmethod
    def from_pretrained(cls, folder: str | os.PathLike[str]) -> Self:
        """Read what `save_pretrained` wrote: no network, nothing unpickled, the bundle's sha256 compared.

        Raises
        ------
        NotFoundError, ArtifactError, BundleError
            For a folder that lacks a file, holds other bytes than its configuration names, or has a
            configuration of a newer format or with a field that is missing, unknown or wrong.
        """
        bundle, config = read_folder(folder)
        try:
            return cls(
                bundle,
                config.columns,
                by="key",
                outputs=config.outputs,
                temperature=config.temperature,
                beta=config.beta,
            )
        except InputError as error:
            raise BundleError(
                f"{os.fspath(folder)}: its configuration does not fit its bundle; {error}"
            ) from error

    def pinned(self) -> Self:
        """Return an adapter that keeps what this one answers from now, whatever `refresh` brings here."""
        twin = object.__new__(type(self))
        twin.__dict__.update(self.__dict__)
        twin._source = None
        return twin

    def __getstate__(self) -> dict[str, Any]:
        named = {"by": "key", "outputs": self.outputs, "temperature": self.temperature, "beta": self.beta}
        renewal = {"_source": self._source, "_mark": self._mark, "_pin": self._pin}
        return {"bundle": self.bundle, "columns": self.observed, "renewal": renewal, "named": named}

    def __setstate__(self, held: dict[str, Any]) -> None:
        Holder.__init__(self, held["bundle"], held["columns"], **held["named"])
        self.__dict__.update(held["renewal"])

    def __repr__(self) -> str:
        return f"Adapter(n_labels={self.n_labels}, n_observed={self.n_observed}, digest={self.digest[:12]})"
