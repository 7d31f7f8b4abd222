"""Pages about bundles: all of them, one of them, and what it would answer to a row."""

from __future__ import annotations

import functools
from http import HTTPStatus
from pathlib import PurePath
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel, Field
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import UploadFile
from starlette.responses import Response

from labelgrove.adapter import Adapter
from labelgrove.adapter.outputs.outputkinds import KINDS, OutputKind
from labelgrove.documents.answers import CANDIDATES, explanation
from labelgrove.documents.bundles import describe_bundles
from labelgrove.ontology.errors import GroveError, InputError
from labelgrove.service.access.identity import actor_of, needs
from labelgrove.service.kept.openversions import Opened
from labelgrove.service.pages.rendering import PageRoute, body_of, command, render, url
from labelgrove.service.problems import Problem, problem_document, problem_of
from labelgrove.service.routes.bundles import ENDINGS, BundleName, Scoring, answer_body, given_row
from labelgrove.service.routes.whatif import TEXT, pasted
from labelgrove.service.state import OntologyName, Shared, State
from labelgrove.service.temporary import no_room

__all__ = ["router"]

router = APIRouter(
    prefix="/bundles", route_class=PageRoute, include_in_schema=False, dependencies=[needs("read")]
)

_SHOWN = 200
_OFFERED = 2_000
"""Most observed labels that a page offers by name; others are typed."""

_TYPES = {ending: kind for kind, ending in reversed(ENDINGS.items())}
"""The type of the body that is a file with an ending: the first one that `ENDINGS` has for it."""

_MOST_FIELDS = 10
_LONGEST_ROW = 60_000  # of an address; longer rows are posted

_CYPHER = """MATCH (l:Label {version: $version, key: $key})
OPTIONAL MATCH (l)-[:IS_A*1..]->(above:Label)
RETURN l.key AS answer, l.name AS name, collect(DISTINCT above.key) AS above"""


class _Posted(BaseModel):
    """The fields of the form that asks about a row."""

    row: str = ""
    number: Annotated[int, Field(ge=0)] = 0
    outputs: OutputKind = "probabilities"
    temperature: float = 1.0
    candidates: str = ""


@router.get("")
def every(request: Request, shared: Shared, ontology: str | None = None) -> Response:
    """List the bundles of an ontology, or of all."""
    return render(
        request,
        "bundles.html",
        title=f"Bundles of {ontology}" if ontology else "Bundles",
        section="bundles",
        ontology=ontology,
        current=True,
        twin=url("v1", "bundles", ontology=ontology),
        cli=command("bundle", "list"),
        of=ontology,
        bundles=describe_bundles(shared.workspace, ontology),
    )


@router.get("/{ontology}/{bundle}")
def one(request: Request, shared: Shared, ontology: OntologyName, bundle: BundleName) -> Response:
    """Show the properties of a bundle, and the classes of its model."""
    adapter = shared.models.open(ontology, bundle)
    about = adapter.bundle.inspect()
    about.pop("arrays")
    return render(
        request,
        "bundle.html",
        title=f"{bundle} · {ontology}",
        section="bundles",
        twin=url("v1", "bundles", ontology, bundle),
        cli="\n".join(
            (
                command("bundle", "inspect", f"{ontology}/{bundle}"),
                command("score", f"{ontology}/{bundle}", "FILE.npy", "--columns", "bundle"),
            )
        ),
        about=about,
        shown=_classes(adapter, _SHOWN),
        **_of(shared, ontology, bundle, adapter),
    )


@router.get("/{ontology}/{bundle}/what-if")
async def ask(
    request: Request,
    shared: Shared,
    ontology: OntologyName,
    bundle: BundleName,
    row: Annotated[str, Query(max_length=_LONGEST_ROW)] = "",
    outputs: OutputKind = "probabilities",
    temperature: float = 1.0,
    candidates: Annotated[str, Query(max_length=100_000)] = "",
) -> Response:
    """Show the form, and what the bundle answers to a row that the address has."""
    given = {"row": row, "outputs": outputs, "temperature": temperature, "candidates": candidates}
    body = row.encode() if row.strip() and "score" in actor_of(request).scopes else None
    drawn = functools.partial(_drawn, request, shared, ontology, bundle, given, TEXT, body, 0)
    if body is None:  # nothing is scored
        return await run_in_threadpool(drawn)
    with shared.scorers.place():
        return await shared.scorers.run(drawn)


