"""ClassKFold: cross-validation for a classifier that answers with labels that it never learned."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelgrove.ontology.errors import InputError, MissingExtraError

try:
    from sklearn.model_selection import BaseCrossValidator
    from sklearn.utils import check_random_state
    from sklearn.utils.validation import column_or_1d
except ImportError as error:
    raise MissingExtraError.of("scikit-learn", "sklearn", "ClassKFold") from error

__all__ = ["ClassKFold"]

_FEWEST_LEARNED = 2


class ClassKFold(BaseCrossValidator):  # type: ignore[misc]
    """K-fold cross-validation over classes: a classifier is scored on classes that it did not learn.

    A fold divides the samples into training and test samples. If it does so sample by sample, as in
    `StratifiedKFold`, every class is in both parts. The score then says how a classifier answers for the
    classes that it learned. Parameters that suit these classes can be wrong for all others: the sharper the
    probabilities, the nearer the Fréchet mean is to argmax, which never answers with a label that was not
    learned. Here each class is in only one part of a fold, so that a test class is like a label without
    training data.

    Parameters
    ----------
    n_splits : int, default=5
        Number of folds, at least 2. Each class is held out once.
    random_state : int, RandomState instance or None, default=0
        Decides which classes are held out together. With None, this is decided anew at each call.

    Notes
    -----
    Folds differ by at most one in their number of classes, but may differ more in their number of samples. In
    each fold fewer classes are learned than in the final fit. So the fewer classes there are, the more folds
    are needed, up to one for each class. With fewer than about twenty classes the chosen parameters are a
    guess; keep the defaults instead.

    The estimator must be fitted in each fold. An estimator in `FrozenEstimator` has already learned the
    classes, so nothing is held out.

    Examples
    --------
    >>> y = np.array(["ash", "elm", "fir", "oak", "ash", "elm"])
    >>> for train, test in ClassKFold(2).split(y, y):
    ...     sorted(set(y[train].tolist())), sorted(set(y[test].tolist()))
    (['ash', 'elm'], ['fir', 'oak'])
    (['fir', 'oak'], ['ash', 'elm'])
    """

    def __init__(self, n_splits: int = 5, *, random_state: Any = 0) -> None:
        if isinstance(n_splits, bool) or not isinstance(n_splits, int | np.integer) or n_splits < 2:
            raise InputError(f"n_splits: {n_splits!r} given; give a whole number of folds, 2 or more")
        self.n_splits = int(n_splits)
        self.random_state = random_state

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Return the number of folds.

        Parameters
        ----------
        X, y, groups : object, optional
            Ignored.
        """
        return self.n_splits

    def split(
        self, X: Any, y: Any = None, groups: Any = None
    ) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
        """Yield the rows to learn from and the rows to score, for each fold.

        Parameters
        ----------
        X : array_like of shape (n_samples, ...)
            Samples; only their number is used.
        y : array_like of shape (n_samples,)
            The class of each sample.
        groups : None
            Must be None: the classes are the groups.

        Yields
        ------
        train, test : ndarray of int
            Indices of rows, ascending. No class is in both arrays. Every sample is in one of the two arrays,
            and in the array `test` of exactly one fold.

        Raises
        ------
        InputError
            If `y` is missing, if `groups` is given, or if there are too few classes for this number of folds:
            the classifier must learn at least two classes in each fold.
        """
        if y is None:
            raise InputError("y: missing; ClassKFold holds out classes, so give the class of each sample")
        if groups is not None:
            raise InputError("groups: given, but ClassKFold holds out whole classes; leave groups out")
        yield from super().split(X, column_or_1d(y))

    def _iter_test_masks(
        self, X: Any = None, y: Any = None, groups: Any = None
    ) -> Iterator[NDArray[np.bool_]]:
        classes, of_sample = np.unique(y, return_inverse=True)
        largest = -(-len(classes) // self.n_splits)
        if len(classes) < max(self.n_splits, largest + _FEWEST_LEARNED):
            raise InputError(
                f"y: {len(classes)} classes for n_splits={self.n_splits}; each fold holds out at least one "
                f"class and leaves at least {_FEWEST_LEARNED} others to learn, so give more classes or "
                "another n_splits"
            )
        shuffled = check_random_state(self.random_state).permutation(len(classes))
        for held_out in np.array_split(shuffled, self.n_splits):
            yield np.isin(of_sample, held_out)
