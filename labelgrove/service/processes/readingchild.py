"""Read one upload; ``python -m labelgrove.service.processes.readingchild`` ends when its parent does.

The request is one line of JSON on standard input, and the answer is one document on standard output, as
`labelgrove.service.processes.reading` describes them. FastAPI is not imported here, to begin at once.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

from labelgrove.documents.readings import describe_reading
from labelgrove.ontology.errors import DefectsError, GroveError
from labelgrove.ontology.readers.reading import read
from labelgrove.service.processes.child import end_with_parent

__all__: list[str] = []


def _answer(request: dict[str, Any]) -> dict[str, Any]:
    path, ontology = Path(request["path"]), request["ontology"]
    result = read(path, strict=ontology is not None, **request["options"])
    reply: dict[str, Any] = {"report": describe_reading(result.report, result.graph)}
    if ontology is not None:
        from labelgrove.ontology.settings import Settings
        from labelgrove.ontology.versions.workspace import Workspace
        from labelgrove.workers import client

        settings = Settings(**(request["settings"] | {"home": Path(request["settings"]["home"])}))
        with Workspace(settings) as whole:
            workspace = whole.seen_by(request["asked_by"], request["only"])
            job = client.submit_ingest(
                workspace, ontology, result, source=path.name, shrink=request["shrink"], wait=False
            )
        reply |= {"job": job.id, "state": str(job.state)}
    return reply


def _line() -> bytes:
    """Return the first line of standard input; what follows belongs to the watch of the parent."""
    line = b""
    while not line.endswith(b"\n") and (byte := os.read(0, 1)):
        line += byte
    return line


def _without(value: Any, folder: str) -> Any:
    """Return a document in which the names of files in a folder stand without it."""
    if isinstance(value, str):
        return value.replace(folder, "")
    if isinstance(value, dict):
        return {name: _without(one, folder) for name, one in value.items()}
    if isinstance(value, list):
        return [_without(one, folder) for one in value]
    return value


def _main() -> None:
    request = json.loads(_line())
    end_with_parent()
    try:
        reply = _answer(request)
    except GroveError as error:
        reply = {"error": type(error).__name__, "message": str(error)}
        if isinstance(error, DefectsError) and error.report is not None:
            reply["report"] = describe_reading(error.report, None)
    sys.stdout.write(json.dumps(_without(reply, f"{Path(request['path']).parent}/")))


if __name__ == "__main__":
    _main()
