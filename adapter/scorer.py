"""Adapter: the outputs of a model for K observed labels in, answers among all N allowed labels out."""

from __future__ import annotations

import os
from collections.abc import Iterable
from itertools import chain
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from labelgrove.adapter.answers.backoff import back_off
from labelgrove.adapter.answers.batches import best, one_set, ranked, room_for_variances, variances
from labelgrove.adapter.answers.candidates import Candidates, OneSet
from labelgrove.adapter.answers.explanation import Explanation, explain
from labelgrove.adapter.answers.labelsets import label_sets
from labelgrove.adapter.answers.records import BackedOff, Ranking
from labelgrove.adapter.bundles.bundle import build_bundle
from labelgrove.adapter.columns.binding import By, Columns
from labelgrove.adapter.holder import Holder, refuse_other_version
from labelgrove.adapter.loading.source import BundleSource, Stale, Verify
from labelgrove.adapter.outputs.kinds import OutputKind
from labelgrove.adapter.outputs.rows import Outputs
from labelgrove.ontology.errors import InputError, WeightError
from labelgrove.ontology.geometry.arguments import nonnegative_number
from labelgrove.ontology.labelgraph import LabelGraph

__all__ = ["MAX_VALUES", "Adapter", "Ranking"]

MAX_VALUES = 1 << 27
"""Most numbers that `Adapter.decision_function` makes room for in one call: 1 GiB of float64."""


