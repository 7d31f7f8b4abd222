"""Match the columns of a model with labels, without guessing: by key, by name or, on request, by position."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from labelgrove.adapter.columns.bindingfile import Binding, By
from labelgrove.adapter.columns.labelnames import (
    Describe,
    Elsewhere,
    LabelNames,
    Synonyms,
    describe_observed,
    describe_unobserved,
    key_and_name,
    look_like_numbers,
)
from labelgrove.ontology.errors import BindingError, counted, first_few

if TYPE_CHECKING:
    from labelgrove.adapter.bundles.bundle import Bundle

__all__ = [
    "By",
    "Columns",
    "bind",
    "find_labels",
    "make_binding",
]

Columns = Iterable[str] | Mapping[int, str] | Mapping[str, str] | Binding
"""Names of a model's columns: in their order, as an ``id2label`` dictionary, or as a saved binding."""


def bind(
    columns: Columns,
    keys: Sequence[str],
    names: Sequence[str] | None = None,
    *,
    by: By = "auto",
    describe: Describe | None = None,
    elsewhere: Elsewhere | None = None,
) -> NDArray[np.int64]:
    """Return the index of the model's column for each observed label.

    Parameters
    ----------
    columns : iterable of str, mapping or Binding, length n_columns
        Names of the model's outputs: a list, an array or a series of strings, in the order of the model's
        columns; a dictionary from column numbers (0, 1, ..., as numbers or as strings, in any order) to
        names, such as ``id2label`` of a model hub; or a `Binding`, whose keys are used.
    keys : sequence of str, length n_observed
        Keys of the observed labels.
    names : sequence of str, length n_observed, optional
        Names of the observed labels.
    by : {"auto", "key", "name", "position"}, default="auto"
        How to read the columns, as for `find_labels`.
    describe, elsewhere : callable, optional
        As for `find_labels`.

    Returns
    -------
    order : ndarray of shape (n_observed,), dtype=int64
        ``P[:, order]`` has its columns in the order of `keys`.

    Raises
    ------
    BindingError
        One error that lists all faults: columns that are unknown, ambiguous or repeated, with labels that
        they may mean, and observed labels without a column.

    Examples
    --------
    >>> bind(["elm", "oak"], ["n1", "n2"], ["oak", "elm"]).tolist()
    [1, 0]
    """
    listed, by = _listed(columns), _rule(columns, by)
    if by == "position":
        return _by_position(listed, len(keys))
    found, problems, unknown = _match(listed, LabelNames(keys, names, by, describe, elsewhere), by)
    what = _unbound(len(problems), len(listed), len(keys))
    missing = np.setdiff1d(np.arange(len(keys)), found)
    problems += [
        f"no column stands for the observed label {key_and_name(int(i), keys, names)}; add it to the columns"
        for i in missing
    ]
    if problems and len(listed) != len(keys):
        problems.append(
            f"the bundle was built for {len(keys)} observed labels; for the classes of another model build "
            "another: grove bundle build ONTOLOGY NAME --observed FILE, or build_bundle(graph, columns)"
        )
    _refuse(problems, unknown, what, by)
    order = np.empty(len(keys), dtype=np.int64)
    order[found] = np.arange(len(listed))
    return order


