"""Which interval of a mean holds under skew, and how often a verdict on it is wrong or silent: simulations.

    python -m tests.benchmarks.bench_intervals [--trials 100]

For each distribution and number of samples, intervals of 95 % are made by five methods from the same draws;
a method misses low where its whole interval lies below the mean, and high where it lies above. The
distributions are of what one rule saves against another: bounded, as squared distances are, and most of them
with rare losses far larger than the usual gain.

The verdict is that of `adapter.evaluate` on a line of 60 labels where labels 00 and 50 are observed, every
sample has the outputs (0.501, 0.499), so that the Fréchet mean answers 25 and argmax 00, and a truth is 00
with some probability, else 13, or one of 12, 13 and 14. On the same line with 10 and 50 observed the mean
answers 30, argmax 10, and a truth is 00 or one of 20, 21 and 22: what a truth of 00 costs is then twice what
one of 10 would. The chances of a verdict are exact: how many truths are 00 decides it, so that each number is
evaluated once and counts with its binomial probability. Beside it stands a model that is right but for noise.
Prints one JSON document.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from labelgrove.adapter import Adapter, evaluate
from labelgrove.adapter.evaluation import Evaluation
from labelgrove.adapter.evaluation.evidence.bootstrap import PairedBootstrap
from labelgrove.ontology.labelgraph import LabelGraph
from tests.benchmarks.measuring import one_thread, print_document

SEED = 0
LEVEL = 0.95
RESAMPLES = 1000
TRIALS = 1000
SIZES = (20, 30, 60, 120, 250)
VERDICT_SIZES = (*SIZES, 500, 1000)
SHARES = (0.045, 0.02, 0.01, 0.005)
"""Of truths that are 00: with the first argmax is better than the Fréchet mean, with the others worse."""

Values = NDArray[np.float64]


@dataclass(frozen=True)
class Distribution:
    """Values of known mean, with the least and the largest that there can be."""

    draw: Callable[[np.random.Generator, int], Values]
    mean: float
    ends: tuple[float, float]


def lognormal(cut: float) -> Distribution:
    """Return the negative of exp(Z), no less than -cut."""
    below = NormalDist().cdf
    mean = math.exp(0.5) * below(math.log(cut) - 1) + cut * (1 - below(math.log(cut)))
    return Distribution(lambda rng, n: -np.minimum(rng.lognormal(size=n), cut), -mean, (-cut, 0.0))


def pareto(cut: float) -> Distribution:
    """Return the negative of a Pareto variable of index 1.5, no less than -cut."""
    mean = 1 + (1 - cut**-0.5) / 0.5
    return Distribution(lambda rng, n: -np.minimum(1 + rng.pareto(1.5, n), cut), -mean, (-cut, -1.0))


def rare_loss(share: float, usual: tuple[float, ...]) -> Distribution:
    """Return a loss of 625 with probability `share`, and one of the usual gains else."""

    def draw(rng: np.random.Generator, n: int) -> Values:
        return np.where(rng.random(n) < share, -625.0, rng.choice(usual, n))

    mean = (1 - share) * sum(usual) / len(usual) - 625 * share
    return Distribution(draw, mean, (-625.0, 625.0))


def student(cut: float) -> Distribution:
    """Return Student's t with three degrees of freedom, within -cut and cut."""
    return Distribution(lambda rng, n: np.clip(rng.standard_t(3, n), -cut, cut), 0.0, (-cut, cut))


DISTRIBUTIONS = {
    "uniform": Distribution(lambda rng, n: rng.uniform(-1, 1, n), 0.0, (-1.0, 1.0)),
    "Student's t, 3 degrees, within 30": student(30.0),
    "lognormal losses up to 50": lognormal(50.0),
    "Pareto losses of index 1.5 up to 1,000": pareto(1000.0),
    "gain of 25, loss of 625 in 4.5 %": rare_loss(0.045, (25.0,)),
    "gains of -25, 25 or 75, loss of 625 in 4.5 %": rare_loss(0.045, (-25.0, 25.0, 75.0)),
}

Method = Callable[[Values, tuple[float, float], Values, int], tuple[float, float]]
TAILS = (1 - LEVEL) / 2, (1 + LEVEL) / 2


def percentile(values: Values, ends: tuple[float, float], drawn: Values, seed: int) -> tuple[float, float]:
    """Percentiles of the means of resamples."""
    low, high = np.quantile(drawn @ values, TAILS)
    return float(low), float(high)


def normal(values: Values, ends: tuple[float, float], drawn: Values, seed: int) -> tuple[float, float]:
    """Mean and standard error, with Student's t."""
    n = len(values)
    half = float(stdtrit(n - 1, TAILS[1]) * values.std(ddof=1) / math.sqrt(n))
    return float(values.mean()) - half, float(values.mean()) + half


def accelerated(values: Values, ends: tuple[float, float], drawn: Values, seed: int) -> tuple[float, float]:
    """Percentiles corrected for bias and skew (BCa; Efron 1987)."""
    means, mean, off = drawn @ values, values.mean(), values - values.mean()
    spread = float((off**2).sum())
    if not spread:
        return float(mean), float(mean)
    share = (np.mean(means < mean) + np.mean(means <= mean)) / 2
    bias = NormalDist().inv_cdf(float(np.clip(share, 1 / len(means), 1 - 1 / len(means))))
    skew = float((off**3).sum()) / (6 * spread**1.5)
    shares = []
    for tail in TAILS:
        at = bias + NormalDist().inv_cdf(tail)
        shares.append(NormalDist().cdf(bias + at / (1 - skew * at)))
    low, high = np.quantile(means, shares)
    return float(low), float(high)


