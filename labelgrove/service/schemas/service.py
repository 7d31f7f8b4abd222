"""The shapes of answers about the service, its home and its recipes."""

from __future__ import annotations

from typing import Any, Literal

from labelgrove.service.schemas.jobs import JobDocument
from labelgrove.service.schemas.labels import Hit
from labelgrove.service.schemas.ontologies import VersionDocument
from labelgrove.service.schemas.parts import Document, OfVersion

__all__ = [
    "About",
    "CypherRows",
    "Everywhere",
    "Health",
    "OverviewDocument",
    "Readiness",
    "RecipeList",
]


class About(Document):
    """The release of the service and its limits."""

    name: str
    release: str
    limits: dict[str, float]


class Health(Document):
    """That the service answers."""

    status: Literal["ok"]


class Readiness(Document):
    """Whether the service can answer what needs its parts, and which of them are missing."""

    status: Literal["ok", "unavailable"]
    missing: list[Literal["draining", "database", "schema", "artifacts"]]


class _Verdict(Document):
    job: str
    model: str
    answer: str
    stale: bool


class _Overviewed(VersionDocument):
    depth: int | None
    n_versions: int
    stale_jobs: int
    evaluation: _Verdict | None


class _Note(Document):
    part: str
    ok: bool | None
    uses: str
    detail: str


class OverviewDocument(Document):
    """A home at a glance."""

    ontologies: list[_Overviewed]
    unfinished: list[JobDocument]
    notes: list[_Note] | None


class _Found(OfVersion):
    items: list[Hit]
    total: int


class Everywhere(Document):
    """What a text finds in each ontology."""

    items: list[_Found]
    total: int


class CypherRows(Document):
    """Rows that a query returned."""

    columns: list[str]
    rows: list[list[Any]]
    truncated: bool


class _Recipe(Document):
    name: str
    title: str
    statement: str
    parameters: dict[str, Any]


class RecipeList(Document):
    """Recipes of the cookbook."""

    items: list[_Recipe]
    total: int
