"""The data of each kind of picture, and what it shows in words."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate

from labelgrove.adapter.evaluation.measures.calibrationerror import Reliability
from labelgrove.adapter.texttable import shown

__all__ = [
    "Branches",
    "Differences",
    "Histogram",
    "Line",
    "Mark",
    "Panel",
    "Picture",
    "Region",
    "Regions",
    "ReliabilityDiagram",
]


@dataclass(frozen=True)
class Line:
    """One curve of a panel: a mean with a band, point by point."""

    name: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]

    @classmethod
    def bare(cls, name: str, x: tuple[float, ...], y: tuple[float, ...]) -> Line:
        """Return a curve without a band."""
        return cls(name, x, y, y, y)


@dataclass(frozen=True)
class Mark:
    """A place on the x-axis that has a name."""

    name: str
    x: float


@dataclass(frozen=True)
class Panel:
    """Curves over one axis."""

    title: str
    x_label: str
    y_label: str
    lines: tuple[Line, ...]
    log_x: bool = False
    log_y: bool = False
    marks: tuple[Mark, ...] = ()

    @property
    def alternative(self) -> str:
        """Return the ends of each curve, and the marks, in words."""
        said = [f"{self.y_label} over {self.x_label}."]
        for line in self.lines:
            ends = f"{shown(line.y[0])} at {shown(line.x[0])}"
            if len(line.x) > 1:
                ends = f"from {ends} to {shown(line.y[-1])} at {shown(line.x[-1])}"
                low = min(range(len(line.y)), key=line.y.__getitem__)
                if low not in (0, len(line.y) - 1):
                    ends += f", least {shown(line.y[low])} at {shown(line.x[low])}"
            said.append(f"{line.name}: {ends}.")
        said += [f"{mark.name} is marked at {shown(mark.x)}." for mark in self.marks]
        return " ".join(said)


@dataclass(frozen=True)
class Histogram:
    """How far the answers of each rule are from the truth.

    Attributes
    ----------
    title, x_label : str
    edges : tuple of float
        Ends of the bins; bins of whole numbers stand at their lower end.
    rules : tuple of (str, tuple of int, float)
        Name, number of samples in each bin, and E[d²].
    oracles : tuple of str
        Names of those that know the truth, and are not rules to choose.
    """

    title: str
    x_label: str
    edges: tuple[float, ...]
    rules: tuple[tuple[str, tuple[int, ...], float], ...]
    oracles: tuple[str, ...] = ()

    @property
    def alternative(self) -> str:
        """Return the share at distance 0 and the median of each rule in words."""
        said = ["Share of samples at each distance from the truth, one row for each rule."]
        for name, counts, squared in self.rules:
            total = sum(counts)
            middle = next(i for i, n in enumerate(accumulate(counts)) if 2 * n >= total)
            said.append(
                f"{name}: {counts[0] / total:.0%} in the first bin, median {shown(self.edges[middle])}, "
                f"E[d²] {shown(squared)}."
            )
        return " ".join(said)


@dataclass(frozen=True)
class ReliabilityDiagram:
    """Accuracy against confidence, bin by bin."""

    title: str
    bins: Reliability

    @property
    def alternative(self) -> str:
        """Return how far confidence is from accuracy in words."""
        b = self.bins
        return (
            f"Accuracy against confidence in {sum(n > 0 for n in b.counts)} bins that hold {b.n} samples: "
            f"mean confidence {shown(b.mean_confidence)}, accuracy {shown(b.mean_accuracy)}, expected "
            f"calibration error {shown(b.ece)}, largest gap {shown(b.largest_gap)}."
        )


@dataclass(frozen=True)
class Branches:
    """Where in the hierarchy one rule beats another.

    Attributes
    ----------
    title, before, after : str
        The rule that is to be beaten, and the one that should beat it.
    rows : tuple of (str, int, float, float)
        Branch, samples, and E[d²] before and after; the largest branches first.
    """

    title: str
    before: str
    after: str
    rows: tuple[tuple[str, int, float, float], ...]

    @property
    def alternative(self) -> str:
        """Return each branch with both errors in words."""
        won = sum(after < before for _, _, before, after in self.rows)
        each = "; ".join(
            f"{name} ({n} samples): {shown(before)} to {shown(after)}" for name, n, before, after in self.rows
        )
        return (
            f"E[d²] by branch of the hierarchy, from {self.before} to {self.after}, which is better in {won} "
            f"of {len(self.rows)}. {each}."
        )


@dataclass(frozen=True)
class Differences:
    """Paired differences with their intervals; above zero the second rule is better.

    Attributes
    ----------
    title, x_label, better, worse : str
        What is said where the second rule is better, and where it is worse.
    rows : tuple of (str, float, float or None, float or None)
        Setting, mean, and ends of the interval; None where there is none.
    oracles : tuple of str
        Settings that know the truth: bounds, and no rules to choose.
    """

    title: str
    x_label: str
    better: str
    worse: str
    rows: tuple[tuple[str, float, float | None, float | None], ...]
    oracles: tuple[str, ...] = ()

    @property
    def alternative(self) -> str:
        """Return each difference with its interval in words."""
        each = "; ".join(
            f"{name}: {shown(mean)}"
            + ("" if low is None or high is None else f" ({shown(low)} to {shown(high)})")
            for name, mean, low, high in self.rows
        )
        return f"{self.x_label}. {each}."


@dataclass(frozen=True)
class Region:
    """Where one label is answered: corners as weights of the three observed labels, and share of the area."""

    name: str
    corners: tuple[tuple[float, float, float], ...]
    share: float
    observed: bool


@dataclass(frozen=True)
class Regions:
    """Which label answers each probability vector of three classes."""

    title: str
    names: tuple[str, str, str]
    regions: tuple[Region, ...]

    @property
    def alternative(self) -> str:
        """Return the regions and their shares in words."""
        each = "; ".join(f"{region.name} {region.share:.1%}" for region in self.regions[:12])
        more = f"; and {len(self.regions) - 12} smaller ones" if len(self.regions) > 12 else ""
        return (
            f"Every probability vector over {', '.join(self.names)} is a point of a triangle; "
            f"{len(self.regions)} labels are answered somewhere in it, with these shares of its "
            f"area: {each}{more}."
        )


Picture = Panel | Histogram | ReliabilityDiagram | Branches | Differences | Regions
"""What a report can draw."""
