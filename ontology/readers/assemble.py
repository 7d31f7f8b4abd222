"""Build a LabelGraph from what a reader collected, and report the defects that no single line shows."""

from __future__ import annotations

import itertools
import math
import re
import unicodedata
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelgrove.ontology.errors import InputError
from labelgrove.ontology.labelgraph import MAX_COMPLETE, LabelGraph
from labelgrove.ontology.readers.collect import LONGEST_KEY, Collector
from labelgrove.ontology.readers.defects import Recorder
from labelgrove.ontology.readers.structure import (
    Edges,
    break_loops,
    check_direction,
    drop_shortcuts,
    settle_roots,
)
from labelgrove.ontology.readers.text.invisible import invisible_character, without_invisible

__all__ = ["assemble"]

_CONTROL = re.compile(r"[\x01-\x1f\x7f-\x9f\u2028\u2029]")


def assemble(found: Collector, *, root: str, direction_is_open: bool) -> LabelGraph | None:
    """Check the collected source as a whole and build the graph.

    Parameters
    ----------
    found : Collector
        The collector that the format's reader filled. Its recorder knows the policies. Defects found here are
        added to that recorder.
    root : str
        Key of the virtual root, which the policy ``roots=virtual`` adds above all roots.
    direction_is_open : bool
        Whether parents and children may be swapped in the source, because its format allows either order.

    Returns
    -------
    LabelGraph or None
        None if a defect prevents a graph; every check is made even then.

    Raises
    ------
    InputError
        If the policy requests a virtual root for an undirected graph.

    Notes
    -----
    O(m log m) time, where m is ``n_labels + n_edges``, plus the search of `drop_shortcuts`. After 1,000,000
    steps, that search does not start at further labels.
    The result does not depend on the order of lines.
    """
    recorder = found.recorder
    if not found.directed and recorder.policy("roots") == "virtual":
        raise InputError(
            "policies: roots='virtual' needs a directed hierarchy; choose error, largest or keep"
        )
    _retire_obsolete(found)
    edges = _check_keys(_numbered(found), recorder)
    if not edges.n_labels:
        if not recorder.has_errors:
            recorder.add("no-records", found.file, 0, "nothing but blank lines, comments or headers")
        return None
    edges = _merge_duplicates(_drop_self_loops(edges, recorder), recorder)
    if edges.directed:
        edges = break_loops(edges, recorder)
        if direction_is_open:
            check_direction(edges, recorder)
        edges = drop_shortcuts(edges, recorder)
    edges = settle_roots(edges, recorder, root)
    names = _check_names(edges, found)
    if recorder.has_errors:
        return None
    graph = LabelGraph.from_numbered(
        edges.keys,
        edges.child,
        edges.parent,
        weights=edges.weight,
        names=names or None,
        ranks=edges.rank,
        directed=edges.directed,
    )
    return _as_stated(graph, found)


def _retire_obsolete(found: Collector) -> None:
    """Retire deprecated labels that have no edge, unless the policy ``obsolete-label`` is ``warn``."""
    keeps = found.recorder.policy("obsolete-label") == "warn"
    if not found.annotations.deprecated:
        return
    placed = found.children() | found.parents()
    for key in sorted(found.annotations.deprecated - placed):
        line = found.labels.get(key)
        if line is None:
            continue
        found.defect("obsolete-label", line, key)
        if not keeps:
            found.annotations.retired[key] = found.labels.pop(key)


def _as_stated(graph: LabelGraph, found: Collector) -> LabelGraph | None:
    """Return the graph; None if a defect whose policy is ``error`` has been recorded.

    If the source states that the graph is a grid or a complete graph, and this is true, the graph gets that
    layout. A digest that differs from the one that the source states is reported.
    """
    regular = _regular(found.layout, graph.n_labels)
    if regular is not None and _undirected(regular).digest == graph.digest:
        graph = regular
    if found.digest not in (None, graph.digest):
        found.defect("digest-differs", 1, f"the file states {found.digest}, but its graph has {graph.digest}")
    return None if found.recorder.has_errors else graph


def _regular(layout: str | None, n_labels: int) -> LabelGraph | None:
    """Return the grid or complete graph that `layout` names; None if it would not have `n_labels` labels."""
    if layout == "complete" and n_labels <= MAX_COMPLETE:
        return LabelGraph.complete(n_labels)
    if layout is not None and re.fullmatch(r"grid:[1-9]\d{0,9}(,[1-9]\d{0,9}){0,31}", layout):
        shape = [int(length) for length in layout.partition(":")[2].split(",")]
        if math.prod(shape) == n_labels:
            return LabelGraph.grid(shape)
    return None


def _undirected(graph: LabelGraph) -> LabelGraph:
    return LabelGraph.from_edges(
        [(a, b) for a, b, _, _ in graph.edges()], directed=False, labels=list(graph.keys)
    )


def _numbered(found: Collector) -> Edges:
    """Return the edges of the source; the labels are numbered in the order of their keys.

    The result also contains a line number for each label: the number of the line that declares the label or,
    if there is none, the number of the first line with an edge of the label.
    """
    n = len(found.child)
    child, parent = np.array(found.child, dtype=np.int64), np.array(found.parent, dtype=np.int64)
    declared = np.array([found.numbers[key] for key in found.labels], dtype=np.int64)
    used = np.zeros(len(found.numbers), dtype=bool)  # an end that was repaired may have no edge left
    used[child] = used[parent] = used[declared] = True
    keys = sorted(itertools.compress(found.numbers, used.tolist()))  # code points and UTF-8 bytes sort alike
    number = np.fromiter(map(found.numbers.__getitem__, keys), np.int64, len(keys))
    position = np.empty(len(used), dtype=np.int64)
    position[number] = np.arange(len(keys))
    child, parent = position[child], position[parent]
    line = np.array(found.line, dtype=np.int64)
    first_line = np.full(len(keys), np.iinfo(np.int64).max)
    np.minimum.at(first_line, child, line)
    np.minimum.at(first_line, parent, line)
    first_line[position[declared]] = list(found.labels.values())
    return Edges(
        file=found.file,
        keys=keys,
        first_line=first_line,
        child=child,
        parent=parent,
        line=line,
        rank=_sparse(found.rank, np.zeros(n, dtype=np.int64)),
        weight=_sparse(found.weight, np.ones(n)),
        directed=found.directed,
    )


