"""Routes about ontologies, their versions and their exports."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Literal

from fastapi import APIRouter, Query, Request
from starlette.responses import Response, StreamingResponse

from labelgrove.documents.ontologies import current_versions, describe_ontology, describe_version
from labelgrove.documents.spreadsheet import safe_line
from labelgrove.ontology.errors import InputError
from labelgrove.service import schemas
from labelgrove.service.access.identity import needs
from labelgrove.service.caching import answer, fresh
from labelgrove.service.state import CSV, OntologyName, Shared, SpreadsheetSafe, VersionOpened, VersionText

__all__ = ["router"]

router = APIRouter(prefix="/v1/ontologies", tags=["ontologies"], dependencies=[needs("read")])


@router.get("", responses=schemas.ok(schemas.VersionList))
def list_ontologies(shared: Shared) -> schemas.VersionList:
    """Return the current version of each ontology."""
    items = current_versions(shared.workspace)
    return schemas.VersionList.model_validate({"items": items, "total": len(items)})


@router.get("/{ontology}", responses=schemas.ok(schemas.OntologyDocument))
def show_ontology(
    request: Request, shared: Shared, ontology: OntologyName, version: VersionText = None
) -> Response:
    """Return the properties of a version, with all versions and bundles of the ontology.

    `state_tag` is the value to give as `?state=` together with `version`: such answers never change.
    """
    document = describe_ontology(shared.workspace, ontology, version)
    opened = shared.versions.open(ontology, document["digest"])
    return answer(request, document | {"state_tag": opened.tag})


@router.get("/{ontology}/versions", responses=schemas.ok(schemas.VersionList))
def list_versions(shared: Shared, ontology: OntologyName) -> schemas.VersionList:
    """Return all versions of an ontology, oldest first."""
    shared.workspace.catalog.version(ontology)
    items = [describe_version(version) for version in shared.workspace.catalog.versions(ontology)]
    return schemas.VersionList.model_validate({"items": items, "total": len(items)})


_MEDIA_TYPES = {
    "json": "application/json",
    "records": CSV,
    "edges": "text/tab-separated-values; charset=utf-8",
    "skos": "text/turtle; charset=utf-8",
    "obo": "text/plain; charset=utf-8",
    "graphml": "application/xml",
    "outline": "text/plain; charset=utf-8",
}

Format = Literal["json", "records", "edges", "skos", "obo", "graphml", "outline"]


@router.get(
    "/{ontology}/export",
    response_class=Response,
    responses=schemas.ok(None)
    | {
        200: {
            "description": "The file.",
            "content": {media: {} for media in sorted({*_MEDIA_TYPES.values()})},
        }
    },
)
def export(
    request: Request,
    shared: Shared,
    opened: VersionOpened,
    format_: Annotated[Format, Query(alias="format", description="Format of the file.")] = "json",
    under: Annotated[str | None, Query(description="Key: only this label and those below it.")] = None,
    leave_out: Annotated[bool, Query(description="Leave out what the format cannot hold.")] = False,
    spreadsheet_safe: SpreadsheetSafe = False,
) -> Response:
    """Return a version, or a branch of it, as a file that other programs read."""
    from labelgrove.ontology.exports.exporting import EXPORT_FORMATS
    from labelgrove.ontology.versions.export import export_ontology

    name = opened.version.ontology
    exported = export_ontology(
        shared.workspace,
        name,
        format=format_,
        version=opened.version.digest,
        under=under,
        leave_out=leave_out,
    )
    chosen = EXPORT_FORMATS[format_]
    if spreadsheet_safe and chosen.delimiter is None:
        tables = " or ".join(one.name for one in EXPORT_FORMATS.values() if one.delimiter)
        raise InputError(f"spreadsheet_safe: format {format_} is not a table; give format {tables}")
    lines: Iterable[str] = exported
    if spreadsheet_safe and chosen.delimiter is not None:
        lines = (safe_line(line, chosen.delimiter) for line in exported)
    headers = fresh(request, opened.tag)
    ending = chosen.ending or ".txt"
    headers["Content-Disposition"] = f'attachment; filename="{name}{ending}"'
    return StreamingResponse(
        (part.encode() for part in lines), media_type=_MEDIA_TYPES[format_], headers=headers
    )
