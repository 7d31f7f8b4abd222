"""The shape that all experiments share: settings, units of work, and a summary with a verdict."""

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

__all__ = ["Experiment", "Line", "Mark", "Panel", "Record", "Summary", "Table", "band"]

S = TypeVar("S")
D = TypeVar("D")

Record = Mapping[str, Any]
"""Plain values, as JSON holds them."""


@dataclass(frozen=True)
class Summary:
    """What an experiment found.

    Attributes
    ----------
    findings : tuple of Finding
        The first is the verdict on the experiment's own claim; the others are what belongs beside it.
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
    """One claim and how it is tested, in units that can be computed in any order and never twice.

    Attributes
    ----------
    name : str
        As on the command line.
    claim : str
        One sentence: which claim of the source paper it tests.
    source : str
        Where in the source paper the claim stands, and its own figures where it gives some.
    inputs : str
        What data it runs on by default.
    own_files : tuple of tuple of str
        Which files of a user's own it takes instead: sets of options, one of which is to be given, and
        nothing beside it.
    command : str
        The command that repeats the source paper's own table with a user's files; empty where nothing is
        missing.
    version : int
        Rises whenever a unit's result may change.
    """

    name: ClassVar[str]
    claim: ClassVar[str]
    source: ClassVar[str]
    inputs: ClassVar[str]
    own_files: ClassVar[tuple[tuple[str, ...], ...]] = ()
    command: ClassVar[str] = ""
    version: ClassVar[int] = 1

    @abstractmethod
    def settings(self, *, quick: bool = False) -> S:
        """Return the settings: those of the claim, or small ones that run in a few seconds."""

    @abstractmethod
    def units(self, settings: S) -> Sequence[Record]:
        """Return the parameters of each unit of work, in order."""

    def installed_data(self, files: Files | None) -> Mapping[str, str]:
        """Return the sha256 of each data file that is read from where it is installed, by what it is called.

        Nothing by default: data that come with a library are those of its version, and a user's files have
        digests of their own.
        """
        return {}

    @abstractmethod
    def prepare(self, settings: S, files: Files | None) -> D:
        """Load what all units share; not called where no unit is left to compute."""

    @abstractmethod
    def measure(self, data: D, settings: S, unit: Record) -> Record:
        """Compute one unit: plain values with ``checked_rows``, the rows on which argmax was verified."""

    @abstractmethod
    def summarize(self, settings: S, results: Sequence[tuple[Record, Record]]) -> Summary:
        """Return findings, tables and panels from (parameters, result) of every unit, in order."""


@dataclass
class _Band:
    x: list[float] = field(default_factory=list)
    y: list[float] = field(default_factory=list)
    low: list[float] = field(default_factory=list)
    high: list[float] = field(default_factory=list)


def band(name: str, points: Mapping[float, Sequence[float]]) -> Line:
    """Return the line through the mean of the trials at each x, in a band from the least to the largest.

    >>> band("loki", {2.0: [1.0, 3.0]}).y
    (2.0,)
    """
    drawn = _Band()
    for x, values in points.items():
        drawn.x.append(float(x))
        drawn.y.append(sum(values) / len(values))
        drawn.low.append(min(values))
        drawn.high.append(max(values))
    return Line(name, tuple(drawn.x), tuple(drawn.y), tuple(drawn.low), tuple(drawn.high))
