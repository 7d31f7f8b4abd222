"""Animals of WordNet: a text classifier that knows some synsets answers with any synset below *animal*.

The text of a synset is its gloss without the words of the synset. In training, each gloss is labeled with the
nearest observed synset, so that the classifier is as good as it can be when only some labels are observed.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from labelgrove.datasets.labeled import Labeled
from labelgrove.datasets.predicted import Predicted
from labelgrove.ontology.errors import NotFoundError
from labelgrove.ontology.geometry import MetricSpace
from labelgrove.ontology.labelgraph import LabelGraph
from labelgrove.training import fit_predict, tfidf

__all__ = ["ANIMAL", "EXTRACT", "choose_observed", "classify", "subtree"]

ANIMAL = "animal"
"""The first word of the synset at the root; it is found by this, as its offset differs between releases."""


EXTRACT = Path(__file__).with_name("animals.noun.gz")
"""The animals of WordNet 3.0, made by ``python -m labelgrove.quickstart.extract``."""


_TEST_SAMPLES = 1500


def subtree(nouns: LabelGraph | None) -> LabelGraph:
    """Return the graph of *animal* and all synsets below it, a part of `nouns`."""
    if nouns is not None and ANIMAL in nouns.names:
        return nouns.subgraph(nouns.descendants(nouns.keys[list(nouns.names).index(ANIMAL)]))
    raise NotFoundError(
        f"these nouns do not contain the synset {ANIMAL!r}; is this data.noun the file of WordNet 3?"
    )


def choose_observed(graph: LabelGraph, n_observed: int, seed: int) -> tuple[str, ...]:
    """Return labels drawn uniformly without replacement, in canonical order."""
    chosen = np.random.default_rng((seed, 0)).choice(graph.n_labels, n_observed, replace=False)
    return graph.keys.take(np.sort(chosen))


def classify(space: MetricSpace, texts: tuple[str, ...], observed: tuple[str, ...], seed: int) -> Predicted:
    """Train on half of the glosses, and classify 1,500 of the other half.

    Parameters
    ----------
    space : MetricSpace
        The space of all labels; its distances decide which observed label is nearest to a training gloss.
    texts : tuple of str, length n_labels
        The masked gloss of each label, in the order of ``space.keys``.
    observed : tuple of str
        The keys of the observed labels in canonical order. If several are equally near to a training gloss,
        the gloss is labeled with the first of them.
    seed : int
        Seed of the split.

    Notes
    -----
    The features are word frequencies (tf-idf, rows of unit length), and the model is logistic regression with
    C = 10. An observed label has no column if it is not the nearest one for any training gloss.
    """
    shuffled = np.random.default_rng((seed, 1)).permutation(len(texts))
    train, test = shuffled[: len(texts) // 2], shuffled[len(texts) // 2 :][:_TEST_SAMPLES]
    nearest = space.distances(train, space.point_index(observed)).argmin(axis=1)
    words, test_words = tfidf([texts[i] for i in train], [texts[i] for i in test], min_df=2)
    truth = np.array([space.keys[int(i)] for i in test])
    data = Labeled(space, space, words, np.array(observed)[nearest], test_words, truth)
    predicted, _ = fit_predict(
        data, observed, "logistic", regularisation=10.0, max_iter=100, solver="newton-cg"
    )
    return predicted
