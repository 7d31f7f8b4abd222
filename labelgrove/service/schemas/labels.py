"""The shapes of answers about labels, and of what is drawn of them."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from labelgrove.service.schemas.ontologies import VersionDocument
from labelgrove.service.schemas.parts import Document, Item, OfVersion

__all__ = [
    "Context",
    "Hit",
    "LabelDocument",
    "LabelItem",
    "LabelPage",
    "LabelResults",
    "LabelVersions",
    "MapDocument",
    "SearchPage",
    "Taxonomy",
    "Window",
]


class LabelItem(Item):
    """One label of a version."""

    ontology: str
    version: str


class LabelPage(OfVersion):
    """A page of a list of labels."""

    items: list[Item]
    total: int
    next: str | None


class Hit(Item):
    """A label that a search found, and where its text matched."""

    match: Literal["key", "exact", "prefix", "words", "part"]
    matched: dict[str, str | None]


class SearchPage(OfVersion):
    """A page of the labels that a search found."""

    items: list[Hit]
    total: int
    next: str | None
    facets: dict[str, Any] | None = None
    close: list[str] | None = None


class _Name(Document):
    text: str
    kind: str
    language: str | None


class _Label(Item):
    version: str
    definition: str | None
    line: int | None
    names: list[_Name]
    parents: list[Item] = Field(default_factory=list)
    path: list[Item] = Field(default_factory=list)
    n_children: int = 0
    n_siblings: int = 0
    n_below: int = 0


class LabelDocument(_Label):
    """Everything about one label."""

    ontology: str


class _Part(Document):
    version: str
    items: list[Item]
    total: int
    next: str | None


class Context(OfVersion):
    """A label with what is around it."""

    label: _Label
    siblings: _Part
    children: _Part


class _Row(Item):
    level: int
    reference: bool
    opened: bool
    n_parents: int
    n_below: int


class Window(OfVersion):
    """Rows of a tree."""

    at: int
    items: list[_Row]
    total: int


class _MapRow(Document):
    depth: int
    cells: list[tuple[int, float, float]]
    crowded: list[tuple[int, int]]
    marked: dict[str, list[int]] | None = None
    points: dict[str, list[tuple[int, float, float]]] | None = None


class MapDocument(OfVersion):
    """A part of the map."""

    width: int
    focus: Item | None
    above: list[Item]
    n_labels: int
    first: int
    rows: list[_MapRow]
    names: dict[str, str]


class LabelResults(OfVersion):
    """What the newest results say of a label."""

    items: list[dict[str, Any]]
    total: int


class LabelVersions(OfVersion):
    """The versions that have a label."""

    items: list[VersionDocument]
    total: int
    n_versions: int


class _Entry(Document):
    value: str
    alias: str
    isLeaf: bool


class Taxonomy(OfVersion):
    """One level of a hierarchy, as Label Studio reads it."""

    items: list[_Entry]