@router.post("/{ontology}/{bundle}/what-if", dependencies=[needs("score")])
async def answer(
    request: Request,
    shared: Shared,
    ontology: OntologyName,
    bundle: BundleName,
) -> Response:
    """Show what the bundle answers to one row, pasted or of a file, as the route `explain` does."""
    with shared.scorers.place():  # before the form, which may have a large file, is received
        asked, kind, body = await _posted(request)
        given = asked.model_dump(exclude={"number"})
        drawn = functools.partial(_drawn, request, shared, ontology, bundle, given, kind, body, asked.number)
        return await shared.scorers.run(drawn)


async def _posted(request: Request) -> tuple[_Posted, str, bytes]:
    """Return the fields of a form, and the row or the file that it has with its type."""
    try:
        async with request.form(max_files=1, max_fields=_MOST_FIELDS) as form:
            fields = {name: value for name, value in form.items() if isinstance(value, str)}
            asked = body_of(_Posted, **fields)
            file = form.get("file")
            if not (isinstance(file, UploadFile) and file.filename):
                return asked, TEXT, asked.row.encode()
            ending = PurePath(file.filename).suffix.lower()
            asked.row = ""
            return asked, _TYPES.get(ending, ending), await file.read()
    except OSError as error:  # a large file is kept in a file
        raise no_room(error) from error


def _drawn(
    request: Request,
    shared: State,
    ontology: str,
    bundle: str,
    given: dict[str, Any],
    kind: str,
    body: bytes | None,
    number: int,
) -> Response:
    adapter = shared.models.open(ontology, bundle)
    explained = problem = None
    if body is not None:
        try:
            explained = _explained(shared, adapter, kind, body, given, number)
        except (GroveError, Problem) as error:
            problem = problem_document(problem_of(error))
    opened = _version(shared, ontology, adapter)
    offered = _classes(adapter, _OFFERED)
    typed = ["score", f"{ontology}/{bundle}", "FILE.npy", "--columns", "bundle", "--explain", str(number)]
    typed += [] if given["outputs"] == "probabilities" else ["--outputs", given["outputs"]]
    typed += [] if given["temperature"] == 1 else ["--temperature", f"{given['temperature']:g}"]
    typed += ["--candidates", given["candidates"]] if given["candidates"] else []
    return render(
        request,
        "what-if.html",
        title=f"What if · {bundle} · {ontology}",
        section="bundles",
        twin=url("v1", "bundles", ontology, bundle),
        cli=command(*typed),
        cypher=_CYPHER if opened is not None and explained else None,
        status=problem["status"] if problem else HTTPStatus.OK,
        given=given,
        number=number,
        kinds=KINDS,
        candidates=CANDIDATES,
        explained=explained,
        problem=problem,
        types=_TYPES,
        may_score="score" in actor_of(request).scopes,
        mapped=opened is not None and opened.answers.index.graph.directed,
        offered=offered,
        example={one["key"]: 0.5 for one in offered[:2]} if len(offered) > 1 else None,
        beta=adapter.beta,
        **_of(shared, ontology, bundle, adapter),
        **({} if opened is None else {"tag": opened.tag}),
    )


def _explained(
    shared: State, adapter: Adapter, kind: str, body: bytes, given: dict[str, Any], number: int
) -> dict[str, Any]:
    scoring = Scoring(given["outputs"], given["temperature"], given["candidates"] or None)
    if kind != TEXT and kind not in ENDINGS:
        known = ", ".join(_TYPES)
        raise InputError(f"file: its name ends in {kind!r:.20}; choose one that ends in {known}")

    def explained(adapter: Adapter, values: Any) -> dict[str, Any]:
        return explanation(adapter, given_row(adapter, values, number), scoring.among)

    return answer_body(shared, adapter, kind, body, scoring, explained, pasted(scoring))


def _classes(adapter: Adapter, most: int) -> list[dict[str, str]]:
    bundle = adapter.bundle
    points = bundle.observed[:most]
    named = zip(bundle.points.take(points), bundle.names.take(points), strict=True)
    return [{"key": key, "name": name} for key, name in named]


def _version(shared: State, ontology: str, adapter: Adapter) -> Opened | None:
    """Return the version of a bundle, which may be older than the current one; None if it is gone."""
    try:
        return shared.versions.open(ontology, adapter.bundle.ontology_digest)
    except GroveError:
        return None


def _of(shared: State, ontology: str, bundle: str, adapter: Adapter) -> dict[str, Any]:
    """Return what pages say about a bundle."""
    digest = adapter.bundle.ontology_digest
    current = shared.workspace.catalog.currents().get(ontology) == digest
    return {
        "ontology": ontology,
        "bundle": bundle,
        "digest": digest,
        "pinned": digest[:16],
        "current": current,
        "n_labels": adapter.n_labels,
        "n_observed": adapter.n_observed,
    }
