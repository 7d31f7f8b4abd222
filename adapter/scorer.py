"""Adapter: turn the outputs of a model for K observed labels into answers among all N allowed labels."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any, Literal, Self, cast

import numpy as np
from numpy.typing import NDArray

from labelgrove.adapter.answers.backoff import back_off
from labelgrove.adapter.answers.batches import best, check_k, one_set, ranked, room_for_variances, variances
from labelgrove.adapter.answers.candidates import Candidates, OneSet
from labelgrove.adapter.answers.everylabel import every_variance
from labelgrove.adapter.answers.explanation import Explanation, explain
from labelgrove.adapter.answers.labelsets import label_sets
from labelgrove.adapter.answers.records import BackedOff, Ranking
from labelgrove.adapter.bundles.bundle import Bundle, build_bundle
from labelgrove.adapter.bundles.pretrained import read_folder, write_folder
from labelgrove.adapter.columns.binding import By, Columns
from labelgrove.adapter.loading.source import BundleSource, Stale, Verify
from labelgrove.adapter.outputs.outputkinds import OutputKind
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
    """Lets a classifier that was trained on n_observed labels answer with any of n_labels labels.

    The answer to a row p of probabilities is the Fréchet mean: the allowed label y with the smallest
    ``sum_i p_i d(y, l_i)^beta``, where l_i are the observed labels and d is the distance. Sums are computed
    in float64, and p is not normalized first. Labels whose sum is within a relative 1e-12 of the smallest are
    tied, and the first tied label in canonical order is the answer.

    Threads may share an adapter. Only `refresh` changes the state of an adapter, by replacing all of it at
    once. A call of any other method uses one state throughout: the one at the beginning of the call.

    Parameters
    ----------
    bundle : Bundle
        Label space and observed labels.
    columns : iterable of str, mapping or Binding, length n_observed, optional
        Names of the model's columns, which `bind` matches with the observed labels: a list of text, an
        ``id2label`` dictionary, or a saved `Binding`. By default the columns are the observed labels, in the
        order that was given when the bundle was built.
    by : {"auto", "key", "name", "position"}, default="auto"
        How to read `columns`.
    outputs : {"probabilities", "log_probabilities", "logits"}, default="probabilities"
        Kind of the model's outputs. Probabilities are used as weights without change, and a row need not sum
        to one. For the other two kinds the softmax of each row is used.
    temperature : float, default=1
        Logits and log-probabilities are divided by it before the softmax.
    beta : float, default=2
        Exponent of the distances. On a tree, values other than 2 cost more. If all labels are allowed and
        only one answer is requested, this answer is found among the vertices on paths between observed
        labels. In other cases (only some labels allowed, several answers, or candidates) the distances from
        all labels that may be answers are measured again for each batch of about a thousand rows.

    Raises
    ------
    BindingError
        For columns that are unknown, ambiguous, repeated or missing; the message lists all of them.
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
            Digest of the only ontology version to accept, or 8 or more of its first digits. True means the
            version that the bundle was made from. This method and `refresh` refuse bundles of other versions.

        Raises
        ------
        GroveError
            As `open_bundle` and `Adapter`. `BundleError` is also raised for a version other than the pinned
            one.
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
        """Build a bundle of `graph` in memory, and return its adapter; see `build_bundle`.

        The columns of the model are the labels `observed`, in this order. The adapter keeps the graph,
        because an evaluation needs it to measure distances between labels.
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
        """Keys of the allowed labels, in canonical order; indices in results are positions in `keys`."""
        return self._state.keys

    @property
    def names(self) -> Texts:
        """Names of the allowed labels, in the order of `keys`."""
        return self._state.names

    @property
    def space(self) -> MetricSpace | None:
        """The metric space of the bundle; None for a block bundle, which lacks most distances.

        The other bundles have all distances: they store a tree, or their distances are all equal
        ("complete").
        """
        return self._state.space

    @property
    def n_labels(self) -> int:
        """Number of allowed labels."""
        return self._state.bundle.n_labels

    @property
    def n_observed(self) -> int:
        """Number of observed labels, which is the number of columns of the model."""
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
        """The number by which logits and log-probabilities are divided before the softmax."""
        return self._reader.temperature

    @property
    def beta(self) -> float:
        """Exponent of the distances."""
        return self._state.beta

    # ---- preparation -------------------------------------------------------------------------------

    def warm(self, k: int = 1) -> Self:
        """Prepare for requests, so that the first one takes no longer than the others; return the adapter.

        This loads the compiled search, which takes half a second, and compiles it if no earlier process has:
        some seconds, once for each installation (``grove warm`` does so when an image is built). Without a
        call of this method the adapter begins with numpy alone, which gives the same answers, and loads the
        compiled search in the background once that is worth it. A call never waits for a compiler, unless
        the compiled code cannot be kept in any folder.

        Parameters
        ----------
        k : int, default=1
            The largest number of labels that `top_k` will be asked for; 1 prepares `predict` and `top_k` of
            one label.

        Raises
        ------
        InputError
            If `k` is not between 1 and the number of labels.

        Examples
        --------
        >>> graph = LabelGraph.from_edges([("oak", "tree"), ("elm", "tree")])
        >>> Adapter.from_graph(graph, ["oak", "elm"]).warm(k=3).predict([0.5, 0.5])
        ['tree']
        """
        state = self._state
        check_k(k, state.bundle.n_labels, "labels")
        for top in sorted({1, k}):
            state.scorer.warm(top)
        state.every.decision(state.order)
        return self

    # ---- answers -----------------------------------------------------------------------------------

    def predict(self, P: Outputs, *, candidates: Candidates | None = None, threads: int = 1) -> list[str]:
        """Return the key of the Fréchet mean of each sample.

        Parameters
        ----------
        P : array_like of shape (n_samples, n_observed) or (n_observed,), SparseOutputs or scipy.sparse matrix
            Outputs of the model, in any integer or floating dtype and memory order. The columns must be in
            the order of `observed`; only a table whose columns are named by these keys may have them in any
            order.
        candidates : optional
            The labels from which the answer is chosen; by default all allowed labels. Other choices are:

            - ``"leaves"``: labels without children; the bundle must store a tree or allow only leaves;
            - ``"observed"``: the observed labels that are allowed;
            - ``"locus"``: labels that some weights make best (see `ontology.geometry.locus`);
            - ``Subtree(key)``: a label of a tree and all labels below it;
            - keys, in any order;
            - a list with one entry for each row: a ``Subtree``, keys, or None for all allowed labels.

            The adapter keeps what it has prepared for the 16 sets of candidates that were used last.
        threads : int, default=1
            The number of threads that answer the rows, each a part of them.

        Raises
        ------
        WeightError
            For a wrong number of columns, and for rows with NaN, infinity, a negative value or only zeros;
            the message names the rows.
        BindingError
            For a table in which some column names are in `observed` and others are not.
        InputError, UnknownLabelError, SpaceError
            For candidates that are unknown, for an empty set of candidates, for candidates that need a tree
            if the bundle has none, and for a number of threads below 1.

        Notes
        -----
        Time on a tree: O(n_samples * n_observed). Time on a block: O(n_samples * n_observed * n_labels). Rows
        are scored in chunks, so at most a few hundred megabytes of memory are needed in addition to P.
        """
        state = self._state
        return state.decoded(best(state, self._reader, P, candidates, threads))

    def predict_indices(
        self, P: Outputs, *, candidates: Candidates | None = None, threads: int = 1
    ) -> NDArray[np.int64]:
        """Return the answers of `predict` as indices into `keys`, with shape (n_samples,) and dtype int64."""
        return best(self._state, self._reader, P, candidates, threads)

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
            As for `predict`, but one set for all rows. If keys are given, the columns are returned in their
            order.
        out : ndarray of shape (n_samples, n_labels) or (n_samples, n_candidates), optional
            Array to write to, in float64 or float32, for example a memory map.

        Returns
        -------
        decision : ndarray, dtype=float64, shape (n_samples, n_labels) or (n_samples, n_candidates); or `out`

        Raises
        ------
        InputError
            If the result has more than `MAX_VALUES` numbers and `out` is not given; score fewer rows at a
            time, or give candidates.
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

        V is the Fréchet variance of the label, divided by the sum of the row's weights. The results are
        between 0 and 1, sum to one in each row, and rank labels as `decision_function` does. They are not
        calibrated: they do not say how often a label is the truth.

        Parameters
        ----------
        P, candidates, out
            As for `decision_function`. If candidates are given, the sum is only over them.
        scale : float, default=1
            A positive number, in edge-weight units to the power of beta. If V of one label is larger by
            `scale` than V of another, its probability is smaller by a factor of e.

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
        """Return the lowest label that is an ancestor of the best answer and of all labels nearly as good.

        A label counts as its own ancestor here. A label is nearly as good if its Fréchet variance is at most
        the smallest one plus `margin` times the sum of the row's weights. The variance may also exceed this
        limit by a relative 1e-12, the tolerance for ties. With `margin` 0 the result is the best label or, if
        other labels are tied with it, the lowest common ancestor of them all.

        Parameters
        ----------
        P, candidates
            As for `predict`, but `candidates` is one set for all rows.
        margin : float
            A number that is not negative; its unit is that of the edge lengths to the power of `beta`. On a
            tree whose edges have length 1, choose less than 1: with 1 or more, even a row whose whole weight
            is on one label gets a label above that label.

        Raises
        ------
        SpaceError
            For a bundle without a tree.
        WeightError, InputError, UnknownLabelError
            As for `predict`.

        Notes
        -----
        The cost is that of `top_k`, where k is the number of labels within the margin.

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
        """Return any number of labels for each row, for models that give a sample several labels.

        Each column contains a separate probability, so a row need not sum to one, and logits are converted by
        the logistic function instead of the softmax. Here an observed label is called *active* in a row if
        its probability in this row is at least `threshold`. Two active labels are linked if their distance is
        at most `within`. For each connected group of active labels, one label is returned: the Fréchet mean
        with the probabilities of the group as weights. A row without an active label gets an empty tuple.
        This is a rule of thumb, not an estimate of the most probable set.

        Parameters
        ----------
        P, candidates
            As for `predict`, but `candidates` is one set for all rows.
        threshold : float, default=0.5
            Least probability of an active label; above 0 and at most 1.
        within : float, default=2
            Largest distance that links two active labels, in edge-weight units. On a tree whose edges have
            length 1, the value 2 links siblings. With 0 each active label is answered separately.

        Returns
        -------
        sets : list of n_samples tuples of str
            For each row, the keys of the returned labels in canonical order, each key once.

        Raises
        ------
        WeightError
            For probabilities outside 0..1.
        InputError, SpaceError
            `InputError` for a `threshold` or `within` out of range, and for a row with more than 4,096
            active labels. `SpaceError` if the bundle is a block and an active label is not an allowed label:
            a block has no distances from such labels.

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
            As for `predict`, but one set for the row.

        Returns
        -------
        explanation : Explanation
            The answer, the runner-up and the margin between them, the argmax label and the path from it to
            the answer, and the amount that each observed label adds to the variance; ``print`` shows it all.

        Raises
        ------
        WeightError
            As for `predict`, and if the number of rows is not one.

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
        return explain(state, one_set(state, candidates), self._one(state, "explain", row))

    def variances(self, row: Outputs, *, candidates: OneSet | None = None) -> NDArray[np.float64]:
        """Return the Fréchet variance of every label for one row, as for a picture of all of them.

        Parameters
        ----------
        row
            One row of outputs, as for `predict`.
        candidates : optional
            As for `predict`, but one set for the row.

        Returns
        -------
        variances : ndarray of shape (n_labels,), dtype=float64
            In the order of `keys`; NaN for labels that are not candidates. On a tree with beta 2, all have
            the rounding errors of the largest one: small ones are less exact than those of `top_k`.

        Raises
        ------
        WeightError
            As for `predict`, and if the number of rows is not one.

        Notes
        -----
        Trees with beta 2: O(n_labels + n_observed * depth). Otherwise O(n_labels * n_observed).

        Examples
        --------
        >>> graph = LabelGraph.from_edges([("oak", "tree"), ("elm", "tree"), ("tree", "plant")])
        >>> adapter = Adapter.from_graph(graph, ["oak", "elm"])
        >>> dict(zip(adapter.keys, adapter.variances([0.75, 0.25]).tolist(), strict=True))
        {'plant': 4.0, 'tree': 1.0, 'elm': 3.0, 'oak': 1.0}
        """
        state = self._state
        return every_variance(state, one_set(state, candidates), self._one(state, "variances", row))

    def _one(self, state: State, what: str, row: Outputs) -> NDArray[np.float64]:
        """Return the checked weights of one row; shape (1, n_observed)."""
        rows = self.rows(row)
        if len(rows) != 1:
            raise WeightError(f"row: {len(rows)} rows given; give one at a time: adapter.{what}(P[0])")
        ((_, weights),) = self._reader.chunks(rows, state.order)
        return weights

    # ---- used by evaluation ------------------------------------------------------------------------

    def whole_space(self) -> MetricSpace | None:
        """Return the metric space with the distances between all allowed labels.

        None for a block if the adapter was not made by `from_graph`.
        """
        if self.space is not None or self._graph is None:
            return self.space
        bundle = self.bundle
        labels = self.keys if bundle.labels == "listed" else bundle.labels
        return metric_space(self._graph, cast("Any", bundle.metric), labels)

    def distances(self, indices: NDArray[np.int64]) -> NDArray[Any]:
        """Return the distances from the allowed labels at `indices` to all observed labels.

        Columns are in the order of the bundle.
        """
        return self._state.distances[indices]

    @property
    def order(self) -> NDArray[np.int64] | None:
        """The column in P of each observed label; observed labels are in the order of the bundle.

        None if the columns of P are in this order.
        """
        return self._state.order

    def rows(self, P: Outputs) -> OutputRows:
        """Return P as rows; only the number of columns and the dtype are checked, not yet the values."""
        return self._reader.rows(P, self.observed)

    def chunks(self, P: Outputs) -> Iterator[tuple[int, NDArray[np.float64]]]:
        """Yield, for each chunk of rows of P, the index of its first row and its checked weights.

        The columns are in the order of the bundle.

        Raises
        ------
        WeightError
            As for `predict`; messages count rows from the beginning of P, not of the chunk.
        """
        return self._reader.chunks(self.rows(P), self._state.order)

    def logits(self, P: Outputs) -> Iterator[tuple[int, NDArray[np.float64]]]:
        """Yield the same as `chunks`, but logits instead of weights.

        The logits are not divided by the temperature.
        """
        return self._reader.logits(self.rows(P), self._state.order)

    def blocks(self, P: OutputStream) -> RowBlocks:
        """Return P as batches of rows that `chunks` and `logits` accept; P may be larger than memory."""
        return RowBlocks(self._reader, self.observed, P)

    def rank(
        self, weights: NDArray[np.float64], k: int = 1, candidates: OneSet | None = None
    ) -> FrechetResult:
        """Return the `k` best labels for rows of weights, which `chunks` yields.

        `index` and `value` in the result have shape (n_samples, k), even for k = 1.
        """
        return one_set(self._state, candidates).score(weights, k)

    # ---- renewal -----------------------------------------------------------------------------------

    def refresh(self) -> bool:
        """Look for a new bundle at the address given to `load`, and answer from it if there is one.

        If the address is a name, it is looked up first; if it still refers to the current bundle, nothing is
        opened. The columns of the model stay the same: each is matched by the key of its observed label.
        Calls in other threads are not disturbed: each uses either the old bundle or the new one. To use one
        bundle for several calls, call them on the adapter that `pinned` returns.

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
            As for `load`. After an error the adapter answers from the old bundle.
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
        """Write the bundle, the columns and the settings to a folder that `from_pretrained` can read.

        Parameters
        ----------
        folder : str or path
            Created if it does not exist. If it contains the files of an adapter, they are replaced.

        Raises
        ------
        ServiceError
            If the folder cannot be written.
        """
        settings = {"outputs": self.outputs, "temperature": self.temperature, "beta": self.beta}
        write_folder(folder, self.bundle, {"columns": list(self.observed), **settings})

    @classmethod
    def from_pretrained(cls, folder: str | os.PathLike[str]) -> Self:
        """Return the adapter in a folder that `save_pretrained` wrote, after a check of the bundle's sha256.

        The method needs no network and unpickles nothing.

        Raises
        ------
        NotFoundError
            If the folder lacks one of the files.
        ArtifactError
            If a file cannot be read, or if the bundle does not have the sha256 in the configuration.
        BundleError
            If the configuration does not have the format that this version of labelgrove reads, if one of its
            fields is missing, unknown or wrong, or if it does not fit the bundle.
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

    def with_outputs(self, outputs: OutputKind, temperature: float = 1.0) -> Self:
        """Return an adapter that reads another kind of outputs, or at another temperature.

        It answers from the current bundle of this adapter, even if this one is refreshed later, and shares
        all that was prepared.

        Parameters
        ----------
        outputs, temperature
            As for `Adapter`.

        Raises
        ------
        InputError
            As for `Adapter`.

        Examples
        --------
        >>> graph = LabelGraph.from_edges([("oak", "tree"), ("elm", "tree")])
        >>> Adapter.from_graph(graph, ["oak", "elm"]).with_outputs("logits", 0.1).predict([1.0, 2.0])
        ['elm']
        """
        return self._twin(_reader=OutputReader(outputs, temperature, self.n_observed))

    def pinned(self) -> Self:
        """Return an adapter that keeps the current bundle, even if this adapter is refreshed later."""
        return self._twin()

    def _twin(self, **changed: Any) -> Self:
        twin = object.__new__(type(self))
        twin.__dict__.update(self.__dict__ | {"_renewal": Renewal()} | changed)
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
