"""The shapes of answers about bundles, and of scores."""

from __future__ import annotations

from labelgrove.service.schemas.parts import Document, Item

__all__ = [
    "Answer",
    "Bound",
    "BoundColumn",
    "BundleDocument",
    "BundleItem",
    "BundleList",
    "Explained",
    "HeatDocument",
    "OneRow",
    "Scores",
]


class BundleItem(Document):
    """A named bundle."""

    bundle: str
    sha256: str
    version: str
    stale: bool


class BundleList(Document):
    """Named bundles."""

    items: list[BundleItem]
    total: int


class BundleDocument(Document):
    """The properties of a bundle."""

    digest: str
    n_labels: int
    n_observed: int
    observed: list[str]


class Answer(Document):
    """One answer to a row."""

    row: int
    rank: int
    key: str
    name: str
    variance: float
    n_tied: int | None


class Scores(Document):
    """Answers to rows of outputs."""

    bundle: str
    digest: str
    items: list[Answer]


class Explained(Document):
    """Why a row has its answer."""

    answer: str
    value: float
    n_tied: int
    argmax: str
    runner_up: str | None
    path: list[str]


class OneRow(Document):
    """A row of outputs in the order of a bundle."""

    row: list[float]
    n_rows: int | None


class _HeatRow(Document):
    depth: int
    lowest: list[float | None]
    mean: list[float | None]
    crowded: str
    observed: list[tuple[int, float, float]]
    answer: list[tuple[int, float, float]]


class HeatDocument(Document):
    """Why a row has its answer, and the variances of all candidates in the cells of the map."""

    bundle: str
    digest: str
    ontology: str
    version: str
    explained: Explained
    answer: Item
    edges: list[float]
    rows: list[_HeatRow]


class _Candidate(Document):
    key: str
    name: str


class BoundColumn(Document):
    """The observed label that a column means."""

    column: str
    key: str | None
    candidates: list[_Candidate]
    problem: str | None


class Bound(Document):
    """What columns of a model mean, and the observed labels without a column."""

    items: list[BoundColumn]
    total: int
    missing: list[str]
