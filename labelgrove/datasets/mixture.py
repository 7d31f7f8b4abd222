"""Simulate a Gaussian mixture of classes in a ball; estimate means by the median of means."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from labelgrove.ontology.geometry import EuclideanSpace

__all__ = ["Mixture"]

_BLOCKS = 8


@dataclass(frozen=True, eq=False)
class Mixture:
    """Classes that are Gaussians with identity covariance; some of them are observed.

    Attributes
    ----------
    labels : ndarray of shape (n_labels, n_dimensions)
        The mean of each class, a point in the ball; it is also the point of the class in the metric space.
    observed : ndarray of shape (n_observed,)
        The indices of the observed classes. The first is class 0; each further one is the class whose
        distance to the nearest class chosen before it is the largest.
    space : EuclideanSpace
    """

    labels: NDArray[np.float64]
    observed: NDArray[np.int64]
    space: EuclideanSpace

    @classmethod
    def draw(
        cls, n_labels: int, n_dimensions: int, n_observed: int, radius: float, rng: np.random.Generator
    ) -> Mixture:
        """Draw class means uniformly from a ball of radius `radius`, and choose the observed classes."""
        directions = rng.standard_normal((n_labels, n_dimensions))
        directions /= np.linalg.norm(directions, axis=1, keepdims=True)
        labels = radius * rng.random((n_labels, 1)) ** (1 / n_dimensions) * directions
        chosen = [0]
        nearest = np.linalg.norm(labels - labels[0], axis=1)
        while len(chosen) < n_observed:
            chosen.append(int(nearest.argmax()))
            nearest = np.minimum(nearest, np.linalg.norm(labels - labels[chosen[-1]], axis=1))
        keys = [f"{i:04d}" for i in range(n_labels)]
        return cls(labels, np.array(chosen), EuclideanSpace(labels, keys))

    @property
    def observed_keys(self) -> tuple[str, ...]:
        """Keys of the observed classes."""
        return self.space.points.take(self.observed)

    def net_radius(self) -> float:
        """Return the largest distance from a class to the nearest observed one."""
        return float(self.space.distances(cols=self.observed).min(axis=1).max())

    def estimated_means(self, n: int, rng: np.random.Generator) -> NDArray[np.float64]:
        """Draw `n` samples of each observed class, and return an estimate of its mean.

        The samples of a class are divided into 8 groups. Each coordinate of the estimate is the median of
        this coordinate over the means of the groups.
        """
        centers = self.labels[self.observed]
        samples = centers[:, None, :] + rng.standard_normal((len(centers), n, centers.shape[1]))
        blocks = np.array_split(np.arange(n), min(_BLOCKS, n))
        means = np.stack([samples[:, block].mean(axis=1) for block in blocks])
        return np.asarray(np.median(means, axis=0))

    def posteriors(self, samples: NDArray[np.float64], means: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the probability of each observed class given each sample, with equal prior probabilities."""
        logits = -0.5 * ((samples[:, None, :] - means[None]) ** 2).sum(axis=2)
        rows = np.exp(logits - logits.max(axis=1, keepdims=True))
        return np.asarray(rows / rows.sum(axis=1, keepdims=True))
