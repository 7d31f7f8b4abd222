"""Train the classifiers of the source paper, for experiments and for users who have no model yet.

===============  ==========================================================================================
``5-nn``         votes of the five nearest training samples (the paper's PubMed and LSHTC models)
``one-vs-rest``  one logistic regression for each class against all others (the paper's ImageNet model)
``logistic``     one logistic regression over all classes
===============  ==========================================================================================
"""

from __future__ import annotations

import io
import warnings
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from labelgrove.datasets.labeled import Labeled
from labelgrove.datasets.predicted import Predicted
from labelgrove.ontology.errors import InputError, MissingExtraError
from labelgrove.ontology.store.wholefile import write_whole

__all__ = ["MODELS", "Model", "Trained", "fit_predict", "make_model", "observe", "tfidf", "train_files"]

Model = Literal["5-nn", "one-vs-rest", "logistic"]
MODELS: tuple[Model, ...] = ("5-nn", "one-vs-rest", "logistic")

_NEIGHBORS = 5
_ITERATIONS = 60


def make_model(
    model: str,
    *,
    regularisation: float = 10.0,
    n_train: int | None = None,
    max_iter: int = _ITERATIONS,
    solver: str = "lbfgs",
) -> Any:
    """Return an untrained scikit-learn classifier with ``predict_proba``.

    Parameters
    ----------
    model : {"5-nn", "one-vs-rest", "logistic"}
    regularisation : float, default=10
        Inverse strength C of the penalty of both logistic models.
    n_train : int, optional
        Number of training samples; give it if there may be fewer than the five neighbors of ``5-nn``.
    max_iter : int, default=60
        Number of iterations after which the training of both logistic models ends.
    solver : str, default="lbfgs"
        The algorithm that scikit-learn trains both logistic models with.

    Raises
    ------
    InputError
        For an unknown model.
    MissingExtraError
        Without scikit-learn.
    """
    try:
        from sklearn.linear_model import LogisticRegression
        from sklearn.multiclass import OneVsRestClassifier
        from sklearn.neighbors import KNeighborsClassifier
    except ImportError as error:
        raise MissingExtraError.of("scikit-learn", "sklearn", f"the model {model!r}") from error
    if model == "5-nn":
        neighbors = _NEIGHBORS if n_train is None else min(_NEIGHBORS, n_train)
        return KNeighborsClassifier(neighbors, algorithm="brute")
    logistic = LogisticRegression(C=regularisation, max_iter=max_iter, solver=solver)
    if model == "logistic":
        return logistic
    if model == "one-vs-rest":
        return OneVsRestClassifier(logistic)
    raise InputError(f"model: {model!r} given; choose one of {', '.join(MODELS)}")


def observe(data: Labeled, observed: Collection[str]) -> NDArray[np.int64]:
    """Return the indices of the training samples whose label is observed."""
    return np.flatnonzero(np.isin(data.train_labels, np.array(list(observed))))


def fit_predict(
    data: Labeled,
    observed: Collection[str],
    model: str,
    *,
    regularisation: float = 10.0,
    held_out: float = 0.0,
    seed: int = 0,
    max_iter: int = _ITERATIONS,
    solver: str = "lbfgs",
) -> tuple[Predicted, Predicted | None]:
    """Train on the samples of the observed labels, and predict all test samples.

    Parameters
    ----------
    data : Labeled
    observed : collection of str
    model, regularisation, max_iter, solver
        As for `make_model`.
    held_out : float, default=0
        The share of the training samples with observed labels that is held out for calibration.
    seed : int, default=0
        Decides which samples are held out.

    Returns
    -------
    predicted : Predicted
        Predictions for the test samples. An observed label without a training sample has no column.
    kept_back : Predicted or None
        Predictions for those held-out samples whose label has a column; None if no samples are held out.

    Raises
    ------
    InputError
        If fewer than two observed labels have training samples.
    """
    rows = observe(data, observed)
    kept = np.empty(0, dtype=np.int64)
    if held_out:
        shuffled = np.random.default_rng((seed, 7)).permutation(rows)
        n_kept = round(held_out * len(rows))
        kept, rows = np.sort(shuffled[:n_kept]), np.sort(shuffled[n_kept:])
    labels = data.train_labels[rows]
    if len(np.unique(labels)) < 2:
        raise InputError(
            f"observed: {len(np.unique(labels))} of {len(observed)} labels have training samples; "
            "a classifier needs at least two"
        )
    fitted = make_model(
        model, regularisation=regularisation, n_train=len(rows), max_iter=max_iter, solver=solver
    )
    with _quietly():
        fitted.fit(_rows_of(data.train_features, rows), labels)
        probabilities = _probabilities(fitted, data.test_features)
        columns = tuple(map(str, fitted.classes_.tolist()))
        training = tuple(map(str, labels.tolist()))
        predicted = Predicted(columns, probabilities, tuple(map(str, data.test_labels.tolist())), training)
        if not len(kept):
            return predicted, None
        kept = kept[np.isin(data.train_labels[kept], fitted.classes_)]
        back = _probabilities(fitted, _rows_of(data.train_features, kept))
    return predicted, Predicted(columns, back, tuple(map(str, data.train_labels[kept].tolist())), training)


