"""Define the record of a claim of the source paper, and the interface of the experiment that tests it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from labelgrove.adapter.texttable import Table
from labelgrove.experiments.contrast import Finding
from labelgrove.report.picturedata import Line, Mark, Panel

if TYPE_CHECKING:
    from labelgrove.datasets.ownfiles import Files

__all__ = ["Claim", "Experiment", "Line", "Mark", "Panel", "Record", "Summary", "Table", "band"]

S = TypeVar("S")
D = TypeVar("D")

Record = Mapping[str, Any]
"""Plain values by name, as in a JSON object."""


@dataclass(frozen=True)
class Claim:
    """A claim of the source paper, and the files on which it can be tested.

    Attributes
    ----------
    name : str
        Name of the experiment on the command line.
    sentence : str
        The claim in one sentence.
    source : str
        Where the source paper makes the claim, and its figures if it gives some.
    inputs : str
        The data on which the experiment tests it by default.
    own_files : tuple of tuple of str
        The files of a user on which the experiment can test the claim instead. Each inner tuple is a set
        of options for files. The user has to give all options of one set, and no other option for a file.
    command : str
        The command that repeats the table of the source paper, for a user who has the data of that table as
        files; empty if no files are needed.
    """

    name: str
    sentence: str
    source: str
    inputs: str
    own_files: tuple[tuple[str, ...], ...] = ()
    command: str = ""


@dataclass(frozen=True)
class Summary:
    """The findings of an experiment, with tables and panels.

    Attributes
    ----------
    findings : tuple of Finding
        The first is the verdict on the experiment's own claim; the others supplement it.
    tables : tuple of Table
    panels : tuple of Panel
    notes : tuple of str
    """

    findings: tuple[Finding, ...]
    tables: tuple[Table, ...] = ()
    panels: tuple[Panel, ...] = ()
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {
            "findings": [finding.to_dict() for finding in self.findings],
            "tables": [asdict(table) for table in self.tables],
            "panels": [asdict(panel) for panel in self.panels],
            "notes": list(self.notes),
        }


class Experiment(ABC, Generic[S, D]):
    """The test of one claim, divided into units that can be computed in any order.

    Attributes
    ----------
    claim : Claim
        What is tested.
    version : int
        Rises whenever the result of a unit may change.
    """

    claim: ClassVar[Claim]
    version: ClassVar[int] = 1

    @abstractmethod
    def settings(self, *, quick: bool = False) -> S:
        """Return the default settings; with `quick`, return small ones that run in a few seconds."""

    @abstractmethod
    def units(self, settings: S) -> Sequence[Record]:
        """Return the parameters of each unit of work, in order."""

    def installed_data(self, files: Files | None) -> Mapping[str, str]:
        """Return a dictionary with the sha256 of each installed data file that the experiment reads.

        The keys of the dictionary are the names of the data.

        By default, no such file is read. Data that come with a library need no digest, because the version of
        the library determines them. The files of a user have separate digests.
        """
        return {}

    def packages(self, settings: S) -> Mapping[str, str]:
        """Return a dictionary from each package with a pretrained model to the extra that installs it.

        By default, no pretrained model is used.
        """
        return {}

    @abstractmethod
    def prepare(self, settings: S, files: Files | None) -> D:
        """Load the data that all units share; not called if every unit has been computed before."""

    @abstractmethod
    def measure(self, data: D, settings: S, unit: Record) -> Record:
        """Return the result of one unit, as plain values.

        Its entry ``checked_rows`` is the number of rows on which argmax was verified to be the Fréchet mean
        on the complete graph.
        """

    @abstractmethod
    def summarize(self, settings: S, results: Sequence[tuple[Record, Record]]) -> Summary:
        """Return findings, tables and panels from the (parameters, result) pairs of all units, in order."""


@dataclass
class _Band:
    x: list[float] = field(default_factory=list)
    y: list[float] = field(default_factory=list)
    low: list[float] = field(default_factory=list)
    high: list[float] = field(default_factory=list)


def band(name: str, points: Mapping[float, Sequence[float]]) -> Line:
    """Return a line through the mean of the values at each x, and a band around it.

    The band extends from the smallest value to the largest.

    >>> band("frechet_mean", {2.0: [1.0, 3.0]}).y
    (2.0,)
    """
    drawn = _Band()
    for x, values in points.items():
        drawn.x.append(float(x))
        drawn.y.append(sum(values) / len(values))
        drawn.low.append(min(values))
        drawn.high.append(max(values))
    return Line(name, tuple(drawn.x), tuple(drawn.y), tuple(drawn.low), tuple(drawn.high))
