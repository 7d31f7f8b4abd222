"""Predict without training: the nearer the text of a class is to a sample, the more likely the class.

By default the classes are 100 synsets drawn from the labels of `glosses`. The text of a class is its words
and its gloss; the samples are the glosses of the synsets below the classes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from labelgrove.datasets.glosses import Glosses
from labelgrove.datasets.labeled import spread
from labelgrove.datasets.ownfiles import Files
from labelgrove.datasets.predicted import Predicted
from labelgrove.ontology.errors import InputError
from labelgrove.ontology.geometry import CompleteSpace, MetricSpace

__all__ = ["ZeroShot", "zero_shot"]

_STREAM = 17


@dataclass(frozen=True, eq=False)
class ZeroShot:
    """Predictions over classes that are all observed, and the spaces in which they can be judged.

    Attributes
    ----------
    predicted : Predicted
        Predictions at temperature 1; predictions at other temperatures are computed from them.
    spaces : dict of str to MetricSpace
        A dictionary from the name of a space to the space, for each space that can be made from the data.
        ``internal`` has the distances between the class vectors. ``tree`` and ``graph`` have distances in the
        hierarchy: if the data are glosses, only the classes may be answers in these two spaces; if they are a
        user's files, the labels chosen with ``--answers`` may. ``tree, ancestors`` is like ``tree``, but the
        ancestors of the classes may be answers too. ``complete`` is the complete graph of the classes.
    """

    predicted: Predicted
    spaces: dict[str, MetricSpace]


def zero_shot(
    source: Glosses | Files, seed: int, *, seeds: Sequence[int], n_classes: int, n_test: int
) -> ZeroShot:
    """Return the predictions for one seed, which decides what classes and documents are drawn.

    Parameters
    ----------
    source : Glosses or Files
        Glosses, or a user's files. The samples in files are divided among the seeds, so that each sample is
        used for only one seed.
    seed : int
        One of `seeds`.
    seeds : sequence of int
        The seeds of all trials.
    n_classes, n_test : int
        Numbers of classes and documents that are drawn from glosses.

    Raises
    ------
    InputError
        If files have fewer samples than there are seeds, or include nothing that defines distances.
    """
    if isinstance(source, Files):
        return _of_files(source, seeds.index(seed), len(seeds))
    rng = np.random.default_rng((seed, _STREAM))
    classes = sorted(np.array(source.labels)[spread(len(source.labels), n_classes, rng)].tolist())
    among = np.flatnonzero(np.isin(source.truth, classes))
    test = among[spread(len(among), n_test or len(among), rng)]
    similarity = source.documents[test] @ source.classes[source.graph.keys.indices(classes)].T
    rows = np.exp(similarity - similarity.max(axis=1, keepdims=True))
    truth = tuple(source.truth[test].tolist())
    predicted = Predicted(tuple(classes), rows / rows.sum(axis=1, keepdims=True), truth, truth)
    ordered = source.graph.keys.take(np.sort(source.graph.keys.indices(classes)))
    return ZeroShot(
        predicted,
        {
            "internal": source.space("internal", ordered),
            "tree": source.space("tree", ordered),
            "graph": source.space("graph", ordered),
            "tree, ancestors": source.space("tree", _with_ancestors(source, ordered)),
            "complete": CompleteSpace(ordered),
        },
    )


def _with_ancestors(source: Glosses, classes: Sequence[str]) -> list[str]:
    parent = source.graph.primary_parent
    found: set[int] = set()
    for label in source.graph.keys.indices(classes).tolist():
        at = label
        while at >= 0 and at not in found:
            found.add(at)
            at = int(parent[at])
    return list(source.graph.keys.take(sorted(found)))


def _of_files(files: Files, part: int, n_parts: int) -> ZeroShot:
    spaces: dict[str, MetricSpace] = {}
    if files.class_embeddings is not None:
        spaces["internal"] = files.class_space()
    if files.hierarchy is not None:
        spaces[files.metric] = files.space()
    if not spaces:
        raise InputError(
            "--hierarchy, --class-embeddings: give at least one of them; it defines the distances"
        )
    predicted = _dealt(files.predicted(next(iter(spaces.values()))), part, n_parts)
    return ZeroShot(
        predicted, spaces | {"complete": CompleteSpace(sorted(predicted.columns, key=str.encode))}
    )


def _dealt(predicted: Predicted, part: int, n_parts: int) -> Predicted:
    """Divide the samples at random into `n_parts` parts, and return the part with index `part`.

    The sizes of the parts differ by at most one.
    """
    n = len(predicted.truth)
    if n_parts > n:
        raise InputError(
            f"--probs: {n} rows for {n_parts} seeds, each of which takes a different part; give fewer "
            "seeds, such as --set seeds=0"
        )
    if n_parts == 1:
        return predicted
    rows = np.sort(np.random.default_rng(_STREAM).permutation(n)[part::n_parts])
    truth = tuple(predicted.truth[i] for i in rows.tolist())
    return replace(predicted, probabilities=predicted.probabilities[rows], truth=truth)
