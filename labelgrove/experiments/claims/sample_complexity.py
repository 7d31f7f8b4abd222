"""Simulate how errors depend on the number of training samples.

With more training samples, the error of the estimated class means falls towards zero. The Fréchet
mean, computed with these estimates, keeps most of its error.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from labelgrove.datasets.mixture import Mixture
from labelgrove.datasets.ownfiles import Files
from labelgrove.experiments.contrast import Contrast, Verdict, judge, mean
from labelgrove.experiments.experiment import Claim, Experiment, Panel, Record, Summary, Table, band
from labelgrove.experiments.measuring import check_argmax
from labelgrove.experiments.ruletables import grouped
from labelgrove.ontology.errors import InputError
from labelgrove.ontology.geometry import make_scorer

__all__ = ["EXPERIMENT", "SampleComplexity", "Settings"]

_EXPONENT = 0.4
"""The exponent that a decreasing error has to reach.

The rate in the claim is 1/√n, an exponent of 0.5; a slightly smaller one is accepted, because trials scatter.
"""


@dataclass(frozen=True)
class Settings:
    """Settings of the experiment.

    `dimensions` are the dimensions d of the samples, `sizes` the numbers K of observed classes, and `radii`
    the radii R of the ball. They vary one at a time, while the other two keep their first value. `per_class`
    are the numbers n of training samples per class.
    """

    dimensions: tuple[int, ...] = (3, 2, 5)
    sizes: tuple[int, ...] = (10, 5, 20)
    radii: tuple[float, ...] = (3.0, 1.5, 6.0)
    per_class: tuple[int, ...] = (2, 4, 8, 16, 32, 64, 128, 256, 512)
    seeds: tuple[int, ...] = tuple(range(10))
    n_labels: int = 200
    n_test: int = 2000


class SampleComplexity(Experiment[Settings, None]):
    """Draw Gaussian classes with identity covariance in a ball; estimate means by the median of means."""

    claim = Claim(
        name="sample-complexity",
        sentence="The expected squared distance from the test class to the answer falls as one over the "
        "root of the number of training samples",
        source="the sample-complexity theorem, as stated",
        inputs="synthetic: 200 classes in a ball, K observed ones spread as a net",
    )

    def settings(self, *, quick: bool = False) -> Settings:
        """Return the default settings; with `quick`, return small ones that run in a few seconds."""
        if quick:
            return Settings(
                dimensions=(3,),
                sizes=(10, 5),
                radii=(3.0,),
                per_class=(2, 16, 128),
                seeds=(0, 1, 2),
                n_test=300,
            )
        return Settings()

    def units(self, settings: Settings) -> Sequence[Record]:
        """Return one unit for each seed and each combination of d, K and R that `Settings` describes.

        Raise `InputError` unless `per_class` has two or more numbers in ascending order.
        """
        counts = settings.per_class
        if len(counts) < 2 or list(counts) != sorted(counts):
            raise InputError(f"per_class: {counts} given; give two or more numbers in ascending order")
        d, k, r = settings.dimensions[0], settings.sizes[0], settings.radii[0]
        varied = [(d, k, r)]
        varied += [(other, k, r) for other in settings.dimensions[1:]]
        varied += [(d, other, r) for other in settings.sizes[1:]]
        varied += [(d, k, other) for other in settings.radii[1:]]
        return [{"d": d, "K": k, "R": r, "seed": seed} for d, k, r in varied for seed in settings.seeds]

    def prepare(self, settings: Settings, files: Files | None) -> None:
        """Load nothing, because `measure` draws the classes and the samples."""

    def measure(self, data: None, settings: Settings, unit: Record) -> Record:
        """Return two errors for each number of training samples per class, on one set of test samples.

        The class means are estimated from the training samples, and each test sample is answered with these
        estimates. Both errors are means of squared distances from this answer. For the estimation error,
        these are the distances to the answer with the exact means; for the error of the answer, they are the
        distances to the true label.
        """
        rng = np.random.default_rng((unit["seed"], unit["d"], unit["K"], round(8 * unit["R"])))
        mixture = Mixture.draw(settings.n_labels, unit["d"], unit["K"], unit["R"], rng)
        truth = rng.integers(0, settings.n_labels, settings.n_test)
        samples = mixture.labels[truth] + rng.standard_normal((settings.n_test, unit["d"]))
        scorer = make_scorer(mixture.space, mixture.observed_keys)
        exact = mixture.posteriors(samples, mixture.labels[mixture.observed])
        target = scorer.score(exact).index
        estimation, answer, checked = [], [], check_argmax(mixture.observed_keys, exact)
        for n in settings.per_class:
            estimated = mixture.posteriors(samples, mixture.estimated_means(n, rng))
            checked += check_argmax(mixture.observed_keys, estimated)
            found = mixture.labels[scorer.score(estimated).index]
            estimation.append(float(((found - mixture.labels[target]) ** 2).sum(axis=1).mean()))
            answer.append(float(((found - mixture.labels[truth]) ** 2).sum(axis=1).mean()))
        floor = float(((mixture.labels[target] - mixture.labels[truth]) ** 2).sum(axis=1).mean())
        return {
            "estimation": estimation,
            "answer": answer,
            "floor": floor,
            "net": mixture.net_radius(),
            "checked_rows": checked,
        }

    def summarize(self, settings: Settings, results: Sequence[tuple[Record, Record]]) -> Summary:
        """Test whether the error of the answer, and the estimation error, fall fast enough as n grows.

        The claim says that errors fall as n^-0.5; here n^-0.4 is enough (`_EXPONENT`). Each error at the
        largest n is compared with the error that n^-0.4 predicts from the error at a smaller n.
        """
        trials = grouped(results, ("d", "K", "R"))
        counts = settings.per_class
        begin = len(counts) // 3  # with fewer samples the means are barely known
        rate = (counts[begin] / counts[-1]) ** _EXPONENT

        def against_the_rate(what: str) -> list[Contrast]:
            return [
                Contrast(
                    f"d = {d}, K = {k}, R = {r:g}",
                    tuple(rate * f[what][begin] for f in found),
                    tuple(f[what][-1] for f in found),
                )
                for (d, k, r), found in trials.items()
            ]

        names: dict[str, Any] = {
            "before": "allowed by the rate",
            "after": f"at n = {counts[-1]} a class",
            "worse": Verdict.FAILS,
        }
        rows = [
            (
                *key,
                mean([f["net"] for f in found]),
                *(mean([f["estimation"][i] for f in found]) for i in (0, -1)),
                *(mean([f["answer"][i] for f in found]) for i in (0, -1)),
                mean([f["floor"] for f in found]),
            )
            for key, found in trials.items()
        ]
        panels = tuple(
            Panel(
                title,
                "training samples in all",
                "E[d²]",
                tuple(
                    band(
                        f"d = {d}, K = {k}, R = {r:g}",
                        {float(n * k): [f[what][i] for f in found] for i, n in enumerate(counts)},
                    )
                    for (d, k, r), found in trials.items()
                ),
                log_x=True,
                log_y=True,
            )
            for what, title in (
                ("estimation", "Estimation: d²(m(P̂), m(P))"),
                ("answer", "Answer: d²(test class, m(P̂))"),
            )
        )
        return Summary(
            findings=(
                judge(self.claim.sentence, against_the_rate("answer"), **names),
                judge(
                    "What the proof bounds, the distance between the means under estimated and true "
                    "probabilities, falls at least at that rate",
                    against_the_rate("estimation"),
                    **names,
                ),
            ),
            tables=(
                Table(
                    f"Errors at {counts[0]} and {counts[-1]} samples a class, and the error of the answer "
                    "under the true probabilities.",
                    (
                        "d",
                        "K",
                        "R",
                        "net radius",
                        f"estimation, n = {counts[0]}",
                        f"n = {counts[-1]}",
                        f"answer, n = {counts[0]}",
                        f"n = {counts[-1]}",
                        "answer, true P",
                    ),
                    tuple(rows),
                ),
            ),
            panels=panels,
            notes=(
                f"The rate allows an error at n = {counts[begin]} to shrink to its "
                f"(n ratio)^{_EXPONENT} = {rate:.3f}-fold at n = {counts[-1]}.",
                "The theorem's statement calls y* the test class, its proof the mean under the true "
                "probabilities. No number of samples removes the distance between these two.",
            ),
        )


EXPERIMENT = SampleComplexity()