def find_labels(
    columns: Columns,
    keys: Sequence[str],
    names: Sequence[str] | None = None,
    *,
    by: By = "auto",
    describe: Describe | None = None,
    elsewhere: Elsewhere | None = None,
    synonyms: Synonyms | None = None,
    what: str = "column",
) -> NDArray[np.int64]:
    """Return the label of each column; there may be many labels without a column.

    Use it to find the classes of a model in an ontology, before building a bundle for them.

    Parameters
    ----------
    columns : iterable of str, mapping or Binding, length n_columns
        Names of the model's outputs, as for `bind`.
    keys, names : sequence of str, length n_labels
        Keys and, if there are any, names of the labels.
    by : {"auto", "key", "name", "position"}, default="auto"
        ``"auto"`` accepts a column that is the key or the name of exactly one label; a column that is the key
        of one label and the name of another is ambiguous. ``"key"`` and ``"name"`` read all columns as keys
        or as names. ``"position"`` matches column i with label i and needs as many columns as labels.
    describe : callable, optional
        Function that describes the label with a given index, so that an error can distinguish labels of the
        same name: see `adapter.columns.labelnames.describe_labels`.
    elsewhere : callable, optional
        Function that is called with a text that means none of these labels. It returns an explanation for the
        error: see `adapter.columns.labelnames.describe_unobserved`.
    synonyms : callable, optional
        Function that is called with a text that is neither a key nor a name, unless `by` is ``"key"``. It
        returns the labels that have the text as another name, such as a synonym.
    what : str, default="column"
        Word for an entry of `columns` in errors, if the entries are not columns.

    Returns
    -------
    indices : ndarray of shape (n_columns,), dtype=int64

    Raises
    ------
    BindingError
        One error that lists all columns that are unknown, ambiguous or repeated, with labels that they may
        mean.

    Examples
    --------
    >>> find_labels(["n2", "oak"], ["n0", "n1", "n2"], ["tree", "oak", "elm"]).tolist()
    [2, 1]
    >>> find_labels(["crane"], ["n1", "n2"], ["crane", "crane"])
    Traceback (most recent call last):
    ...
    labelgrove.ontology.errors.BindingError: 1 column cannot be bound to 2 labels (by auto):
      column 0 'crane' is ambiguous: 'n1' (crane), 'n2' (crane); give the key of the label that you mean
    """
    listed, by = _listed(columns), _rule(columns, by)
    if by == "position":
        return _by_position(listed, len(keys))
    known = LabelNames(keys, names, by, describe, elsewhere, synonyms)
    found, problems, unknown = _match(listed, known, by, what)
    _refuse(problems, unknown, _unbound(len(problems), len(listed), len(keys), what), by)
    return found


def make_binding(bundle: Bundle, columns: Columns, *, by: By = "auto") -> Binding:
    """Match each column of a model with an observed label, in a form to be saved next to the model.

    Parameters
    ----------
    bundle : Bundle
        Bundle with the observed labels of the model.
    columns, by
        As for `bind`.

    Raises
    ------
    BindingError
        As for `bind`.

    Examples
    --------
    >>> from labelgrove.adapter import build_bundle
    >>> from labelgrove.ontology.labelgraph import LabelGraph
    >>> graph = LabelGraph.from_edges([("n1", "n0"), ("n2", "n0")], names={"n1": "oak", "n2": "elm"})
    >>> make_binding(build_bundle(graph, ["n1", "n2"]), {0: "elm", 1: "oak"}).keys
    ('n2', 'n1')
    """
    keys, rule = bundle.observed_keys, _rule(columns, by)
    given = _listed(columns)
    order = bind(
        given,
        keys,
        bundle.observed_names,
        by=rule,
        describe=describe_observed(bundle),
        elsewhere=describe_unobserved(bundle, rule),
    )
    called = columns.columns if isinstance(columns, Binding) else tuple(given)
    return Binding(called, tuple(keys[i] for i in np.argsort(order)), rule, bundle.digest)


def _rule(columns: Columns, by: By) -> By:
    return "key" if isinstance(columns, Binding) else by


def _listed(columns: Columns) -> list[str]:
    if isinstance(columns, str):
        raise BindingError(
            f"columns: {columns!r} is a single string; give a list with one entry for each column"
        )
    if isinstance(columns, set | frozenset) or not isinstance(columns, Iterable):
        raise BindingError(
            f"columns: a value of type {type(columns).__name__}, which has no order; give a list of texts in "
            "the order of the columns, or a dictionary from column numbers to texts"
        )
    if isinstance(columns, np.ndarray) and columns.ndim != 1:
        raise BindingError(
            f"columns: an array of shape {columns.shape} given; give one text for each column of the model"
        )
    listed: list[Any] = _by_number(columns) if isinstance(columns, Mapping) else list(columns)
    for i, column in enumerate(listed):
        if isinstance(column, bytes):
            raise BindingError(
                f"columns: column {i} is {column!r}, bytes; decode them: [c.decode() for c in columns]"
            )
        if not isinstance(column, str):
            raise BindingError(
                f"columns: column {i} is {column!r} of type {type(column).__name__}; keys and names are "
                "text, so give each class as the text of its label: for example, [str(c) for c in classes]"
            )
    return [str(column) for column in listed]


