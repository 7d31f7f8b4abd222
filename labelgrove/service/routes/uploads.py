"""Routes that take a hierarchy as an upload: validate it, or ingest it."""

from __future__ import annotations

import re
import shutil
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Depends, File, Form, UploadFile
from starlette.responses import JSONResponse, Response

from labelgrove.ontology.store.artifacts import check_name
from labelgrove.service import schemas
from labelgrove.service.access.identity import needs
from labelgrove.service.state import OntologyName, Shared
from labelgrove.service.temporary import UPLOAD, temporary_file

__all__ = ["router"]

router = APIRouter(prefix="/v1/ontologies/{ontology}", tags=["uploads"], dependencies=[needs("admin")])

_FILE_NAME = re.compile(r"[^A-Za-z0-9._-]+")


class Reading:
    """The options of reading that a form may have, as ``grove ingest`` has them."""

    def __init__(
        self,
        format_: Annotated[str | None, Form(alias="format", description="Format of the file.")] = None,
        direction: Annotated[str | None, Form(description="Order of the columns of an edge.")] = None,
        policy: Annotated[
            list[str] | None, Form(description="`DEFECT=POLICY`: what to do about a kind of defect.")
        ] = None,
        root: Annotated[str, Form(description="Key of the root, if one has to be added.")] = "root",
        delimiter: Annotated[str | None, Form(description="Delimiter of a table.")] = None,
        relation: Annotated[str | None, Form(description="Relation that makes the hierarchy.")] = None,
        language: Annotated[str | None, Form(description="Language of the preferred names.")] = None,
    ) -> None:
        from labelgrove.ontology.readers.defectrules import policies_of  # it brings all readers

        options = {
            "format": format_,
            "direction": direction,
            "delimiter": delimiter,
            "relation": relation,
            "language": language,
        }
        self.options: dict[str, Any] = {name: value for name, value in options.items() if value}
        self.options |= {"root": root, "policies": policies_of(policy or [])}


def _saved(upload: UploadFile) -> AbstractContextManager[Path]:
    """Return the context that has the path of an uploaded file."""
    name = _FILE_NAME.sub("_", Path(upload.filename or "").name).lstrip(".")[-100:] or "upload"
    return temporary_file(UPLOAD, name, lambda file: shutil.copyfileobj(upload.file, file))


Upload = Annotated[UploadFile, File(description="The hierarchy, plain or gzip.")]


@router.post("/validate", responses=schemas.ok(schemas.ValidationReport, 501, 503))
def validate(
    shared: Shared, ontology: OntologyName, file: Upload, reading: Annotated[Reading, Depends()]
) -> Response:
    """Report every defect of a hierarchy, and register nothing."""
    check_name(ontology)
    with _saved(file) as path:
        return JSONResponse(shared.uploads.read(path, reading.options)["report"])


@router.post("/ingest", status_code=202, responses=schemas.ok(schemas.Accepted, 501, 503, status=202))
def ingest(
    shared: Shared,
    ontology: OntologyName,
    file: Upload,
    reading: Annotated[Reading, Depends()],
    shrink: Annotated[bool, Form(description="Accept less than half of the labels.")] = False,
) -> Response:
    """Check a hierarchy and submit a job that makes it the current version of the ontology.

    A hierarchy with defects is refused with status 422; `report` of the problem document lists all of them.
    """
    check_name(ontology)
    with _saved(file) as path:
        found = shared.uploads.read(path, reading.options, ontology=ontology, shrink=shrink)
    location = f"/v1/jobs/{found['job']}"
    document = {**found, "location": location}
    return JSONResponse(document, status_code=202, headers={"Location": location})
