"""Define the data of each type of picture, with its description in words."""

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
    """One curve of a panel: for each x, a mean and the lower and upper end of a band around it."""

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
    """A named place on the x-axis."""

    name: str
    x: float


@dataclass(frozen=True)
class Panel:
    """Curves over the same x-axis."""

    title: str
    x_label: str
    y_label: str
    lines: tuple[Line, ...]
    log_x: bool = False
    log_y: bool = False
    marks: tuple[Mark, ...] = ()

    @property
    def alternative(self) -> str:
        """Return a description in words: the ends of each curve, and the marks."""
        said = [f"{self.y_label} over {self.x_label}."]
        for line in self.lines:
            ends = f"{shown(line.y[0])} at {shown(line.x[0])}"
            if len(line.x) > 1:
                ends = f"from {ends} to {shown(line.y[-1])} at {shown(line.x[-1])}"
                low = min(range(len(line.y)), key=line.y.__getitem__)
                if low not in (0, len(line.y) - 1):
                    ends += f", with a minimum of {shown(line.y[low])} at {shown(line.x[low])}"
            said.append(f"{line.name}: {ends}.")
        said += [f"{mark.name} is marked at {shown(mark.x)}." for mark in self.marks]
        return " ".join(said)


@dataclass(frozen=True)
class Histogram:
    """The distances from the answers of each rule to the truth.

    Attributes
    ----------
    title, x_label : str
    edges : tuple of float
        The ends of the bins. If all are whole numbers, each bar is centered on the lower end of its bin. If
        there are so many bins that neighboring bins are joined, each bar covers the bins that it joins.
    rules : tuple of (str, tuple of int, float)
        The name of each rule, the number of samples in each bin, and E[d²].
    oracles : tuple of str
        The names of the rules that know the truth, and so cannot be chosen.
    """

    title: str
    x_label: str
    edges: tuple[float, ...]
    rules: tuple[tuple[str, tuple[int, ...], float], ...]
    oracles: tuple[str, ...] = ()

    @property
    def alternative(self) -> str:
        """Return a description in words: each rule's share of samples in the first bin, and its median."""
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
    """The accuracy and the mean confidence of the samples in each bin of confidence."""

    title: str
    bins: Reliability

    @property
    def alternative(self) -> str:
        """Return a description in words: how far confidence is from accuracy."""
        b = self.bins
        return (
            f"Accuracy against confidence in {sum(n > 0 for n in b.counts)} bins that hold {b.n} samples: "
            f"mean confidence {shown(b.mean_confidence)}, accuracy {shown(b.mean_accuracy)}, expected "
            f"calibration error {shown(b.ece)}, largest gap {shown(b.largest_gap)}."
        )


@dataclass(frozen=True)
class Branches:
    """The errors of two rules in each branch of the hierarchy.

    Attributes
    ----------
    title, before, after : str
        `before` is the rule to beat, and `after` the rule that should beat it.
    rows : tuple of (str, int, float, float)
        The name of each branch, its number of samples, and E[d²] of `before` and of `after`; the largest
        branches first.
    """

    title: str
    before: str
    after: str
    rows: tuple[tuple[str, int, float, float], ...]

    @property
    def alternative(self) -> str:
        """Return a description in words: each branch with the errors of both rules."""
        won = sum(after < before for _, _, before, after in self.rows)
        each = "; ".join(
            f"{name} ({n} samples): {shown(before)} to {shown(after)}" for name, n, before, after in self.rows
        )
        return (
            f"E[d²] by branch of the hierarchy, from {self.before} to {self.after}; {self.after} is better "
            f"in {won} of {len(self.rows)} branches. {each}."
        )


@dataclass(frozen=True)
class Differences:
    """Differences between the errors of two rules on the same data, with intervals.

    A difference is the error of the first rule minus the error of the second rule, or the share of the first
    error that the second rule saves. If it is above zero, the second rule is better.

    Attributes
    ----------
    title, x_label, better, worse : str
        `better` and `worse` are the texts for rows in which the second rule is better or worse.
    rows : tuple of (str, float, float or None, float or None)
        For each row: its name, the difference, and the two ends of the interval of the difference, or None
        twice if there is no interval. The name is a setting, or the first rule.
    oracles : tuple of str
        The names of the rows whose first rule knows the truth. Such a rule is a bound, and cannot be chosen.
    """

    title: str
    x_label: str
    better: str
    worse: str
    rows: tuple[tuple[str, float, float | None, float | None], ...]
    oracles: tuple[str, ...] = ()

    @property
    def alternative(self) -> str:
        """Return a description in words: each difference with its interval."""
        each = "; ".join(
            f"{name}: {shown(mean)}"
            + ("" if low is None or high is None else f" ({shown(low)} to {shown(high)})")
            for name, mean, low, high in self.rows
        )
        return f"{self.x_label}. {each}."


@dataclass(frozen=True)
class Region:
    """The region where one label is the answer.

    Each corner is given as weights of the three observed labels; `share` is the share of the area of the
    triangle.
    """

    name: str
    corners: tuple[tuple[float, float, float], ...]
    share: float
    observed: bool


@dataclass(frozen=True)
class Regions:
    """The answers to all probability vectors of three classes."""

    title: str
    names: tuple[str, str, str]
    regions: tuple[Region, ...]

    @property
    def alternative(self) -> str:
        """Return a description in words: the regions, each with its share of the triangle."""
        each = "; ".join(f"{region.name} {region.share:.1%}" for region in self.regions[:12])
        more = f"; and {len(self.regions) - 12} smaller regions" if len(self.regions) > 12 else ""
        return (
            f"Every probability vector over {', '.join(self.names)} is a point of a triangle; "
            f"{len(self.regions)} labels are the answer somewhere in it, with these shares of its "
            f"area: {each}{more}."
        )


Picture = Panel | Histogram | ReliabilityDiagram | Branches | Differences | Regions
"""The types of pictures in reports."""
