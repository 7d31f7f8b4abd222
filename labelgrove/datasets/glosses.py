"""Load WordNet glosses as documents; the label of a document is the parent of its synset.

A label is a noun synset with eight or more children that are leaves. Its documents are the glosses of these
children, at most twenty, without the words that name the child or the label. WordNet 3.0 gives 1,575 labels
and 21,042 documents. Answers may be any of 2,268 synsets: the labels and all their ancestors.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelgrove.datasets.labeled import Labeled, spread
from labelgrove.ontology.errors import NotFoundError
from labelgrove.ontology.geometry import EuclideanSpace, MetricSpace, metric_space
from labelgrove.ontology.labelgraph import LabelGraph
from labelgrove.ontology.readers import find_wordnet, read
from labelgrove.ontology.readers.formats.wordnet import data_file
from labelgrove.ontology.store.filedigest import sha256_of

__all__ = ["Glosses", "glosses", "noun_tree", "wordnet_digest"]

_FEWEST_CHILDREN = 8
_MOST_DOCUMENTS = 20
_TEST_SHARE = 0.4
_SPLIT_STREAM = 11


@dataclass(frozen=True, eq=False)
class Glosses:
    """Documents, their labels, and vectors for both.

    Attributes
    ----------
    graph : LabelGraph
        The labels and all their ancestors.
    labels : tuple of str
        Keys of the labels that have documents, in canonical order.
    truth : ndarray of str, shape (n_documents,)
        The key of the label of each document.
    documents : ndarray of shape (n_documents, n_dimensions), dtype=float64
        TF-IDF of the glosses, projected on the leading singular vectors; rows have unit length.
    classes : ndarray of shape (n_labels_of_graph, n_dimensions), dtype=float64
        A row for each synset of `graph`, in canonical order: the vector, made as for `documents`, of a text
        that consists of the words and the gloss of the synset.
    """

    graph: LabelGraph
    labels: tuple[str, ...]
    truth: NDArray[np.str_]
    documents: NDArray[np.float64]
    classes: NDArray[np.float64]

    def space(self, metric: str = "tree", labels: Any = "all") -> MetricSpace:
        """Return the metric space with the distances that `metric` names.

        ``tree`` and ``graph`` are the tree metric and the graph metric of the field `graph`. ``internal`` is
        the distance between the vectors in the field `classes`.
        """
        if metric != "internal":
            return metric_space(self.graph, metric, labels)  # type: ignore[arg-type]
        allowed = None if isinstance(labels, str) else self.graph.keys.indices(labels)
        return EuclideanSpace(self.classes, self.graph.keys, None if allowed is None else np.sort(allowed))

    def labeled(self, seed: int, *, metric: str = "tree", answers: Any = "all", n_test: int) -> Labeled:
        """Return 60 % of the documents for training, and `n_test` of the others (0 means all) for testing."""
        rng = np.random.default_rng((seed, _SPLIT_STREAM))
        shuffled = rng.permutation(len(self.truth))
        n_train = len(shuffled) - round(_TEST_SHARE * len(shuffled))
        train, test = shuffled[:n_train], shuffled[n_train:]
        test = test[spread(len(test), n_test or len(test), rng)]
        return Labeled(
            space=self.space(metric, answers),
            trainable=self.space(metric, self.labels),
            train_features=self.documents[train],
            train_labels=self.truth[train],
            test_features=self.documents[test],
            test_labels=self.truth[test],
        )


def glosses(n_dimensions: int = 300, n_labels: int = 0, *, named: bool = False) -> Glosses:
    """Read WordNet's nouns, choose labels and documents, and embed both.

    Parameters
    ----------
    n_dimensions : int, default=300
        Length of the vectors.
    n_labels : int, default=0
        Number of labels to choose; 0 means all. Labels with more leaf children are chosen first, and of
        labels with equally many, those that come first in canonical order.
    named : bool, default=False
        If set, a document is a list of the words that name its synset, and the whole gloss. By default, it is
        the gloss without the words that name the synset or the label of the document.

    Raises
    ------
    NotFoundError
        If WordNet is not installed.

    Notes
    -----
    The vocabulary and the vectors are fitted on the glosses of all documents, including those for testing,
    but without their labels. In this they resemble a pretrained text model. Fitting takes 12 s with all
    labels.
    """
    path = _noun_file()
    return _glosses(path, sha256_of(path), n_dimensions, n_labels, named)


def noun_tree() -> MetricSpace:
    """Return the tree of all noun synsets, in which the parent is the first hypernym."""
    path = _noun_file()
    return metric_space(_nouns(path, sha256_of(path))[0], "tree")


def wordnet_digest() -> Mapping[str, str]:
    """Return a dictionary with one entry: a name for the file ``data.noun`` of WordNet, and its sha256.

    This file contains all nouns and their glosses.
    """
    return {"WordNet's data.noun": sha256_of(_noun_file())}


def _noun_file() -> Path:
    folder: Path | None = find_wordnet()
    if folder is None:
        raise NotFoundError(
            "WordNet is not installed: apt-get install wordnet-base, or set WNHOME to its folder"
        )
    return data_file(folder, "noun")


@lru_cache(maxsize=3)
def _glosses(path: Path, sha256: str, n_dimensions: int, n_labels: int, named: bool) -> Glosses:
    """Read and embed the glosses once for all units; read them again if the content of the file changes."""
    from labelgrove.datasets.synsets import masked_texts

    nouns, glosses, words = _nouns(path, sha256)
    parent = nouns.primary_parent
    leaf = np.ones(nouns.n_labels, dtype=bool)
    leaf[parent[parent >= 0]] = False
    hanging = np.flatnonzero(leaf & (parent >= 0))
    counts = np.bincount(parent[hanging], minlength=nouns.n_labels)
    chosen = np.flatnonzero(counts >= _FEWEST_CHILDREN)
    if n_labels:
        chosen = np.sort(chosen[np.argsort(-counts[chosen], kind="stable")[:n_labels]])
    children = np.concatenate([hanging[parent[hanging] == label][:_MOST_DOCUMENTS] for label in chosen])
    graph = nouns.subgraph(nouns.keys.take(_with_ancestors(parent, chosen)))
    keys, above = nouns.keys.take(children), nouns.keys.take(parent[children])
    both = {child: (*words[child], *words[label]) for child, label in zip(keys, above, strict=True)}

    def described(key: str) -> str:
        return f"{', '.join(words[key])}: {glosses.get(key, '')}"

    documents = tuple(map(described, keys)) if named else masked_texts(keys, glosses, both)
    classes = tuple(map(described, graph.keys))
    vectors = _embedded([*documents, *classes], len(documents), n_dimensions)
    return Glosses(
        graph=graph,
        labels=nouns.keys.take(chosen),
        truth=np.array(above),
        documents=vectors[: len(documents)],
        classes=vectors[len(documents) :],
    )


@lru_cache(maxsize=1)
def _nouns(path: Path, _sha256: str) -> tuple[LabelGraph, dict[str, str], dict[str, tuple[str, ...]]]:
    from labelgrove.datasets.synsets import synset_glosses, synset_words

    source = read(path, format="wordnet")
    if source.graph is None:
        raise NotFoundError(f"{path}: contains no hierarchy")
    return source.graph, synset_glosses(path), synset_words(path)


def _with_ancestors(parent: NDArray[np.int32], labels: NDArray[np.int64]) -> NDArray[np.int64]:
    found: set[int] = set()
    for label in labels.tolist():
        at = label
        while at >= 0 and at not in found:
            found.add(at)
            at = int(parent[at])
    return np.array(sorted(found), dtype=np.int64)


def _embedded(texts: list[str], n_fitted: int, n_dimensions: int) -> NDArray[np.float64]:
    """Return a unit vector for each text, in an array of shape (n_texts, n_dimensions).

    The vocabulary and the projection are fitted on only the first `n_fitted` texts.
    """
    from sklearn.decomposition import TruncatedSVD
    from sklearn.feature_extraction.text import TfidfVectorizer
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

    words = TfidfVectorizer(sublinear_tf=True, min_df=2, stop_words="english")
    with threadpool_limits(limits=1):
        counted = words.fit_transform(texts[:n_fitted])
        project = TruncatedSVD(n_dimensions, random_state=0).fit(counted)
        vectors = np.asarray(project.transform(words.transform(texts)))
    length = np.linalg.norm(vectors, axis=1, keepdims=True)
    empty = length[:, 0] == 0  # shares no word with others: the mean direction is neutral, and costs least
    vectors[empty], length[empty] = vectors.mean(axis=0), np.linalg.norm(vectors.mean(axis=0))
    return np.asarray(vectors / length)
