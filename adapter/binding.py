"""Which label a column of a model stands for: by key, by name, or by position when asked; never by guess."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from adapter.bindingfile import Binding, By
from ontology.errors import BindingError, InputError, first_few

if TYPE_CHECKING:
    from adapter.bundle import Bundle

__all__ = ["By", "Columns", "bind", "find_labels", "make_binding"]

Columns = Iterable[str] | Mapping[int, str] | Mapping[str, str] | Binding
"""What a model calls its columns: in their order, as an ``id2label`` dictionary, or settled before."""

_RULES = ("auto", "key", "name", "position")
_SHOWN_CANDIDATES = 5
_MOST_COMPARED = 10_000  # pairs of column and label in one error; beyond, only folded equality is looked for


def bind(
    columns: Columns, keys: Sequence[str], names: Sequence[str] | None = None, *, by: By = "auto"
) -> NDArray[np.int64]:
    """Return the order in which the columns of a model feed the observed labels.

    Parameters
    ----------
    columns : iterable of str, mapping or Binding, length n_columns
        What the model calls its outputs, in the order of its columns: a list, an array or a series of text; a
        dictionary from 0, 1, ..., as numbers or as text, in any order (``id2label`` of a model hub); or a
        `Binding`, which binds by key.
    keys : sequence of str, length n_observed
        Keys of the observed labels.
    names : sequence of str, length n_observed, optional
        Their names.
    by : {"auto", "key", "name", "position"}, default="auto"
        How columns are read, as for `find_labels`.

    Returns
    -------
    order : ndarray of shape (n_observed,), dtype=int64
        ``P[:, order]`` has its columns in the order of `keys`.

    Raises
    ------
    BindingError
        One error for everything that is wrong: columns that are unknown, ambiguous or repeated, with
        candidates, and observed labels that no column feeds.

    Examples
    --------
    >>> bind(["elm", "oak"], ["n1", "n2"], ["oak", "elm"]).tolist()
    [1, 0]
    """
    listed, by = _listed(columns), _rule(columns, by)
    if by == "position":
        return _by_position(listed, len(keys))
    found, problems = _match(listed, keys, names, by)
    missing = np.setdiff1d(np.arange(len(keys)), found)
    problems += [
        f"no column feeds the observed label {_label(int(i), keys, names)}; add it to the columns"
        for i in missing
    ]
    if problems and len(listed) != len(keys):
        problems.append(
            f"the bundle was built for {len(keys)} observed labels; for the classes of another model build "
            "another: grove bundle build ONTOLOGY NAME --observed FILE, or build_bundle(graph, columns)"
        )
    _refuse(problems, len(listed), len(keys), by)
    order = np.empty(len(keys), dtype=np.int64)
    order[found] = np.arange(len(listed))
    return order


def find_labels(
    columns: Columns, keys: Sequence[str], names: Sequence[str] | None = None, *, by: By = "auto"
) -> NDArray[np.int64]:
    """Return the label that each column stands for; many labels may stay without a column.

    This is how the classes of a model are found in an ontology before a bundle is built for them.

    Parameters
    ----------
    columns : iterable of str, mapping or Binding, length n_columns
        What the model calls its outputs, as for `bind`.
    keys, names : sequence of str, length n_labels
        Keys and, where there are any, names of the labels.
    by : {"auto", "key", "name", "position"}, default="auto"
        ``"auto"`` takes a column that is the key of one label or the name of one label; a column that is the
        key of one and the name of another is ambiguous. ``"key"`` and ``"name"`` read all columns one way.
        ``"position"`` ties column i to label i and needs as many columns as labels.

    Returns
    -------
    indices : ndarray of shape (n_columns,), dtype=int64

    Raises
    ------
    BindingError
        One error for all columns that are unknown, ambiguous or repeated, with candidates.

    Examples
    --------
    >>> find_labels(["n2", "oak"], ["n0", "n1", "n2"], ["tree", "oak", "elm"]).tolist()
    [2, 1]
    >>> find_labels(["crane"], ["n1", "n2"], ["crane", "crane"])
    Traceback (most recent call last):
    ...
    ontology.errors.BindingError: 1 column cannot be bound to 2 labels (by auto):
      column 0 'crane' is ambiguous: 'n1' (crane), 'n2' (crane); give the key of the one you mean
    """
    listed, by = _listed(columns), _rule(columns, by)
    if by == "position":
        return _by_position(listed, len(keys))
    found, problems = _match(listed, keys, names, by)
    _refuse(problems, len(listed), len(keys), by)
    return found


def make_binding(bundle: Bundle, columns: Columns, *, by: By = "auto") -> Binding:
    """Settle which observed label each column of a model stands for, to be saved beside the model.

    Parameters
    ----------
    bundle : Bundle
        Its observed labels are those of the model.
    columns, by
        As for `bind`.

    Raises
    ------
    BindingError
        As `bind`.

    Examples
    --------
    >>> from adapter import build_bundle
    >>> from ontology.labelgraph import LabelGraph
    >>> graph = LabelGraph.from_edges([("n1", "n0"), ("n2", "n0")], names={"n1": "oak", "n2": "elm"})
    >>> make_binding(build_bundle(graph, ["n1", "n2"]), {0: "elm", 1: "oak"}).keys
    ('n2', 'n1')
    """
    keys, rule = bundle.observed_keys, _rule(columns, by)
    given = _listed(columns)
    order = bind(given, keys, bundle.observed_names, by=rule)
    called = columns.columns if isinstance(columns, Binding) else tuple(given)
    return Binding(called, tuple(keys[i] for i in np.argsort(order)), rule, bundle.digest)


def _rule(columns: Columns, by: By) -> By:
    return "key" if isinstance(columns, Binding) else by


def _listed(columns: Columns) -> list[str]:
    if isinstance(columns, str):
        raise BindingError(f"columns: {columns!r} is one text; give a list with one entry for each column")
    if isinstance(columns, set | frozenset) or not isinstance(columns, Iterable):
        raise BindingError(
            f"columns: of type {type(columns).__name__}, which does not say what stands in which column; "
            "give a list of text in the order of the columns, or a dictionary from their numbers"
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
                "text, and how a number is written is yours to choose: pass [str(c) for c in classes]"
            )
    return [str(column) for column in listed]


def _by_number(columns: Mapping[Any, Any]) -> list[Any]:
    """Return what a dictionary from column numbers says, in their order."""
    numbered: dict[int, Any] = {}
    for given, column in columns.items():
        whole = isinstance(given, int | np.integer) and not isinstance(given, bool)
        if not whole and not (isinstance(given, str) and re.fullmatch("0|[1-9][0-9]{0,8}", given)):
            turned = isinstance(given, str) and isinstance(column, int)
            advice = "this is label2id: give id2label" if turned else "count columns as 0, 1, ..., or as text"
            raise BindingError(f"columns: {given!r} is no number of a column; {advice}")
        if int(given) in numbered:
            raise BindingError(
                f"columns: column {int(given)} stands twice, as a number and as text; keep one"
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
            f"columns: {len(columns)} columns for {n_labels} labels; binding by position needs one for each"
        )
    return np.arange(n_labels, dtype=np.int64)


def _match(
    columns: list[str], keys: Sequence[str], names: Sequence[str] | None, by: By
) -> tuple[NDArray[np.int64], list[str]]:
    """Return the label of each column that has exactly one, and a sentence for each that has not."""
    if by not in _RULES:
        raise InputError(f"by: {by!r} is not one of {', '.join(_RULES)}")
    if by == "name" and names is None:
        raise BindingError("by: the labels have no names; bind by key")
    if names is not None and len(names) != len(keys):
        raise InputError(f"names: {len(names)} names for {len(keys)} keys; give one for each")
    spellings: dict[str, list[int]] = {}
    if by != "name":
        spellings = {key: [i] for i, key in enumerate(keys)}
    if by != "key" and names is not None:
        for i, (key, name) in enumerate(zip(keys, names, strict=True)):
            if by == "name" or name != key:
                spellings.setdefault(name, []).append(i)
    problems: list[str] = []
    first: dict[int, int] = {}
    folded: dict[str, list[str]] | None = None
    n_compared = 0
    for position, column in enumerate(columns):
        labels = spellings.get(column, [])
        if len(labels) == 1:
            earlier = first.setdefault(labels[0], position)
            if earlier != position:
                problems.append(
                    f"column {position} {column!r} repeats column {earlier} {columns[earlier]!r}: both stand "
                    f"for {_label(labels[0], keys, names)}; keep one column for each label"
                )
        elif labels:
            candidates = ", ".join(_label(i, keys, names) for i in labels)
            problems.append(
                f"column {position} {column!r} is ambiguous: {candidates}; give the key of the one you mean"
            )
        else:
            folded = _folded(spellings) if folded is None else folded
            n_compared += len(spellings)
            near = _close(column, spellings, folded, compare=n_compared <= _MOST_COMPARED)
            problems.append(f"column {position} {column!r} is unknown{near}")
    return np.array(list(first), dtype=np.int64), problems


def _folded(spellings: dict[str, list[int]]) -> dict[str, list[str]]:
    table: dict[str, list[str]] = {}
    for text in spellings:
        table.setdefault(_fold(text), []).append(text)
    return table


def _fold(text: str) -> str:
    return " ".join(text.casefold().replace("_", " ").replace("-", " ").split())


def _close(
    column: str, spellings: dict[str, list[int]], folded: dict[str, list[str]], *, compare: bool
) -> str:
    close = folded.get(_fold(column), [])[:_SHOWN_CANDIDATES]
    if not close and compare:
        close = difflib.get_close_matches(column, spellings, n=_SHOWN_CANDIDATES)
        if not close:
            return "; nothing is close to it"
    return f"; close to it: {', '.join(map(repr, close))}" if close else ""


def _label(i: int, keys: Sequence[str], names: Sequence[str] | None) -> str:
    key = keys[i]
    return f"{key!r} ({names[i]})" if names is not None and names[i] != key else repr(key)


def _refuse(problems: list[str], n_columns: int, n_labels: int, by: By) -> None:
    if problems:
        what = "1 column" if n_columns == 1 else f"{n_columns} columns"
        raise BindingError(
            f"{what} cannot be bound to {n_labels} labels (by {by}):\n"
            + "\n".join(f"  {p}" for p in problems)
        )