@dataclass(frozen=True)
class Trained:
    """What `train_files` returns: the files that it wrote, and the size of the predictions."""

    probabilities: Path
    columns: Path
    n_samples: int
    n_columns: int

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {
            "probabilities": str(self.probabilities),
            "columns": str(self.columns),
            "n_samples": self.n_samples,
            "n_columns": self.n_columns,
        }


def train_files(
    features: Any,
    labels: list[str],
    test_features: Any,
    out: Path,
    *,
    model: str,
    regularisation: float = 10.0,
) -> Trained:
    """Train a baseline, and write its predictions for the test samples.

    Parameters
    ----------
    features : list of str, ndarray or scipy.sparse matrix
        Features of the training samples: texts (used as TF-IDF), or a row of numbers for each.
    labels : list of str
        Label key of each training sample.
    test_features
        Features of the samples to predict: texts if `features` are texts, otherwise rows of as many numbers.
    out : Path
        Folder for ``probabilities.npy`` (float32, a row for each sample) and ``columns.txt`` (the label key
        of each column).
    model, regularisation
        As for `make_model`.

    Returns
    -------
    Trained

    Raises
    ------
    InputError
        If the numbers of samples and labels differ, there are fewer than two labels, texts are mixed with
        numbers, no model can be trained on the features, or the folder cannot be written.
    """
    n_train = len(features) if isinstance(features, list) else features.shape[0]
    if n_train != len(labels):
        raise InputError(f"labels: {len(labels)} for {n_train} training samples; give one label for each")
    if len(set(labels)) < 2:
        raise InputError(
            f"labels: the number of different labels is {len(set(labels))}; a classifier needs at least two"
        )
    if isinstance(features, list) != isinstance(test_features, list):
        raise InputError("features: texts and numbers are mixed; train and predict on the same kind")
    if not isinstance(features, list) and features.shape[1] != test_features.shape[1]:
        raise InputError(
            f"features: {features.shape[1]} columns to train on and {test_features.shape[1]} to predict; "
            "use the same embedding for both"
        )
    fitted = make_model(model, regularisation=regularisation, n_train=n_train)
    try:
        if isinstance(features, list):
            features, test_features = tfidf(features, test_features)
        with _quietly():
            fitted.fit(features, np.array(labels))
            probabilities = _probabilities(fitted, test_features).astype(np.float32)
    except ValueError as error:
        said = str(error).partition("\n")[0]
        raise InputError(
            f"features: {model} with regularisation {regularisation} cannot be trained on them ({said}); "
            "give finite numbers, a regularisation above 0, and a row for each sample"
        ) from error
    trained = Trained(out / "probabilities.npy", out / "columns.txt", *probabilities.shape)
    try:
        out.mkdir(parents=True, exist_ok=True)
        header = io.BytesIO()
        np.lib.format.write_array_header_1_0(header, np.lib.format.header_data_from_array_1_0(probabilities))
        write_whole(trained.probabilities, [header.getvalue(), probabilities.tobytes("A")])
        write_whole(trained.columns, [f"{key}\n".encode() for key in fitted.classes_.tolist()])
    except OSError as error:
        raise InputError(f"--out {out}: cannot be written ({error.strerror}); name another folder") from error
    return trained


def tfidf(texts: list[str], test_texts: list[str], *, min_df: int = 1) -> tuple[Any, Any]:
    """Return the word frequencies (tf-idf, rows of unit length) of training texts and of test texts.

    A word is a column if at least `min_df` training texts contain it.
    """
    from sklearn.feature_extraction.text import TfidfVectorizer

    words = TfidfVectorizer(sublinear_tf=True, min_df=min_df, stop_words="english")
    return words.fit_transform(texts), words.transform(test_texts)


def _rows_of(features: Any, rows: NDArray[np.int64]) -> Any:
    return features[rows]


def _probabilities(fitted: Any, features: Any) -> NDArray[np.float64]:
    """Return the probabilities that the model `fitted` gives to each row of `features`.

    A row in which every class got weight zero becomes uniform.
    """
    rows = np.asarray(fitted.predict_proba(features), dtype=np.float64)
    empty = ~(rows.sum(axis=1) > 0)
    rows[empty] = 1.0 / rows.shape[1]
    return rows


@contextmanager
def _quietly() -> Iterator[None]:
    """Use one thread in the ``with`` block, and ignore two warnings that are expected there.

    One warning says that training ended before it converged, because the number of iterations is limited. The
    other says that there are many classes.
    """
    from sklearn.exceptions import ConvergenceWarning
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

    # On products as small as most here, several threads only wait for each other.
    with threadpool_limits(limits=1), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.filterwarnings("ignore", "The number of unique classes is greater", UserWarning)
        yield