def _sparse(values: dict[int, Any], column: NDArray[Any]) -> NDArray[Any]:
    """Set ``column[i]`` to ``values[i]`` for each key ``i`` of `values`, and return `column`."""
    column[list(values)] = list(values.values())
    return column


def _check_keys(edges: Edges, recorder: Recorder) -> Edges:
    """Report unsuitable keys; remove keys with a NUL, together with their edges.

    Reported are keys that are too long, that contain control characters or invisible characters, or that look
    alike.
    """
    if _are_plain(edges.keys):
        return edges
    kept = np.ones(edges.n_labels, dtype=bool)
    forms: dict[str, int] = {}
    for i, key in enumerate(edges.keys):
        code = None
        if "\0" in key:
            code = "nul"
            kept[i] = False
        elif len(key) > LONGEST_KEY // 4 and len(key.encode()) > LONGEST_KEY:
            code = "key-too-long"
        elif _CONTROL.search(key):
            code = "control-character"
        if code:
            recorder.add(code, edges.file, int(edges.first_line[i]), key)
        if hidden := invisible_character(key):
            text = f"{key} holds U+{ord(hidden):04X} {unicodedata.name(hidden, '')}".rstrip()
            recorder.add("invisible-character", edges.file, int(edges.first_line[i]), text)
        plain = key if key.isascii() else unicodedata.normalize("NFKC", without_invisible(key))
        other = forms.setdefault(" ".join(plain.casefold().split()), i)
        if other != i:
            late, early = sorted((i, other), key=lambda j: edges.first_line[j], reverse=True)
            text = f"{edges.keys[late]!a} beside {edges.keys[early]!a} (line {edges.first_line[early]})"
            recorder.add("look-alike-keys", edges.file, int(edges.first_line[late]), text)
    return edges.restrict(kept)


def _are_plain(keys: list[str]) -> bool:
    """Return whether a fast check finds that all keys are ASCII text without a defect."""
    text, longest = "".join(keys), max(keys, key=len, default="")
    if not (text.isascii() and text.isprintable() and len(longest) <= LONGEST_KEY // 4):
        return False
    if " " not in text and text == text.lower():  # no two different keys look alike
        return True
    return len({" ".join(key.casefold().split()) for key in keys}) == len(keys)


def _drop_self_loops(edges: Edges, recorder: Recorder) -> Edges:
    loops = edges.child == edges.parent
    for i in np.flatnonzero(loops).tolist():
        recorder.add("self-loop", edges.file, int(edges.line[i]), edges.keys[int(edges.child[i])])
    return edges.take(~loops) if loops.any() else edges


def _merge_duplicates(edges: Edges, recorder: Recorder) -> Edges:
    """If several lines give an edge between the same two labels, keep one edge; report the later lines.

    The edge gets the smallest weight and the smallest rank that any of these lines gives.
    """
    if not len(edges.child):
        return edges
    low, high = edges.child, edges.parent
    if not edges.directed:
        low, high = np.minimum(low, high), np.maximum(low, high)
    pair = low * edges.n_labels + high
    ordered = np.sort(pair)
    if not (ordered[1:] == ordered[:-1]).any():
        return edges
    order = np.lexsort((edges.line, pair))
    again = np.zeros(len(order), dtype=bool)
    again[1:] = ordered[1:] == ordered[:-1]
    start = np.flatnonzero(~again)
    lead = order[start[np.cumsum(~again) - 1]]  # the first line of each group of equal edges
    later = order[again]
    clash = edges.weight[later] != edges.weight[lead[again]]
    for code, which in (("duplicate-edge", later[~clash]), ("conflicting-weights", later[clash])):
        for i in which[np.argsort(edges.line[which], kind="stable")].tolist():
            text = (
                edges.pair(i) if code == "duplicate-edge" else f"{edges.pair(i)}, weight {edges.weight[i]:g}"
            )
            recorder.add(code, edges.file, int(edges.line[i]), text)
    return replace(
        edges.take(order[start]),
        rank=np.minimum.reduceat(edges.rank[order], start),
        weight=np.minimum.reduceat(edges.weight[order], start),
    )


def _check_names(edges: Edges, found: Collector) -> dict[str, str]:
    """Return the names of the remaining labels; report names that several labels share."""
    if not found.names:
        return {}
    listed = list(map(found.names.get, edges.keys))
    given = len(listed) - listed.count(None)
    names = found.names
    if given < len(names):
        names = {key: name for key, name in zip(edges.keys, listed, strict=True) if name is not None}
    if len(set(listed)) == given + (given < len(listed)):  # the names differ
        return names
    carrier: dict[str, str] = {}
    shared = []
    for key, name, line in zip(edges.keys, listed, edges.first_line.tolist(), strict=True):
        other = key if name is None else carrier.setdefault(name, key)
        if other != key:
            shared.append((line, f"{name!a}: {key} and {other}"))
    for line, text in sorted(shared):
        found.recorder.add("duplicate-name", edges.file, line, text)
    return names
