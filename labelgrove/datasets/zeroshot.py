"""Zero-shot predictions: no training, a class is as likely as its text is near to the sample.

By default the classes are 100 synsets drawn from those of `glosses`, their texts are their words and own
gloss, and the samples are the glosses of what lies below them.
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
    """Predictions over classes that are all observed, and the spaces that they can be taken in.

    Attributes
    ----------
    predicted : Predicted
        At temperature 1; other temperatures are had from it.
    spaces : dict of str to MetricSpace
        ``internal`` (between the class vectors), ``tree`` and ``graph`` (the classes alone may be answers),
        ``tree, ancestors`` (all above them too), ``complete``; those that can be had.
    """

    predicted: Predicted
    spaces: dict[str, MetricSpace]


def zero_shot(
    source: Glosses | Files, seed: int, *, seeds: Sequence[int], n_classes: int, n_test: int
) -> ZeroShot:
    """Return the predictions of a seed: which classes are drawn, and which documents.

    Parameters
    ----------
    source : Glosses or Files
        The samples of files are dealt out among the seeds, so that no two trials share one.
    seed : int
        One of `seeds`.
    seeds : sequence of int
        Those of all trials.
    n_classes, n_test : int
        Classes and documents that are drawn of glosses.

    Raises
    ------
    InputError
        For files with fewer samples than there are seeds, or without anything to measure distances with.
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
        raise InputError("--hierarchy, --class-embeddings: give one at least, to measure distances with")
    predicted = _dealt(files.predicted(next(iter(spaces.values()))), part, n_parts)
    return ZeroShot(
        predicted, spaces | {"complete": CompleteSpace(sorted(predicted.columns, key=str.encode))}
    )


def _dealt(predicted: Predicted, part: int, n_parts: int) -> Predicted:
    """Return one of several parts of the samples, whose sizes differ by one at most."""
    n = len(predicted.truth)
    if n_parts > n:
        raise InputError(
            f"--probs: {n} rows for {n_parts} seeds, each of which takes a part of its own; give fewer, such "
            "as --set seeds=0"
        )
    if n_parts == 1:
        return predicted
    rows = np.sort(np.random.default_rng(_STREAM).permutation(n)[part::n_parts])
    truth = tuple(predicted.truth[i] for i in rows.tolist())
    return replace(predicted, probabilities=predicted.probabilities[rows], truth=truth)
