"""Let a scikit-learn classifier answer with any label of a bundle, and score the answers by distance."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from labelgrove.adapter.calibration.temperatures import CAVEAT
from labelgrove.adapter.classes import ClassAnswers, ClassBinding, Source, measuring_space, opened_source
from labelgrove.adapter.evaluation.measures.distancescore import expected_sq_distance, mean_over_samples
from labelgrove.adapter.outputs.gate import wrong_axes, wrong_width
from labelgrove.adapter.outputs.outputkinds import OutputKind
from labelgrove.adapter.outputs.rows import named_order
from labelgrove.adapter.outputs.weights import OutputReader
from labelgrove.adapter.scorer import Adapter
from labelgrove.ontology.errors import InputError, MissingExtraError
from labelgrove.ontology.geometry import MetricSpace
from labelgrove.ontology.geometry.arguments import nonnegative_number
from labelgrove.ontology.geometry.ties import check_beta

try:
    from sklearn import get_config
    from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
    from sklearn.exceptions import NotFittedError
    from sklearn.metrics import make_scorer
    from sklearn.pipeline import Pipeline
    from sklearn.utils import get_tags
    from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
    from sklearn.utils.validation import column_or_1d
except ImportError as error:
    raise MissingExtraError.of("scikit-learn", "sklearn", "FrechetClassifier") from error

# Imported here because it needs scikit-learn too, and the error above names FrechetClassifier.
from labelgrove.adapter.classfolds import ClassKFold

__all__ = [
    "ClassKFold",
    "FrechetClassifier",
    "ObservedTruthsWarning",
    "expected_sq_distance_scorer",
    "neg_expected_sq_distance",
]

_METHODS = ("predict_proba", "decision_function")


class ObservedTruthsWarning(UserWarning):
    """Warns that all samples in a score belong to classes that the classifier learned.

    The classifier can also answer with other labels, and such a score says nothing about samples of these.
    """


class FrechetClassifier(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    """Lets a scikit-learn classifier of a few labels answer with any label of a bundle.

    Parameters
    ----------
    estimator : classifier
        Classifier that returns probabilities or logits (see `response_method`). `fit` fits a clone of it; a
        classifier in a `sklearn.frozen.FrozenEstimator` is used without fitting.
    bundle : str, path, Bundle, LabelGraph, MetricSpace or None, default=None
        The labels and their distances:

        - an address as for `adapter.open_bundle`, or a `Bundle`: every class of the estimator must be one of
          its observed labels. An observed label that is not a class has probability 0;
        - a `LabelGraph` or `MetricSpace`: the classes become the observed labels; each must be a label in it;
        - None: the labels are the classes themselves, and all their distances are equal. The answer is then
          argmax.
    columns : mapping of class to str, default=None
        The label of each class of the estimator, by key or by name. It is needed if the classes are not keys:
        ``{0: "n02084071", 1: "n02121808"}`` or the ``id2label`` of a model.
    response_method : {"predict_proba", "decision_function"}, default="predict_proba"
        Method of the estimator to call. A decision function must return one column for each class (a single
        number for two classes); its values are read as logits. Margins of support vector machines are not
        logits: `sklearn.calibration.CalibratedClassifierCV` turns them into probabilities.
    temperature : float, default=1.0
        Logits, or the logarithms of probabilities, are divided by it before the softmax. To search for a good
        value, hold out whole classes from training (`ClassKFold`). If all true labels are learned classes,
        the best value tends to 0, which turns the answer into argmax.
    beta : float, default=2
        Exponent of the distances.
    scale : float, default=1.0
        The `scale` of `adapter.Adapter.predict_proba`, which `predict_proba` uses.
    artifacts_url : str, default=None
        The artifact store to use if `bundle` is an address; by default the store in the settings.

    Attributes
    ----------
    classes_ : ndarray of shape (n_labels,)
        The labels that `predict` can return, sorted: keys of the allowed labels, in an array of objects.
        Without a bundle, the classes of the estimator.
    source_classes_ : ndarray of shape (n_classes,)
        The classes of the estimator: the columns of its probabilities.
    estimator_ : classifier
        The fitted estimator.
    adapter_ : Adapter
        The adapter that gives the answers. Without a bundle its keys are positions in `classes_`.
    n_features_in_ : int
        Number of features that the estimator was fitted on, if it has this attribute.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of these features, if the estimator has this attribute.

    Notes
    -----
    Of tied labels, `predict` returns the first in canonical order. This is not the order of `classes_`. So if
    labels are tied, the first column with the largest number in `decision_function` may belong to a label
    that `predict` does not return.

    If `bundle` is an address, a pickle of the classifier contains only the address and the digest, and the
    loaded classifier opens the bundle when it first needs it. Any other `bundle` is pickled with its content.

    Examples
    --------
    >>> from labelgrove.ontology import LabelGraph
    >>> from sklearn.linear_model import LogisticRegression
    >>> graph = LabelGraph.from_edges([("cat", "pet"), ("dog", "pet"), ("cow", "animal"), ("pet", "animal")])
    >>> X, y = [[-2.0], [-1.0], [1.0], [2.0]], ["cat", "cat", "dog", "dog"]
    >>> classifier = FrechetClassifier(LogisticRegression(), graph).fit(X, y)
    >>> classifier.predict([[-3.0], [0.0]])
    array(['cat', 'pet'], dtype=object)
    >>> classifier.classes_, classifier.source_classes_.tolist()
    (array(['animal', 'cat', 'cow', 'dog', 'pet'], dtype=object), ['cat', 'dog'])
    """

    def __init__(
        self,
        estimator: Any,
        bundle: Source | None = None,
        *,
        columns: Mapping[Any, str] | None = None,
        response_method: Literal["predict_proba", "decision_function"] = "predict_proba",
        temperature: float = 1.0,
        beta: float = 2,
        scale: float = 1.0,
        artifacts_url: str | None = None,
    ) -> None:
        self.estimator = estimator
        self.bundle = bundle
        self.columns = columns
        self.response_method = response_method
        self.temperature = temperature
        self.beta = beta
        self.scale = scale
        self.artifacts_url = artifacts_url

    # ---- fitting -----------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, **params: Any) -> FrechetClassifier:
        """Fit a clone of the estimator, open the bundle, and match the classes with its labels.

        Parameters
        ----------
        X : array_like
            Input of the estimator.
        y : array_like of shape (n_samples,)
            The class of each sample. A frozen estimator uses neither `X` nor `y`: ``fit(None, None)`` works.
        **params
            Passed to the ``fit`` of the estimator; if metadata routing is enabled, only those that it
            requests.

        Raises
        ------
        BindingError
            For classes that are not labels of the bundle; it is raised before the estimator is fitted.
        InputError
            For parameters that break a rule. If `bundle` is an address, the errors of `open_bundle` may be
            raised too.
        """
        estimator = self._clone_of_estimator()
        binding = ClassBinding(self.bundle, self.columns, self.artifacts_url)
        known = getattr(estimator, "classes_", None)  # a frozen estimator has classes before fit
        if known is None:
            y = column_or_1d(y, warn=True)
            if self.bundle is not None:
                binding.labels(np.array(list(dict.fromkeys(y.tolist())), dtype=object))
        if get_config().get("enable_metadata_routing"):
            params = process_routing(self, "fit", **params).estimator.fit
        fitted = estimator.fit(X, y, **params)
        if not hasattr(fitted, "classes_"):
            raise InputError(f"estimator: {fitted!r} has no classes_ after fitting; give a classifier")
        if any(np.ndim(one) for one in fitted.classes_):
            raise InputError(
                "estimator: it predicts several outputs per sample; use one classifier per output"
            )
        classes = np.asarray(fitted.classes_)
        bundle, feeds = binding.bundle(classes)
        self._answers = ClassAnswers(
            bundle,
            feeds,
            {"outputs": self._outputs_kind(), "temperature": self.temperature, "beta": self.beta},
            address=(self.bundle, self.artifacts_url) if isinstance(self.bundle, str | os.PathLike) else None,
            space=binding.space,
            own=classes if self.bundle is None else None,
        )
        self.estimator_, self.source_classes_ = fitted, classes
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(fitted, name):
                setattr(self, name, getattr(fitted, name))
        return self

    def _clone_of_estimator(self) -> Any:
        """Return the clone of the estimator that `fit` fits; raise an error if a parameter breaks a rule."""
        if self.response_method not in _METHODS:
            raise InputError(
                f"response_method: {self.response_method!r} given; choose {' or '.join(map(repr, _METHODS))}"
            )
        if not nonnegative_number("scale", self.scale):
            raise InputError("scale: 0 given; it must be positive (1 by default)")
        check_beta(self.beta)
        OutputReader(self._outputs_kind(), self.temperature, 1)  # checks the temperature
        if isinstance(self.estimator, type) or not hasattr(self.estimator, "fit"):
            raise InputError(
                f"estimator: {self.estimator!r} given; give an instance of a classifier with a fit method"
            )
        estimator = clone(self.estimator)
        if not hasattr(estimator, self.response_method):
            other = (
                "wrap it in CalibratedClassifierCV, which learns probabilities, or give "
                "response_method='decision_function' if that gives logits"
                if self.response_method == "predict_proba"
                else "give response_method='predict_proba'"
            )
            raise InputError(f"estimator: {type(estimator).__name__} has no {self.response_method}; {other}")
        return estimator

    def _outputs_kind(self) -> OutputKind:
        if self.response_method == "decision_function":
            return "logits"
        return "log_probabilities" if self.temperature != 1 else "probabilities"

    # ---- answers -----------------------------------------------------------------------------------

    @property
    def classes_(self) -> NDArray[Any]:
        """The labels that `predict` can return, sorted."""
        return self._fitted().classes

    @property
    def adapter_(self) -> Adapter:
        """The adapter that gives the answers."""
        return self._fitted().adapter

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the Fréchet mean of each sample.

        Parameters
        ----------
        X : array_like
            Input of the estimator.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            Elements of `classes_`.
        """
        return self._fitted().predict(self._estimator_outputs(X))

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return the negative Fréchet variance of every label: the larger, the better.

        Parameters
        ----------
        X : array_like
            Input of the estimator.

        Returns
        -------
        decision : ndarray of shape (n_samples, n_labels), or (n_samples,) for two labels
            Columns as in `classes_`; for two labels the score of the second minus the score of the first.

        Raises
        ------
        InputError
            If the result has more numbers than `adapter.scorer.MAX_VALUES`; give fewer rows at a time.
        """
        answers = self._fitted()
        decision = answers.sorted(answers.adapter.decision_function(self._estimator_outputs(X)))
        return decision[:, 1] - decision[:, 0] if decision.shape[1] == 2 else decision

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return a softmax over labels, which is not calibrated; see `adapter.Adapter.predict_proba`.

        Parameters
        ----------
        X : array_like
            Input of the estimator.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_labels)
            Columns as in `classes_`.

        Raises
        ------
        InputError
            As for `decision_function`.
        """
        answers = self._fitted()
        return answers.sorted(answers.adapter.predict_proba(self._estimator_outputs(X), scale=self.scale))

    def score(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> float:
        """Return the accuracy: the share of answers that are the truth.

        Parameters
        ----------
        X : array_like
            Input of the estimator.
        y : array_like of shape (n_samples,)
            True labels, by key.
        sample_weight : array_like of shape (n_samples,), optional
            Weight of each sample in the mean; equal by default.

        Raises
        ------
        UnknownLabelError
            For a truth that is not a key in the bundle, such as a name instead of a key.
        """
        self._fitted().refuse_unknown(y)
        return float(super().score(X, y, sample_weight=sample_weight))

    def _fitted(self) -> ClassAnswers:
        # check_is_fitted collects tags at every call, which takes longer than answering a row
        if not hasattr(self, "_answers"):
            raise NotFittedError(f"{type(self).__name__}: not fitted yet; call fit first")
        return self._answers

    def _estimator_outputs(self, X: Any) -> NDArray[Any]:
        """Return the outputs of the estimator, with one column for each observed label of the adapter."""
        said = getattr(self.estimator_, self.response_method)(X)
        given = np.asarray(said)
        if given.ndim == 1 and self.response_method == "decision_function":
            given = np.stack([np.zeros_like(given), given], axis=1)
        name, classes = f"estimator: {self.response_method}", self.source_classes_.tolist()
        if given.ndim != 2:
            raise wrong_axes(name, given.shape)
        if given.shape[1] != len(classes):
            raise wrong_width(name, given.shape, len(classes), tuple(map(str, classes)))
        if given is not said:
            order = named_order(name, said, classes)
            given = given if order is None else given.take(order, axis=1)
        return self._answers.outputs(given)

    # ---- scikit-learn's protocol -------------------------------------------------------------------

    def set_output(self, *, transform: Literal["default", "pandas", "polars"] | None = None) -> Any:
        """Set the container that transformers in the estimator return, as `Pipeline.set_output` does.

        Parameters
        ----------
        transform : {"default", "pandas", "polars"}, optional
            The container; None changes nothing. The answers of this classifier are always arrays.
        """
        estimators: tuple[Any, ...] = (self.estimator, getattr(self, "estimator_", None))
        for estimator in estimators:
            if hasattr(estimator, "set_output"):
                estimator.set_output(transform=transform)
        return self

    def get_metadata_routing(self) -> Any:
        """Return the routing of scikit-learn's metadata.

        Metadata of ``fit`` are passed to the estimator; metadata of ``score`` are used by this object.
        """
        mapping = MethodMapping().add(caller="fit", callee="fit")
        router = MetadataRouter(owner=type(self).__name__).add_self_request(self)
        return router.add(estimator=self.estimator, method_mapping=mapping)

    def __sklearn_tags__(self) -> Any:
        tags, inner = super().__sklearn_tags__(), get_tags(self.estimator)
        tags.input_tags = inner.input_tags
        tags.non_deterministic, tags.no_validation = inner.non_deterministic, inner.no_validation
        if inner.classifier_tags is not None:
            tags.classifier_tags.poor_score = inner.classifier_tags.poor_score
            tags.classifier_tags.multi_class = inner.classifier_tags.multi_class
        return tags


# ---- scoring by distance -------------------------------------------------------------------------------


def expected_sq_distance_scorer(source: Source, *, artifacts_url: str | None = None) -> Any:
    """Return a scorer for ``scoring=`` that works for any classifier: the negative of `expected_sq_distance`.

    Parameters
    ----------
    source : str, path, Bundle, LabelGraph or MetricSpace
        The labels and their distances; an address is opened at once.
    artifacts_url : str, optional
        The artifact store to use if `source` is an address; by default the store in the settings.

    Returns
    -------
    scorer : callable
        A scorer like those of `sklearn.metrics.make_scorer`; larger is better. For a `FrechetClassifier` it
        gives the same warning as `neg_expected_sq_distance`.
    """
    return _DistanceScorer(measuring_space(opened_source(source, artifacts_url)))


class _DistanceScorer:
    """A scorer from scikit-learn's `make_scorer` that also warns as `neg_expected_sq_distance` does.

    The metric in a plain scorer cannot give this warning, because it gets the predictions but not the
    classifier.
    """

    def __init__(self, space: MetricSpace) -> None:
        self._scorer = make_scorer(expected_sq_distance, greater_is_better=False, space=space)

    def __call__(self, estimator: Any, X: Any, y_true: ArrayLike, **params: Any) -> float:
        score = float(self._scorer(estimator, X, y_true, **params))
        within = _classifier_within(estimator)
        if within is not None:
            _warn_of_observed_truths(within, y_true)
        return score

    def __repr__(self) -> str:
        return repr(self._scorer)

    def get_metadata_routing(self) -> Any:
        return self._scorer.get_metadata_routing()

    def set_score_request(self, **requests: Any) -> _DistanceScorer:
        self._scorer.set_score_request(**requests)
        return self


def neg_expected_sq_distance(
    estimator: Any, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None
) -> float:
    """Return the negative mean squared distance from a `FrechetClassifier`'s answers to the truth.

    Give the function to a parameter search or to cross-validation as ``scoring=neg_expected_sq_distance``.

    Parameters
    ----------
    estimator : FrechetClassifier, or a Pipeline or search that ends in one
        The fitted classifier to score.
    X : array_like
        Samples.
    y : array_like of shape (n_samples,)
        True labels, by key.
    sample_weight : array_like of shape (n_samples,), optional
        Weight of each sample in the mean; equal by default.

    Returns
    -------
    score : float
        Negative mean squared distance; without a bundle, the negative share of wrong answers.

    Raises
    ------
    InputError
        For an estimator of another kind; use `expected_sq_distance_scorer` for it.
    UnknownLabelError, SpaceError
        As for `expected_sq_distance`.

    Warns
    -----
    ObservedTruthsWarning
        If every truth is a class that the classifier learned, although there are other labels. Such a score
        says nothing about samples of the other labels, and a parameter search that uses it chooses parameters
        that make the answers to such samples worse. To avoid this, hold out classes with ``cv=ClassKFold()``.
    """
    within = _classifier_within(estimator)
    if within is None:
        raise InputError(
            f"estimator: {estimator!r} gives no distances between labels; give a FrechetClassifier, or "
            "scoring=expected_sq_distance_scorer(graph)"
        )
    space = within._fitted().space  # noqa: SLF001  (of this module)
    answer = estimator.predict(X)
    if space is None:
        return -mean_over_samples(np.asarray(y) != answer, sample_weight)
    score = -expected_sq_distance(y, answer, space=space, sample_weight=sample_weight)
    _warn_of_observed_truths(within, y)
    return score


def _classifier_within(estimator: Any) -> FrechetClassifier | None:
    """Return the `FrechetClassifier` that ends a pipeline or a search; None if there is none."""
    while not isinstance(estimator, FrechetClassifier):
        if isinstance(estimator, Pipeline):
            estimator = estimator[-1]
        elif hasattr(estimator, "best_estimator_"):
            estimator = estimator.best_estimator_
        else:
            return None
    return estimator


def _warn_of_observed_truths(classifier: FrechetClassifier, y: ArrayLike) -> None:
    """Warn if `classifier` learned every true label in `y` as a class, but can also answer with others."""
    learned = classifier._fitted()  # noqa: SLF001  (of this module)
    if learned.learned_all(np.asarray(y, dtype=object)):
        warnings.warn(
            f"{CAVEAT}; to choose parameters by a score, hold out whole classes from training: "
            "cv=labelgrove.adapter.sklearn.ClassKFold()",
            ObservedTruthsWarning,
            stacklevel=3,
        )
