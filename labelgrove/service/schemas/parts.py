"""Parts of which answers are made, and what every route declares."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict

__all__ = [
    "Document",
    "Item",
    "OfVersion",
    "ProblemDocument",
    "ValidationReport",
    "ok",
]


class Document(BaseModel):
    """A document that may get further entries in later releases."""

    model_config = ConfigDict(extra="allow")


class ValidationReport(Document):
    """Every defect of a hierarchy."""

    accepted: bool
    n_labels: int | None = None
    n_edges: int | None = None


class ProblemDocument(Document):
    """Why a request was refused (RFC 9457)."""

    type: str
    title: str
    status: int
    detail: str
    exit_code: int
    next_step: str
    report: ValidationReport | None = None


class OfVersion(Document):
    """A document about one version of an ontology."""

    ontology: str
    version: str


class Item(Document):
    """One label of a list."""

    idx: int
    key: str
    name: str
    depth: int | None
    leaf: bool
    deprecated: bool


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
