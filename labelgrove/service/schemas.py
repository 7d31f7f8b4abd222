"""The shapes of answers, for the OpenAPI document; a test compares them with what routes answer."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

__all__ = [
    "About",
    "Accepted",
    "Bound",
    "BundleDocument",
    "BundleList",
    "Context",
    "CypherRows",
    "Estimated",
    "Everywhere",
    "Explained",
    "Health",
    "Item",
    "JobDocument",
    "JobList",
    "KindList",
    "LabelDocument",
    "LabelItem",
    "LabelPage",
    "LabelResults",
    "LabelVersions",
    "MapDocument",
    "OntologyDocument",
    "OverviewDocument",
    "ProblemDocument",
    "RecipeList",
    "Scores",
    "SearchPage",
    "UnitList",
    "ValidationReport",
    "VersionDocument",
    "VersionList",
    "Window",
    "ok",
]


class _Open(BaseModel):
    """A document that may get further entries in later releases."""

    model_config = ConfigDict(extra="allow")


class ValidationReport(_Open):
    """Every defect of a hierarchy."""

    accepted: bool
    n_labels: int | None = None
    n_edges: int | None = None


class ProblemDocument(_Open):
    """Why a request was refused (RFC 9457)."""

    type: str
    title: str
    status: int
    detail: str
    exit_code: int
    next_step: str
    report: ValidationReport | None = None


class Item(_Open):
    """One label of a list."""

    idx: int
    key: str
    name: str
    depth: int | None
    leaf: bool
    deprecated: bool


class _OfVersion(_Open):
    ontology: str
    version: str


class LabelItem(Item):
    """One label of a version."""

    ontology: str
    version: str


class LabelPage(_OfVersion):
    """A page of a list of labels."""

    items: list[Item]
    total: int
    next: str | None


class _Hit(Item):
    match: Literal["key", "exact", "prefix", "words", "part"]
    matched: dict[str, str | None]


class SearchPage(_OfVersion):
    """A page of the labels that a search found."""

    items: list[_Hit]
    total: int
    next: str | None
    facets: dict[str, Any] | None = None
    close: list[str] | None = None


class _Name(_Open):
    text: str
    kind: str
    language: str | None


class _Label(Item):
    version: str
    definition: str | None
    line: int | None
    names: list[_Name]
    parents: list[Item] = []
    path: list[Item] = []
    n_children: int = 0
    n_siblings: int = 0
    n_below: int = 0


class LabelDocument(_Label):
    """Everything about one label."""

    ontology: str


class _Part(_Open):
    version: str
    items: list[Item]
    total: int
    next: str | None


class Context(_OfVersion):
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


class Window(_OfVersion):
    """Rows of a tree."""

    at: int
    items: list[_Row]
    total: int


class _MapRow(_Open):
    depth: int
    cells: list[tuple[int, float, float]]
    crowded: list[tuple[int, int]]
    marked: dict[str, list[int]] | None = None
    points: dict[str, list[tuple[int, float, float]]] | None = None


class VersionDocument(_Open):
    """One version of an ontology."""

    ontology: str
    digest: str
    state: str
    current: bool
    n_labels: int
    n_edges: int
    layout: str
    source: str | None
    created_at: str


class LabelResults(_OfVersion):
    """What the newest results say of a label."""

    items: list[dict[str, Any]]
    total: int


class LabelVersions(_OfVersion):
    """The versions that have a label."""

    items: list[VersionDocument]
    total: int
    n_versions: int


class MapDocument(_OfVersion):
    """A part of the map."""

    width: int
    focus: Item | None
    above: list[Item]
    n_labels: int
    first: int
    rows: list[_MapRow]
    names: dict[str, str]


class VersionList(_Open):
    """Versions, oldest first."""

    items: list[VersionDocument]
    total: int


class OntologyDocument(VersionDocument):
    """A version, with all versions and bundles of its ontology."""

    roots: list[str]
    n_roots: int
    n_leaves: int
    depth: int | None
    is_tree: bool
    is_weighted: bool
    versions: list[VersionDocument]
    bundles: list[dict[str, Any]]


class JobDocument(_Open):
    """One job."""

    id: str
    kind: str
    parameters: dict[str, Any]
    state: str
    created_at: str
    finished_at: str | None
    result_sha256: str | None
    error: str | None
    units: dict[str, int]
    stale: bool
    asked_by: str | None = None


class JobList(_Open):
    """Jobs, the newest first."""

    items: list[JobDocument]
    total: int


class _Parameter(_Open):
    name: str
    required: bool
    default: Any
    values: str


class _Kind(_Open):
    kind: str
    version: int
    queue: str
    named: bool
    parameters: list[_Parameter]


class KindList(_Open):
    """Kinds of jobs."""

    items: list[_Kind]
    total: int


class Estimated(_Open):
    """What a job would need."""

    units: int
    n_bytes: int
    graph_rows: int
    seconds: float | None
    least_bytes: int
    free_bytes: int | None


class _Verdict(_Open):
    job: str
    model: str
    answer: str
    stale: bool


class _Overviewed(VersionDocument):
    depth: int | None
    n_versions: int
    stale_jobs: int
    evaluation: _Verdict | None


class _Note(_Open):
    part: str
    ok: bool | None
    uses: str
    detail: str


class OverviewDocument(_Open):
    """A home at a glance."""

    ontologies: list[_Overviewed]
    unfinished: list[JobDocument]
    notes: list[_Note] | None


class _Found(_OfVersion):
    items: list[_Hit]
    total: int


class Everywhere(_Open):
    """What a text finds in each ontology."""

    items: list[_Found]
    total: int


class UnitList(_Open):
    """Units of a job."""

    items: list[dict[str, Any]]
    total: int


class CypherRows(_Open):
    """Rows that a query returned."""

    columns: list[str]
    rows: list[list[Any]]
    truncated: bool


class Health(_Open):
    """Whether the service can answer."""

    status: Literal["ok", "unavailable"]


class _Recipe(_Open):
    name: str
    title: str
    statement: str
    parameters: dict[str, Any]


class RecipeList(_Open):
    """Recipes of the cookbook."""

    items: list[_Recipe]
    total: int


class Accepted(_Open):
    """A job that was submitted."""

    job: str
    state: str
    location: str


class BundleItem(_Open):
    """A named bundle."""

    bundle: str
    sha256: str
    version: str
    stale: bool


class BundleList(_Open):
    """Named bundles."""

    items: list[BundleItem]
    total: int


class BundleDocument(_Open):
    """The properties of a bundle."""

    digest: str
    n_labels: int
    n_observed: int
    observed: list[str]


class Answer(_Open):
    """One answer to a row."""

    row: int
    rank: int
    key: str
    name: str
    variance: float
    n_tied: int | None


class Scores(_Open):
    """Answers to rows of outputs."""

    bundle: str
    digest: str
    items: list[Answer]


class Explained(_Open):
    """Why a row has its answer."""

    answer: str
    value: float
    n_tied: int
    argmax: str
    runner_up: str | None
    path: list[str]


class BoundColumn(_Open):
    """The observed label that a column means."""

    column: str
    key: str | None
    problem: str | None


class Bound(_Open):
    """What columns of a model mean, and the observed labels without a column."""

    items: list[BoundColumn]
    total: int
    missing: list[str]


class About(_Open):
    """The release of the service and its limits."""

    name: str
    release: str
    limits: dict[str, float]


_PROBLEM: dict[str, Any] = {
    "description": "A problem document.",
    "content": {"application/problem+json": {"schema": {"$ref": "#/components/schemas/ProblemDocument"}}},
}


def ok(model: type[BaseModel] | None, *further: int, status: int = 200) -> dict[int | str, dict[str, Any]]:
    """Return the answers that a route declares: its document, and the problems that any route may answer.

    `further` are statuses that only this route answers with a problem.
    """
    problems = (400, 401, 403, 404, 409, 413, 421, 422, 429, 500, 503, *further)
    declared: dict[int | str, dict[str, Any]] = {code: _PROBLEM for code in problems}
    if model is not None:
        declared[status] = {"model": model}
    declared[304] = {"description": "The client has this answer already."}
    return declared
