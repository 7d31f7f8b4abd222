"""Adapter: turn the outputs of a model for K observed labels into answers among all N allowed labels."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any, Literal, Self, cast

import numpy as np
from numpy.typing import NDArray

from labelgrove.adapter.answers.backoff import back_off
from labelgrove.adapter.answers.batches import best, one_set, ranked, room_for_variances, variances
from labelgrove.adapter.answers.candidates import Candidates, OneSet
from labelgrove.adapter.answers.explanation import Explanation, explain
from labelgrove.adapter.answers.labelsets import label_sets
from labelgrove.adapter.answers.records import BackedOff, Ranking
from labelgrove.adapter.bundles.bundle import Bundle, build_bundle
from labelgrove.adapter.bundles.pretrained import read_folder, write_folder
from labelgrove.adapter.columns.binding import By, Columns
from labelgrove.adapter.loading.source import BundleSource, Stale, Verify
from labelgrove.adapter.outputs.kinds import OutputKind
from labelgrove.adapter.outputs.rowblocks import OutputStream, RowBlocks
from labelgrove.adapter.outputs.rows import OutputRows, Outputs
from labelgrove.adapter.outputs.weights import OutputReader
from labelgrove.adapter.renewal import Renewal, refuse_other_version
from labelgrove.adapter.state import State
from labelgrove.ontology.errors import BundleError, InputError, WeightError
from labelgrove.ontology.geometry import FrechetResult, MetricSpace, metric_space
from labelgrove.ontology.geometry.arguments import nonnegative_number
from labelgrove.ontology.keys import Keys, Texts
from labelgrove.ontology.labelgraph import LabelGraph

__all__ = ["MAX_VALUES", "Adapter", "Ranking"]

MAX_VALUES = 1 << 27
"""Most numbers that `Adapter.decision_function` makes room for in one call: 1 GiB of float64."""


class Adapter:
    """Lets a classifier of n_observed classes answer with any of n_labels labels.

    The answer to a row p of probabilities is the Fréchet mean: the allowed label y with the smallest
    ``sum_i p_i d(y, l_i)^beta``. Sums are taken in float64 from `p` as given; labels within a relative 1e-12
    of the smallest are tied, and the first tied label in canonical order wins.

    Threads may share an adapter. `refresh` replaces its whole state at once, and nothing else changes it:
    each call uses the state that was there when the call began.

    Parameters
    ----------
    bundle : Bundle
        Label space and observed labels.
    columns : iterable of str, mapping or Binding, length n_observed, optional
        Names of the model's columns, which `bind` matches with the observed labels: a list of text, an
        ``id2label`` dictionary, or a saved `Binding`. By default the columns are the observed labels in the
        order in which the bundle was built.
    by : {"auto", "key", "name", "position"}, default="auto"
        How to read `columns`.
    outputs : {"probabilities", "log_probabilities", "logits"}, default="probabilities"
        Kind of the model's outputs. Probabilities are used as given, and rows need not sum to one; for the
        other two kinds the softmax of each row is used.
    temperature : float, default=1
        Logits and log-probabilities are divided by it before the softmax.
    beta : float, default=2
        Exponent of the distances. For a value other than 2, on a tree whose labels are all allowed, a single
        answer is found among the vertices on paths between observed labels. In other cases on a tree (only
        some labels allowed, several answers, or candidates) the distances of all these labels are measured
        again for each batch of about a thousand rows.

    Raises
    ------
    BindingError
        For columns that are unknown, ambiguous, repeated or missing, all listed.
    InputError
        For values of `outputs`, `temperature` and `beta` that break a rule.

    Examples
    --------
    >>> pairs = [("oak", "tree"), ("elm", "tree"), ("tree", "plant"), ("moss", "plant")]
    >>> graph = LabelGraph.from_edges(pairs)
    >>> adapter = Adapter.from_graph(graph, ["oak", "elm", "moss"])
    >>> adapter.predict([[0.5, 0.5, 0.0], [0.1, 0.0, 0.9]])
    ['tree', 'moss']
    >>> adapter.top_k([0.5, 0.5, 0.0], 2).values
    array([[1., 2.]])
    >>> adapter.predict([0.5, 0.5, 0.0], candidates="leaves")
    ['elm']
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
            raise InputError(f"bundle: of type {type(bundle).__name__}; give a Bundle, or use {way}")
        self._reader = OutputReader(outputs, temperature, bundle.n_observed)
        self._renewal = Renewal()
        self._graph: LabelGraph | None = None
        self._state = State(bundle, columns, by, beta)

    @classmethod
    def load(
        cls,
        uri: str | os.PathLike[str],
        columns: Columns | None = None,
        *,
        by: By = "auto",
        outputs: OutputKind = "probabilities",
        temperature: float = 1.0,
        beta: float = 2,
        artifacts_url: str | None = None,
        offline: bool | None = None,
        verify: Verify = "once",
        stale: Stale = "warn",
        pin: bool | str = False,
    ) -> Self:
        """Open the bundle at `uri` and match the columns of a model with its observed labels.

        Parameters
        ----------
        uri, artifacts_url, offline, verify, stale
            As for `open_bundle`; `refresh` uses them again.
        columns, by, outputs, temperature, beta
            As for `Adapter`.
        pin : bool or str, default=False
            Ontology version to keep: its digest, or 8 or more of its first digits; True means the version
            that the bundle was made from. This method and `refresh` refuse bundles of another version.

        Raises
        ------
        GroveError
            As `open_bundle` and `Adapter`; `BundleError` for a version other than the pinned one.
        """
        source = BundleSource(uri, artifacts_url, offline, verify, stale)
        located = source.locate()
        bundle = located.open()
        refuse_other_version(bundle, pin)
        made = cls(bundle, columns, by=by, outputs=outputs, temperature=temperature, beta=beta)
        kept = bundle.ontology_digest if pin is True else pin or ""
        made._renewal = Renewal(source, located.mark, kept)
        return made

    @classmethod
    def from_graph(
        cls,
        graph: LabelGraph,
        observed: Iterable[str],
        *,
        metric: Literal["auto", "tree", "graph"] = "auto",
        labels: str | Iterable[str] = "all",
        outputs: OutputKind = "probabilities",
        temperature: float = 1.0,
        beta: float = 2,
    ) -> Self:
        """Build the bundle of `graph` in memory (see `build_bundle`); the columns are `observed`, in order.

        The adapter keeps the graph, on which an evaluation measures distances between labels.
        """
        bundle = build_bundle(graph, observed, metric=metric, labels=labels)
        made = cls(bundle, outputs=outputs, temperature=temperature, beta=beta)
        made._graph = graph
        return made

    # ---- properties --------------------------------------------------------------------------------

    @property
    def bundle(self) -> Bundle:
        """The bundle that the adapter answers from."""
        return self._state.bundle

    @property
    def observed(self) -> tuple[str, ...]:
        """Keys of the observed labels, in the order of the model's columns."""
        return self._state.observed

    @property
    def keys(self) -> Keys:
        """Keys of the allowed labels, in canonical order; every index refers to this order."""
        return self._state.keys

    @property
    def names(self) -> Texts:
        """Names of the allowed labels, in the same order."""
        return self._state.names

    @property
    def space(self) -> MetricSpace | None:
        """The metric space of a tree or complete bundle; None for a block, which lacks most distances."""
        return self._state.space

    @property
    def n_labels(self) -> int:
        """Number of allowed labels."""
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
        """Kind of the outputs of the model."""
        return self._reader.kind

    @property
    def temperature(self) -> float:
        """Divisor of logits and log-probabilities before the softmax."""
        return self._reader.temperature

    @property
    def beta(self) -> float:
        """Exponent of the distances."""
        return self._state.beta

    # ---- answers -----------------------------------------------------------------------------------

    def predict(self, P: Outputs, *, candidates: Candidates | None = None) -> list[str]:
        """Return the key of the Fréchet mean of each sample.

        Parameters
        ----------
        P : array_like of shape (n_samples, n_observed) or (n_observed,), SparseOutputs or scipy.sparse matrix
            Outputs of the model, columns as in `observed`; any integer or floating dtype and memory order. A
            table whose columns have the names in `observed` may have them in any order.
        candidates : optional
            The labels from which to choose the answer; by default all:

            - ``"leaves"``, labels without children in a tree bundle; ``"observed"``; ``"locus"``, labels that
              some weights make best (see `ontology.geometry.locus`);
            - ``Subtree(key)``: a label of a tree and all labels below it;
            - keys, in any order;
            - a list with a ``Subtree``, keys or None (all) for each row.

            The adapter keeps the scorers of the 16 sets used last.

        Raises
        ------
        WeightError
            For a wrong number of columns, and for rows with NaN, infinity, a negative value or only zeros;
            the message names the rows.
        BindingError
            For a table in which some column names are in `observed` and others are not.
        InputError, UnknownLabelError, SpaceError
            For candidates that are unknown, for an empty set of them, and for candidates that need the tree
            that a block bundle lacks.

        Notes
        -----
        Trees: O(n_samples * n_observed) time. Blocks: O(n_samples * n_observed * n_labels). Rows are taken in
        chunks, so memory beyond P stays at a few hundred megabytes at most.
        """
        state = self._state
        return state.decoded(best(state, self._reader, P, candidates))

    def predict_indices(self, P: Outputs, *, candidates: Candidates | None = None) -> NDArray[np.int64]:
        """Return the answers of `predict` as indices into `keys`; shape (n_samples,), dtype=int64."""
        return best(self._state, self._reader, P, candidates)

    def top_k(self, P: Outputs, k: int, *, candidates: Candidates | None = None) -> Ranking:
        """Return the `k` best labels of each sample.

        Parameters
        ----------
        P, candidates
            As for `predict`.
        k : int
            Between 1 and the number of candidates.

        Raises
        ------
        WeightError, InputError
            As for `predict`, and for a `k` out of range.
        """
        state = self._state
        found = ranked(state, self._reader, self.rows(P), k, candidates)
        flat = state.decoded(found.index.ravel())
        keys = tuple(tuple(flat[i : i + k]) for i in range(0, len(flat), k))
        return Ranking(keys, found.index, found.value, found.n_tied)

    def decision_function(
        self, P: Outputs, *, candidates: OneSet | None = None, out: NDArray[Any] | None = None
    ) -> NDArray[Any]:
        """Return the negative Fréchet variance of every label: the larger, the better.

        Parameters
        ----------
        P
            As for `predict`.
        candidates : optional
            One set as for `predict`; keys give the order of the returned columns.
        out : ndarray of shape (n_samples, n_labels) or (n_samples, n_candidates), optional
            Array to write to, in float64 or float32, for example a memory map.

        Returns
        -------
        decision : ndarray of the same shape, dtype=float64, or `out`

        Raises
        ------
        InputError
            For more than `MAX_VALUES` numbers without `out`; take fewer rows at a time, or name candidates.
        WeightError, UnknownLabelError
            As for `predict`, and for a candidate that is not allowed.
        """
        state = self._state
        rows = self.rows(P)
        labels, out = room_for_variances("decision_function", state, len(rows), candidates, out, MAX_VALUES)
        for of, _, variance in variances(state, self._reader, rows, labels):
            np.subtract(0.0, variance, out=variance)  # 0 - x has no negative zero
            out[of] = variance
        return out

    def predict_proba(
        self,
        P: Outputs,
        *,
        candidates: OneSet | None = None,
        scale: float = 1.0,
        out: NDArray[Any] | None = None,
    ) -> NDArray[Any]:
        """Return a softmax over labels: ``exp(-V / scale)``, divided by its sum over the columns.

        V is the Fréchet variance of the label, divided by the sum of the row. These are scores between 0 and
        1 that sum to one and rank labels as `decision_function` does. They are not calibrated: a score does
        not say how often a label is the truth.

        Parameters
        ----------
        P, candidates, out
            As for `decision_function`; the sum runs over the candidates only.
        scale : float, default=1
            Positive, in edge-weight units to the power of beta: a V that is larger by `scale` makes a label
            less probable by a factor of e.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_labels) or (n_samples, n_candidates), or `out`

        Raises
        ------
        InputError, WeightError, UnknownLabelError
            As for `decision_function`, and for a `scale` that is not positive.

        Examples
        --------
        >>> graph = LabelGraph.from_edges([("oak", "tree"), ("elm", "tree")])
        >>> Adapter.from_graph(graph, ["oak", "elm"]).predict_proba([[1.0, 1.0]]).round(3)
        array([[0.576, 0.212, 0.212]])
        """
        if not nonnegative_number("scale", scale):
            raise InputError("scale: 0 given; it must be positive (1 by default)")
        state = self._state
        rows = self.rows(P)
        labels, out = room_for_variances("predict_proba", state, len(rows), candidates, out, MAX_VALUES)
        for of, weights, variance in variances(state, self._reader, rows, labels):
            variance /= weights.sum(axis=1, keepdims=True)
            np.subtract(variance.min(axis=1, keepdims=True), variance, out=variance)
            variance /= scale
            np.exp(variance, out=variance)
            variance /= variance.sum(axis=1, keepdims=True)
            out[of] = variance
        return out

    def back_off(self, P: Outputs, margin: float, *, candidates: OneSet | None = None) -> BackedOff:
        """Return the lowest label of the tree that covers the best answer and all nearly as good ones.

        A label is nearly as good if its Fréchet variance is at most the smallest plus `margin` times the sum
        of the row, ties included. With `margin` 0 the result is the best label or, if labels are tied with
        it, their lowest common ancestor.

        Parameters
        ----------
        P, candidates
            As for `predict`; one set of candidates.
        margin : float
            Not negative, in edge-weight units to the power of beta. On a tree of unit edges, a margin of 1 or
            more reaches the parent of a label even for a row that is certain of the label.

        Raises
        ------
        SpaceError
            For a bundle without a tree.
        WeightError, InputError, UnknownLabelError
            As for `predict`.

        Notes
        -----
        Cost: as `top_k` with k the number of labels within the margin.

        Examples
        --------
        >>> pairs = [("oak", "tree"), ("elm", "tree"), ("tree", "plant"), ("moss", "plant")]
        >>> graph = LabelGraph.from_edges(pairs)
        >>> adapter = Adapter.from_graph(graph, ["oak", "elm"], labels="leaves")
        >>> adapter.back_off([[0.45, 0.55], [0.0, 1.0]], margin=0.5).keys
        ('tree', 'elm')
        """
        state = self._state
        state.hierarchy("back_off")
        among = one_set(state, candidates)
        empty = np.zeros((0, self.n_observed))
        chunks = self._reader.chunks(self.rows(P), state.order)
        parts = [back_off(state, among, weights, margin) for _, weights in chunks]
        parts = parts or [back_off(state, among, empty, margin)]
        return BackedOff(
            tuple(chain.from_iterable(part.keys for part in parts)),
            *(np.concatenate([getattr(p, n) for p in parts]) for n in ("points", "best", "n_within")),
        )

    def predict_sets(
        self,
        P: Outputs,
        *,
        threshold: float = 0.5,
        within: float = 2.0,
        candidates: OneSet | None = None,
    ) -> list[tuple[str, ...]]:
        """Return the keys of several labels for each row of independent probabilities.

        For models that give a sample several labels: each column is a separate probability, so rows need not
        sum to one, and logits go through the logistic function instead of the softmax. Observed labels whose
        probability is at least `threshold` are active. Active labels at most `within` apart are linked, and
        the answer for each connected group is the Fréchet mean under the probabilities of the group. A row
        without an active label gets an empty tuple. This is a rule of thumb, not an estimate of the most
        probable set.

        Parameters
        ----------
        P, candidates
            As for `predict`; one set of candidates.
        threshold : float, default=0.5
            Above 0, at most 1.
        within : float, default=2
            In edge-weight units: on a tree of unit edges 2 links siblings; with 0 each active label is
            answered separately.

        Returns
        -------
        sets : list of n_samples tuples of str
            In canonical order, each key once.

        Raises
        ------
        WeightError
            For probabilities outside 0..1.
        InputError, SpaceError
            For a `threshold` or `within` out of range, and for active labels whose distances a block lacks.

        Examples
        --------
        >>> pairs = [("oak", "tree"), ("elm", "tree"), ("tree", "plant"), ("moss", "plant")]
        >>> graph = LabelGraph.from_edges(pairs)
        >>> Adapter.from_graph(graph, ["oak", "elm", "moss"]).predict_sets([[0.9, 0.8, 0.7], [0.1, 0.6, 0.0]])
        [('moss', 'tree'), ('elm',)]
        """
        least, near = nonnegative_number("threshold", threshold), nonnegative_number("within", within)
        if not 0 < least <= 1:
            raise InputError(f"threshold: {threshold!r} given; it must be above 0 and at most 1")
        state = self._state
        among = one_set(state, candidates)
        found: list[tuple[int, ...]] = []
        for _, weights in self._reader.chunks(self.rows(P), state.order, independent=True):
            found += label_sets(state, among, weights, least, near)
        return [state.keys.take(labels) for labels in found]

    def explain(self, row: Outputs, *, candidates: OneSet | None = None) -> Explanation:
        """Explain the answer to one row.

        Parameters
        ----------
        row
            One row of outputs, as for `predict`.
        candidates : optional
            One set as for `predict`.

        Returns
        -------
        explanation : Explanation
            The answer, the runner-up and the margin between them, the argmax label and the path from it to
            the answer, and the amount that each observed label adds to the variance; ``print`` shows it all.

        Raises
        ------
        WeightError
            As for `predict`, and for any number of rows but one.

        Examples
        --------
        >>> pairs = [("oak", "tree"), ("elm", "tree"), ("tree", "plant"), ("moss", "plant")]
        >>> graph = LabelGraph.from_edges(pairs)
        >>> print(Adapter.from_graph(graph, ["oak", "elm"]).explain([0.6, 0.4]))
        answer 'tree': variance 1
        argmax 'oak': variance 1.6
        runner-up 'oak': variance 1.6, margin 0.6
        path oak - tree
        pull: weight times distance to the power of beta, which the label adds to the variance
        observed label  weight  distance  pull  pull at argmax
        elm  0.4  1  0.4  1.6
        oak  0.6  1  0.6  0
        """
        state = self._state
        rows = self.rows(row)
        if len(rows) != 1:
            raise WeightError(f"row: {len(rows)} rows given; explain one at a time: adapter.explain(P[0])")
        ((_, weights),) = self._reader.chunks(rows, state.order)
        return explain(state, one_set(state, candidates), weights)

    # ---- used by evaluation ------------------------------------------------------------------------

    def whole_space(self) -> MetricSpace | None:
        """Return the space between all allowed labels; None for a block without its graph."""
        if self.space is not None or self._graph is None:
            return self.space
        bundle = self.bundle
        labels = self.keys if bundle.labels == "listed" else bundle.labels
        return metric_space(self._graph, cast("Any", bundle.metric), labels)

    def distances(self, indices: NDArray[np.int64]) -> NDArray[Any]:
        """Return the distances from allowed labels to observed ones, columns in the order of the bundle."""
        return self._state.distances[indices]

    @property
    def order(self) -> NDArray[np.int64] | None:
        """Column of P for each observed label in the order of the bundle; None if the orders are the same."""
        return self._state.order

    def rows(self, P: Outputs) -> OutputRows:
        """Return P as rows of n_observed columns, with a length, whose values are not yet checked."""
        return self._reader.rows(P, self.observed)

    def chunks(self, P: Outputs) -> Iterator[tuple[int, NDArray[np.float64]]]:
        """Yield the number of the first row, and the checked weights, of each chunk of rows of P.

        The columns are in the order of the bundle.

        Raises
        ------
        WeightError
            As for `predict`; rows are counted over the whole of P.
        """
        return self._reader.chunks(self.rows(P), self._state.order)

    def logits(self, P: Outputs) -> Iterator[tuple[int, NDArray[np.float64]]]:
        """Yield the same as `chunks`, but with logits, not divided by the temperature, instead of weights."""
        return self._reader.logits(self.rows(P), self._state.order)

    def blocks(self, P: OutputStream) -> RowBlocks:
        """Return P as blocks of rows for `chunks` and `logits`; files and iterators may exceed memory."""
        return RowBlocks(self._reader, self.observed, P)

    def rank(
        self, weights: NDArray[np.float64], k: int = 1, candidates: OneSet | None = None
    ) -> FrechetResult:
        """Return the best `k` labels for rows of weights, such as those of `chunks`.

        The index and the value of the result have shape (n_samples, k), even for k = 1.
        """
        return one_set(self._state, candidates).score(weights, k)

    # ---- renewal -----------------------------------------------------------------------------------

    def refresh(self) -> bool:
        """Look for a new bundle at the loaded address, and answer from it if there is one.

        If the address is a name, it is looked up first; nothing is opened if it still means the current
        bundle. The columns of the model stay the same: each is matched by the key of its observed label.
        Calls in other threads are not disturbed, and each uses either the old bundle or the new one; `pinned`
        keeps one bundle for several calls.

        Returns
        -------
        changed : bool
            Whether the adapter now answers from a bundle with another digest.

        Raises
        ------
        InputError
            For an adapter that was not made by `load`.
        BundleError
            For a bundle of an ontology version other than the pinned one (``load(uri, pin=...)``).
        GroveError
            As for `load`; the adapter then answers as before.
        """
        renewal = self._renewal
        if renewal.source is None:
            raise InputError(
                f"refresh: {self!r} has no address to load from again (it was made from memory, read from a "
                "folder, or is pinned); create an adapter with Adapter.load(uri)"
            )
        with renewal.lock:
            old = self._state
            found = renewal.look(old.bundle)
            if found is None:
                return False
            bundle, mark = found
            changed = bundle.digest != old.bundle.digest
            if changed:
                self._state = State(bundle, old.observed, "key", old.beta)
            renewal.mark = mark
            return changed

    def save_pretrained(self, folder: str | os.PathLike[str]) -> None:
        """Write the bundle, the columns and the settings to a folder, for `from_pretrained`.

        Parameters
        ----------
        folder : str or path
            Created if it does not exist; earlier files of an adapter in it are replaced.

        Raises
        ------
        ServiceError
            If the folder cannot be written.
        """
        settings = {"outputs": self.outputs, "temperature": self.temperature, "beta": self.beta}
        write_folder(folder, self.bundle, {"columns": list(self.observed), **settings})

    @classmethod
    def from_pretrained(cls, folder: str | os.PathLike[str]) -> Self:
        """Read a folder that `save_pretrained` wrote, and check the sha256 of the bundle.

        Neither a network nor unpickling is needed.

        Raises
        ------
        NotFoundError, ArtifactError, BundleError
            For a folder that lacks a file or whose bytes do not match its configuration; for a configuration
            of a newer format, or with a field that is missing, unknown or wrong.
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
        """Return an adapter that keeps the current bundle, even after a `refresh` of this adapter."""
        twin = object.__new__(type(self))
        twin.__dict__.update(self.__dict__)
        twin._renewal = Renewal()
        return twin

    def __getstate__(self) -> dict[str, Any]:
        named = {"by": "key", "outputs": self.outputs, "temperature": self.temperature, "beta": self.beta}
        renewal = {name: getattr(self._renewal, name) for name in ("source", "mark", "pin")}
        return {"bundle": self.bundle, "columns": self.observed, "renewal": renewal, "named": named}

    def __setstate__(self, held: dict[str, Any]) -> None:
        Adapter.__init__(self, held["bundle"], held["columns"], **held["named"])
        self._renewal = Renewal(**{name.lstrip("_"): value for name, value in held["renewal"].items()})

    def __repr__(self) -> str:
        return f"Adapter(n_labels={self.n_labels}, n_observed={self.n_observed}, digest={self.digest[:12]})"