class Adapter(Holder):
    """Lets a classifier of n_observed classes answer with any of n_labels labels.

    The answer to a row p of probabilities is the Fréchet mean: the allowed label y with the smallest
    ``sum_i p_i d(y, l_i)^beta``. Sums are taken in float64 from `p` as given; labels within a relative 1e-12
    of the smallest are tied and the first of them in canonical order wins.

    Threads may share an adapter. What it answers from is replaced as a whole by `refresh`, or never: each
    call answers from what was there when it began.

    Parameters
    ----------
    bundle : Bundle
        Label space and observed labels.
    columns : iterable of str, mapping or Binding, length n_observed, optional
        What the model calls its columns, bound to the observed labels by `bind`: a list of text, an
        ``id2label`` dictionary, or a `Binding` that was saved. By default the columns are the bundle's
        observed labels, in the order in which it was built.
    by : {"auto", "key", "name", "position"}, default="auto"
        How `columns` are read.
    outputs : {"probabilities", "log_probabilities", "logits"}, default="probabilities"
        What the model emits. Probabilities are taken as they are and rows need not sum to one; the other two
        go through the softmax of each row.
    temperature : float, default=1
        What logits and log-probabilities are divided by before the softmax.
    beta : float, default=2
        Exponent of the distances. For any other than 2 a tree with every label allowed scores the vertices
        on paths between observed labels, where one answer is asked for; with some labels allowed, several
        answers or candidates it measures the distances of all of them again for each batch of about a
        thousand rows.

    Raises
    ------
    BindingError
        For columns that are unknown, ambiguous, repeated or missing, all listed.
    InputError
        For `outputs`, `temperature` and `beta` that break a rule.

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
        """Open the bundle at `uri` and bind the columns of a model to it.

        Parameters
        ----------
        uri, artifacts_url, offline, verify, stale
            As for `open_bundle`; `refresh` reads them again.
        columns, by, outputs, temperature, beta
            As for `Adapter`.
        pin : bool or str, default=False
            Ontology version to keep to: its digest or 8 or more of its first digits; True: the one that the
            bundle was made from. Bundles of another version are refused, here and by `refresh`.

        Raises
        ------
        GroveError
            As `open_bundle` and `Adapter`; `BundleError` for another version than the one pinned.
        """
        source = BundleSource(uri, artifacts_url, offline, verify, stale)
        located = source.locate()
        bundle = located.open()
        refuse_other_version(bundle, pin)
        made = cls(bundle, columns, by=by, outputs=outputs, temperature=temperature, beta=beta)
        made._renew_from(source, located, pin)
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
        """Build the bundle of `graph` in memory (see `build_bundle`); columns are `observed`, in order.

        The graph is kept: evaluation measures between labels on it.
        """
        bundle = build_bundle(graph, observed, metric=metric, labels=labels)
        made = cls(bundle, outputs=outputs, temperature=temperature, beta=beta)
        made._graph = graph
        return made

    # ---- answers -----------------------------------------------------------------------------------

    def predict(self, P: Outputs, *, candidates: Candidates | None = None) -> list[str]:
        """Return the key of the Fréchet mean of each sample.

        Parameters
        ----------
        P : array_like of shape (n_samples, n_observed) or (n_observed,), SparseOutputs or scipy.sparse matrix
            What the model emits, columns as in `observed`; any integer or floating dtype and memory order. A
            table whose columns are called as in `observed` may have them in any order.
        candidates : optional
            The labels that take part, all by default:

            - ``"leaves"``, labels without children in a tree bundle; ``"observed"``; ``"locus"``, those that
              some weights make best (see `ontology.geometry.locus`);
            - ``Subtree(key)``: a label of a tree and all below it;
            - keys, in any order;
            - a list with one of ``Subtree``, keys or None (all) for each row.

            The scorers of the 16 sets used last are kept.

        Raises
        ------
        WeightError
            For a wrong number of columns, and for rows with NaN, infinity, a negative value or zeros alone;
            the rows are named.
        BindingError
            For a table of which some columns are called as in `observed`, others not.
        InputError, UnknownLabelError, SpaceError
            For candidates that are unknown, none, or need the tree that a block bundle lacks.

        Notes
        -----
        Trees: O(n_samples * n_observed) time. Blocks: O(n_samples * n_observed * n_labels). Rows are taken in
        chunks, so memory beyond P stays at a few hundred megabytes at most.
        """
        state = self._state
        return state.decoded(best(state, self._reader, P, candidates))

    def predict_indices(self, P: Outputs, *, candidates: Candidates | None = None) -> NDArray[np.int64]:
        """Return what `predict` does as indices into `keys`; shape (n_samples,), dtype=int64."""
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
            One set as for `predict`; keys keep their order as the columns to return.
        out : ndarray of shape (n_samples, n_labels) or (n_samples, n_candidates), optional
            Where to write, in float64 or float32: a memory map for instance.

        Returns
        -------
        decision : ndarray of the same shape, dtype=float64, or `out`

        Raises
        ------
        InputError
            For more than `MAX_VALUES` numbers without `out`; take fewer rows at a time, or name candidates.
        WeightError, UnknownLabelError
            As for `predict`; for a candidate that is not allowed.
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

        V is the Fréchet variance of the row divided by its sum. These are scores between 0 and 1 that sum to
        one and rank labels as `decision_function` does. They are not calibrated: nothing makes the truth
        `scale` edges away rarer by the factor that stands here.

        Parameters
        ----------
        P, candidates, out
            As for `decision_function`; the sum runs over the candidates alone.
        scale : float, default=1
            Positive, in edge-weight units to the power of beta: how much larger V makes a label less probable
            by a factor of e.

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
            raise InputError("scale: 0 given; it is positive, and 1 by default")
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
        """Return the lowest label of the tree that covers the best answer and all that are nearly as good.

        A label is nearly as good where its Fréchet variance is at most the smallest plus `margin` times the
        sum of the row, ties included. With `margin` 0 that is the best label, or the ancestor shared by those
        tied with it.

        Parameters
        ----------
        P, candidates
            As for `predict`; one set of candidates.
        margin : float
            Not negative, in edge-weight units to the power of beta. From 1 on, a row that is certain of a
            label on a tree of unit edges has its parent within the margin.

        Raises
        ------
        SpaceError
            For a bundle that holds no tree.
        WeightError, InputError, UnknownLabelError
            As for `predict`.

        Notes
        -----
        As `top_k` with k the number of labels within the margin.

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

        For models of several labels: every column is a probability of its own, so that rows need not sum to
        one, and logits go through the logistic function in place of the softmax. Observed labels of at least
        `threshold` are active; active labels at most `within` apart are linked, and each group that hangs
        together is answered by the Fréchet mean of its own probabilities. A row without an active label gets
        an empty tuple. This is a rule of thumb, no estimate of the most probable set.

        Parameters
        ----------
        P, candidates
            As for `predict`; one set of candidates.
        threshold : float, default=0.5
            Above 0, at most 1.
        within : float, default=2
            In edge-weight units: on a tree of unit edges 2 links siblings; 0 answers each label by itself.

        Returns
        -------
        sets : list of n_samples tuples of str
            In canonical order, each key once.

        Raises
        ------
        WeightError
            For probabilities outside 0..1.
        InputError, SpaceError
            For a `threshold` or `within` out of range; for active labels whose distances a block lacks.

        Examples
        --------
        >>> pairs = [("oak", "tree"), ("elm", "tree"), ("tree", "plant"), ("moss", "plant")]
        >>> graph = LabelGraph.from_edges(pairs)
        >>> Adapter.from_graph(graph, ["oak", "elm", "moss"]).predict_sets([[0.9, 0.8, 0.7], [0.1, 0.6, 0.0]])
        [('moss', 'tree'), ('elm',)]
        """
        least, near = nonnegative_number("threshold", threshold), nonnegative_number("within", within)
        if not 0 < least <= 1:
            raise InputError(f"threshold: {threshold!r} given; it is above 0 and at most 1")
        state = self._state
        among = one_set(state, candidates)
        found: list[tuple[int, ...]] = []
        for _, weights in self._reader.chunks(self.rows(P), state.order, independent=True):
            found += label_sets(state, among, weights, least, near)
        return [state.keys.take(labels) for labels in found]

    def explain(self, row: Outputs, *, candidates: OneSet | None = None) -> Explanation:
        """Return why one row is answered as it is.

        Parameters
        ----------
        row
            One row of outputs, as for `predict`.
        candidates : optional
            One set as for `predict`.

        Returns
        -------
        explanation : Explanation
            The answer, the runner-up and the margin between them, the argmax label and the path from there,
            and what each observed label adds to the variance; ``print`` shows it.

        Raises
        ------
        WeightError
            As for `predict`, and for more or less than one row.

        Examples
        --------
        >>> pairs = [("oak", "tree"), ("elm", "tree"), ("tree", "plant"), ("moss", "plant")]
        >>> graph = LabelGraph.from_edges(pairs)
        >>> print(Adapter.from_graph(graph, ["oak", "elm"]).explain([0.6, 0.4]))
        answer 'tree': variance 1
        argmax 'oak': variance 1.6
        runner-up 'oak': variance 1.6, margin 0.6
        path oak - tree
        pull: weight times distance to the power of beta, what a label adds to the variance
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
