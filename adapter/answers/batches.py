"""Turn outputs into answers for any number of rows, a chunk at a time, and for any set of candidates."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelgrove.adapter.answers.candidates import (
    Candidates,
    Chosen,
    OneSet,
    Subtree,
    read_candidates,
    read_set,
)
from labelgrove.adapter.answers.deciding import decided
from labelgrove.adapter.answers.sharing import shared
from labelgrove.adapter.outputs.rows import OutputRows, Outputs
from labelgrove.adapter.outputs.weights import OutputReader
from labelgrove.adapter.state import CandidateSet, State
from labelgrove.ontology.errors import InputError, WeightError
from labelgrove.ontology.geometry import FrechetResult
from labelgrove.ontology.geometry.scoring.ranking import ranked as best_of_pairs

__all__ = ["best", "check_k", "one_set", "ranked", "room_for_variances", "variances"]

_VALUES_AT_ONCE = 1 << 24
_FEW = 256  # up to so many keys of a row are scored one by one, which is faster than a search


def best(
    state: State, reader: OutputReader, P: Outputs, candidates: Candidates | None, threads: int = 1
) -> NDArray[np.int64]:
    """Return the best candidate of each row, with the rows shared among `threads` threads.

    Compiled code finds the answers if the outputs are not sparse, and `candidates` is None (all labels), the
    name of a rule or a `Subtree`. If compiled code cannot be used, or meets invalid outputs, `ranked` finds
    the answers instead; it checks the outputs and raises an error if they are invalid.
    """
    if type(threads) is not int or threads != 1:
        rows = reader.rows(P, state.observed)
        return shared(lambda some, among: best(state, reader, some, among), rows, candidates, threads)
    if candidates is None or isinstance(candidates, str | Subtree):
        among = one_set(state, candidates)
        found = decided(state, reader, P, among)
        if found is not None:
            return found if among.labels is None else among.labels[found]
    return ranked(state, reader, reader.rows(P, state.observed), 1, candidates).index[:, 0]


def ranked(
    state: State, reader: OutputReader, rows: OutputRows, k: int, candidates: Candidates | None
) -> FrechetResult:
    """Return the best `k` candidates of each row.

    The arrays `index` and `value` of the result have shape (n_samples, k), even for k = 1.
    """
    asked = None if candidates is None else read_candidates(candidates, len(rows))
    if isinstance(asked, list):
        return _ranked_each(state, reader, rows, k, asked)
    among = state.every if asked is None else state.candidates(asked)
    check_k(k, among.n_labels, "labels" if asked is None else "candidates")
    result = _room(len(rows), k)
    try:
        for start, weights in reader.unchecked(rows, state.order):
            _write(result, slice(start, start + len(weights)), among.score(weights, k))
    except WeightError:  # the reader names the row and the column of the outputs
        for start, chunk in reader.chunks(rows, state.order):
            _write(result, slice(start, start + len(chunk)), among.score(chunk, k))
    return result


def _ranked_each(
    state: State, reader: OutputReader, rows: OutputRows, k: int, asked: list[Chosen | None]
) -> FrechetResult:
    """Return the best `k` candidates of each row, like `ranked`, if each row has its own set of candidates.

    ``asked[i]`` is the set of row i; None means all labels.
    """
    check_k(k, state.bundle.n_labels, "labels")
    result = _room(len(rows), k)
    for start, chunk in reader.chunks(rows, state.order):
        same: dict[Chosen | None, list[int]] = {}
        few: dict[int, tuple[str, ...]] = {}
        for i, chosen in enumerate(asked[start : start + len(chunk)]):
            if isinstance(chosen, tuple) and len(chosen) <= _FEW:
                few[i] = chosen
            else:
                same.setdefault(chosen, []).append(i)
        if few:
            at = np.array(list(few))
            _write(result, start + at, _ranked_pairs(state, chunk[at], k, list(few.values()), start + at))
        for chosen, members in same.items():
            among = state.every if chosen is None else state.candidates(chosen)
            check_k(k, among.n_labels, f"candidates of row {start + members[0]}")
            at = np.array(members)
            _write(result, start + at, among.score(chunk[at], k))
    return result


def _ranked_pairs(
    state: State,
    weights: NDArray[np.float64],
    k: int,
    listed: list[tuple[str, ...]],
    number: NDArray[np.int64],
) -> FrechetResult:
    """Return the best `k` candidates of each row, if every row has only a few candidates.

    ``listed[i]`` contains the keys of the candidates of row i. These candidates are compared by their plain
    sums, which are computed for no other labels. `number` contains the index of each row of `weights` in the
    whole input, for error messages.
    """
    n = state.bundle.n_labels
    row = np.repeat(np.arange(len(listed)), [len(keys) for keys in listed])
    pairs = np.unique(row * n + state.keys.indices(chain.from_iterable(listed), lambda: state.names))
    sample, label = np.divmod(pairs, n)
    count = np.bincount(sample)
    least = int(count.argmin())
    check_k(k, int(count[least]), f"candidates of row {number[least]}")
    total = state.pairs_scorer.totals(weights, sample, label)
    return FrechetResult(*best_of_pairs(sample, label, total, k))


def one_set(state: State, candidates: OneSet | None) -> CandidateSet:
    """Return the candidates for a method that takes one set for all rows; None means all labels.

    `InputError` is raised for a list with a set for each row.
    """
    return state.every if candidates is None else state.candidates(read_set(candidates))


def room_for_variances(
    name: str, state: State, n_rows: int, candidates: OneSet | None, out: NDArray[Any] | None, most: int
) -> tuple[NDArray[np.int64] | None, NDArray[Any]]:
    """Return the labels whose variances are requested (None: all), and an array for the variances.

    The array is `out` if given, otherwise a new one.

    Raises
    ------
    InputError
        If `candidates` is a Python set, which gives the columns no order; if a new array would have more than
        `most` numbers; or if `out` has a wrong type, dtype or shape.
    """
    if isinstance(candidates, set | frozenset):
        raise InputError(
            f"candidates: a set of {len(candidates)} keys has no order for the columns of {name}; give a list"
        )
    labels = None if candidates is None else state.labels(read_set(candidates))
    width = state.bundle.n_labels if labels is None else len(labels)
    if out is None:
        if n_rows * width > most:
            raise InputError(
                f"{name}: {n_rows} rows x {width} labels make more than {most} numbers; pass at most "
                f"{max(1, most // width)} rows at a time, name the labels with candidates=[...], or write "
                "into a memory map with out=np.memmap(...)"
            )
        return labels, np.empty((n_rows, width))
    fair = isinstance(out, np.ndarray) and out.dtype in (np.float64, np.float32)
    if not (fair and out.shape == (n_rows, width) and out.flags.writeable):
        given = f"{out.dtype} of shape {out.shape}" if isinstance(out, np.ndarray) else type(out).__name__
        raise InputError(
            f"out: {given} given; give a writable float64 or float32 array of shape {(n_rows, width)}"
        )
    return labels, out


def variances(
    state: State, reader: OutputReader, rows: OutputRows, labels: NDArray[np.int64] | None
) -> Iterator[tuple[slice, NDArray[np.float64], NDArray[np.float64]]]:
    """For a few rows at a time, yield a tuple: the slice of these rows, their weights, and variances.

    The variances are those of `labels`; if `labels` is None, they are those of all labels.
    """
    scorer = state.scorer if labels is None else state.rows_scorer(labels)
    width = state.bundle.n_labels if labels is None else len(labels)
    step = max(1, _VALUES_AT_ONCE // width)
    for start, chunk in reader.chunks(rows, state.order):
        for first in range(0, len(chunk), step):
            some = chunk[first : first + step]
            yield slice(start + first, start + first + len(some)), some, scorer.variance(some)


def check_k(k: int, n: int, what: str) -> None:
    """Raise `InputError` unless `k` is a whole number from 1 to `n`, the number of what `what` names."""
    if isinstance(k, bool) or not isinstance(k, int | np.integer) or not 1 <= k <= n:
        raise InputError(f"k: {k!r} given, expected a whole number from 1 to {n}, the number of {what}")


def _room(n_rows: int, k: int) -> FrechetResult:
    n_tied = np.empty(n_rows, dtype=np.int64)
    return FrechetResult(np.empty((n_rows, k), dtype=np.int64), np.empty((n_rows, k)), n_tied)


def _write(result: FrechetResult, at: slice | NDArray[np.int64], found: FrechetResult) -> None:
    result.index[at], result.value[at], result.n_tied[at] = found.index, found.value, found.n_tied