def _by_number(columns: Mapping[Any, Any]) -> list[Any]:
    """Return the values of a dictionary whose keys are column numbers, in the order of the numbers."""
    numbered: dict[int, Any] = {}
    for given, column in columns.items():
        whole = isinstance(given, int | np.integer) and not isinstance(given, bool)
        if not whole and not (isinstance(given, str) and re.fullmatch("0|[1-9][0-9]{0,8}", given)):
            turned = isinstance(given, str) and isinstance(column, int)
            advice = "this is label2id: give id2label" if turned else "count columns as 0, 1, ..., or as text"
            raise BindingError(f"columns: {given!r} is not the number of a column; {advice}")
        if int(given) in numbered:
            raise BindingError(
                f"columns: column {int(given)} occurs twice, as a number and as text; keep one"
            )
        numbered[int(given)] = column
    missing = [i for i in range(len(numbered)) if i not in numbered]
    if missing:
        raise BindingError(
            f"columns: {len(numbered)} entries from {min(numbered)} to {max(numbered)}, without "
            f"{first_few(missing)}; number the columns from 0 on, without a gap"
        )
    return [numbered[i] for i in range(len(numbered))]


def _by_position(columns: list[str], n_labels: int) -> NDArray[np.int64]:
    if len(columns) != n_labels:
        raise BindingError(
            f"columns: {counted(len(columns), 'column')} for {counted(n_labels, 'label')}; "
            "binding by position needs one for each label"
        )
    return np.arange(n_labels, dtype=np.int64)


def _match(
    columns: list[str], known: LabelNames, by: By, what: str = "column"
) -> tuple[NDArray[np.int64], list[str], list[str]]:
    """Match columns with labels; return the labels found, the faults, and the unknown columns.

    A fault is the message for a column that does not mean exactly one label.
    """
    counted_off = (
        what == "column" and by != "key" and len(columns) > 1 and look_like_numbers(columns, len(columns))
    )
    if counted_off and not any(map(known.meant, columns)):
        raise BindingError(
            f"columns: {first_few(columns)} look like column numbers; name the classes of the columns, in "
            "order; if the columns are in the order of the bundle, say by='position' "
            "(grove: --columns bundle)"
        )
    problems: list[str] = []
    unknown: list[str] = []
    first: dict[int, int] = {}
    for position, column in enumerate(columns):
        labels = known.meant(column)
        if not labels:
            unknown.append(column)
        if len(labels) != 1:
            problems.append(f"{what} {position} {known.fault(column)}")
            continue
        earlier = first.setdefault(labels[0], position)
        if earlier != position:
            problems.append(
                f"{what} {position} {column!r} repeats {what} {earlier} {columns[earlier]!r}: both stand "
                f"for {known.shown(labels[0])}; keep one {what} for each label"
            )
    return np.array(list(first), dtype=np.int64), problems, unknown


def _unbound(n_faults: int, n_columns: int, n_labels: int, what: str = "column") -> str:
    verb = "bound to" if what == "column" else "found among"
    of = f"{n_faults:,} of " if 0 < n_faults < n_columns else ""
    return f"{of}{counted(n_columns, what)} cannot be {verb} {counted(n_labels, 'label')}"


def _refuse(problems: list[str], unknown: list[str], what: str, by: By) -> None:
    if problems:
        raise BindingError("\n  ".join([f"{what} (by {by}):", *problems]), unknown)