def studentized(values: Values, ends: tuple[float, float], drawn: Values, seed: int) -> tuple[float, float]:
    """Percentiles of the t of resamples; with many that have no spread, the end that there can be."""
    mean, off = float(values.mean()), values - values.mean()
    spread = float(off.std())
    if not spread:
        return mean, mean
    means = drawn @ off
    variance = drawn @ (off * off) - means * means
    flat = variance <= 1e-12 * spread**2
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.where(flat, np.sign(means) * np.inf, means / np.sqrt(variance))
    t[flat & (np.abs(means) <= 1e-9 * spread)] = 0.0
    lowest, highest = np.quantile(t, TAILS, method="inverted_cdf")
    return max(ends[0], mean - float(highest) * spread), min(ends[1], mean - float(lowest) * spread)


def one_more(values: Values, ends: tuple[float, float], drawn: Values, seed: int) -> tuple[float, float]:
    """What `evaluate` does: random weights, and one more sample at the worst there can be."""
    bootstrap = PairedBootstrap(len(values), 1, seed)
    bootstrap.add(0, values[:, None])
    (found,) = bootstrap.intervals(np.ones((1, 1)), np.array([ends]), RESAMPLES, LEVEL)
    return found.low, found.high


METHODS: dict[str, Method] = {
    "percentiles": percentile,
    "Student's t": normal,
    "BCa": accelerated,
    "studentized": studentized,
    "one more sample": one_more,
}


def missed(
    distribution: Distribution, n: int, trials: int, methods: Iterable[str] = tuple(METHODS)
) -> dict[str, dict[str, float]]:
    """Return for each method the share of intervals that lie below the mean and above it, and their width."""
    rng = np.random.default_rng([SEED, n])
    found = {method: np.zeros(3) for method in methods}
    for trial in range(trials):
        values = distribution.draw(rng, n)
        resampled = found.keys() != {"one more sample"}  # which draws for itself
        drawn = rng.multinomial(n, np.full(n, 1 / n), RESAMPLES if resampled else 0) / n
        for method, sums in found.items():
            low, high = METHODS[method](values, distribution.ends, drawn, trial)
            off = 1e-9 * max(map(abs, distribution.ends))
            sums += (high < distribution.mean - off, low > distribution.mean + off, high - low)
    return {
        method: dict(zip(("low", "high", "width"), (sums / trials).tolist(), strict=True))
        for method, sums in found.items()
    }


LINE = LabelGraph.from_edges([(f"{i:02d}", f"{i - 1:02d}") for i in range(1, 60)])


@dataclass(frozen=True)
class World:
    """What is observed on the line, and what truths are when they are not 00."""

    observed: tuple[str, str]
    usual: tuple[str, ...]


WORLDS = {
    "13": World(("00", "50"), ("13",)),
    "12, 13 or 14": World(("00", "50"), ("12", "13", "14")),
    "20, 21 or 22, and 10 is observed": World(("10", "50"), ("20", "21", "22", "21", "20", "21")),
}


def chances(n: int, shares: Sequence[float], world: World, resamples: int = RESAMPLES) -> list[float]:
    """Return how probable the verdict "use it" on `n` samples is, for each share of truths that are 00."""
    adapter, outputs = Adapter.from_graph(LINE, world.observed), np.tile([0.501, 0.499], (n, 1))
    usual, expected = world.usual, max(shares) * n
    totals, most = [0.0] * len(shares), 3 + math.ceil(expected + 4 * math.sqrt(expected))
    for k in range(min(n, most) + 1):
        truth = ["00"] * k + [usual[i % len(usual)] for i in range(n - k)]
        found = evaluate(adapter, outputs, truth, train_truth=["59"], resamples=resamples)
        if found["argmax"].difference.mean < 0:
            break  # with more of them it is farther behind
        if found.verdict.answer == "use it":
            for i, share in enumerate(shares):
                totals[i] += math.comb(n, k) * share**k * (1 - share) ** (n - k)
    return totals


def usual_model(n: int, trials: int) -> dict[str, float]:
    """Return how often the verdict is "use it" for a model that is right but for noise.

    With it come the shares of intervals, of what argmax has more, that lie below the mean and above it.
    """
    rng = np.random.default_rng([SEED, n])
    adapter = Adapter.from_graph(LabelGraph.grid((1, 15)), ["0,0", "0,7", "0,14"], outputs="logits")

    def evaluation(n: int, resamples: int) -> Evaluation:
        position = rng.integers(0, 15, n)
        logits = -np.abs(position[:, None] + rng.normal(0, 1, (n, 1)) - [0, 7, 14]) / 3.5
        return evaluate(adapter, logits, [f"0,{i}" for i in position.tolist()], resamples=resamples)

    mean = evaluation(100_000, 1)["argmax"].difference.mean
    used, low, high = 0, 0, 0
    for _ in range(trials):
        found = evaluation(n, RESAMPLES)
        used += found.verdict.answer == "use it"
        low += found["argmax"].difference.high < mean
        high += found["argmax"].difference.low > mean
    return {"used": used / trials, "low": low / trials, "high": high / trials}


def main() -> None:
    """Simulate, and print the document."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--trials", type=int, default=TRIALS, help="of each distribution and size")
    trials = parser.parse_args().trials
    one_thread()
    intervals = {
        name: {str(n): missed(distribution, n, trials) for n in SIZES}
        for name, distribution in DISTRIBUTIONS.items()
    }
    verdicts = {
        said: {str(n): chances(n, SHARES, world) for n in VERDICT_SIZES} for said, world in WORLDS.items()
    }
    usual = {str(n): usual_model(n, max(1, trials // 2)) for n in SIZES}
    print_document(
        "intervals",
        SEED,
        trials=trials,
        shares=SHARES,
        intervals=intervals,
        verdicts=verdicts,
        usual_model=usual,
    )


if __name__ == "__main__":
    main()
