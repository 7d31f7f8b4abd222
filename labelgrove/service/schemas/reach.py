"""The shapes of answers about what classes reach."""

from __future__ import annotations

from labelgrove.service.schemas.labels import MapDocument
from labelgrove.service.schemas.parts import Document, Item, OfVersion

__all__ = ["BoundTexts", "Reach"]


class _Counts(Document):
    reached: int
    unique: int
    unreached: int
    share: float
    status: str


class _Pick(Item):
    round: int
    gain: int
    reached: int


class _Picks(Document):
    status: str
    upper_bound: int
    items: list[_Pick]


class _JobOf(Document):
    job: str
    kind: str
    state: str


class Reach(OfVersion):
    """What classes reach, before and after picks, and which to pick next."""

    metric: str
    labels: str
    n_labels: int
    n_observed: int
    before: _Counts | None
    picks: _Picks | None
    taken: int
    after: _Counts | None
    jobs: list[_JobOf]
    map: MapDocument | None = None


class _BoundText(Document):
    text: str
    key: str | None
    candidates: list[Item]
    problem: str | None
    close: list[str]


class BoundTexts(OfVersion):
    """The label that each text means."""

    items: list[_BoundText]
    total: int
