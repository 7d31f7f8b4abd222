"""Routes that take a hierarchy as an upload: validate it, or ingest it."""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Depends, File, Form, UploadFile
from starlette.responses import JSONResponse, Response

from labelgrove.ontology.errors import InputError
from labelgrove.ontology.store.artifacts import check_name
from labelgrove.service import schemas
from labelgrove.service.identity import needs
from labelgrove.service.state import OntologyName, Shared

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
        policies: dict[str, str] = {}
        for pair in policy or []:
            defect, equals, word = pair.partition("=")
            if not equals:
                raise InputError(f"policy: {pair!r:.80} given; write DEFECT=POLICY, such as cycle=fix")
            policies[defect] = word
        options = {
            "format": format_,
            "direction": direction,
            "delimiter": delimiter,
            "relation": relation,
            "language": language,
        }
        self.options: dict[str, Any] = {name: value for name, value in options.items() if value}
        self.options |= {"root": root, "policies": policies}


@contextmanager
def _saved(upload: UploadFile) -> Iterator[Path]:
    """Yield the path of an uploaded file in a folder of its own, which is removed at the end."""
    name = _FILE_NAME.sub("_", Path(upload.filename or "").name).lstrip(".")[-100:] or "upload"
    with tempfile.TemporaryDirectory(prefix="grove-upload-") as folder:
        path = Path(folder) / name
        with path.open("wb") as file:
            shutil.copyfileobj(upload.file, file)
        yield path


_REFUSED: dict[int | str, dict[str, Any]] = {
    422: {
        "description": "The report of a hierarchy with defects, or a problem document.",
        "content": {
            "application/json": {"schema": {"$ref": "#/components/schemas/ValidationReport"}},
            "application/problem+json": {"schema": {"$ref": "#/components/schemas/ProblemDocument"}},
        },
    }
}

Upload = Annotated[UploadFile, File(description="The hierarchy, plain or gzip.")]


@router.post("/validate", responses=schemas.ok(schemas.ValidationReport, 501, 503))
def validate(
    shared: Shared, ontology: OntologyName, file: Upload, reading: Annotated[Reading, Depends()]
) -> Response:
    """Report every defect of a hierarchy, and register nothing."""
    check_name(ontology)
    with _saved(file) as path:
        found = shared.uploads.read(path, reading.options)
    return JSONResponse(found.pop("report") | found)


@router.post(
    "/ingest", status_code=202, responses=schemas.ok(schemas.Accepted, 501, 503, status=202) | _REFUSED
)
def ingest(
    shared: Shared,
    ontology: OntologyName,
    file: Upload,
    reading: Annotated[Reading, Depends()],
    shrink: Annotated[bool, Form(description="Accept less than half of the labels.")] = False,
) -> Response:
    """Check a hierarchy and submit a job that makes it the current version of the ontology.

    A hierarchy with defects is refused with status 422 and the report.
    """
    check_name(ontology)
    with _saved(file) as path:
        found = shared.uploads.read(path, reading.options, ontology=ontology, shrink=shrink)
    report = found["report"]
    if not report["accepted"]:
        return JSONResponse(report, status_code=422)
    location = f"/v1/jobs/{found['job']}"
    document = {"job": found["job"], "state": found["state"], "location": location, "report": report}
    return JSONResponse(document, status_code=202, headers={"Location": location})
